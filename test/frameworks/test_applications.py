"""What people use unmodified on top of PyTorch, on one device, each by its own trainer where it has one: programs/applications.py; all nightly.

Each must end with its "ok" line, give a complete trace, have its steps found, and have next to no device time of unknown cost.
"""
import sys
import unittest

from libraries import Libraries

# Options of maya-run by case: what checks values that kernels compute, and mixtures of experts.
CHECKS = ("--inject", "checks=pass")
CASES = {"detector": (), "vision": (), "keras": (), "trainer": (), "forecast": (), "augment": CHECKS, "private": (), "process": (), "sound": ("--device", "a100-sxm-80"),
         "preference": (), "layers": (), "boxes": CHECKS, "languages": ("--inject", "routing=balanced")}


class Applications(Libraries):
    def run_case(self, case):
        report = self.run_library("applications.py", case, ["applications", "ecosystem", "extensions"], options=CASES[case])
        self.assertNotEqual(report["steps"]["found_by"], "none")


for one in CASES:
    setattr(Applications, f"test_{one}", lambda self, case=one: self.run_case(case))

if __name__ == "__main__":
    names = sys.argv[1:] or CASES
    unittest.main(argv=sys.argv[:1], defaultTest=[f"Applications.test_{name}" for name in names], verbosity=2)
