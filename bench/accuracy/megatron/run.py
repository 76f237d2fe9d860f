#!/usr/bin/env python3
"""Runs Megatron-LM's own reference cases (shared/data/megatron/golden.csv) unmodified through maya-run and compares the memory that Megatron
logs, and the predicted time of an iteration, with what NVIDIA recorded. README.md in this folder tells how to get what it needs.

    run.py --megatron DIR --python ENV/bin/python [--data ../shared/data] [--device a100-sxm-80] [--cases REGULAR_EXPRESSION] [--keep FOLDER]
           [--ranks all|stages] [--as-recorded]
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

from recorded import checkout_at, recorded

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", "..", ".."))
GPUS = {"A100 (DGX)": ("a100-sxm-80", "dgx-a100"), "H100 (DGX)": ("h100-sxm", "dgx-h100")}
SCALARS = {"mem-allocated-bytes": "allocated", "mem-max-allocated-bytes": "peak"}
# What Megatron-LM's own runner of these cases exports (tests/functional_tests/shell_test_utils).
RUNNER = {"NCCL_PROTO": "simple", "NCCL_COLLNET_ENABLE": "0", "NCCL_NVLS_ENABLE": "0", "NCCL_BUFFSIZE": "4194304", "TORCH_NCCL_AVOID_RECORD_STREAMS": "1"}
# Programs, and the tokenizer whose files stand beside BERT's and T5's text.
PROGRAMS = {"gpt": "pretrain_gpt.py", "moe": "pretrain_gpt.py", "t5": "examples/t5/pretrain_t5.py", "bert": "examples/bert/pretrain_bert.py"}
TEXT = {"t5": "cased", "bert": "uncased"}
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


def kind(row):
    return row["case"].split("/")[0]


def why_not(row, engine):
    """Why a row is not run, or None. `engine`: Transformer Engine is there."""
    if row["gpu"] not in GPUS:
        return f"GPU {row['gpu']}"
    if kind(row) not in PROGRAMS:
        return f"{kind(row)}: no program or data for it here"
    if "--spec local" in row["args"]:  # BERT chooses its layers so
        return None
    return None if engine or "--transformer-impl local" in row["args"] else "needs Transformer Engine"


class Case:
    """One command line on one device; serves all rows that have it."""

    def __init__(self, row, options, megatron):
        self.row, self.options, self.megatron = row, options, megatron
        self.device, self.cluster = GPUS[row["gpu"]]
        self.world = int(row["nodes"] or 1) * int(row["gpus_per_node"] or 8)
        self.per_node = int(row["gpus_per_node"] or 8)
        stages = option(row["args"], "--pipeline-model-parallel-size", 1)
        first_of_stages = [stage * (self.world // stages) for stage in range(stages)]
        self.ranks = list(range(self.world)) if options.ranks == "all" else first_of_stages
        self.folder = os.path.join(options.keep, f"{self.device}-{row['case'].replace('/', '-')}-{options.ranks}-{os.path.basename(megatron)}")
        program = PROGRAMS[kind(row)]  # in the root of earlier checkouts
        self.program = program if os.path.exists(os.path.join(megatron, program)) else os.path.basename(program)

    def arguments(self):
        text = self.row["args"]
        text = re.sub(r"--train-iters \d+", f"--train-iters {self.options.iterations}", text)
        text = re.sub(r"--eval-iters \d+", "--eval-iters 1", text)
        for checkpointing in ("--async-save", "--use-persistent-ckpt-worker", "--verify-integrity"):  # nothing is saved here
            text = text.replace(checkpointing, "")
        if kind(self.row) in TEXT:
            if "--spec local" in text:  # the default of the other layers' choice needs Transformer Engine
                text += " --transformer-impl local"
            text += f" --data-path text_sentence --vocab-file bert-large-{TEXT[kind(self.row)]}/vocab.txt"
        else:
            text += " --mock-data --tokenizer-type NullTokenizer --vocab-size 50256"  # padded as GPT-2's 50257
        return shlex.split(text) + ["--data-cache-path", "cache", "--tensorboard-dir", "tensorboard"]

    def prepare(self, environment):
        """Text and vocabulary, and its index: the ranks ask for it at once."""
        # Under maya-run as well: Megatron's index needs torch, which may be there without NVIDIA's libraries.
        subprocess.run([self.options.maya_run, "--no-trace", "--", self.options.python, os.path.join(HERE, "text_data.py"), self.megatron,
                        TEXT[kind(self.row)]], cwd=self.folder, env=environment, check=True)

    def run(self):
        """None, or why it failed. Does nothing where the run is there."""
        done = os.path.join(self.folder, "done")
        if os.path.exists(done):
            return None
        subprocess.run(["rm", "-rf", self.folder], check=True)
        os.makedirs(self.folder)
        paths = [os.path.join(HERE, "python"), self.megatron]
        if "uninstall_te" not in self.row["case"]:  # that case removes Apex itself
            paths.append(os.path.join(HERE, "apex_stand_in"))
        paths += filter(None, [os.environ.get("PYTHONPATH")])
        environment = dict(os.environ, **RUNNER, MEGATRON_LOG_EVERY_RANK="1", TORCHINDUCTOR_COMPILE_THREADS="1", PYTHONPATH=":".join(paths))
        environment.update(pair.split("=", 1) for pair in self.row["env"].split())
        environment["PATH"] = os.path.dirname(self.options.python) + ":" + environment["PATH"]
        if kind(self.row) in TEXT:
            self.prepare(environment)
        # Sinkhorn's routing evens the experts' tokens out; no kernel computes it here.
        balanced = ["--inject", "routing=balanced"] if "--num-experts" in self.row["args"] else []
        command = [self.options.maya_run, *balanced, "--device", self.device, "--trace-dir", "trace", "--world-size", str(self.world), "--gpus-per-node",
                   str(self.per_node), "--cluster", self.cluster, "--ranks", ",".join(map(str, self.ranks)), "--jobs", "1", "--",
                   self.options.python, os.path.join(self.megatron, self.program), *self.arguments()]
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
            if "allocated" in values:
                out[rank] = (values["allocated"][-1], values["peak"][0], values["peak"][-1])
        return out

    def seconds(self, scale):
        run = subprocess.run([self.options.maya_run.replace("maya-run", "maya-predict"), "--json", "--host-scale", str(scale),
                              os.path.join(self.folder, "trace")], text=True, capture_output=True)
        if run.returncode not in (0, 1):
            return None
        return json.loads(run.stdout)["step_time_ms"]["median"] / 1e3


def installed(python, package):
    """The version of a package, "" where it is missing. Importing it would need a device's libraries."""
    ask = f"from importlib.metadata import distributions; print(next((d.version for d in distributions(name='{package}')), ''))"
    return subprocess.run([python, "-c", ask], text=True, capture_output=True, check=True).stdout.strip()


