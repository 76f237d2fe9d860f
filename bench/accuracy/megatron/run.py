#!/usr/bin/env python3
"""Runs Megatron-LM's own reference cases (shared/data/megatron/golden.csv) unmodified through maya-run and compares the memory that Megatron
logs, and the predicted time of an iteration, with what NVIDIA recorded. README.md in this folder tells how to get what it needs.

    run.py --megatron DIR --python ENV/bin/python [--data ../shared/data] [--device a100-sxm-80] [--cases REGULAR_EXPRESSION] [--keep FOLDER]
           [--ranks all|stages|last] [--memory-only] [--as-recorded]
    run.py --sweep FOLDER --megatron DIR --python ENV/bin/python    # all rows; say it again to go on where it stopped
"""
import argparse
import collections
import csv
import functools
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

from recorded import History, checkout_at, date_of, head_of

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", "..", ".."))
GPUS = {"A100 (DGX)": ("a100-sxm-80", "dgx-a100"), "H100 (DGX)": ("h100-sxm", "dgx-h100")}
SCALARS = {"mem-allocated-bytes": "allocated", "mem-max-allocated-bytes": "peak"}
# What Megatron-LM's own runner of these cases exports (tests/functional_tests/shell_test_utils).
RUNNER = {"NCCL_PROTO": "simple", "NCCL_COLLNET_ENABLE": "0", "NCCL_NVLS_ENABLE": "0", "NCCL_BUFFSIZE": "4194304", "TORCH_NCCL_AVOID_RECORD_STREAMS": "1"}
# Programs, and the tokenizer whose files stand beside BERT's and T5's text.
PROGRAMS = {"gpt": "pretrain_gpt.py", "moe": "pretrain_gpt.py", "t5": "examples/t5/pretrain_t5.py", "bert": "examples/bert/pretrain_bert.py",
            "multimodal-llava": "pretrain_vlm.py"}
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
    if "_release" in row["case"] or "--perform-rl-step" in row["args"]:
        return "world, tokenizer or checkpoint not published" if "_release" in row["case"] else "reinforcement learning: serves a checkpoint"
    if "--spec local" in row["args"]:  # BERT chooses its layers so
        return None
    return None if engine or "--transformer-impl local" in row["args"] else "needs Transformer Engine"


def takes_flash(row, when):
    """Whether Transformer Engine chose flash-attn for the recorded run: where it was told to, and by itself on an A100, on which cuDNN's attention is not
    deterministic (its own rules, dot_product_attention/utils.py, which also prefer cuDNN's from Hopper on). The flash-attn in image 24.01 is too old to be
    deterministic."""
    told = re.search(r"--attention-backend (\S+)", row["args"])
    if told:
        return told.group(1) == "flash"
    if not row["gpu"].startswith("A100") or "--transformer-impl local" in row["args"] or "--spec local" in row["args"]:
        return False
    return "NVTE_ALLOW_NONDETERMINISTIC_ALGO=0" not in row["env"] or when is None or when[2] != "24.01"


