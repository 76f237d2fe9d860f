"""An allocation that the device cannot hold: the framework's own error, and a report that agrees with it."""
import re
import unittest

from harness import EndToEnd

UNITS = {"MiB": 1 << 20, "GiB": 1 << 30}


def printed(text, pattern):
    """The size that PyTorch printed with two decimals, and the largest error of that rounding, in bytes."""
    number, unit = re.search(pattern + r" ([\d.]+) (MiB|GiB)", text).groups()
    return float(number) * UNITS[unit], 0.005 * UNITS[unit] + 1


class OutOfMemory(EndToEnd):
    def test_report_agrees_with_the_framework(self):
        run = self.run_program("maya-run", "gpt.py", "--batch", "512", options=["--device", "a100-sxm-40"])
        self.assertEqual(run.status, 1, run.explain())
        self.assertIn("torch.OutOfMemoryError: CUDA out of memory", run.err)
        report = self.predict(run.trace_dir)
        memory = report["memory"]
        self.assertEqual(memory["verdict"], "out_of_memory")
        failure = memory["first_failure"]
        for ours, pattern in [(failure["requested_bytes"], "Tried to allocate"), (memory["capacity_bytes"], "has a total capacity of"),
                              (failure["free_bytes"], "of which")]:
            theirs, rounding = printed(run.err, pattern)
            self.assertLessEqual(abs(ours - theirs), rounding, (pattern, run.err[-1500:], memory))
        self.assertGreater(len(memory["fits_on"]), -1)
        self.assertEqual(self.tool("maya-predict", "--fail-on", "oom", run.trace_dir).returncode, 1)

    def test_exact_bytes(self):
        """The same figures to the byte, as the program itself reads them when its request is refused."""
        from harness import python
        program = self.scratch / "oom.py"
        program.write_text("import torch\nkept = torch.zeros(1, device='cuda')\n"
                           "free, total = torch.cuda.mem_get_info()\n"
                           "try:\n    torch.empty(60 << 30, dtype=torch.uint8, device='cuda')\n"
                           "except torch.OutOfMemoryError:\n    print(60 << 30, free, total)\n")
        run = self.run_command([python("lean"), program], options=["--device", "a100-sxm-40"])
        self.assertEqual(run.status, 0, run.explain())
        requested, free, total = map(int, run.out.split())
        memory = self.predict(run.trace_dir)["memory"]
        self.assertEqual(memory["first_failure"]["requested_bytes"], requested)
        self.assertEqual(memory["first_failure"]["free_bytes"], free)
        self.assertEqual(memory["capacity_bytes"], total)

    def test_unlimited_finds_the_peak(self):
        run = self.run_program("maya-run", "gpt.py", "--batch", "512", options=["--device", "a100-sxm-40", "--memory", "unlimited"])
        self.assertEqual(run.status, 0, run.explain())
        memory = self.predict(run.trace_dir)["memory"]
        self.assertEqual(memory["verdict"], "out_of_memory")
        self.assertGreaterEqual(memory["peak_bytes"], int(re.search(r"reserved (\d+)", run.out).group(1)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
