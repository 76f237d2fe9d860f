"""A layer of Transformer Engine, three steps in bf16 and in each way of scaling 8-bit floats, and split over two ranks: programs/engine_layer.py; all nightly.

Each must end with its "ok" line, give a complete trace, make the products, attention calls and collectives counted by hand here, and be predicted with no operation of unknown
cost. FlashAttention is a package of its own that has no wheel and is not run.
"""
import collections
import dataclasses
import json
import os
import sys

from frameworks import ENVIRONMENTS, HERE, Frameworks, python, torchrun, unittest

STEPS = 3
# A layer multiplies by four weights (query, key and value; projection; both of the feed-forward part): forward, for the gradient of the input, and for that of the weight.
PRODUCTS = {"cublasLtMatmul": 4 * 3 * STEPS}
FUSED = {**PRODUCTS, "cudnnBackendExecute": 2 * STEPS}  # forward and backward
# Scores and their product with the values, two gradients for each.
UNFUSED = {**PRODUCTS, "cublasGemmStridedBatchedEx": (2 + 2 * 2) * STEPS, "cudnnBackendExecute": 0}
# Tokens are split outside the products. Query, key and value, and the first feed-forward product, gather tokens forward, gather them again for the weight's gradient and scatter the
# input's gradient; the other two scatter forward and gather the gradient.
SPLIT = {**FUSED, "ncclAllGather": 2 * (2 + 1) * STEPS, "ncclReduceScatter": 2 * (1 + 1) * STEPS}
BARRIER = 1
# The largest values of tensors, of forward and backward ones.
DELAYED = {"ncclAllReduce": 2 * STEPS + BARRIER}


@dataclasses.dataclass
class Case:
    name: str
    calls: dict
    arguments: tuple = ()
    ranks: int = 1
    device: str = "h100-sxm"


CASES = [
    Case("bf16", FUSED),
    Case("bf16_a100", FUSED, device="a100-sxm-80"),
    Case("unfused_attention", UNFUSED, ("--attention", "unfused")),
    Case("gated", FUSED, ("--gated",)),
    Case("fp8_delayed", FUSED, ("--recipe", "delayed")),
    Case("fp8_current", FUSED, ("--recipe", "current")),
    Case("fp8_block", FUSED, ("--recipe", "block")),
    Case("mxfp8", FUSED, ("--recipe", "mxfp8"), device="b200-sxm"),
    Case("split", SPLIT, ranks=2),
    Case("split_fp8_delayed", SPLIT | DELAYED, ("--recipe", "delayed"), ranks=2),
]


class Engine(Frameworks):
    def run_case(self, case):
        if not os.environ.get("MAYA_NIGHTLY"):
            self.skipTest("nightly: set MAYA_NIGHTLY=1, or run test/frameworks/nightly.sh")
        packages = ENVIRONMENTS / "transformer-engine"
        if not packages.exists():
            self.skipTest(f"no packages {packages}: run test/environments.sh transformer-engine")
        launcher = torchrun(case.ranks) if case.ranks > 1 else []
        variables = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(packages)}
        run = self.run_command([python("frameworks"), *launcher, HERE / "programs/engine_layer.py", *case.arguments],
                               options=["--device", case.device, "--devices", str(case.ranks)], env=variables, timeout=900)
        self.assertEqual(run.status, 0, run.explain())
        self.assertEqual(run.out.count("engine_layer ok"), case.ranks, run.explain())
        counted = [calls for calls in map(self.library_calls, run.traces) if calls]
        self.assertEqual([{name: calls[name] for name in case.calls} for calls in counted], [case.calls] * case.ranks)
        report = self.predict(run.trace_dir)
        self.assertTrue(report["complete"], report["warnings"])
        self.assertEqual(report["steps"]["count"], STEPS)
        self.assertEqual(report["provenance"]["unknown"], 0, [o["name"][:80] for o in report["operations"] if o["provenance"] == "unknown"])
        print(f"{case.name}: {report['step_time_ms']['median']:.1f} ms on {report['device']}", file=sys.stderr)

    def library_calls(self, trace):
        """Calls of libraries by name; empty for a launcher, which has none."""
        texts, described, operations = {}, {}, []
        for line in self.tool("maya-trace", "dump", "--json", trace).stdout.splitlines():
            one = json.loads(line)
            packet = one["packet"].get(one["kind"])
            if one["kind"] == "string":
                texts[packet["id"]] = packet.get("text", "")
            elif one["kind"] == "operation_descriptor":
                described[packet["id"]] = packet.get("api")
            elif one["kind"] == "operation":
                operations.append(packet)
        return collections.Counter(texts[described[one]] for one in operations)


for one in CASES:
    setattr(Engine, f"test_{one.name}", lambda self, case=one: self.run_case(case))

if __name__ == "__main__":
    names = sys.argv[1:] or [case.name for case in CASES]
    unittest.main(argv=sys.argv[:1], defaultTest=[f"Engine.test_{name}" for name in names], verbosity=2)
