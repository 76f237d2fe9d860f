"""Libraries on top of PyTorch without kernels of their own, on one device: programs/ecosystem.py; all nightly.

Each must end with its "ok" line, give a complete trace, and have next to no device time of unknown cost.
"""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))

from harness import ENVIRONMENTS, EndToEnd, python  # noqa: E402

CASES = "clip medical segmentation detection equivariant sentences lowrank speech policy grpo higher".split()
UNKNOWN = 0.01  # share of device time: CTC, weight norm and bilinear gradients of channels last have no rule


class Ecosystem(EndToEnd):
    def run_case(self, case):
        if not os.environ.get("MAYA_NIGHTLY"):
            self.skipTest("nightly: set MAYA_NIGHTLY=1, or run test/frameworks/nightly.sh")
        folders = [ENVIRONMENTS / name for name in ("ecosystem", "extensions")]
        for folder in folders:
            if not folder.exists():
                self.skipTest(f"no packages {folder}: run test/environments.sh {folder.name}")
        variables = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": os.pathsep.join(map(str, folders))}
        # -O: torch.distributions checks whether samples of unknown values are in range.
        run = self.run_command([python("models"), *(["-O"] if case == "policy" else []), HERE / "programs/ecosystem.py", case], env=variables, timeout=900)
        self.assertEqual(run.status, 0, run.explain())
        self.assertIn(f"{case} ok", run.out, run.explain())
        report = self.predict(run.trace_dir)
        self.assertTrue(report["complete"], report["warnings"])
        self.assertLess(report["provenance"]["unknown"], UNKNOWN)
        print(f"{case}: {report['step_time_ms']['median']:.1f} ms on {report['device']}", file=sys.stderr)


for one in CASES:
    setattr(Ecosystem, f"test_{one}", lambda self, case=one: self.run_case(case))

if __name__ == "__main__":
    names = sys.argv[1:] or CASES
    unittest.main(argv=sys.argv[:1], defaultTest=[f"Ecosystem.test_{name}" for name in names], verbosity=2)
