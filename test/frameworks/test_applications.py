"""What people use unmodified on top of PyTorch, on one device, each by its own trainer where it has one: programs/applications.py; all nightly.

Each must end with its "ok" line, give a complete trace, have its steps found, and have next to no device time of unknown cost.
"""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))

from harness import ENVIRONMENTS, EndToEnd, python  # noqa: E402

# Options of maya-run by case: what checks values that kernels compute, and mixtures of experts.
CHECKS = ("--inject", "checks=pass")
CASES = {"detector": (), "vision": (), "keras": (), "trainer": (), "forecast": (), "augment": CHECKS, "private": (), "process": (), "sound": ("--device", "a100-sxm-80"),
         "preference": (), "layers": (), "boxes": CHECKS, "languages": ("--inject", "routing=balanced")}
UNKNOWN = 0.01  # share of device time


class Applications(EndToEnd):
    def run_case(self, case):
        if not os.environ.get("MAYA_NIGHTLY"):
            self.skipTest("nightly: set MAYA_NIGHTLY=1, or run test/frameworks/nightly.sh")
        folders = [ENVIRONMENTS / name for name in ("applications", "ecosystem", "extensions")]
        for folder in folders:
            if not folder.exists():
                self.skipTest(f"no packages {folder}: run test/environments.sh {folder.name}")
        variables = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": os.pathsep.join(map(str, folders))}
        run = self.run_command([python("models"), HERE / "programs/applications.py", case], options=CASES[case], env=variables, timeout=900)
        self.assertEqual(run.status, 0, run.explain())
        self.assertIn(f"{case} ok", run.out, run.explain())
        report = self.predict(run.trace_dir)
        self.assertTrue(report["complete"], report["warnings"])
        self.assertNotEqual(report["steps"]["found_by"], "none")
        self.assertLess(report["provenance"]["unknown"], UNKNOWN)
        print(f"{case}: {report['step_time_ms']['median']:.1f} ms on {report['device']}", file=sys.stderr)


for one in CASES:
    setattr(Applications, f"test_{one}", lambda self, case=one: self.run_case(case))

if __name__ == "__main__":
    names = sys.argv[1:] or CASES
    unittest.main(argv=sys.argv[:1], defaultTest=[f"Applications.test_{name}" for name in names], verbosity=2)
