"""Convolutional, recurrent, recommendation and mixture-of-experts models on one device: programs/vision.py, three steps each.

Each must end with its "ok" line, give a complete trace, and be predicted with no operation of unknown cost. Library calls are counted by hand: a convolution is a forward call
and one each for the gradients of its filters and of its input, of which the first layer has none; a report counts the two steps that are not warm-up.
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

from harness import ENVIRONMENTS, EndToEnd, python  # noqa: E402

COUNTED_STEPS = 2
GEMM = 1  # Family::kGemm and kM, kN, kK of predictor/core/operation.h, as traces have them
SIZE_KEYS = (1, 2, 3)


def convolutions(number):
    return {"cudnnBackendExecute": 3 * number - 1}


def recurrent(more=()):
    return {"cudnnRNNForward": 1, "cudnnRNNBackwardData_v8": 1, "cudnnRNNBackwardWeights_v8": 1, **dict(more)}


@dataclasses.dataclass
class Case:
    name: str
    model: str
    environment: str = "lean"
    arguments: tuple = ()
    calls: dict = dataclasses.field(default_factory=dict)  # of one step
    millions: float = 0  # parameters, as published; 0: not compared
    nightly: bool = False
    packages: tuple = ()
    options: tuple = ()  # maya-run's
    products: dict = dataclasses.field(default_factory=dict)  # matrix products of all steps by (m, n, k), as cuBLAS means them
    says: str = ""  # a line of maya-run's
    variables: dict = dataclasses.field(default_factory=dict)


CASES = [
    # Five blocks down and four up of two convolutions, four transposed ones, and the last.
    Case("unet", "unet", calls=convolutions(5 * 2 + 4 * 2 + 4 + 1), millions=31.0),
    Case("unet_benchmark", "unet", arguments=("--benchmark", "--image", "64"), calls=convolutions(23)),
    Case("unet_fp32", "unet", arguments=("--dtype", "fp32", "--no-tf32", "--image", "64"), calls=convolutions(23)),
    Case("cnn", "cnn"),
    Case("lstm", "lstm", calls=recurrent()),
    Case("gru", "gru", calls=recurrent(), nightly=True),
    Case("ctc", "ctc", calls=recurrent({"cudnnCTCLoss": 1})),
    Case("dlrm", "dlrm"),
    # Its router depends on unknown results, and Maya says so.
    Case("mixtral", "mixtral", "frameworks", ("--batch", "4"), says="the choice of 2 of 8 for 2048 rows"),
    # 4 x 512 tokens to 2 of 8 experts each: 512 an expert. In 4 layers and 3 steps every expert multiplies them with its gate and up projection (7168 x 1024) and its down
    # projection (1024 x 3584), and has a product for the gradient of each one's input and of each one's weights.
    Case("mixtral_balanced", "mixtral", "frameworks", ("--batch", "4", "--loop-over-experts"), options=("--inject", "routing=balanced"),
         products={size: 8 * 4 * 3 for size in ((7168, 512, 1024), (1024, 512, 3584), (1024, 512, 7168), (3584, 512, 1024), (1024, 7168, 512), (3584, 1024, 512))}),
    # 53, 13 and 1 convolutions; parameters as torchvision documents them.
    Case("resnet50", "resnet50", "models", calls=convolutions(53), millions=25.6, nightly=True),
    Case("resnet50_benchmark", "resnet50", "models", ("--benchmark", "--channels-last"), convolutions(53), nightly=True),
    Case("resnet50_operation_api", "resnet50", "models", ("--dtype", "fp16"), nightly=True, variables={"TORCH_CUDNN_V8_API_DISABLED": "1"},
         calls={"cudnnConvolutionForward": 53, "cudnnConvolutionBackwardFilter": 53, "cudnnConvolutionBackwardData": 52}),
    Case("vgg16", "vgg16", "models", calls=convolutions(13), millions=138.4, nightly=True),
    Case("vit", "vit_b_16", "models", millions=86.6, nightly=True),
    Case("stable_diffusion_unet", "sd_unet", "models", ("--batch", "4"), millions=859.5, nightly=True, packages=("diffusers",)),
]


class Vision(EndToEnd):
    def run_case(self, case):
        if case.nightly and not os.environ.get("MAYA_NIGHTLY"):
            self.skipTest("nightly: set MAYA_NIGHTLY=1, or run test/frameworks/nightly.sh")
        folders = [ENVIRONMENTS / p for p in case.packages]
        for folder in folders:
            if not folder.exists():
                self.skipTest(f"no packages {folder}: run test/environments.sh {folder.name}")
        variables = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(map(str, folders)), **case.variables}
        run = self.run_command([python(case.environment), HERE / "programs/vision.py", case.model, *case.arguments], options=case.options, env=variables, timeout=300)
        self.assertEqual(run.status, 0, run.explain())
        self.assertIn(f"{case.model} ok, {case.millions or ''}", run.out, run.explain())
        self.assertIn(case.says, run.err)
        self.assertEqual("routing=balanced" in run.err, bool(case.says), run.explain())
        self.check_products(run, case)
        report = self.predict(run.trace_dir)
        self.assertTrue(report["complete"], report["warnings"])
        self.assertEqual(report["steps"]["count"] - report["steps"]["warm_up"], COUNTED_STEPS, report["steps"])
        self.assertEqual(report["provenance"]["unknown"], 0, [o["name"][:80] for o in report["operations"] if o["provenance"] == "unknown"])
        counted = {o["name"]: o["count"] for o in report["operations"]}
        self.assertEqual({name: counted.get(name) for name in case.calls}, {name: n * COUNTED_STEPS for name, n in case.calls.items()})
        print(f"{case.name}: {report['step_time_ms']['median']:.1f} ms on {report['device']}", file=sys.stderr)

    def check_products(self, run, case):
        if not case.products:
            return
        described, calls = {}, []
        for line in self.tool("maya-trace", "dump", "--json", run.traces[0]).stdout.splitlines():
            one = json.loads(line)
            packet = one["packet"].get(one["kind"])
            if one["kind"] == "operation_descriptor" and packet["family"] == GEMM:
                values = dict(zip(packet["keys"], packet["values"]))
                described[packet["id"]] = tuple(values[key] for key in SIZE_KEYS)
            elif one["kind"] == "operation":
                calls.append(packet)
        counted = collections.Counter(described[call] for call in calls if call in described)
        self.assertEqual({size: counted[size] for size in case.products}, case.products, counted)


def add(case):
    setattr(Vision, f"test_{case.name}", lambda self: self.run_case(case))


for one in CASES:
    add(one)

if __name__ == "__main__":
    names = sys.argv[1:] or [case.name for case in CASES]
    unittest.main(argv=sys.argv[:1], defaultTest=[f"Vision.test_{name}" for name in names], verbosity=2)
