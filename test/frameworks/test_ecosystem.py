"""Libraries on top of PyTorch without kernels of their own, on one device: programs/ecosystem.py; all nightly.

Each must end with its "ok" line, give a complete trace, and have next to no device time of unknown cost.
"""
import sys
import unittest

from libraries import Libraries

CASES = "clip medical segmentation detection equivariant sentences lowrank speech policy grpo higher".split()


class Ecosystem(Libraries):
    def run_case(self, case):
        # -O: torch.distributions checks whether samples of unknown values are in range.
        self.run_library("ecosystem.py", case, ["ecosystem", "extensions"], interpreter=["-O"] if case == "policy" else [])


for one in CASES:
    setattr(Ecosystem, f"test_{one}", lambda self, case=one: self.run_case(case))

if __name__ == "__main__":
    names = sys.argv[1:] or CASES
    unittest.main(argv=sys.argv[:1], defaultTest=[f"Ecosystem.test_{name}" for name in names], verbosity=2)
