#!/usr/bin/env python3
"""Scores maya-predict on published training steps: every row of a CSV with the columns of shared/data/e2e.csv that ran
on one GPU (or, with --gpus many, on several), reproduced as a real program that runs unmodified through maya-run.

    bench/accuracy/steps/run.py                                  # all rows; makes the Python environments first
    bench/accuracy/steps/run.py --reuse /tmp/traces              # keeps traces there and scores again without emulating
    bench/accuracy/steps/run.py --only 'fms.*mistral' --json out.json
    bench/accuracy/steps/run.py --gpus many --lines 12,13
    bench/accuracy/steps/run.py --rows other.csv --list          # every row with its verdict, nothing is run
"""
import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", "..", ".."))
sys.path.insert(0, HERE)
import rows as published  # noqa: E402
import scoring  # noqa: E402
import worlds  # noqa: E402

# Devices on which the same kernels are chosen with the same grids: one trace serves all of a group. Libraries and
# PyTorch choose by architecture and by number of multiprocessors.
TRACED_ON = {"a100-sxm-40": "a100-sxm-80", "a100-pcie-40": "a100-sxm-80", "a100-pcie-80": "a100-sxm-80",
             "h200-sxm": "h100-sxm", "h100-sxm-96": "h100-sxm"}

# Peak rates that the constant efficiency refers to, in FLOP/s without sparsity. NVIDIA's data sheets of each part.
PEAKS = {"a100": {"bf16": 312e12, "tf32": 156e12, "fp32": 19.5e12},
         "h100-sxm": {"bf16": 989e12, "tf32": 495e12, "fp32": 67e12},
         "h100-pcie": {"bf16": 756e12, "tf32": 378e12, "fp32": 51e12},
         "h200-sxm": {"bf16": 989e12, "tf32": 495e12, "fp32": 67e12},
         "l40s": {"bf16": 362e12, "tf32": 183e12, "fp32": 91.6e12},
         "b200-sxm": {"bf16": 2250e12, "tf32": 1125e12, "fp32": 75e12}}


def traced_on(row):
    # Convolutions are chosen by free memory too, and unlimited memory still looks as large as the device's own: what fills an H200 runs on one.
    convolutions = row.program == "vision.py" and row.device == "h200-sxm"
    return row.device if convolutions or not row.memory else TRACED_ON.get(row.device, row.device)


def peaks():
    out = {}
    for device in set(TRACED_ON) | set(TRACED_ON.values()) | {"h100-pcie", "l40s", "b200-sxm"}:
        family = next(k for k in sorted(PEAKS, key=len, reverse=True) if device.startswith(k))
        for kind, rate in PEAKS[family].items():
            out[device, kind] = rate
    return out


def fail(message, status=2):
    print(f"run.py: {message}", file=sys.stderr)
    sys.exit(status)


