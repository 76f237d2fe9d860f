"""vLLM: offline generation with dummy weights, its default runner, eagerly and compiled with CUDA graphs. Nightly: vLLM's packages are 5 GB."""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))

from harness import EndToEnd, python  # noqa: E402

LAYERS, TOKENS = 4, 16  # vllm_generate.py's defaults
KERNELS_OF_LAYER = {"reshape_and_cache": 1, "flash::FlashAttnFwdSm90": 1}  # appends to the cache, and attends to it


def launches(report, part):
    return sum(o["count"] for o in report["operations"] if part in o["name"])


class Vllm(EndToEnd):
    def generate(self, *arguments, devices=1):
        if not os.environ.get("MAYA_NIGHTLY"):
            self.skipTest("nightly: set MAYA_NIGHTLY=1, or run test/frameworks/nightly.sh")
        interpreter = python("vllm")
        variables = {"PYTHONDONTWRITEBYTECODE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1",
                     "PATH": f"{interpreter.parent}{os.pathsep}{os.environ['PATH']}",
                     "VLLM_USE_FLASHINFER_SAMPLER": "0",  # it would be compiled with nvcc
                     "VLLM_CACHE_ROOT": str(self.scratch / "vllm")}
        run = self.run_command([interpreter, HERE / "programs/vllm_generate.py", "--layers", str(LAYERS), *arguments], options=["--devices", devices], env=variables, timeout=2400)
        self.assertEqual(run.status, 0, run.explain())
        self.assertIn("ok", run.out.splitlines(), run.explain())
        report = self.predict(run.trace_dir)
        # vLLM gives workers of a group 5 seconds to end, too little on a machine that is overloaded.
        self.assertTrue(report["complete"] or devices > 1, report["warnings"])
        return report

    def check(self, mode, *arguments, devices=1):
        report = self.generate(*arguments, devices=devices)
        # A step is one token of each prompt. The first token comes with the prompts, which is a step of its own and, like what vLLM tries out before, does not count.
        steps = report["steps"]["count"] - report["steps"]["warm_up"]
        self.assertEqual(steps, TOKENS - 1)
        self.assertEqual(launches(report, "_post_update_kernel"), steps)
        for part, count in KERNELS_OF_LAYER.items():
            self.assertEqual(launches(report, part), count * LAYERS * steps, part)
        # Of its own all-reduce, one after the embedding and two a layer.
        self.assertEqual(launches(report, "cross_device_reduce"), 0 if devices == 1 else (1 + 2 * LAYERS) * steps)
        print(f"vllm, {mode}: {report['step_time_ms']['median']:.2f} ms a token, unknown {report['provenance']['unknown']:.3f}", file=sys.stderr)

    def test_eager(self):
        self.check("eager")

    def test_compiled(self):
        self.check("compiled", "--compiled")

    def test_tensor_parallel(self):
        self.check("2 devices", "--tensor", "2", devices=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
