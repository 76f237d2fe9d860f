"""Profiles of torch.profiler under emulation, read by Meta's Holistic Trace Analysis. Nightly: its packages are not needed otherwise."""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))

from harness import EndToEnd, python  # noqa: E402

LAYERS, STEPS = 8, 3  # of profiled_ddp.py; three steps are recorded


class Profile(EndToEnd):
    def test_holistic_trace_analysis(self):
        if not os.environ.get("MAYA_NIGHTLY"):
            self.skipTest("nightly: set MAYA_NIGHTLY=1, or run test/frameworks/nightly.sh")
        folder = self.scratch / "profiles"
        folder.mkdir()
        run = self.run_command([python("lean"), HERE / "programs/profiled_ddp.py", folder],
                               options=["--devices", "2", "--world-size", "2", "--gpus-per-node", "2", "--ranks", "all"])
        self.assertEqual(run.status, 0, run.explain())
        analysis = subprocess.run([python("hta"), HERE / "analyse_profile.py", folder], text=True, capture_output=True)
        self.assertEqual(analysis.returncode, 0, analysis.stderr[-3000:])
        found = json.loads(analysis.stdout)
        # 8 layers' products of 4,096 x 2,048 x 2,048 are nearly everything; gradients are reduced beside them.
        self.assertGreater(sum(share for kind, share in found["kinds"].items() if "COMPUTATION" in kind), 90)
        self.assertIn("COMPUTATION overlapping COMMUNICATION", found["kinds"])
        for compute, idle, overlap in zip(found["compute_percent"], found["idle_percent"], found["overlap_percent"]):
            self.assertLess(compute + idle, 100.1)
            # DDP reduces gradients while the backward pass goes on: all buckets but the last.
            self.assertGreater(overlap, 50)
            self.assertLess(overlap, 100)
        self.assertGreaterEqual(found["least_launch_delay_us"], 0)  # no kernel before its launch
        self.assertTrue(found["critical_path"])
        for profile in folder.glob("*.json.gz"):
            with gzip.open(profile) as file:
                events = json.load(file)["traceEvents"]
            kernels = [e for e in events if e.get("cat") == "kernel"]
            # A product of each layer forward, of each layer's weight and of all inputs but the first backward.
            self.assertEqual(sum("cublas" in e["name"] for e in kernels), STEPS * (3 * LAYERS - 1))
            launched = {e["args"]["correlation"] for e in events if e["name"] == "cudaLaunchKernel"}
            self.assertEqual({e["args"]["correlation"] for e in kernels}, launched)


if __name__ == "__main__":
    unittest.main(verbosity=2)
