"""Libraries and language features that bring kernels of their own, on one device: programs/extensions.py, three steps each; all nightly.

Each must end with its "ok" line, give a complete trace, and have no operation of unknown cost.
"""
import dataclasses
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))

from harness import ENVIRONMENTS, EndToEnd, python  # noqa: E402


@dataclasses.dataclass
class Case:
    name: str
    packages: tuple = ("extensions",)
    timeout: int = 300


CASES = [
    Case("bitsandbytes"),
    Case("liger"),
    Case("gcn"),
    Case("neighbours"),
    Case("vit"),
    Case("dit", packages=("diffusers",)),
    Case("dynamic", packages=()),
    Case("flex", packages=(), timeout=600),
    Case("fp8"),
    Case("tma", packages=()),
    Case("sft"),
    Case("llava", packages=()),
]


class Extensions(EndToEnd):
    def run_case(self, case):
        if not os.environ.get("MAYA_NIGHTLY"):
            self.skipTest("nightly: set MAYA_NIGHTLY=1, or run test/frameworks/nightly.sh")
        folders = [ENVIRONMENTS / p for p in case.packages]
        for folder in folders:
            if not folder.exists():
                self.skipTest(f"no packages {folder}: run test/environments.sh {folder.name}")
        variables = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(map(str, folders))}
        run = self.run_command([python("models"), HERE / "programs/extensions.py", case.name], env=variables, timeout=case.timeout)
        self.assertEqual(run.status, 0, run.explain())
        self.assertIn(f"{case.name} ok", run.out, run.explain())
        report = self.predict(run.trace_dir)
        self.assertTrue(report["complete"], report["warnings"])
        self.assertEqual([o["name"][:90] for o in report["operations"] if o["provenance"] == "unknown"], [])
        print(f"{case.name}: {report['step_time_ms']['median']:.1f} ms on {report['device']}", file=sys.stderr)


for one in CASES:
    setattr(Extensions, f"test_{one.name}", lambda self, case=one: self.run_case(case))

if __name__ == "__main__":
    names = sys.argv[1:] or [case.name for case in CASES]
    unittest.main(argv=sys.argv[:1], defaultTest=[f"Extensions.test_{name}" for name in names], verbosity=2)
