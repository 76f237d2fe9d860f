"""vLLM: offline generation with dummy weights, its default runner, eagerly and compiled with CUDA graphs. Nightly: vLLM's packages are 5 GB."""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))

from harness import EndToEnd, python  # noqa: E402

LAYERS = 4  # vllm_generate.py's default
KERNELS_OF_LAYER = {"reshape_and_cache": 1, "flash::FlashAttnFwdSm90": 1}  # appends to the cache, and attends to it


def launches(report, part):
    return sum(o["count"] for o in report["operations"] if part in o["name"])


class Vllm(EndToEnd):
    def generate(self, *arguments):
        if not os.environ.get("MAYA_NIGHTLY"):
            self.skipTest("nightly: set MAYA_NIGHTLY=1, or run test/frameworks/nightly.sh")
        interpreter = python("vllm")
        variables = {"PYTHONDONTWRITEBYTECODE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1",
                     "PATH": f"{interpreter.parent}{os.pathsep}{os.environ['PATH']}",
                     "VLLM_USE_FLASHINFER_SAMPLER": "0",  # it would be compiled with nvcc
                     "VLLM_CACHE_ROOT": str(self.scratch / "vllm")}
        run = self.run_command([interpreter, HERE / "programs/vllm_generate.py", "--layers", str(LAYERS), *arguments], env=variables, timeout=2400)
        self.assertEqual(run.status, 0, run.explain())
        self.assertIn("ok", run.out.splitlines(), run.explain())
        report = self.predict(run.trace_dir)
        self.assertTrue(report["complete"], report["warnings"])
        return report

    def test_eager(self):
        report = self.generate()
        # What repeats is one or a few tokens of each prompt: a kernel counts them, once a token.
        tokens = launches(report, "_post_update_kernel")
        self.assertGreater(tokens, 0)
        for part, count in KERNELS_OF_LAYER.items():
            self.assertEqual(launches(report, part), count * LAYERS * tokens, part)
        time_ms = report["step_time_ms"]["median"] * (report["steps"]["count"] - report["steps"]["warm_up"]) / tokens
        print(f"vllm: {time_ms:.2f} ms a token, unknown {report['provenance']['unknown']:.3f}", file=sys.stderr)

    def test_compiled(self):
        # What repeats most often here is a part of vLLM's warm-up.
        report = self.generate("--compiled")
        print(f"vllm, compiled: unknown {report['provenance']['unknown']:.3f}", file=sys.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