class Traces:
    """Runs programs through maya-run, once per program, arguments and group of devices, into `folder`."""

    limit_s = 3600  # for one program: 32 stages run one after another

    def __init__(self, folder, binaries, environments):
        self.folder, self.binaries, self.environments = folder, binaries, environments

    def folder_of(self, row):
        device = traced_on(row)
        what = [row.program, row.arguments, row.environment, device]
        what += [row.ranks, os.path.basename(row.cluster), row.expandable] if row.ranks > 1 else []
        what = json.dumps(what if row.memory else [*what, "own memory"])
        label = re.sub(r"[^\w.]+", "-", f"{row.program[:-3]} {' '.join(row.arguments)}")[:60].strip("-")
        return os.path.join(self.folder, f"{device}-{label}-{hashlib.sha256(what.encode()).hexdigest()[:8]}")

    def emulate(self, row):
        """Runs the program unless its trace is there. Returns None, or why the program failed."""
        folder = self.folder_of(row)
        done = os.path.join(folder, "done")
        if os.path.exists(done):
            return None
        if os.path.isdir(folder):
            subprocess.run(["rm", "-rf", folder], check=True)
        os.makedirs(folder)
        environment = dict(os.environ, HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
        if row.expandable:
            environment["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
        whole = row.environment in ("models", "frameworks")  # an environment of its own, not folders before those of models
        if not whole:
            environment["PYTHONPATH"] = ":".join(os.path.join(self.environments, e) for e in row.environment.split(":"))
        device = traced_on(row)
        command = [os.path.join(self.binaries, "maya-run"), "--device", device, "--trace-dir", os.path.join(folder, "trace")]
        command += ["--memory", row.memory] if row.memory else []
        command += ["--inject", row.inject] if row.inject else []
        if row.ranks > 1:
            command += ["--world-size", str(row.ranks), "--gpus-per-node", str(min(row.ranks, 8)), "--cluster", row.cluster,
                        "--ranks", row.living, "--jobs", "1"]
        command += ["--", os.path.join(self.environments, row.environment if whole else "models", "bin", "python"),
                   os.path.join(HERE, "programs", row.program), *row.arguments]
        try:
            run = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=self.limit_s)
            text, status = run.stdout + run.stderr, run.returncode
        except subprocess.TimeoutExpired:
            text, status = f"took more than {self.limit_s} s", 1
        with open(os.path.join(folder, "output"), "w") as file:
            file.write(" ".join(command) + "\n" + text)
        # All steps ran when "done:" was printed. On a loaded machine PyTorch's autograd thread is sometimes still letting go
        # of its last graph when the interpreter ends, which aborts the process ("terminate called ...").
        if status != 0 and "done: " not in text:
            return (text.strip().splitlines() or ["no output"])[-1]
        open(done, "w").close()
        return None

    def predict(self, row, host_scale):
        """The score of a row. Time that went to other processes of this machine is not in the trace's host time."""
        folder = self.folder_of(row)
        with open(os.path.join(folder, "output")) as file:
            output = file.read()
        command = [os.path.join(self.binaries, "maya-predict"), "--json", "--device", row.device, "--host-scale", f"{host_scale:.4f}",
                   *(["--cluster", row.cluster] if row.cluster else []), *(f"--kernel-scale={s}" for s in row.kernel_scales), os.path.join(folder, "trace")]
        run = subprocess.run(command, text=True, capture_output=True)
        if run.returncode not in (0, 1):
            raise published.Unscored(f"maya-predict: {run.stderr.strip()}")
        report = json.loads(run.stdout)
        if report["steps"]["found_by"] != "nvtx":
            raise published.Unscored("maya-predict found no marked steps")
        step = report["step_time_ms"]
        score = scoring.Score(row, step["median"], step["low"], step["high"], parts_ms=report["breakdown_ms"],
                              provenance=report["provenance"])
        counted = report["steps"]["count"] - report["steps"]["warm_up"]
        for operation in report["operations"]:
            family = operation["family"]
            score.families_ms[family] = score.families_ms.get(family, 0) + operation["total_ms"] / counted
        peaks = [int(peak) for peak in re.findall(rf"{row.peak_of} (\d+)", output)]
        score.peak_memory_gib = max(peaks, default=0) / 2**30
        return score


def short(row):
    arguments = " ".join(a for a in row.arguments if a != "--model")
    return f"{row.program[:-3]} {arguments}".replace("--", "")


def percent(value, signed=True):
    if value is None:
        return "-"
    return f"{100 * value:+.1f} %" if signed else f"{100 * value:.0f} %"


def print_scores(scores, out):
    print("\n| line | source | program | device | measured ms | predicted ms | error | 80 % interval | holds | constant "
          "MFU | compute ms | host and idle | estimated by | memory |", file=out)
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|", file=out)
    for s in scores:
        r = s.row
        best = " ".join(f"{k} {100 * v:.0f} %" for k, v in s.provenance.items() if v >= 0.005)
        memory = f"{s.peak_memory_gib / r.peak_memory_gib - 1:+.1%}" if r.peak_memory_gib else "-"
        print(f"| {r.line} | {r.source.split('/')[-1]} | {short(r)} | {r.device}{f' x {r.ranks}' if r.ranks > 1 else ''} | {r.measured_ms:.1f} | "
              f"{s.predicted_ms:.1f} | {percent(s.error)} | {s.low_ms:.1f} to {s.high_ms:.1f} | "
              f"{'yes' if s.contained else 'no'} | {percent(s.baseline_error)} | {s.parts_ms.get('compute', 0):.1f} | "
              f"{percent(s.host_share, False)} | {best} | {memory} |", file=out)


def print_summary(groups, out):
    print("\n| group | rows | mean error | within 10 % | within 12 % | bias | interval holds | constant MFU: mean error | within 10 % |",
          file=out)
    print("|---|---|---|---|---|---|---|---|---|", file=out)
    for name, figures in groups.items():
        base = figures["baseline_mean_error"]
        print(f"| {name} | {figures['rows']} | {100 * figures['mean_error']:.1f} % | "
              f"{percent(figures['within_10_percent'], False)} | {percent(figures['within_12_percent'], False)} | {percent(figures['bias'])} | "
              f"{percent(figures['coverage'], False)} | {'-' if base is None else f'{100 * base:.1f} %'} | "
              f"{percent(figures['baseline_within_10_percent'], False)} |", file=out)


def groups_of(scores):
    groups = {"all": scores}
    for s in scores:
        groups.setdefault(s.row.source, []).append(s)
    for s in scores:
        groups.setdefault(f"{s.row.source} on {s.row.device}", []).append(s)
    device = [s for s in scores if s.host_share < 0.25]
    if device and len(device) < len(scores):
        groups["rows whose step is not host time"] = device
    return {name: scoring.summary(group) for name, group in groups.items()}


def print_unscored(unscored, out):
    reasons = {}
    for row in unscored:
        reasons.setdefault((row.source, row.reason), []).append(row.line)
    print("\n| source | rows | not scored because | lines |\n|---|---|---|---|", file=out)
    for (source, reason), lines in sorted(reasons.items()):
        print(f"| {source} | {len(lines)} | {reason} | {' '.join(map(str, lines))} |", file=out)


def as_json(scores, unscored):
    return {"format": 1, "summary": groups_of(scores) if scores else {},
            "rows": [{"line": s.row.line, "source": s.row.source, "name": s.row.name, "device": s.row.device, "ranks": s.row.ranks,
                      "program": s.row.program, "arguments": s.row.arguments, "measured_ms": s.row.measured_ms,
                      "predicted_ms": {"median": s.predicted_ms, "low": s.low_ms, "high": s.high_ms},
                      "error": s.error, "interval_contains": s.contained, "constant_mfu_ms": s.baseline_ms or None,
                      "breakdown_ms": s.parts_ms, "families_ms": s.families_ms, "provenance": s.provenance, "host_share": s.host_share,
                      "peak_allocated_gib": s.peak_memory_gib, "published_peak_gib": s.row.peak_memory_gib or None,
                      "remark": s.row.remark} for s in scores],
            "not_scored": [{"line": r.line, "source": r.source, "name": r.name, "gpu": r.gpu, "reason": r.reason}
                           for r in unscored]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", default=os.path.join(ROOT, "..", "shared", "data", "e2e.csv"), help="CSV file of steps")
    p.add_argument("--only", default="", help="regular expression: source, name, program or device must match")
    p.add_argument("--reuse", help="folder that keeps traces; those that are there are not made again")
    p.add_argument("--json", help="write all figures to this file as well")
    p.add_argument("--list", action="store_true", help="print every row with its verdict and end")
    p.add_argument("--binaries", default=os.path.join(ROOT, "build", "release", "bin"))
    p.add_argument("--host-scale", type=float, default=1.0, help="factor on the host time of all rows, besides that of their machine")
    p.add_argument("--gpus", choices=["one", "many"], default="one", help="rows with one GPU, or those with several")
    p.add_argument("--lines", help="run only rows of these lines of the file, by commas; the others are listed as not run")
    a = p.parse_args()

    try:
        every = (published if a.gpus == "one" else worlds).read(a.rows)
    except (OSError, ValueError) as error:
        fail(f"cannot read rows: {error}", 3)
    wanted = re.compile(a.only)
    every = [r for r in every if wanted.search(f"{r.source} {r.name} {r.program} {' '.join(r.arguments)} {r.device}")]
    if a.lines:
        for r in every:
            if not r.reason and str(r.line) not in a.lines.split(","):
                r.reason = "has a program, not run"
    if a.list:
        for r in every:
            verdict = f"not scored: {r.reason}" if r.reason else f"{short(r)} on {r.device}: {r.measured_ms:.1f} ms"
            print(f"{r.line}: {r.source}: {r.name}: {verdict}")
        return
    environments = os.environ.get("MAYA_ENVIRONMENTS", os.path.expanduser("~/.cache/maya/environments"))
    subprocess.run([os.path.join(ROOT, "test", "environments.sh"), "models", "transformers-4.38", "transformers-4.45", "fms",
                    "litgpt", *(["frameworks", "extensions"] if a.gpus == "many" else [])], check=True)
    with tempfile.TemporaryDirectory(prefix="maya-steps-") as temporary:
        traces = Traces(os.path.abspath(a.reuse or temporary), os.path.abspath(a.binaries), environments)
        scores, unscored = [], [r for r in every if r.reason]
        scored = [r for r in every if not r.reason]
        baseline = scoring.fit_constant_efficiency(scored, peaks())
        failures = {}
        for i, row in enumerate(scored):
            if sys.stderr.isatty():
                print(f"\r{i + 1} of {len(scored)}: {short(row)[:100]:<100}", end="", file=sys.stderr, flush=True)
            try:
                key = traces.folder_of(row)
                if key not in failures:
                    failures[key] = traces.emulate(row)
                if failures[key]:
                    raise published.Unscored(f"the program failed under maya-run: {failures[key]}")
                score = traces.predict(row, a.host_scale * row.host)
                score.baseline_ms = baseline.get(id(row), 0.0)
                scores.append(score)
            except published.Unscored as why:
                row.reason = str(why)
                unscored.append(row)
        if sys.stderr.isatty():
            print(file=sys.stderr)
    print_scores(scores, sys.stdout)
    if scores:
        print_summary(groups_of(scores), sys.stdout)
    print_unscored(unscored, sys.stdout)
    if a.json:
        try:
            with open(a.json, "w") as file:
                json.dump(as_json(scores, unscored), file, indent=1)
        except OSError as error:
            fail(f"cannot write: {error}", 4)


if __name__ == "__main__":
    main()
