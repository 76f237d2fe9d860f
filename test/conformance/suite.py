"""Test suites of others on emulated devices: of PyTorch, Triton and NVIDIA's cuda-python.

    python3 test/conformance/suite.py SUITE [FOLDER] --python ENVIRONMENT/bin/python [--file TEXT] [-k TEXT] [--json FILE]

FOLDER is the root of a checkout that was fetched beforehand; suites that come with a wheel need none. The environment has the matching wheel
and pytest. SUITE is one of SUITES. Every test has a time limit; after a hang, a crash or an error that stays with the context the tests that
are left run in a new process. What fails is looked up in expected/SUITE.txt: a line "test | class | reason" for each (* stands for anything).
A failure without a line is tried once more in a process of its own, then printed, and so is what passes though it has one. Ends with a table
by class; status 1 when a failure has no line.
  kernel       needs a kernel's result: a value that would be computed on the GPU
  unsupported  not supported by name: one line on standard error, and the documented error
  environment  about the machine, versions or the fork that the tests come from
  release      of another release than the environment's
  missing      a call that Maya does not support
  wrong        anything else
"""
import argparse
import collections
import dataclasses
import fnmatch
import gc
import importlib
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
CLASSES = ("kernel", "unsupported", "environment", "release", "missing", "wrong")
MOST_AT_ONCE = 200  # tests of one process


@dataclasses.dataclass
class Suite:
    """`files` are patterns below FOLDER; each file has a process of its own."""

    files: list
    limit_s: int = 300  # of one test
    most_at_once: int = MOST_AT_ONCE
    # Of pytest, beside the tests.
    arguments: list = dataclasses.field(default_factory=list)
    # Files whose tests want a process each, where no context was made.
    alone: tuple = ()
    # Files whose tests are run by so many ranks at once, as torchrun would start them.
    ranks: dict = dataclasses.field(default_factory=dict)
    # Helpers of tests that the wheel has not, below FOLDER: (package, folder).
    helpers: tuple = ()


CUDA = [f"test/test_cuda{part}.py" for part in ("", "_multigpu", "_trace", "_nvml_based_avail", "_primary_ctx", "_sanitizer")]
C10D = [f"test/distributed/test_{part}.py" for part in ("c10d_ops_nccl", "c10d_spawn_nccl", "nccl", "c10d_nccl")]
TRITON = [f"python/test/unit/runtime/test_{part}.py" for part in ("autotuner", "bindings", "cache", "cublas", "driver", "jit", "launch", "subproc")]
CUDA_PYTHON = {
    "limit_s": 120,
    "arguments": ["-c", "pytest.ini", *[word for plugin in ("pytest_benchmark.plugin", "pytest_repeat", "pytest_rerunfailures", "pytest_timeout") for word in ("-p", plugin)]],
    "helpers": ("cuda.bindings", "cuda_bindings/cuda/bindings"),
}
SUITES = {
    "pytorch-cuda": Suite(CUDA, alone=("test_cuda_nvml_based_avail.py", "test_cuda_primary_ctx.py")),
    "pytorch-cuda-expandable": Suite(["test/test_cuda_expandable_segments.py"]),
    "pytorch-nccl": Suite(C10D, 360, ranks={"test_c10d_ops_nccl.py": 2}),
    "pytorch-distributed": Suite(["torch_distributed.py"], 180, most_at_once=40),  # in the wheel
    "triton-runtime": Suite(TRITON),
    "cuda-bindings": Suite(["cuda_bindings/tests/**/test_*.py"], **CUDA_PYTHON),
    "cuda-core": Suite(["cuda_core/tests/**/test_*.py"], **CUDA_PYTHON),
}
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
            self.write(broken=report.nodeid, outcome="failed", text=str(report.longrepr)[-2000:])
        elif report.skipped:
            self.write(broken=report.nodeid, outcome="skipped", text=why_skipped(report))

    def pytest_runtest_logstart(self, nodeid, location):
        self.outcome = {}
        self.write(start=nodeid)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            if self.outcome.get("outcome") != "failed":
                outcome = "expected by the suite" if hasattr(report, "wasxfail") else report.outcome
                self.outcome = {"outcome": outcome, "text": why_skipped(report) if outcome == "skipped" else str(report.longrepr or "")[-6000:]}

    def pytest_runtest_logfinish(self, nodeid, location):
        # What a failed test leaves behind in its traceback must not be found by the next one.
        sys.last_value = sys.last_traceback = sys.last_type = sys.last_exc = None
        gc.collect()
        self.write(end=nodeid, **self.outcome)


def why_skipped(report):
    return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)


def worker(arguments):
    """Runs in the environment of the tests: --worker SUITE LOG ids-or-files..."""
    import pytest

    ranks = int(os.environ.pop("MAYA_SUITE_RANKS", 1))
    if ranks > 1:
        with socket.socket() as free:
            free.bind(("localhost", 0))
            os.environ.update(WORLD_SIZE=str(ranks), MASTER_ADDR="localhost", MASTER_PORT=str(free.getsockname()[1]), RANK="0", LOCAL_RANK="0")
        for rank in range(1, ranks):
            subprocess.Popen([sys.executable, HERE, "--worker", *arguments], env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank)})
    name, log, *rest = arguments
    if SUITES[name].helpers:
        package, folder = SUITES[name].helpers
        importlib.import_module(package).__path__.append(os.path.join(os.getcwd(), folder))
    return pytest.main(["-q", "-p", "no:cacheprovider", *SUITES[name].arguments, *rest], plugins=[Log(log)])


