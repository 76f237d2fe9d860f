"""numba-cuda's own driver tests (in its wheel), with NVIDIA's real NVRTC and nvJitLink, on our driver.

Prints passed / failed / skipped. A failure is excused only when its test checks what a kernel computed: those are listed, one by one, in
numba_expected.txt with the reason. Anything else fails.
"""
import os
import pathlib
import re
import unittest

from harness import EndToEnd, python

MODULES = """test_array_attr test_context_stack test_cuda_array_slicing test_cuda_auto_context test_cuda_devicerecord test_cuda_driver
test_cuda_memory test_cuda_ndarray test_deallocations test_detect test_emm_plugins test_events test_host_alloc test_init test_inline_ptx
test_linker test_managed_alloc test_module_callbacks test_nvjitlink test_nvrtc test_pinned test_profiler test_ptds test_reset_device test_streams""".split()
EXPECTED = pathlib.Path(__file__).with_name("numba_expected.txt")


class NumbaDriver(EndToEnd):
    def test_driver_tests(self):
        excused = {line.split()[0] for line in EXPECTED.read_text().splitlines() if line.strip() and not line.startswith("#")}
        totals = {"ok": 0, "FAIL": 0, "ERROR": 0, "skipped": 0, "expected failure": 0}
        surprises = []
        for module in MODULES:
            run = self.run_command([python("numba"), "-m", "numba.runtests", "-v", f"numba.cuda.tests.cudadrv.{module}"], timeout=600)
            results = re.findall(r"^(test_\w+) \((\S+?)\)(?:.*?)\.\.\. (?:.*?\b)?(ok|FAIL|ERROR|skipped|expected failure)", run.err + run.out, re.M)
            if not results:
                surprises.append(f"{module}: no result; {run.explain()[-800:]}")
            for test, place, outcome in results:
                totals[outcome] += 1
                name = f"{module}.{test}"
                if outcome in ("FAIL", "ERROR") and name not in excused:
                    surprises.append(f"{name}: {outcome}")
        print(f"numba-cuda driver tests: {totals}")
        self.assertGreater(totals["ok"], 0)
        self.assertEqual(surprises, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
