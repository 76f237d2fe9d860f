"""What every end-to-end test needs: paths, Python environments, and runs of real programs on the replacement libraries.

Set by ctest (test/end_to_end/CMakeLists.txt) or by hand:
  MAYA_BIN_PATH, MAYA_LIBRARY_PATH   commands and replacement libraries of the build under test
  MAYA_ENVIRONMENTS                  folder with the Python environments that test/environments.sh makes
  MAYA_PROGRAMS                      folder with the training programs (gpt.py, ...)
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("MAYA_BIN_PATH", SOURCE / "build/release/bin"))
LIB = pathlib.Path(os.environ.get("MAYA_LIBRARY_PATH", SOURCE / "build/release/lib"))
PROGRAMS = pathlib.Path(os.environ.get("MAYA_PROGRAMS", SOURCE.parent / "shared/programs"))
ENVIRONMENTS = pathlib.Path(os.environ.get("MAYA_ENVIRONMENTS", pathlib.Path.home() / ".cache/maya/environments"))

# The three ways in which the replacement libraries get picked up (design.md section 2), as (environment, launcher).
WAYS = {"maya-run": ("full", "maya-run"), "restart": ("full", "plain"), "lean": ("lean", "plain")}


def python(environment):
    path = ENVIRONMENTS / environment / "bin/python"
    if not path.exists():
        raise unittest.SkipTest(f"no Python environment {path}: run test/environments.sh {environment}")
    return path


LEAST_SHARE = 0.1  # of a second of a limit: programs that do nothing but run must come to their limits too


def share_of_second(runnable, processors):
    """How much of a second of a limit has passed where so many threads wanted to run, ours among them: on a machine that others keep busy, importing
    PyTorch takes minutes, and nothing is wrong with the program."""
    return max(LEAST_SHARE, min(1.0, processors / max(1, runnable)))


class Watchdog(threading.Thread):
    """Kills a program and what it started, its process group, when `limit` seconds have passed for it."""

    def __init__(self, process, limit):
        super().__init__(daemon=True)
        self.group, self.limit, self.ended, self.killed = process.pid, limit, threading.Event(), False
        self.start()

    def run(self):
        passed = 0.0
        while passed < self.limit:
            begin = time.monotonic()
            if self.ended.wait(min(1.0, self.limit - passed)):
                return
            runnable = int(pathlib.Path("/proc/loadavg").read_text().split()[3].split("/")[0])
            passed += (time.monotonic() - begin) * share_of_second(runnable, os.cpu_count())
        self.killed = True
        with contextlib.suppress(ProcessLookupError):  # it ended by itself just now
            os.killpg(self.group, signal.SIGKILL)

    def stop(self):
        self.ended.set()
        self.join()


class Run:
    """One finished run of a program: status, out, err, traces, host_bytes (peak resident memory of the program itself)."""

    def __init__(self, command, env, trace_dir, timeout, cwd):
        self.trace_dir = trace_dir
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            process = subprocess.Popen([str(c) for c in command], env=env, cwd=cwd, stdout=out, stderr=err, stdin=subprocess.DEVNULL, start_new_session=True)
            watchdog = Watchdog(process, timeout)
            try:
                _, status, usage = os.wait4(process.pid, 0)
            except KeyboardInterrupt:
                os.killpg(process.pid, signal.SIGKILL)
                raise
            finally:
                watchdog.stop()
            self.limit = timeout if watchdog.killed else None
            process.returncode = self.status = os.waitstatus_to_exitcode(status)
            self.host_bytes = usage.ru_maxrss * 1024
            self.out, self.err = (file.seek(0) or file.read() for file in (out, err))

    @property
    def traces(self):
        return sorted(self.trace_dir.glob("*.pb"))

    def explain(self):
        ended = f", ended by the test after its limit of {self.limit} s" if self.limit else ""
        return f"status {self.status}{ended}\n--- out\n{self.out[-3000:]}\n--- err\n{self.err[-3000:]}"


class EndToEnd(unittest.TestCase):
    """Runs programs in a scratch folder that is removed afterwards."""

    def setUp(self):
        self.scratch_holder = tempfile.TemporaryDirectory(prefix="maya-e2e-")
        self.scratch = pathlib.Path(self.scratch_holder.name)
        self.addCleanup(self.scratch_holder.cleanup)
        self.runs = 0

    def run_program(self, way, program, *args, options=(), env=(), timeout=600):
        """`program` is a file of PROGRAMS or a path. `options` are maya-run's; in the plain ways they become MAYA_* variables."""
        environment, launcher = WAYS[way] if way in WAYS else (way, "maya-run")
        return self.run_command([python(environment), PROGRAMS / program, *args], launcher, options, env, timeout)

    def run_command(self, command, launcher="maya-run", options=(), env=(), timeout=600):
        self.runs += 1
        trace_dir = self.scratch / f"trace{self.runs}"
        variables = {k: v for k, v in os.environ.items() if not k.startswith("MAYA_") and k not in ("LD_AUDIT", "LD_LIBRARY_PATH")}
        variables.update(env)
        if launcher == "maya-run":
            command = [BIN / "maya-run", "--trace-dir", trace_dir, *options, "--", *command]
        else:
            variables["LD_LIBRARY_PATH"] = str(LIB)
            variables["MAYA_TRACE_DIR"] = str(trace_dir)
            names = {"--device": "MAYA_DEVICE", "--devices": "MAYA_DEVICES", "--memory": "MAYA_MEMORY", "--host-memory": "MAYA_HOST_MEMORY"}
            for option, value in zip(options[::2], options[1::2]):
                variables[names[option]] = value
        return Run(command, variables, trace_dir, timeout, self.scratch)

    def predict(self, *args, status=0):
        done = subprocess.run([str(BIN / "maya-predict"), "--json", *map(str, args)], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def tool(self, name, *args, env=None):
        return subprocess.run([str(BIN / name), *map(str, args)], capture_output=True, text=True, timeout=300, env=env)
