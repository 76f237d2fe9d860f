"""Cases of one device that run a program of this folder on packages from folders before those of the environment `models`; all nightly."""
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))

from harness import ENVIRONMENTS, EndToEnd, python  # noqa: E402

UNKNOWN = 0.01  # share of device time: CTC, weight norm and bilinear gradients of channels last have no rule


class Libraries(EndToEnd):
    def run_library(self, program, case, packages, options=(), interpreter=()):
        """Runs `program case`, which must end with its "ok" line and a complete trace with next to no time of unknown cost. Returns the report.

        `packages`: names of folders of packages; `options`: maya-run's; `interpreter`: Python's.
        """
        if not os.environ.get("MAYA_NIGHTLY"):
            self.skipTest("nightly: set MAYA_NIGHTLY=1, or run test/frameworks/nightly.sh")
        folders = [ENVIRONMENTS / name for name in packages]
        for folder in folders:
            if not folder.exists():
                self.skipTest(f"no packages {folder}: run test/environments.sh {folder.name}")
        variables = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": os.pathsep.join(map(str, folders))}
        run = self.run_command([python("models"), *interpreter, HERE / "programs" / program, case], options=options, env=variables, timeout=900)
        self.assertEqual(run.status, 0, run.explain())
        self.assertIn(f"{case} ok", run.out, run.explain())
        report = self.predict(run.trace_dir)
        self.assertTrue(report["complete"], report["warnings"])
        self.assertLess(report["provenance"]["unknown"], UNKNOWN)
        print(f"{case}: {report['step_time_ms']['median']:.1f} ms on {report['device']}", file=sys.stderr)
        return report
