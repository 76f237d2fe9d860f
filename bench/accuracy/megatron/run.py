#!/usr/bin/env python3
"""Runs Megatron-LM's own reference cases (shared/data/megatron/golden.csv) unmodified through maya-run and compares the memory that Megatron
logs, and the predicted time of an iteration, with what NVIDIA recorded. README.md in this folder tells how to get what it needs.

    run.py --megatron DIR --python ENV/bin/python [--data ../shared/data] [--device a100-sxm-80] [--cases REGULAR_EXPRESSION] [--keep FOLDER]
"""
import argparse
import csv
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", "..", ".."))
GPUS = {"A100 (DGX)": ("a100-sxm-80", "dgx-a100"), "H100 (DGX)": ("h100-sxm", "dgx-h100")}
ITERATIONS = 5
SCALARS = {"mem-allocated-bytes": "allocated", "mem-max-allocated-bytes": "peak"}
# What Megatron-LM's own runner of these cases exports (tests/functional_tests/shell_test_utils).
RUNNER = {"NCCL_PROTO": "simple", "NCCL_COLLNET_ENABLE": "0", "NCCL_NVLS_ENABLE": "0", "NCCL_BUFFSIZE": "4194304", "TORCH_NCCL_AVOID_RECORD_STREAMS": "1"}
# Two threads, the program's and autograd's, have a cuBLAS handle each; PyTorch up to 2.11 keeps a workspace for each, 2.15 gives it back
# after every call.
HANDLES = 2
READ = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
events.Reload()
print(json.dumps({tag: [[s.step, s.value] for s in events.Scalars(tag)] for tag in sys.argv[2:] if tag in events.Tags()["scalars"]}))
"""
SCALES = [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 3.0, 3.5, 4.0]


def fail(message):
    print(f"run.py: {message}", file=sys.stderr)
    sys.exit(2)


def option(arguments, name, default):
    found = re.search(rf"{name} (\S+)", arguments)
    return int(found.group(1)) if found else default


def why_not(row):
    """Why a row is not run, or None."""
    if row["gpu"] not in GPUS:
        return f"GPU {row['gpu']}"
    if not row["case"].startswith(("gpt/", "moe/")):
        return "needs its own tokenizer's files (BERT, T5, multimodal)"
    if "--transformer-impl local" not in row["args"]:
        return "needs Transformer Engine"
    return None


class Case:
    """One command line on one device; serves all rows that have it."""

    def __init__(self, row, options):
        self.row, self.options = row, options
        self.device, self.cluster = GPUS[row["gpu"]]
        self.world = int(row["nodes"] or 1) * int(row["gpus_per_node"] or 8)
        self.per_node = int(row["gpus_per_node"] or 8)
        stages = option(row["args"], "--pipeline-model-parallel-size", 1)
        # The first rank of every stage: of tensor-parallel ranks only the first reads data, the others get it from the first.
        self.ranks = [stage * (self.world // stages) for stage in range(stages)]
        self.folder = os.path.join(options.keep, f"{self.device}-{row['case'].replace('/', '-')}")

    def arguments(self):
        text = self.row["args"]
        text = re.sub(r"--train-iters \d+", f"--train-iters {ITERATIONS}", text)
        text = re.sub(r"--eval-iters \d+", "--eval-iters 1", text)
        for checkpointing in ("--async-save", "--use-persistent-ckpt-worker", "--verify-integrity"):  # nothing is saved here
            text = text.replace(checkpointing, "")
        return shlex.split(text) + ["--mock-data", "--tokenizer-type", "NullTokenizer", "--vocab-size", "50256",  # padded as GPT-2's 50257
                                    "--data-cache-path", "cache", "--tensorboard-dir", "tensorboard"]

    def run(self):
        """None, or why it failed. Does nothing where the run is there."""
        done = os.path.join(self.folder, "done")
        if os.path.exists(done):
            return None
        subprocess.run(["rm", "-rf", self.folder], check=True)
        os.makedirs(self.folder)
        paths = [os.path.join(HERE, "python"), self.options.megatron]
        if "uninstall_te" not in self.row["case"]:  # that case removes Apex itself
            paths.append(os.path.join(HERE, "apex_stand_in"))
        environment = dict(os.environ, **RUNNER, MEGATRON_LOG_EVERY_RANK="1", PYTHONPATH=":".join(paths))
        environment.update(pair.split("=", 1) for pair in self.row["env"].split())
        environment["PATH"] = os.path.dirname(self.options.python) + ":" + environment["PATH"]
        command = [self.options.maya_run, "--device", self.device, "--trace-dir", "trace", "--world-size", str(self.world), "--gpus-per-node",
                   str(self.per_node), "--cluster", self.cluster, "--ranks", ",".join(map(str, self.ranks)), "--jobs", "1", "--",
                   self.options.python, os.path.join(self.options.megatron, "pretrain_gpt.py"), *self.arguments()]
        with open(os.path.join(self.folder, "output"), "w") as output:
            try:
                status = subprocess.run(command, cwd=self.folder, env=environment, stdout=output, stderr=subprocess.STDOUT,
                                        timeout=self.options.limit).returncode
            except subprocess.TimeoutExpired:
                return f"took more than {self.options.limit} s"
        if status != 0:
            with open(os.path.join(self.folder, "output")) as output:
                lines = [line for line in output.read().splitlines() if "Error" in line or "maya" in line]
            return (lines or ["no output"])[-1][:300]
        open(done, "w").close()
        return None

    def memory(self):
        """{rank: (allocated at the end, peak of the first iteration, peak at the end)} as Megatron logged them."""
        out = {}
        for rank in self.ranks:
            text = subprocess.run([self.options.python, "-c", READ, os.path.join(self.folder, "tensorboard", f"rank{rank}"), *SCALARS],
                                  text=True, capture_output=True, check=True).stdout
            values = {SCALARS[tag]: [int(value) for _, value in steps] for tag, steps in json.loads(text.splitlines()[-1]).items()}
            if "allocated" in values:  # Megatron tells middle stages from rank 0 that there is data; a twin of theirs says there is none
                out[rank] = (values["allocated"][-1], values["peak"][0], values["peak"][-1])
        return out

    def seconds(self, scale):
        run = subprocess.run([self.options.maya_run.replace("maya-run", "maya-predict"), "--json", "--host-scale", str(scale),
                              os.path.join(self.folder, "trace")], text=True, capture_output=True)
        if run.returncode not in (0, 1):
            return None
        return json.loads(run.stdout)["step_time_ms"]["median"] / 1e3


def workspaces(row):
    """Bytes that PyTorch up to 2.11 keeps for cuBLAS and 2.15 does not. CUBLAS_WORKSPACE_CONFIG is :KiB:count (cuBLAS documentation)."""
    found = re.search(r"CUBLAS_WORKSPACE_CONFIG=:(\d+):(\d+)", row["env"])
    return HANDLES * int(found.group(1)) * int(found.group(2)) * 1024 if found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--megatron", required=True, help="checkout of NVIDIA/Megatron-LM")
    parser.add_argument("--python", required=True, help="interpreter of an environment with torch, triton, tensorboard, pybind11")
    parser.add_argument("--data", default=os.path.join(ROOT, "..", "shared", "data"))
    parser.add_argument("--device", default="", help="rows of this device only")
    parser.add_argument("--cases", default="", help="regular expression of names of cases")
    parser.add_argument("--keep", default="", help="folder for runs; runs that are there are not repeated")
    parser.add_argument("--limit", type=int, default=600, help="seconds for one case")
    parser.add_argument("--binaries", default=os.path.join(ROOT, "build", "release", "bin"))
    options = parser.parse_args()
    options.megatron, options.python = os.path.abspath(options.megatron), os.path.abspath(options.python)
    options.maya_run = os.path.join(options.binaries, "maya-run")
    if not os.path.exists(os.path.join(options.megatron, "pretrain_gpt.py")):
        fail(f"{options.megatron} is no checkout of Megatron-LM: pretrain_gpt.py is missing")
    golden = os.path.join(options.data, "megatron", "golden.csv")
    if not os.path.exists(golden):
        fail(f"no such file: {golden}")
    options.keep = os.path.abspath(options.keep or tempfile.mkdtemp(prefix="megatron-"))

    # Its index of samples is C++: compiled once, before ranks that run alone ask for it.
    datasets = os.path.join(options.megatron, "megatron", "core", "datasets")
    environment = dict(os.environ, PATH=os.path.dirname(options.python) + ":" + os.environ["PATH"])
    subprocess.run(["make", "-s", "-C", datasets], env=environment, check=True)

    with open(golden, newline="") as file:
        rows = [row for row in csv.DictReader(file) if re.search(options.cases, row["case"])]
    cases, skipped, scored = {}, {}, []
    for row in rows:
        reason = why_not(row)
        if reason is None and options.device and GPUS[row["gpu"]][0] != options.device:
            reason = "other device"
        if reason is None:
            case = cases.setdefault((row["case"], row["gpu"], row["args"], row["env"]), Case(row, options))
            if not hasattr(case, "failure"):
                case.failure = case.run()
                case.found = None if case.failure else case.memory()
                print(f"run.py: {row['case']} on {case.device}: {case.failure or 'ran'}", file=sys.stderr, flush=True)
                if case.found is not None and case.ranks[-1] not in case.found:
                    case.failure = "the last stage logged no memory"
            reason = case.failure and f"{row['case']}: {case.failure}"
            if reason is None:
                scored.append((row, case))
        if reason:
            skipped[reason] = skipped.get(reason, 0) + 1

    print("| case | GPU | software | golden allocated, first peak, last peak | ours, last stage | with cuBLAS workspaces kept | difference, bytes | largest |")
    print("|---|---|---|---|---|---|---|---|")
    for row, case in scored:
        wanted = [int(row[name]) for name in ("mem_allocated_bytes", "mem_max_allocated_first", "mem_max_allocated_last")]
        ours = case.found[case.ranks[-1]]
        kept = [value + workspaces(row) for value in ours]
        differences = [k - w for k, w in zip(kept, wanted)]
        worst = max(abs(d) / w for d, w in zip(differences, wanted))
        print(f"| {row['case']} | {row['gpu'][:4]} | {row['software']} | {wanted} | {list(ours)} | {kept} | {differences} | {100 * worst:.2f} % |")

    whole = {id(case): case for _, case in scored if len(case.found) == len(case.ranks)}
    times = {key: {scale: case.seconds(scale) for scale in SCALES} for key, case in whole.items()}
    timed = [(row, times[id(case)]) for row, case in scored
             if row["iteration_time_s"] and id(case) in times and all(times[id(case)].values())]
    if timed:
        error = lambda scale: statistics.mean(abs(t[scale] / float(row["iteration_time_s"]) - 1) for row, t in timed)  # noqa: E731
        best = min(SCALES, key=error)
        print(f"\nIteration time, one host scale of {best} for all rows (the best of {SCALES}), mean error {100 * error(best):.1f} %:\n")
        print("| case | GPU | software | golden s | predicted s | error |\n|---|---|---|---|---|---|")
        for row, t in timed:
            wanted = float(row["iteration_time_s"])
            print(f"| {row['case']} | {row['gpu'][:4]} | {row['software']} | {wanted:.3f} | {t[best]:.3f} | {100 * (t[best] / wanted - 1):+.1f} % |")
    print("\nRows not run:")
    for reason, count in sorted(skipped.items()):
        print(f"- {count}: {reason}")


if __name__ == "__main__":
    main()