class Case:
    """One command line on one device; serves all rows that have it."""

    def __init__(self, row, options, megatron, flash):
        self.row, self.options, self.megatron, self.flash = row, options, megatron, flash
        self.commit = head_of(megatron)
        self.device, self.cluster = GPUS[row["gpu"]]
        self.world = int(row["nodes"] or 1) * int(row["gpus_per_node"] or 8)
        self.per_node = int(row["gpus_per_node"] or 8)
        stages = option(row["args"], "--pipeline-model-parallel-size", 1)
        # Of ranks that share tensors the first one reads the data and sends them to the others.
        tensor = option(row["args"], "--tensor-model-parallel-size", 1)
        # The first of the world builds the index of text files, which the others read; without stages it does all that the others do.
        of_last = self.world - tensor if kind(row) not in TEXT or stages > 1 else 0
        last = sorted({of_last, 0 if kind(row) in TEXT else of_last})
        first_of_stages = [stage * (self.world // stages) for stage in range(stages)]
        # Megatron's FSDP compares where the shards of all ranks begin, which is the same for twins.
        self.live = "all" if "--use-megatron-fsdp" in row["args"] else options.ranks
        self.ranks = {"all": list(range(self.world)), "stages": first_of_stages, "last": last}[self.live]
        self.folder = os.path.join(options.keep, f"{self.device}-{row['case'].replace('/', '-')}-{self.live}-{os.path.basename(megatron)}"
                                   + "-flash" * flash)
        program = PROGRAMS[kind(row)]  # in the root of earlier checkouts
        self.program = program if os.path.exists(os.path.join(megatron, program)) else os.path.basename(program)

    def arguments(self):
        text = self.row["args"]
        text = re.sub(r"--train-iters \d+", f"--train-iters {self.options.iterations}", text)
        text = re.sub(r"--eval-iters \d+", "--eval-iters 1", text)
        text = re.sub(r"\[([\w.]+(?: [\w.]+)+)\]", r"\1", text)  # a list as NVIDIA's files of cases write it
        text = re.sub(r"(?<=\s)tests/functional_tests/", lambda _: os.path.join(self.megatron, "tests", "functional_tests", ""), text)
        text = re.sub(r"--fim-\S+( (?!--)\S+)*", "", text)  # refused with invented data; samples are as long without it
        # Nothing is saved here; --test-mode compares the weights of ranks, which kernels would have made.
        for left_out in ("--async-save", "--use-persistent-ckpt-worker", "--verify-integrity", "--test-mode"):
            text = text.replace(left_out, "")
        if kind(self.row) in TEXT:
            if "--spec local" in text:  # the default of the other layers' choice needs Transformer Engine
                text += " --transformer-impl local"
            text += f" --data-path text_sentence --vocab-file bert-large-{TEXT[kind(self.row)]}/vocab.txt"
        elif "NullTokenizer" in text:
            text += " --mock-data"
        else:
            text += " --mock-data --tokenizer-type NullTokenizer --vocab-size 50256"  # padded as GPT-2's 50257
        if self.live != "all" and self.options.torch < (2, 15):  # such a group would wait for ranks that do not live
            text += " --disable-gloo-process-groups"
            if "--use-distributed-optimizer" in text:  # its checkpoints in the other form use gloo
                text = re.sub(r"--ckpt-format torch\b(?!_)", "--ckpt-format torch_dist", text)
        # Memory is logged before the evaluation at the end, which is left out so.
        cache = ["--data-cache-path", "cache"] if kind(self.row) in TEXT or self.live == "all" else []  # else each rank builds its own
        for name in missing(self.megatron, text):  # recorded before the case got it
            text = re.sub(rf"{name}(?![\w-])( (?!--)\S+)*", "", text)
        # As its runner does: a folder with no checkpoint in it. Megatron's FSDP makes the optimizer's state before it looks for one.
        return shlex.split(text) + ["--exit-interval", str(self.options.iterations), *cache, "--load", "checkpoints", "--tensorboard-dir", "tensorboard"]

    def prepare(self, environment):
        """Text and vocabulary, and its index: the ranks ask for it at once."""
        # Under maya-run as well: Megatron's index needs torch, which may be there without NVIDIA's libraries.
        subprocess.run([self.options.maya_run, "--no-trace", "--", self.options.python, os.path.join(HERE, "text_data.py"), self.megatron,
                        TEXT[kind(self.row)]], cwd=self.folder, env=environment, check=True)

    def known(self):
        return any(os.path.exists(os.path.join(self.folder, name)) for name in ("done", "failed"))

    def run(self):
        """None, or why it failed. Does nothing where the run is there, nor in a sweep where it failed before."""
        done, failed = os.path.join(self.folder, "done"), os.path.join(self.folder, "failed")
        if os.path.exists(done):
            return None
        if self.options.sweep and os.path.exists(failed):
            with open(failed) as file:
                return file.read()
        failure = self.run_now()
        with open(failed if failure else done, "w") as file:
            file.write(failure or "")
        return failure

    def run_now(self):
        subprocess.run(["rm", "-rf", self.folder], check=True)
        os.makedirs(self.folder)
        paths = [os.path.join(HERE, "python"), self.megatron]
        if "uninstall_te" not in self.row["case"]:  # that case removes Apex itself
            paths.append(os.path.join(HERE, "apex_stand_in"))
        if self.flash and not self.options.flash:
            paths.append(os.path.join(HERE, "flash_attn_stand_in"))
        paths += filter(None, [os.environ.get("PYTHONPATH")])
        environment = dict(os.environ, **RUNNER, MEGATRON_LOG_EVERY_RANK="1", TORCHINDUCTOR_COMPILE_THREADS="1", PYTHONPATH=":".join(paths))
        environment.update(pair.split("=", 1) for pair in self.row["env"].split())
        environment["PATH"] = os.path.dirname(self.options.python) + ":" + environment["PATH"]
        if kind(self.row) in TEXT:
            self.prepare(environment)
        # Sinkhorn's routing evens the experts' tokens out; no kernel computes it here.
        balanced = ["--inject", "routing=balanced"] if "--num-experts" in self.row["args"] else []
        forked = [os.path.join(HERE, "forked.py")] if self.options.memory_only else []
        trace = ["--no-trace"] if self.options.memory_only else ["--trace-dir", "trace"]
        command = [self.options.maya_run, *balanced, "--device", self.device, *trace, "--world-size", str(self.world), "--gpus-per-node",
                   str(self.per_node), "--cluster", self.cluster, "--ranks", ",".join(map(str, self.ranks)), "--jobs", "1", "--",
                   self.options.python, *forked, os.path.join(self.megatron, self.program), *self.arguments()]
        with open(os.path.join(self.folder, "output"), "w") as output:
            try:
                status = subprocess.run(command, cwd=self.folder, env=environment, stdout=output, stderr=subprocess.STDOUT,
                                        timeout=self.options.limit).returncode
            except subprocess.TimeoutExpired:
                return f"took more than {self.options.limit} s"
        if status != 0:
            with open(os.path.join(self.folder, "output")) as output:
                text = output.read().splitlines()
            lines = [line for line in text if re.search(r"(Error|Exception)\b.*:", line)] or [line for line in text if "maya" in line]
            return (lines or ["no output"])[-1][:300]
        return None

    def memory(self):
        """{rank: (allocated at the end, peak of the first iteration, peak at the end)} as Megatron logged them."""
        kept, out = os.path.join(self.folder, "memory.json"), {}
        if os.path.exists(kept):
            with open(kept) as file:
                return {int(rank): tuple(values) for rank, values in json.load(file).items()}
        for rank in self.ranks:
            text = subprocess.run([self.options.python, "-c", READ, os.path.join(self.folder, "tensorboard", f"rank{rank}"), *SCALARS],
                                  text=True, capture_output=True, check=True).stdout
            values = {SCALARS[tag]: [int(value) for _, value in steps] for tag, steps in json.loads(text.splitlines()[-1]).items()}
            if "allocated" in values:
                out[rank] = (values["allocated"][-1], values["peak"][0], values["peak"][-1])
        with open(kept, "w") as file:
            json.dump(out, file)
        return out

    def stage(self, rank):
        return rank // (self.world // option(self.row["args"], "--pipeline-model-parallel-size", 1))

    def alone(self, rank):
        """What a rank of the same stage logged where it ran alone, of runs in the same folder; None where there is none."""
        for ranks in ("stages", "last"):
            kept = os.path.join(self.folder.replace("-all-", f"-{ranks}-"), "memory.json")
            if os.path.exists(kept):
                with open(kept) as file:
                    for other, values in json.load(file).items():
                        if self.stage(int(other)) == self.stage(rank):
                            return values
        return None

    def seconds(self, scale):
        run = subprocess.run([self.options.maya_run.replace("maya-run", "maya-predict"), "--json", "--host-scale", str(scale),
                              os.path.join(self.folder, "trace")], text=True, capture_output=True)
        if run.returncode not in (0, 1):
            return None
        return json.loads(run.stdout)["step_time_ms"]["median"] / 1e3


@functools.lru_cache(maxsize=None)
def knows(megatron, name):
    """Whether a checkout has an option, that a case may have got after it. Options are also made of the fields of classes."""
    stem = name.removeprefix("--").removeprefix("no-")
    words = [argument for word in (name, stem.replace("-", "_")) for argument in ("-e", word)]
    return subprocess.run(["git", "-C", megatron, "grep", "-qF", *words, "--", "*.py"], stderr=subprocess.DEVNULL).returncode != 1


def missing(megatron, arguments):
    return [name for name in re.findall(r"--[a-z][\w-]*", arguments) if not knows(megatron, name)]


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
    parser.add_argument("--ranks", choices=["all", "stages", "last"], default="all",
                        help="all live, or the first of each pipeline stage runs alone, or only the one that reads the data of the last rank, which is "
                        "the one that NVIDIA logs")
    parser.add_argument("--memory-only", action="store_true", help="no times: nothing is traced, and a rank is a copy of a process, which is faster")
    parser.add_argument("--as-recorded", action="store_true",
                        help="only rows recorded with this PyTorch, with the Megatron-LM that they were recorded with")
    parser.add_argument("--sweep", metavar="FOLDER", default="",
                        help="all rows by one rank (--ranks last), those recorded with this PyTorch with the Megatron-LM of their own commit; "
                        "what is in the folder is not run again, nor what failed (its folder is to be removed then)")
    parser.add_argument("--commit", default="", help="the Megatron-LM to run for rows that were recorded before it with another PyTorch [for all of those what --megatron holds]")
    parser.add_argument("--minutes", type=float, default=0, help="after so many minutes no further case is begun")
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
    if options.sweep:
        options.keep, options.ranks, options.memory_only = options.sweep, "last", True
    options.keep = os.path.abspath(options.keep or tempfile.mkdtemp(prefix="megatron-"))
    os.makedirs(options.keep, exist_ok=True)

    version = installed(options.python, "torch")
    engine = installed(options.python, "transformer_engine")
    options.flash = installed(options.python, "flash_attn")
    options.torch = tuple(map(int, version.split(".")[:2]))
    short = ".".join(version.split(".")[:2])
    with open(golden, newline="") as file:
        rows = [row for row in csv.DictReader(file) if re.search(options.cases, row["case"])]
    history = History(options.megatron, options.keep)
    cases, skipped, scored, began = {}, {}, [], time.monotonic()
    if options.sweep:  # what can be compared to the byte comes first, then what serves most rows
        served = collections.Counter((row["case"], row["gpu"]) for row in rows)
        rows.sort(key=lambda row: ((history.of(row) or [""] * 4)[3] != short, -served[row["case"], row["gpu"]]))
    for row in rows:
        reason, when = why_not(row, engine), history.of(row)
        same = when is not None and when[3] == short
        if reason is None and options.device and GPUS[row["gpu"]][0] != options.device:
            reason = "other device"
        if reason is None and options.as_recorded and not same:
            reason = f"recorded with PyTorch {when[3] if when else 'not known'}, and this is {version}"
        if reason is None:
            own = options.as_recorded or (options.sweep and same)
            commit = when[0] if own else options.commit
            megatron = checkout_at(options.megatron, commit, options.keep) if commit else options.megatron
            flash, others = bool(engine) and takes_flash(row, when), megatron
            if not own and commit and when is not None and (
                    when[1] > date_of(megatron) or missing(megatron, row["args"].replace("--verify-integrity", ""))):  # the row or its case is younger
                megatron = checkout_at(options.megatron, when[0], options.keep)
            if options.sweep and not Case(row, options, megatron, flash).known() and Case(row, options, others, flash).known():
                megatron = others  # what is there is not run again
            case = cases.setdefault((row["case"], row["gpu"], row["args"], row["env"], megatron, flash), Case(row, options, megatron, flash))
            if not hasattr(case, "failure"):
                if options.minutes and time.monotonic() - began > 60 * options.minutes and not case.known():
                    case.failure = "not reached yet"
                else:
                    compile_helper(megatron, options.python)
                    case.failure = case.run()
                    case.found = None if case.failure else case.memory()
                    print(f"run.py: {row['case']} on {case.device}: {case.failure or 'ran'}", file=sys.stderr, flush=True)
                    if case.found is not None and case.ranks[-1] not in case.found:
                        case.failure = "the last stage logged no memory"
            reason = case.failure if case.failure in (None, "not reached yet") else f"{row['case']}: {case.failure}"
            if reason is None:
                scored.append((row, case, when))
        if reason:
            skipped[reason] = skipped.get(reason, 0) + 1

    print(f"PyTorch {version}, Transformer Engine {engine or 'not installed'}, ranks: {options.ranks}. Bytes: allocated at the end, peak of the first "
          "iteration, peak at the end.\n")
    print("| case | GPU | software | recorded: commit, date, image, PyTorch | golden | Megatron-LM | ours, last rank | ours - golden | largest |\n"
          "|---|---|---|---|---|---|---|---|---|")
    errors = []
    for row, case, when in scored:
        wanted = [int(row[name]) for name in ("mem_allocated_bytes", "mem_max_allocated_first", "mem_max_allocated_last")]
        ours = list(case.found[case.ranks[-1]])
        differences = [o - w for o, w in zip(ours, wanted)]
        errors.append([d / w for d, w in zip(differences, wanted)])
        worst = max(map(abs, errors[-1]))
        print(f"| {row['case']} | {row['gpu'][:4]} | {row['software']} | {', '.join(map(str, when or ['not known']))} | {wanted} | "
              f"{case.commit} | {ours} | {differences} | "
              f"{100 * worst:.2f} % |")

    several = {id(case): case for _, case, _ in scored if case.live == "all" and len(case.found) > 1}
    if several:
        print("\nEvery rank, and what ranks of the same stage logged that ran alone:\n\n| case | GPU | ranks | all living | alone | living - alone |\n|---|---|---|---|---|---|")
        for case in several.values():
            alike = {}
            for rank, values in sorted(case.found.items()):
                alike.setdefault((case.stage(rank), tuple(values)), []).append(rank)
            for (_, values), ranks in alike.items():
                alone = case.alone(ranks[0])
                print(f"| {case.row['case']} | {case.row['gpu'][:4]} | {', '.join(map(str, ranks))} | {list(values)} | {alone or 'not run'} | "
                      f"{[a - b for a, b in zip(values, alone)] if alone else ''} |")

    # Eight ranks that live on a few cores hold each other up: only ranks that ran alone tell times.
    whole = {id(case): case for _, case, _ in scored if options.ranks == "stages" and len(case.found) == len(case.ranks)}
    times = {key: {scale: case.seconds(scale) for scale in SCALES} for key, case in whole.items()}
    timed = [(row, times[id(case)]) for row, case, _ in scored
             if row["iteration_time_s"] and id(case) in times and all(times[id(case)].values())]
    if scored:
        equal, within = sum(all(d == 0 for d in one) for one in errors), sum(max(map(abs, one)) <= 0.01 for one in errors)
        print(f"\n{len(errors)} rows, {equal} equal to the byte, {within} within 1 %, {sum(max(map(abs, one)) > 0.01 for one in errors)} beyond.")
    if timed:
        error = lambda scale: statistics.mean(abs(t[scale] / float(row["iteration_time_s"]) - 1) for row, t in timed)  # noqa: E731
        best = min(SCALES, key=error)
        print(f"\nIteration time, one host scale of {best} for all rows (the best of {SCALES}): mean error {100 * error(best):.1f} %, "
              f"{100 * error(1.0):.1f} % without (a scale of 1).\n")
        print("| case | GPU | software | golden s | predicted s, host scale 1 | error | predicted s, host scale " + str(best) + " | error |\n|---|---|---|---|---|---|---|---|")
        for row, t in timed:
            wanted = float(row["iteration_time_s"])
            told = " | ".join(f"{t[scale]:.3f} | {100 * (t[scale] / wanted - 1):+.1f} %" for scale in (1.0, best))
            print(f"| {row['case']} | {row['gpu'][:4]} | {row['software']} | {wanted:.3f} | {told} |")
    print("\nRows not run:")
    for reason, count in sorted(skipped.items()):
        print(f"- {count}: {reason}")


if __name__ == "__main__":
    main()
