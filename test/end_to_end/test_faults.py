"""What goes wrong around a run: a killed program, a full disk, wrong options, missing programs, unusable traces."""
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from harness import BIN, LIB, PROGRAMS, EndToEnd, python


def one_line(text):
    return len([line for line in text.splitlines() if line.strip()]) == 1


# A process that Python's multiprocessing forks ends by _exit(), and so does this one, after children that did so and left the trace alone.
FORKED = """
import ctypes, os, sys
def use():
    driver = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and driver.cuCtxSetCurrent(context) == 0
    return driver
if sys.argv[1] == "process":
    import multiprocessing
    process = multiprocessing.get_context("fork").Process(target=use)
    process.start()
    process.join()
    sys.exit(process.exitcode)
driver = use()
if os.fork() == 0:
    os._exit(0)
os.wait()
import subprocess
try:
    subprocess.run(["/nowhere"])  # a child of vfork() that calls _exit()
except FileNotFoundError:
    pass
address = ctypes.c_uint64()
assert driver.cuMemAlloc_v2(ctypes.byref(address), 4096) == 0
os._exit(0)
"""


class Faults(EndToEnd):
    def test_process_that_runs_no_exit_handlers_has_a_complete_trace(self):
        for how in ("process", "itself"):
            run = self.run_command([sys.executable, "-c", FORKED, how])
            self.assertEqual(run.status, 0, run.explain())
            self.assertEqual(len(run.traces), 1)
            self.assertRegex(self.tool("maya-trace", "check", run.traces[0]).stdout, r"\bcomplete")
            if how == "itself":  # what came after its children ended is in it
                self.assertRegex(self.tool("maya-trace", "dump", run.traces[0]).stdout, "4096")

    def test_killed_program_leaves_a_readable_trace(self):
        trace_dir = self.scratch / "killed"
        command = [BIN / "maya-run", "--trace-dir", trace_dir, "--", python("lean"), PROGRAMS / "gpt.py", "--steps", "100"]
        process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=self.scratch)
        for line in process.stdout:
            if line.startswith("step 1"):
                break
        os.kill(process.pid, signal.SIGKILL)  # maya-run replaces itself by the program: same process
        process.wait()
        process.stdout.close()
        self.assertEqual(process.returncode, -signal.SIGKILL)
        report = self.predict(trace_dir)
        self.assertFalse(report["complete"])
        self.assertGreater(report["step_time_ms"]["median"], 0)
        self.assertTrue(any("incomplete" in warning for warning in report["warnings"]), report["warnings"])

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small file system needs root")
    def test_full_disk_changes_nothing_for_the_program(self):
        disk = self.scratch / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "none", disk], capture_output=True).returncode != 0:
            self.skipTest("mount is not permitted here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], check=True)
        command = [BIN / "maya-run", "--trace-dir", disk, "--", python("lean"), PROGRAMS / "gpt.py", "--layers", "2"]  # two threads, a chunk of 64 KiB each
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=600, cwd=self.scratch)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("step "), 3)
        self.assertEqual(len([line for line in done.stderr.splitlines() if line.startswith("maya:")]), 1, done.stderr)

    def refused(self, tool, *args, status, mentions, env=None):
        done = self.tool(tool, *args, env=env)
        self.assertEqual(done.returncode, status, (done.stdout, done.stderr))
        self.assertTrue(one_line(done.stderr), done.stderr)
        self.assertTrue(done.stderr.startswith(tool + ": "), done.stderr)
        for text in mentions:
            self.assertIn(text, done.stderr)

    def test_maya_run_refuses(self):
        self.refused("maya-run", "--device", "h1000", "--", "true", status=2, mentions=["h1000", "h100-sxm", "a100-sxm-80"])
        self.refused("maya-run", "--devices", "0", "--", "true", status=2, mentions=["--devices"])
        self.refused("maya-run", "--memory", "lots", "--", "true", status=2, mentions=["--memory", "lots"])
        self.refused("maya-run", "--frobnicate", "--", "true", status=2, mentions=["--frobnicate"])
        self.refused("maya-run", status=2, mentions=["program"])
        self.refused("maya-run", "--", "/no/such/program", status=127, mentions=["/no/such/program"])
        blocked = self.scratch / "file"
        blocked.write_text("")
        self.refused("maya-run", "--", blocked, status=126, mentions=[str(blocked)])
        self.refused("maya-run", "--trace-dir", blocked / "x", "--", "true", status=4, mentions=[str(blocked)])

    def test_maya_predict_refuses(self):
        self.refused("maya-predict", "/no/such/trace.pb", status=3, mentions=["/no/such/trace.pb"])
        foreign = self.scratch / "foreign.pb"
        foreign.write_bytes(b"this is not a trace" * 100)
        self.refused("maya-predict", foreign, status=3, mentions=["foreign.pb"])
        empty = self.scratch / "empty"
        empty.mkdir()
        self.refused("maya-predict", empty, status=3, mentions=["empty"])
        self.refused("maya-predict", foreign, "--device", "h1000", status=2, mentions=["h1000", "h100-sxm"])
        self.refused("maya-predict", "--frobnicate", foreign, status=2, mentions=["--frobnicate"])

    def test_variables_with_nonsense(self):
        for name, value in [("MAYA_DEVICE", "h1000"), ("MAYA_DEVICES", "many"), ("MAYA_MEMORY", "lots"), ("MAYA_HOST_MEMORY", "-1"), ("MAYA_TRACE", "perhaps"), ("MAYA_CPU_SCALE", "fast")]:
            with self.subTest(name=name):
                env = dict(os.environ, LD_LIBRARY_PATH=str(LIB), MAYA_TRACE_DIR=str(self.scratch / "t"), **{name: value})
                code = "import torch\ntry:\n  torch.zeros(1, device='cuda')\n  print('made')\nexcept RuntimeError as e:\n  print('refused')"
                done = subprocess.run([str(python("lean")), "-c", code], env=env, capture_output=True, text=True, timeout=300, cwd=self.scratch)
                self.assertEqual((done.returncode, done.stdout.strip()), (0, "refused"), done.stderr)
                lines = [line for line in done.stderr.splitlines() if line.startswith("maya:")]
                self.assertEqual(len(lines), 1, done.stderr)
                self.assertIn(name, lines[0])
                self.assertIn(value, lines[0])

    def test_unwritable_trace_directory(self):
        blocked = self.scratch / "file"
        blocked.write_text("")
        env = dict(os.environ, LD_LIBRARY_PATH=str(LIB), MAYA_TRACE_DIR=str(blocked / "x"))
        done = subprocess.run([str(python("lean")), "-c", "import torch; torch.zeros(1, device='cuda'); print('made')"], env=env, capture_output=True,
                              text=True, timeout=300, cwd=self.scratch)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "made"), done.stderr)
        lines = [line for line in done.stderr.splitlines() if line.startswith("maya:")]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn(str(blocked), lines[0])

    @unittest.skipUnless(pathlib.Path("/usr/local/cuda/bin/nvcc").exists(), "building a program with the static runtime needs nvcc")
    def test_static_runtime_is_named(self):
        source = self.scratch / "static.cu"
        source.write_text('#include <cstdio>\n__global__ void k(int* p) { *p = 1; }\n'
                          'int main() { int* p; cudaError_t e = cudaMalloc(&p, 4); if (!e) k<<<1, 1>>>(p); printf("%s\\n", cudaGetErrorName(e)); return e != 0; }\n')
        program = self.scratch / "static_program"
        subprocess.run(["/usr/local/cuda/bin/nvcc", "-arch=sm_90", "-o", program, source], check=True, capture_output=True)
        run = self.run_command([program])
        self.assertEqual(run.status, 1, run.explain())
        lines = [line for line in run.err.splitlines() if line.startswith("maya:")]
        self.assertEqual(len(lines), 1, run.err)
        self.assertIn("static_program", lines[0])
        self.assertIn("shared", lines[0])  # the remedy: nvcc --cudart shared

    @unittest.skipUnless(pathlib.Path("/usr/local/cuda/bin/nvcc").exists(), "needs nvcc")
    def test_shared_runtime_runs(self):
        source = self.scratch / "shared.cu"
        source.write_text('#include <cstdio>\n__global__ void k(int* p) { *p = 1; }\n'
                          'int main() { int* p; cudaError_t e = cudaMalloc(&p, 4); k<<<1, 1>>>(p); e = e ? e : cudaDeviceSynchronize();\n'
                          '  int h = 5; cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); printf("%s %d\\n", cudaGetErrorName(e), h); return e != 0; }\n')
        program = self.scratch / "shared_program"
        subprocess.run(["/usr/local/cuda/bin/nvcc", "--cudart", "shared", "-arch=sm_90", "-o", program, source], check=True, capture_output=True)
        run = self.run_command([program])
        self.assertEqual((run.status, run.out.strip()), (0, "cudaSuccess 0"), run.explain())


if __name__ == "__main__":
    unittest.main(verbosity=2)
