"""gpt.py in every way of picking up the libraries and with every option set that users are told works."""
import re
import sys
import unittest

from harness import EndToEnd, WAYS

OPTION_SETS = {
    "default": [],
    "fp16": "--precision fp16 --optimizer foreach --workers 2 --pin --checkpoint".split(),
    "fp32": "--precision fp32 --optimizer loop".split(),
}
GIB = 1 << 30
DOCUMENTED_KEYS = {"format", "device", "ranks", "complete", "steps", "step_time_ms", "breakdown_ms", "memory", "provenance", "operations", "warnings"}


class Gpt(EndToEnd):
    def check_run(self, run):
        self.assertEqual(run.status, 0, run.explain())
        self.assertEqual(len(re.findall(r"^step \d", run.out, re.M)), 3, run.explain())
        self.assertEqual(len(run.traces), 1, run.traces)

    def check_prediction(self, run, steps=((3, 1),)):
        report = self.predict(run.trace_dir)
        self.assertLessEqual(DOCUMENTED_KEYS, set(report))
        self.assertTrue(report["complete"])
        self.assertEqual(report["memory"]["verdict"], "fits")
        self.assertIn((report["steps"]["count"], report["steps"]["warm_up"]), steps)
        reserved = int(re.search(r"reserved (\d+)", run.out).group(1))
        peak = report["memory"]["peak_bytes"]
        self.assertGreaterEqual(peak, reserved)
        self.assertLessEqual(peak, reserved + 1.5 * GIB)
        unknown = [o["name"][:60] for o in report["operations"] if o["provenance"] == "unknown"]
        self.assertLess(report["provenance"]["unknown"], 0.15, unknown)  # memory-efficient attention does not show its shape
        return report

    def check_way_and_options(self, way, options):
        run = self.run_program(way, "gpt.py", *options)
        self.check_run(run)
        if "fp16" in options:  # GradScaler's own initial scale: 2**16
            self.assertEqual(re.findall(r"scale (\S+)", run.out), ["65536"] * 3, run.out)
        if way == "restart":
            self.assertRegex(run.err, "(?m)^maya: .*starting the program again")
        return self.check_prediction(run)

    def check_step_time(self, report, run):
        """GPT-2 small, batch 8 x 1024, bf16: 6 * 124e6 * 8192 + attention is about 7 TFLOP: 25 to 80 ms on an H100."""
        self.assertTrue(25 < report["step_time_ms"]["median"] < 80, report["step_time_ms"])
        slower = self.predict(run.trace_dir, "--device", "a100-sxm-80")
        self.assertEqual(slower["device"], "a100-sxm-80")
        self.assertTrue(1.5 < slower["step_time_ms"]["median"] / report["step_time_ms"]["median"] < 3.5, slower["step_time_ms"])

    def test_retarget(self):
        run = self.run_program("maya-run", "gpt.py")
        self.check_run(run)
        self.check_step_time(self.check_prediction(run), run)

    def test_compile(self):
        run = self.run_program("maya-run", "gpt.py", "--compile", timeout=900)
        self.check_run(run)
        self.check_prediction(run, steps=((3, 1), (2, 1)))  # whether the step that compiles is told apart depends on what the compiler's cache holds

    def test_eight_billion_parameters(self):
        options = "--layers 32 --hidden 4096 --heads 32 --ffn 14336 --vocab 128256 --seq 8192 --batch 1 --device-init".split()
        run = self.run_program("maya-run", "gpt.py", *options, options=["--device", "h200-sxm", "--memory", "unlimited"], timeout=900)
        self.check_run(run)
        self.assertLess(run.host_bytes, 4 * GIB)
        report = self.predict(run.trace_dir)
        reserved = int(re.search(r"reserved (\d+)", run.out).group(1))
        self.assertGreaterEqual(report["memory"]["peak_bytes"], reserved)


def add_cases():
    for way in WAYS:
        for name, options in OPTION_SETS.items():
            def case(self, way=way, options=options):
                self.check_way_and_options(way, options)
            setattr(Gpt, f"test_{way.replace('-', '_')}_{name}", case)


add_cases()

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + (sys.argv[1:] or []), verbosity=2)
