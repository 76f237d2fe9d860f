"""What users are told when a library does not fit: a wheel newer than ours, a file that is gone, a runtime that a wheel carries."""
import os
import shutil
import subprocess
import sys
import unittest

from harness import ENVIRONMENTS, LIB, EndToEnd

# Asks twice for a library; a program that goes on without it is told once.
ASK = """
import ctypes, sys
for name in sys.argv[1:] * 2:
    try:
        ctypes.CDLL(name)
    except OSError as error:
        print(error)
"""
# As cuDNN's front end looks for the runtime: every major version by its name.
WHICH = """
import ctypes, sys
for name in sys.argv[1:]:
    try:
        print(name, ctypes.CDLL(name) is not None)
    except OSError as error:
        print(error)
"""
# A wheel's own copy of the runtime, as `import torchvision` loads it.
VENDORED = """
import ctypes, sys
driver = ctypes.CDLL("libcuda.so.1")
assert driver.cuInit(0) == 0
runtime, version, count = ctypes.CDLL(sys.argv[1]), ctypes.c_int(), ctypes.c_int()
runtime.cudaRuntimeGetVersion(ctypes.byref(version))
print(version.value, runtime.cudaGetDeviceCount(ctypes.byref(count)), count.value)
"""


class Loader(EndToEnd):
    def ask(self, *names):
        """With libraries of ours of which only libcudart.so.12 is there."""
        folder = self.scratch / "lib"
        folder.mkdir(exist_ok=True)
        for name in ("libmaya_audit.so", "libcudart.so.12"):
            shutil.copy(LIB / name, folder)
        env = {**os.environ, "LD_AUDIT": str(folder / "libmaya_audit.so")}
        done = subprocess.run([sys.executable, "-c", ASK, *names], env=env, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.splitlines(), folder

    def test_wheel_of_a_newer_release(self):
        lines, _ = self.ask("libcudart.so.99")
        self.assertEqual(
            lines,
            ["maya: libcudart.so.99 belongs to a release that Maya has no library for; there is libcudart.so.12: use a build of the program for these"],
        )

    def test_missing_companion(self):
        lines, folder = self.ask("libnvshmem_host.so.77")
        self.assertEqual(lines, [f"maya: libnvshmem_host.so.77 is missing from {folder}: build or install Maya's libraries again"])

    def test_other_libraries_are_not_mentioned(self):
        self.assertEqual(self.ask("libm.so.6", "libnvidia-opticalflow.so.1", "libcudart-of-ours.so.9")[0], [])

    def test_one_major_version_is_found_by_name(self):
        for first, second in (("libcudart.so.13", "libcudart.so.12"), ("libcudart.so.12", "libcudart.so.13"), ("libcublas.so.13", "libcublas.so.12")):
            # Where this machine has the other version itself, it is found.
            plain = subprocess.run([sys.executable, "-c", WHICH, second], capture_output=True, text=True, timeout=60).stdout.strip()
            if not plain.endswith(" True"):
                self.assertEqual(plain, f"{second}: cannot open shared object file: No such file or directory")
            run = self.run_command([sys.executable, "-c", WHICH, first, second, first])
            self.assertEqual(run.out.splitlines(), [f"{first} True", plain, f"{first} True"], run.explain())

    def test_another_major_version_is_found_by_its_path_and_by_who_needs_it(self):
        run = self.run_command([sys.executable, "-c", WHICH, "libcudart.so.13", LIB / "libcudart.so.12", "libcudart.so.12"])
        self.assertEqual(run.out.count(" True\n"), 3, run.explain())
        needing = self.scratch / "libneeding.so"
        subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-x", "none", "-o", needing, "-Wl,--no-as-needed", LIB / "libcudart.so.12"], check=True)
        run = self.run_command([sys.executable, "-c", WHICH, "libcudart.so.13", needing, "libcudart.so.12"])
        self.assertEqual(run.out.count(" True\n"), 3, run.explain())

    def vendored(self):
        real = ENVIRONMENTS / "cuda-12/nvidia/cuda_runtime/lib/libcudart.so.12"
        if not real.exists():
            raise unittest.SkipTest(f"no {real}: run test/environments.sh cuda-12")
        copy = self.scratch / "torchvision.libs/libcudart-c64a25f3.so.12.9.79"
        copy.parent.mkdir()
        shutil.copy(real, copy)
        return copy

    def test_vendored_runtime_is_replaced_by_maya_run(self):
        run = self.run_command([sys.executable, "-c", VENDORED, self.vendored()])
        self.assertEqual(run.status, 0, run.explain())
        self.assertEqual(run.out, "12090 0 1\n")
        self.assertEqual(run.err, "")

    def test_vendored_runtime_by_library_path_is_named(self):
        copy = self.vendored()
        run = self.run_command([sys.executable, "-c", VENDORED, copy], launcher="plain")
        self.assertEqual(run.status, 0, run.explain())
        self.assertFalse(run.out.endswith(" 0 1\n"), run.out)  # NVIDIA's runtime finds no device
        lines = [line for line in run.err.splitlines() if line.startswith("maya: ")]
        self.assertEqual(len(lines), 1, run.err)
        self.assertIn(f"{copy} holds NVIDIA's own CUDA runtime", lines[0])
        self.assertIn("run the program with maya-run", lines[0])


if __name__ == "__main__":
    unittest.main()
