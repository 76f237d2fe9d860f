"""Convolutional, recurrent, recommendation and mixture-of-experts models on one device: programs/vision.py, three steps each.

Each must end with its "ok" line, give a complete trace, and be predicted with no operation of unknown cost. Library calls are counted by hand: a convolution is a forward call
and one each for the gradients of its filters and of its input, of which the first layer has none; a report counts the two steps that are not warm-up.
"""
import dataclasses
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))

from harness import ENVIRONMENTS, EndToEnd, python  # noqa: E402

COUNTED_STEPS = 2


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
    Case("mixtral", "mixtral", "frameworks", ("--batch", "4")),
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
        run = self.run_command([python(case.environment), HERE / "programs/vision.py", case.model, *case.arguments], env=variables, timeout=300)
        self.assertEqual(run.status, 0, run.explain())
        self.assertIn(f"{case.model} ok, {case.millions or ''}", run.out, run.explain())
        report = self.predict(run.trace_dir)
        self.assertTrue(report["complete"], report["warnings"])
        self.assertEqual(report["steps"]["count"] - report["steps"]["warm_up"], COUNTED_STEPS, report["steps"])
        self.assertEqual(report["provenance"]["unknown"], 0, [o["name"][:80] for o in report["operations"] if o["provenance"] == "unknown"])
        counted = {o["name"]: o["count"] for o in report["operations"]}
        self.assertEqual({name: counted.get(name) for name in case.calls}, {name: n * COUNTED_STEPS for name, n in case.calls.items()})
        print(f"{case.name}: {report['step_time_ms']['median']:.1f} ms on {report['device']}", file=sys.stderr)


def add(case):
    setattr(Vision, f"test_{case.name}", lambda self: self.run_case(case))


for one in CASES:
    add(one)

if __name__ == "__main__":
    names = sys.argv[1:] or [case.name for case in CASES]
    unittest.main(argv=sys.argv[:1], defaultTest=[f"Vision.test_{name}" for name in names], verbosity=2)
