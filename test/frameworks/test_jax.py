"""JAX: a transformer trained on one device, and on two devices of one process. Nightly: JAX's packages are 1.3 GB."""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))

from harness import EndToEnd, python  # noqa: E402

STEPS = 4  # jax_train.py's default


class Jax(EndToEnd):
    def train(self, devices):
        if not os.environ.get("MAYA_NIGHTLY"):
            self.skipTest("nightly: set MAYA_NIGHTLY=1, or run test/frameworks/nightly.sh")
        interpreter = python("jax")
        # XLA runs ptxas while it compiles: that of the environment.
        compiler = next(interpreter.parent.parent.glob("lib/python*/site-packages/nvidia/cu13"))
        variables = {"PYTHONDONTWRITEBYTECODE": "1", "XLA_FLAGS": f"--xla_gpu_cuda_data_dir={compiler}",
                     "PATH": f"{compiler / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        run = self.run_command([interpreter, HERE / "programs/jax_train.py", "--devices", str(devices)], options=["--devices", str(devices)], env=variables,
                               timeout=1200)
        self.assertEqual(run.status, 0, run.explain())
        self.assertIn("ok", run.out.splitlines(), run.explain())
        report = self.predict(run.trace_dir)
        self.assertTrue(report["complete"], report["warnings"])
        # The program's steps, not XLA's timing of candidates for its kernels.
        self.assertEqual(report["steps"]["count"], STEPS, report["steps"])
        self.assertEqual(report["provenance"]["unknown"], 0, [o["name"][:80] for o in report["operations"] if o["provenance"] == "unknown"])
        self.assertFalse([o["name"] for o in report["operations"] if "stream_executor" in o["name"]])
        print(f"jax, {devices} devices: {report['step_time_ms']['median']:.2f} ms", file=sys.stderr)
        return report

    def test_one_device(self):
        report = self.train(1)
        self.assertFalse([o["name"] for o in report["operations"] if o["name"].startswith("nccl")])

    def test_two_devices_of_one_process(self):
        report = self.train(2)
        self.assertTrue([o["name"] for o in report["operations"] if o["name"] == "ncclAllReduce"])
        # All-reduces that XLA makes with a kernel of its own move data between devices, too.
        self.assertFalse([o for o in report["operations"] if o["name"].startswith("all_reduce_start") and o["family"] != "collective"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
