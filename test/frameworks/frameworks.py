"""Runs the programs of this folder under Maya with their frameworks' own launchers and checks what every one of them must show.

A case ends with its "ok" line and status 0, leaves one complete trace a rank, calls the collectives that its parallelism calls (counted by
hand beside each case), and is predicted without an operation of unknown cost. Cases with nightly=True run only where MAYA_NIGHTLY is set.
"""
import collections
import dataclasses
import json
import os
import pathlib
import re
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))

from harness import BIN, ENVIRONMENTS, EndToEnd, python  # noqa: E402

# Object gathers are two all-gathers: sizes, then bytes. Every program ends with one (common.finish).
OBJECT_GATHER = 2
BYTES_KEY = 24  # kBytes of predictor/core/operation.h, as traces have it


@dataclasses.dataclass
class Case:
    name: str
    program: str
    ok: str  # the line without its number of ranks
    ranks: int = 2
    arguments: tuple = ()
    launcher: str = "torchrun"
    # Calls of one rank by name, or by name and bytes of the payload, or a function of the rank that gives them.
    counts: dict = dataclasses.field(default_factory=dict)
    options: tuple = ()  # maya-run's
    nightly: bool = False
    packages: tuple = ()  # further folders of packages
    timeout: int = 300


def torchrun(ranks):
    return ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks]


def launch(case):
    if case.launcher == "torchrun":
        return torchrun(case.ranks)
    if case.launcher == "deepspeed":
        return [python("frameworks").parent / "deepspeed", "--num_gpus", case.ranks, "--master_port", 20000 + os.getpid() % 10000]
    if case.launcher == "accelerate":
        return ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", case.ranks, "--num_machines", 1, "--mixed_precision", "bf16",
                "--dynamo_backend", "no", "--main_process_port", 30000 + os.getpid() % 10000]
    return []


class Frameworks(EndToEnd):
    def run_case(self, case):
        if case.nightly and not os.environ.get("MAYA_NIGHTLY"):
            self.skipTest("nightly: set MAYA_NIGHTLY=1, or run test/frameworks/nightly.sh")
        folders = [ENVIRONMENTS / p for p in case.packages]
        for folder in folders:
            if not folder.exists():
                self.skipTest(f"no packages {folder}: run test/environments.sh {folder.name}")
        program = [HERE / "programs" / case.program] if case.program.endswith(".py") else ["-m", case.program]
        variables = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(map(str, folders))}
        run = self.run_command([python("frameworks"), *launch(case), *program, *case.arguments], options=["--devices", str(case.ranks), *case.options], env=variables,
                               timeout=case.timeout)
        self.assertEqual(run.status, 0, run.explain())
        self.assertRegex(run.out + run.err, f"(?m){re.escape(case.ok)}", run.explain())
        self.check_traces(run, case)
        report = self.predict(run.trace_dir)
        self.assertTrue(report["complete"], report["warnings"])
        unknown = [o["name"][:80] for o in report["operations"] if o["provenance"] == "unknown"]
        self.assertEqual(report["provenance"]["unknown"], 0, unknown)
        return run, report

    def calls_of(self, trace):
        """Calls of NCCL in a trace, by name and by (name, bytes)."""
        calls, texts, described = collections.Counter(), {}, {}
        for line in self.tool("maya-trace", "dump", "--json", trace).stdout.splitlines():
            one = json.loads(line)
            packet = one["packet"]
            if one["kind"] == "string":
                texts[packet["string"]["id"]] = packet["string"].get("text", "")
            elif one["kind"] == "operation_descriptor":
                what = packet["operation_descriptor"]
                described[what["id"]] = (texts.get(what.get("api"), ""), dict(zip(what.get("keys", []), what.get("values", []))).get(BYTES_KEY, 0))
            elif one["kind"] == "operation" and described[packet["operation"]][0].startswith("nccl"):
                name, size = described[packet["operation"]]
                calls.update([name, (name, size)])
        return calls

    def check_traces(self, run, case):
        ranks = {}
        for trace in run.traces:
            text = self.tool("maya-trace", "stats", trace).stdout
            rank = re.search(r"rank (\d+) of (\d+)", text)
            if rank and "library operation" in text:
                self.assertRegex(text, ": complete")
                self.assertEqual(int(rank.group(2)), case.ranks)
                ranks[int(rank.group(1))] = self.calls_of(trace)
        self.assertEqual(sorted(ranks), list(range(case.ranks)), f"ranks with a trace, of {run.traces}")
        for rank, counted in ranks.items():
            wanted = case.counts(rank) if callable(case.counts) else case.counts
            self.assertEqual({name: counted.get(name, 0) for name in wanted}, wanted, f"rank {rank}: {counted}")


def main(cases):
    """Makes one test of each case and runs them."""
    for case in cases:
        def test(self, case=case):
            self.run_case(case)
        setattr(Frameworks, f"test_{case.name}", test)
    unittest.main(argv=sys.argv[:1] + sys.argv[1:], defaultTest=[f"Frameworks.test_{c.name}" for c in cases] if len(sys.argv) == 1 else None, verbosity=2)