class Session:
    """One process with tests, or one a rank."""

    def __init__(self, options, arguments, ranks=1):
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".jsonl")
        launch = [options.maya_run, "--no-trace", "--devices", str(options.devices), "--device", options.device, "--"]
        command = [*launch, options.python, HERE, "--worker", options.suite, self.log.name, *arguments]
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
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
            broken[line["broken"]] = (line["outcome"], line["text"])
    session.end()
    return found, broken


def run_session(options, tests, ranks):
    """{test: (outcome, text)} of the tests that one process gets through; at least of the first."""
    results, limit = {}, options.limit
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


def run(options, tests):
    """{test: (outcome, text)} of all tests."""
    results, suite = {}, SUITES[options.suite]
    while left := [test for test in tests if test not in results]:
        file = left[0].split("::")[0]
        name = pathlib.PurePath(file).name
        together = [test for test in left if test.split("::")[0] == file][: 1 if name in suite.alone else suite.most_at_once]
        results.update(run_session(options, together, suite.ranks.get(name, 1)))
        print(f"{len(results)} of {len(tests)} done", file=sys.stderr, flush=True)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(results, indent=1))
    return results


def expectations(suite):
    """[(pattern, class, reason)]"""
    path = HERE.parent / "expected" / f"{suite}.txt"
    lines = [[part.strip() for part in line.split("|", 2)] for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    for pattern, kind, reason in lines:
        assert kind in CLASSES and reason, f"{path}: {pattern}: {kind}"
    return lines


def matches(test, pattern):
    return fnmatch.fnmatchcase(test, "*" + pattern.replace("[", "[[]"))


def last_words(text):
    lines = [line[4:] if line.startswith("E   ") else line for line in text.strip().splitlines()]
    errors = [line.strip() for line in lines if re.match(r"\s*[\w.]*(Error|Exception|Failed|assert)\b", line)]
    return (errors or lines or [""])[-1][:300]


def classed(results, expected):
    """{class: {test: text}}"""
    table = collections.defaultdict(dict)
    for test, (outcome, text) in results.items():
        line = next((line for line in expected if matches(test, line[0])), None)
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
    parser.add_argument("folder", nargs="?", default=HERE.parent)
    parser.add_argument("--python", required=True, help="interpreter of the environment with the wheel and pytest")
    parser.add_argument("--maya-run", default=ROOT / "build/release/bin/maya-run")
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--device", default="h100-sxm")
    parser.add_argument("-k", default="", help="pytest's expression for the tests to run")
    parser.add_argument("--file", action="append", help="only files of the suite whose path has this in it")
    parser.add_argument("--limit", type=int, help="seconds for one test")
    parser.add_argument("--json", help="outcome and text of every test, written as they come")
    parser.add_argument("--output", help="file that gets what the tests print")
    parser.add_argument("--once", action="store_true", help="do not try failures without a line again")
    parser.add_argument("--skips", action="store_true", help="print why tests were skipped")
    options = parser.parse_args()
    # Not resolved: the interpreter of a virtual environment is a link that must be kept.
    options.folder, options.maya_run, options.python = (os.path.abspath(path) for path in (options.folder, options.maya_run, options.python))
    suite, expected = SUITES[options.suite], expectations(options.suite)
    options.limit = options.limit or suite.limit_s
    folder = pathlib.Path(options.folder)
    files = [str(path.relative_to(folder)) for pattern in suite.files for path in sorted(folder.glob(pattern))]
    files = [file for file in files if not options.file or any(wanted in file for wanted in options.file)]
    if not files:
        parser.error(f"{folder} has no test file of {options.suite}: it is to be the root of a checkout")
    found, broken = collect(options, files)
    results = run(options, found)
    # What a failed test leaves behind may be what the next one trips over.
    for test in [] if options.once else list(classed(results, expected)["unexplained"]):
        results.update(run(options, [test]))
    results.update(broken)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1))
    table = classed(results, expected)
    for kind in ("unexplained", "missing", "wrong", "passes though expected to fail"):
        for test, text in table[kind].items():
            print(f"{kind}: {test}: {text}")
    if not options.file and not options.k:
        for pattern in (line[0] for line in expected if not any(matches(test, line[0]) for test in results)):
            print(f"no such test: {pattern}")
    if options.skips:
        for reason, count in collections.Counter(table["skipped"].values()).most_common():
            print(f"skipped {count}: {reason}")
    print(f"{options.suite}: {len(results)} tests: " + ", ".join(f"{len(tests)} {kind}" for kind, tests in table.items() if tests))
    return 1 if table["unexplained"] or not results else 0


if __name__ == "__main__":
    sys.exit(worker(sys.argv[2:]) if sys.argv[1:2] == ["--worker"] else main())
