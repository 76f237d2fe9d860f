"""Runtime tests of PyTorch and Triton themselves, from a folder that was fetched beforehand, on emulated devices.

    python3 test/conformance/fetched_suite.py SUITE FOLDER --python ENVIRONMENT/bin/python [-k TEXT] [--json FILE]

FOLDER is the checkout's root (it has test/ or python/test/); the environment has the matching wheel and pytest. SUITE is one of SUITES.
Every test has a time limit; after a hang, a crash or an error that stays with the context the tests that are left run in a new process.
What fails is looked up in expected/SUITE.txt: one line a test, its class and the reason. A failure without a line is tried once more in a
process of its own, then printed, and so is what passes though it has one. Ends with a table by class; status 1 when a failure has no line.
  kernel       needs a kernel's result: a value that would be computed on the GPU
  environment  about the machine, versions or the fork that the tests come from
  missing      a call that Maya does not support
  wrong        anything else
"""
import argparse
import collections
import fnmatch
import gc
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve()
ROOT = HERE.parents[2]
CLASSES = ("kernel", "environment", "missing", "wrong")
TRITON = ("autotuner", "bindings", "cache", "cublas", "driver", "jit", "launch", "subproc")
CUDA = [f"test/test_cuda{part}.py" for part in ("", "_multigpu", "_trace", "_nvml_based_avail", "_primary_ctx", "_sanitizer")]
# name: files below FOLDER (each has a process of its own), time limit of one test in seconds
SUITES = {
    "pytorch-cuda": (CUDA, 300),
    "pytorch-cuda-expandable": (["test/test_cuda_expandable_segments.py"], 300),
    "pytorch-nccl": ([f"test/distributed/test_{part}.py" for part in ("c10d_ops_nccl", "c10d_spawn_nccl", "nccl", "c10d_nccl")], 360),
    "triton-runtime": ([f"python/test/unit/runtime/test_{part}.py" for part in TRITON], 300),
}
# Files whose tests want a process each, where no context was made.
ALONE = ("test_cuda_nvml_based_avail.py", "test_cuda_primary_ctx.py")
# Files whose tests are run by two ranks at once, as torchrun would start them.
RANKS = {"test_c10d_ops_nccl.py": 2}
MOST_AT_ONCE = 200  # tests of one process
# An error that stays with the context: everything after it in the same process would fail too.
STAYS = re.compile(r"CUDA error: (an illegal|device-side|unspecified launch|misaligned)|CUDNN_STATUS_INTERNAL|already has an error")


class Log:
    """pytest plugin of the process that runs tests: one JSON line when a test starts and one when it ends."""

    def __init__(self, path):
        self.file = open(path, "ab", buffering=0)
        self.outcome = {}

    def write(self, **line):
        self.file.write(json.dumps(line).encode() + b"\n")

    def pytest_collection_finish(self, session):
        for item in session.items:
            self.write(found=item.nodeid)
            if "RANK" in os.environ and hasattr(item.cls, "rdvz_file"):
                item.cls.rank, item.cls.world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])

    def pytest_collectreport(self, report):
        if report.failed:
            self.write(broken=report.nodeid, text=str(report.longrepr)[-2000:])

    def pytest_runtest_logstart(self, nodeid, location):
        self.outcome = {}
        self.write(start=nodeid)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            if self.outcome.get("outcome") != "failed":
                expected = hasattr(report, "wasxfail")
                self.outcome = {"outcome": "passed" if expected else report.outcome, "text": str(report.longrepr or "")[-6000:]}

    def pytest_runtest_logfinish(self, nodeid, location):
        # What a failed test leaves behind in its traceback must not be found by the next one.
        sys.last_value = sys.last_traceback = sys.last_type = sys.last_exc = None
        gc.collect()
        self.write(end=nodeid, **self.outcome)


def worker(arguments):
    """Runs in the environment of the tests: --worker LOG ids-or-files..."""
    import pytest

    ranks = int(os.environ.pop("MAYA_SUITE_RANKS", 1))
    if ranks > 1:
        with socket.socket() as free:
            free.bind(("localhost", 0))
            os.environ.update(WORLD_SIZE=str(ranks), MASTER_ADDR="localhost", MASTER_PORT=str(free.getsockname()[1]), RANK="0", LOCAL_RANK="0")
        for rank in range(1, ranks):
            subprocess.Popen([sys.executable, HERE, "--worker", *arguments], env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank)})
    log, *rest = arguments
    return pytest.main(["-q", "-p", "no:cacheprovider", *rest], plugins=[Log(log)])


