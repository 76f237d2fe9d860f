"""Runs the programs of this folder under Maya with their frameworks' own launchers and checks what every one of them must show.

A case ends with its "ok" line and status 0, leaves one complete trace a rank, calls the collectives that its parallelism calls (counted by
hand beside each case), and is predicted without an operation of unknown cost. Cases with nightly=True run only where MAYA_NIGHTLY is set.
"""
import collections
import dataclasses
import json
import os
import pathlib
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
    no_model: str = ""  # kernels whose names begin so are of unknown cost, and no others


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
        self.assertIn(case.ok, run.out, run.explain())
        self.check_traces(run, case)
        report = self.predict(run.trace_dir)
        self.assertTrue(report["complete"], report["warnings"])
        unknown = [o["name"][:80] for o in report["operations"] if o["provenance"] == "unknown"]
        if case.no_model:
            unknown = [name for name in unknown if not name.startswith(case.no_model)]
        else:
            self.assertEqual(report["provenance"]["unknown"], 0, unknown)
        self.assertEqual(unknown, [])
        return run, report

    def read_trace(self, trace):
        """The rank and the size of the world of a trace, and its calls of NCCL by name and by (name, bytes). None where it has no work."""
        texts, described, operations, rank = {}, {}, [], None
        for line in self.tool("maya-trace", "dump", "--json", trace).stdout.splitlines():
            one = json.loads(line)
            kind, packet = one["kind"], one["packet"].get(one["kind"])
            if kind == "string":
                texts[packet["id"]] = packet.get("text", "")
            elif kind == "process":
                rank = (packet.get("rank", 0), packet["world_size"]) if min(packet.get("rank", 0), packet.get("world_size", -1)) >= 0 else None
            elif kind == "communicator" and rank is None:  # a launcher that sets no RANK: the first communicator has everyone
                rank = (packet.get("rank", 0), packet["ranks"])
            elif kind == "operation_descriptor":
                size = dict(zip(packet.get("keys", []), packet.get("values", []))).get(BYTES_KEY, 0)
                described[packet["id"]] = (packet.get("api"), size)
            elif kind == "operation":
                operations.append(packet)
        if not operations or rank is None:
            return None
        calls = collections.Counter()  # in the file, a thread's packets may come before another's that describe them
        for api, size in map(described.get, operations):
            if texts.get(api, "").startswith("nccl"):
                calls.update([texts[api], (texts[api], size)])
        return (*rank, calls)

    def check_traces(self, run, case):
        ranks = {}
        for trace in run.traces:
            found = self.read_trace(trace)
            if found is not None:  # a launcher asks for devices and works on none
                self.assertEqual(found[1], case.ranks)
                self.assertRegex(self.tool("maya-trace", "check", trace).stdout, r"\bcomplete")
                ranks[found[0]] = found[2]
        self.assertEqual(sorted(ranks), list(range(case.ranks)), f"ranks with a trace, of {run.traces}")
        for rank, counted in ranks.items():
            wanted = case.counts(rank) if callable(case.counts) else case.counts
            self.assertEqual({call: counted.get(call, 0) for call in wanted}, wanted, f"rank {rank}: {counted}")


def main(cases):
    """Makes one test of each case and runs them."""
    for case in cases:
        def test(self, case=case):
            self.run_case(case)
        setattr(Frameworks, f"test_{case.name}", test)
    names = sys.argv[1:] or [case.name for case in cases]
    unittest.main(module=sys.modules[__name__], argv=sys.argv[:1], defaultTest=[f"Frameworks.test_{name}" for name in names], verbosity=2)
