"""numba-cuda's own driver tests (in its wheel), with NVIDIA's real NVRTC and nvJitLink, on our driver.

Prints passed / failed / skipped. A failure is excused only when its test checks what a kernel computed: those are listed, one by one, in
numba_expected.txt with the reason. Anything else fails.
"""
import pathlib
import re
import unittest

from harness import EndToEnd, python

MODULES = """test_array_attr test_context_stack test_cuda_array_slicing test_cuda_auto_context test_cuda_devicerecord test_cuda_driver test_cuda_memory
test_cuda_ndarray test_deallocations test_detect test_emm_plugins test_events test_host_alloc test_init test_inline_ptx test_linker
test_managed_alloc test_module_callbacks test_nvrtc test_nvvm_driver test_pinned test_profiler test_reset_device test_select_device""".split()
EXPECTED = pathlib.Path(__file__).with_name("numba_expected.txt")


class NumbaDriver(EndToEnd):
    def test_driver_tests(self):
        lines = [line.split() for line in EXPECTED.read_text().splitlines() if line.strip() and not line.startswith("#")]
        excused = {line[0]: line[1] for line in lines}
        ran = skipped = 0
        failed = {}
        for module in MODULES:
            run = self.run_command([python("numba"), "-m", f"numba.cuda.tests.cudadrv.{module}", "-v"], timeout=600)
            counted = re.search(r"^Ran (\d+) tests? in", run.err, re.M)
            self.assertIsNotNone(counted, f"{module}: {run.explain()}")
            ran += int(counted.group(1))
            skipped += int((re.search(r"skipped=(\d+)", run.err) or [0, 0])[1])
            for test in re.findall(r"^(?:FAIL|ERROR): (test_\w+)", run.err, re.M):
                failed[f"{module}.{test}"] = excused.get(f"{module}.{test}", "unexplained")
        reasons = {reason: sum(r == reason for r in failed.values()) for reason in sorted(set(failed.values()))}
        print(f"numba-cuda driver tests: {ran - skipped - len(failed)} passed, {len(failed)} failed {reasons}, {skipped} skipped")
        self.assertEqual([name for name, reason in failed.items() if reason == "unexplained"], [])
        self.assertGreater(ran - skipped - len(failed), 150)


if __name__ == "__main__":
    unittest.main(verbosity=2)
