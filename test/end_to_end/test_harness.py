"""The limits that end programs of the end-to-end tests."""
import os
import pathlib
import sys
import tempfile
import time
import unittest

from harness import LEAST_SHARE, Run, share_of_second


class Limits(unittest.TestCase):
    def test_share_of_second(self):
        # Two processors: up to two threads run at once, of eight each gets a quarter of the time.
        self.assertEqual([share_of_second(n, 2) for n in (0, 1, 2, 4, 8, 1000)], [1, 1, 1, 0.5, 0.25, LEAST_SHARE])

    def run_here(self, program, limit):
        with tempfile.TemporaryDirectory() as scratch:
            return Run([sys.executable, "-c", program], dict(os.environ), pathlib.Path(scratch), limit, scratch)

    def test_in_time(self):
        run = self.run_here("print('done')", 60)
        self.assertEqual((run.status, run.out, run.limit), (0, "done\n", None))

    def test_ends_what_a_program_started(self):
        run = self.run_here("import subprocess, sys, time\n"
                            "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid, flush=True)\ntime.sleep(600)", 2)
        self.assertEqual(run.status, -9)
        self.assertIn("ended by the test after its limit of 2 s", run.explain())
        child = pathlib.Path("/proc", run.out.strip(), "stat")
        for _ in range(100):  # an orphan goes, or stays as a zombie where nobody collects it
            if not child.exists() or child.read_text().split(")")[1].split()[0] == "Z":
                return
            time.sleep(0.1)
        self.fail(f"child {run.out.strip()} still runs")


if __name__ == "__main__":
    unittest.main(verbosity=2)