class Session:
    """One process with tests, or one a rank."""

    def __init__(self, options, arguments, ranks=1):
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".jsonl")
        launch = [options.maya_run, "--no-trace", "--devices", str(options.devices), "--device", options.device, "--"]
        command = [*launch, options.python, HERE, "--worker", self.log.name, *arguments]
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        if ranks > 1:
            environment["MAYA_SUITE_RANKS"] = str(ranks)
        self.output = open(options.output, "ab") if options.output else subprocess.DEVNULL
        self.process = subprocess.Popen(
            [str(c) for c in command], cwd=options.folder, env=environment, stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def lines(self):
        """What the log has gained, as it comes; None while there is nothing new. Ends with the process."""
        while True:
            ended = self.process.poll() is not None
            while line := self.log.readline():
                yield json.loads(line)
            if ended:
                return
            yield None
            time.sleep(0.1)

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def collect(options, files):
    session = Session(options, ["--collect-only", *(["-k", options.k] if options.k else []), *files])
    found, broken = [], {}
    for line in session.lines():
        if line and "found" in line:
            found.append(line["found"])
        if line and "broken" in line:
            broken[line["broken"]] = line["text"]
    session.end()
    return found, broken


def run_session(options, limit, tests, ranks):
    """{test: (outcome, text)} of the tests that one process gets through; at least of the first."""
    results = {}
    session = Session(options, tests, ranks)
    running, since = None, time.monotonic()
    for line in session.lines():
        if line is None:
            # Before the first test: imports.
            if time.monotonic() - since > (limit if running else max(limit, 300)):
                results[running or tests[0]] = ("failed", f"no end within {limit} s")
                break
            continue
        since = time.monotonic()
        running = line.get("start", running)
        if "end" in line:
            if results.get(line["end"], ("",))[0] != "failed":  # of two ranks one may have failed
                results[line["end"]] = (line.get("outcome", "failed"), line.get("text", ""))
            if line["end"] == running:
                running = None
            if STAYS.search(line.get("text", "")):
                break
    session.end()
    if running and running not in results:
        results[running] = ("failed", f"the process ended (status {session.process.returncode})")
    elif not results:
        results[tests[0]] = ("failed", f"the process ended before the test (status {session.process.returncode})")
    return results


def run(options, limit, tests):
    """{test: (outcome, text)} of all tests."""
    results = {}
    while left := [test for test in tests if test not in results]:
        file = left[0].split("::")[0]
        name = pathlib.PurePath(file).name
        together = [test for test in left if test.split("::")[0] == file][: 1 if name in ALONE else MOST_AT_ONCE]
        results.update(run_session(options, limit, together, RANKS.get(name, 1)))
        print(f"{len(results)} of {len(tests)} done", file=sys.stderr, flush=True)
    return results


def expectations(suite):
    """[(pattern, class, reason)]"""
    path = HERE.parent / "expected" / f"{suite}.txt"
    lines = [line.split(None, 2) for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    for pattern, kind, reason in lines:
        assert kind in CLASSES and reason, f"{path}: {pattern}: {kind}"
    return lines


def last_words(text):
    lines = [line[4:] if line.startswith("E   ") else line for line in text.strip().splitlines()]
    errors = [line.strip() for line in lines if re.match(r"\s*[\w.]*(Error|Exception|Failed|assert)\b", line)]
    return (errors or lines or [""])[-1][:300]


def classed(results, expected):
    """{class: {test: text}}"""
    table = collections.defaultdict(dict)
    for test, (outcome, text) in results.items():
        line = next((line for line in expected if fnmatch.fnmatchcase(test.replace("[", "(").replace("]", ")"), "*" + line[0])), None)
        if outcome != "failed":
            table[outcome][test] = text
            if outcome == "passed" and line:
                table["passes though expected to fail"][test] = f"{line[1]}: {line[2]}"
        else:
            table[line[1] if line else "unexplained"][test] = last_words(text)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("folder")
    parser.add_argument("--python", required=True, help="interpreter of the environment with the wheel and pytest")
    parser.add_argument("--maya-run", default=ROOT / "build/release/bin/maya-run")
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--device", default="h100-sxm")
    parser.add_argument("-k", default="", help="pytest's expression for the tests to run")
    parser.add_argument("--file", action="append", help="only this file of the suite")
    parser.add_argument("--limit", type=int, help="seconds for one test")
    parser.add_argument("--json", help="outcome and text of every test")
    parser.add_argument("--output", help="file that gets what the tests print")
    options = parser.parse_args()
    # Not resolved: the interpreter of a virtual environment is a link that must be kept.
    options.folder, options.maya_run, options.python = (os.path.abspath(path) for path in (options.folder, options.maya_run, options.python))
    files, limit = SUITES[options.suite]
    files = [file for file in files if not options.file or any(wanted in file for wanted in options.file)]
    found, broken = collect(options, files)
    results = run(options, options.limit or limit, found)
    # What a failed test leaves behind may be what the next one trips over.
    for test in classed(results, expectations(options.suite))["unexplained"]:
        results.update(run(options, options.limit or limit, [test]))
    results.update({file: ("failed", text) for file, text in broken.items()})
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1))
    table = classed(results, expectations(options.suite))
    for kind in ("unexplained", "missing", "wrong", "passes though expected to fail"):
        for test, text in table[kind].items():
            print(f"{kind}: {test}: {text}")
    print(f"{options.suite}: {len(results)} tests: " + ", ".join(f"{len(tests)} {kind}" for kind, tests in table.items() if tests))
    return 1 if table["unexplained"] or not results else 0


if __name__ == "__main__":
    sys.exit(worker(sys.argv[2:]) if sys.argv[1:2] == ["--worker"] else main())
