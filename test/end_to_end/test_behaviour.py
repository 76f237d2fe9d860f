"""What the libraries must not do to the process that loads them (reliability.md, figures 18 and 19): no signal handlers, no threads, no change of
locale or umask; calls while the interpreter shuts down end with a documented code, never in a crash.

MAYA_LONG_TESTS=1 shuts down 1,000 times instead of 60.
"""
import os
import subprocess
import sys
import unittest

from harness import BIN, LIB

USE = r"""
import atexit, ctypes, locale, os, sys

def state():
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    mask = os.umask(0); os.umask(mask)
    caught = {key: status[key].strip() for key in ("Threads", "SigCgt", "SigIgn", "SigBlk")}
    return caught, mask, locale.setlocale(locale.LC_ALL, None)

before = state()
folder = sys.argv[1]
libraries = [ctypes.CDLL(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name.startswith("lib") and not name.startswith("libmaya")]
cuda = ctypes.CDLL(os.path.join(folder, "libcuda.so.1"))
runtime = ctypes.CDLL(os.path.join(folder, "libcudart.so.13"))
blas = ctypes.CDLL(os.path.join(folder, "libcublas.so.13"))
pointer, stream, event, handle = (ctypes.c_void_p() for _ in range(4))
assert runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(1 << 20)) == 0
assert runtime.cudaMemset(pointer, 0, ctypes.c_size_t(1 << 20)) == 0
assert runtime.cudaStreamCreate(ctypes.byref(stream)) == 0
assert runtime.cudaEventCreate(ctypes.byref(event)) == 0
assert runtime.cudaEventRecord(event, stream) == 0
assert blas.cublasCreate_v2(ctypes.byref(handle)) == 0
assert runtime.cudaDeviceSynchronize() == 0
assert state() == before, (before, state())

DOCUMENTED = {0, 1, 3, 4, 400, 201, 709}  # success, invalid value, not initialised, unloading, invalid handle or context, context destroyed

class Last:
    def __del__(self):  # runs while the interpreter's modules are torn down
        for code in (runtime.cudaFree(pointer), cuda.cuEventDestroy_v2(event), runtime.cudaStreamDestroy(stream), runtime.cudaDeviceReset(), cuda.cuCtxSynchronize()):
            assert code in DOCUMENTED, code

last = Last()
atexit.register(lambda: blas.cublasDestroy_v2(handle))
atexit.register(lambda: runtime.cudaDeviceSynchronize())
print("used")
"""


class Behaviour(unittest.TestCase):
    def test_xla_keeps_line_numbers(self):
        """XLA's compiled kernels carry their PTX only with this flag; what the user set stays."""
        flag = "--xla_gpu_generate_line_info=true"
        for before, after in [(None, flag), ("--xla_dump_to=x", f"--xla_dump_to=x {flag}"), ("--xla_gpu_generate_line_info=false", "--xla_gpu_generate_line_info=false")]:
            env = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"} | ({} if before is None else {"XLA_FLAGS": before})
            done = subprocess.run([str(BIN / "maya-run"), "--no-trace", "--", sys.executable, "-c", "import os; print(os.environ['XLA_FLAGS'])"], env=env,
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout.strip()), (0, after), done.stderr)

    def test_process_state_and_shutdown(self):
        rounds = 1000 if os.environ.get("MAYA_LONG_TESTS") == "1" else 60
        env = {k: v for k, v in os.environ.items() if not k.startswith("MAYA_")} | {"MAYA_TRACE": "0", "LD_LIBRARY_PATH": str(LIB)}
        for number in range(rounds):
            done = subprocess.run([sys.executable, "-c", USE, str(LIB)], env=env, capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "used\n", ""), f"run {number}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