def compile_helper(megatron, python):
    """Megatron's index of samples is C++: compiled once, before ranks ask for it at the same time."""
    environment = dict(os.environ, PATH=os.path.dirname(python) + ":" + os.environ["PATH"])
    subprocess.run(["make", "-s", "-C", os.path.join(megatron, "megatron", "core", "datasets")], env=environment, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--megatron", required=True, help="checkout of NVIDIA/Megatron-LM")
    parser.add_argument("--python", required=True, help="interpreter of an environment with torch, triton, tensorboard, pybind11")
    parser.add_argument("--data", default=os.path.join(ROOT, "..", "shared", "data"))
    parser.add_argument("--device", default="", help="rows of this device only")
    parser.add_argument("--cases", default="", help="regular expression of names of cases")
    parser.add_argument("--keep", default="", help="folder for runs; runs that are there are not repeated")
    parser.add_argument("--ranks", choices=["all", "stages"], default="all", help="all live, or the first of each pipeline stage runs alone")
    parser.add_argument("--as-recorded", action="store_true",
                        help="only rows recorded with this PyTorch, with the Megatron-LM that they were recorded with")
    parser.add_argument("--iterations", type=int, default=5, help="at least 3")
    parser.add_argument("--limit", type=int, default=600, help="seconds for one case")
    parser.add_argument("--binaries", default=os.path.join(ROOT, "build", "release", "bin"))
    options = parser.parse_args()
    options.megatron, options.python = os.path.abspath(options.megatron), os.path.abspath(options.python)
    options.maya_run = os.path.join(os.path.abspath(options.binaries), "maya-run")
    if not os.path.exists(os.path.join(options.megatron, "pretrain_gpt.py")):
        fail(f"{options.megatron} is no checkout of Megatron-LM: pretrain_gpt.py is missing")
    golden = os.path.join(options.data, "megatron", "golden.csv")
    if not os.path.exists(golden):
        fail(f"no such file: {golden}")
    options.keep = os.path.abspath(options.keep or tempfile.mkdtemp(prefix="megatron-"))

    version = installed(options.python, "torch")
    engine = installed(options.python, "transformer_engine")
    with open(golden, newline="") as file:
        rows = [row for row in csv.DictReader(file) if re.search(options.cases, row["case"])]
    cases, skipped, scored = {}, {}, []
    for row in rows:
        reason = why_not(row, engine)
        if reason is None and options.device and GPUS[row["gpu"]][0] != options.device:
            reason = "other device"
        when = recorded(options.megatron, row["case"], row["software"]) if reason is None else None
        if reason is None and options.as_recorded and (when is None or when[3] != ".".join(version.split(".")[:2])):
            reason = f"recorded with PyTorch {when[3] if when else 'not known'}, and this is {version}"
        if reason is None:
            megatron = checkout_at(options.megatron, when[0], options.keep) if options.as_recorded else options.megatron
            case = cases.setdefault((row["case"], row["gpu"], row["args"], row["env"], megatron), Case(row, options, megatron))
            if not hasattr(case, "failure"):
                compile_helper(megatron, options.python)
                case.failure = case.run()
                case.found = None if case.failure else case.memory()
                print(f"run.py: {row['case']} on {case.device}: {case.failure or 'ran'}", file=sys.stderr, flush=True)
                if case.found is not None and case.ranks[-1] not in case.found:
                    case.failure = "the last stage logged no memory"
            reason = case.failure and f"{row['case']}: {case.failure}"
            if reason is None:
                scored.append((row, case, when))
        if reason:
            skipped[reason] = skipped.get(reason, 0) + 1

    print(f"PyTorch {version}, Transformer Engine {engine or 'not installed'}, ranks: {options.ranks}. Bytes: allocated at the end, peak of the first "
          "iteration, peak at the end.\n")
    print("| case | GPU | software | recorded: commit, date, image, PyTorch | golden | ours, last rank | ours - golden | largest |\n|---|---|---|---|---|---|---|---|")
    for row, case, when in scored:
        wanted = [int(row[name]) for name in ("mem_allocated_bytes", "mem_max_allocated_first", "mem_max_allocated_last")]
        ours = list(case.found[case.ranks[-1]])
        differences = [o - w for o, w in zip(ours, wanted)]
        worst = max(abs(d) / w for d, w in zip(differences, wanted))
        print(f"| {row['case']} | {row['gpu'][:4]} | {row['software']} | {', '.join(when or ['not known'])} | {wanted} | {ours} | {differences} | "
              f"{100 * worst:.2f} % |")

    # Eight ranks that live on a few cores hold each other up: only ranks that ran alone tell times.
    whole = {id(case): case for _, case, _ in scored if options.ranks == "stages" and len(case.found) == len(case.ranks)}
    times = {key: {scale: case.seconds(scale) for scale in SCALES} for key, case in whole.items()}
    timed = [(row, times[id(case)]) for row, case, _ in scored
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
