"""NVIDIA's own tests of cuda-python (cuda_bindings/tests and cuda_core/tests of a copy of its repository) on emulated devices.

    maya-run --no-trace --devices 2 -- python test/conformance/cuda_python.py COPY [FILE...] [--skips] [--json FILE]

FILE is a test file or folder of the copy, without any all of both suites are run. The Python it runs under is made by
cuda_python_environment.sh. Each test file is a process of its own; one that ends early is started again behind the test it ended in. A failure is classed by
cuda_python_expected.txt, which has a line for each expected one with the reason. What is not there is "missing" where a call of NVIDIA's
is not supported, else "wrong", and makes the exit status 1.
"""
import argparse
import collections
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = HERE / "cuda_python_expected.txt"
SUITES = ("cuda_bindings/tests", "cuda_core/tests")
LIMIT_S = 120  # one test
FILE_LIMIT_S = 1200
MISSING = re.compile(r"not[_ ]supported|NOT_SUPPORTED|not[_ ]found|NOT_FOUND|NotSupported|FunctionNotFound", re.I)


class Recorder:
    """The pytest plugin: a line of JSON for each test that starts and that ends, so that one that takes the process with it is known."""

    def __init__(self, path):
        self.file = open(path, "a")
        done = [json.loads(line)["test"] for line in open(path)]
        self.done = set(done)

    def write(self, test, outcome, text=""):
        self.file.write(json.dumps({"test": test, "outcome": outcome, "text": text}) + "\n")
        self.file.flush()

    def pytest_collection_modifyitems(self, config, items):
        left = [item for item in items if item.nodeid not in self.done]
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in self.done])
        items[:] = left

    def pytest_collectreport(self, report):
        if report.failed:
            self.write(report.nodeid, "failed", last_line(report))
        elif report.skipped:
            self.write(report.nodeid, "skipped", last_line(report))

    def pytest_runtest_logstart(self, nodeid):
        self.write(nodeid, "started")

    def pytest_runtest_logreport(self, report):
        if hasattr(report, "wasxfail") and (report.skipped or report.passed):
            self.write(report.nodeid, "expected by the suite", report.wasxfail)
        elif report.failed:
            self.write(report.nodeid, "failed", last_line(report))
        elif report.skipped:
            self.write(report.nodeid, "skipped", last_line(report))
        elif report.when == "call":
            self.write(report.nodeid, "passed")


def last_line(report):
    """The line that says why: a skip's reason, or the exception."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = str(crash.message if crash else report.longrepr).strip().splitlines()
    return (lines[0] if crash else lines[-1]) if lines else ""


def pytest_configure(config):
    """Registers the plugin in the process of a test file (pytest -p cuda_python)."""
    import cuda.bindings

    # The suites' helpers are not in the wheel: the copy's folder comes behind the wheel's.
    cuda.bindings.__path__.append(os.path.join(os.getcwd(), "cuda_bindings", "cuda", "bindings"))
    config.pluginmanager.register(Recorder(os.environ["MAYA_CONFORMANCE_RECORD"]))


def outcomes(path):
    """test -> (outcome, text): the worst of set-up, call and tear-down."""
    order = ("started", "passed", "skipped", "expected by the suite", "failed")
    found = {}
    for line in open(path):
        one = json.loads(line)
        before = found.get(one["test"], ("started", ""))
        if order.index(one["outcome"]) >= order.index(before[0]):
            found[one["test"]] = (one["outcome"], one["text"])
    return found


def run_file(copy, file, keep_output):
    """Runs one test file until each of its tests has an outcome."""
    with tempfile.TemporaryDirectory() as folder:
        record = os.path.join(folder, "record")
        open(record, "w").close()
        command = [sys.executable, "-P", "-B", "-m", "pytest", "-p", "cuda_python", "-p", "no:randomly", "-p", "no:cacheprovider", "--timeout", str(LIMIT_S),
                   "--tb", "short", "--no-showlocals", "-q", "-c", "pytest.ini", str(file)]
        environment = dict(os.environ, MAYA_CONFORMANCE_RECORD=record, PYTHONPATH=str(HERE), PYTHONDONTWRITEBYTECODE="1")
        while True:
            started = sum(1 for _ in open(record))
            with subprocess.Popen(command, cwd=copy, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
                try:
                    output, _ = run.communicate(timeout=FILE_LIMIT_S)
                    end = f"the process ended with {run.returncode}"
                except subprocess.TimeoutExpired:
                    run.kill()
                    output, _ = run.communicate()
                    end = f"no end within {FILE_LIMIT_S} s"
            if keep_output:
                print(output, flush=True)
            with open(record) as lines:
                last = [json.loads(line) for line in lines][started:]
            # 0 to 5 are pytest's own ends: all tests it collected have an outcome.
            if end.split()[-1] in "012345" or not last:
                if not last and end.split()[-1] not in ("0", "5"):
                    return {str(file): ("failed", f"{end}: {output.strip().splitlines()[-1] if output.strip() else ''}")}
                return outcomes(record)
            with open(record, "a") as lines:
                lines.write(json.dumps({"test": last[-1]["test"], "outcome": "failed", "text": end}) + "\n")


def expected():
    """[(pattern of the test's name, class, reason)]"""
    found = []
    for line in EXPECTED.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            pattern, kind, reason = (part.strip() for part in line.split("|", 2))
            found.append((pattern, kind, reason))
    return found


def matches(name, pattern):
    return fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))


def class_of(name, outcome, text, known):
    if outcome != "failed":
        return "no end" if outcome == "started" else outcome
    for pattern, kind, _ in known:
        if matches(name, pattern):
            return kind
    return "missing" if MISSING.search(text) else "wrong"


def test_files(copy, wanted):
    for given in wanted or SUITES:
        path = copy / given
        yield from ([path] if path.is_file() else sorted(path.rglob("test_*.py")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("copy", type=pathlib.Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--skips", action="store_true", help="print why tests were skipped")
    parser.add_argument("--output", action="store_true", help="print what pytest prints")
    parser.add_argument("--json")
    options = parser.parse_intermixed_args()
    copy, known = options.copy.resolve(), expected()
    table, results, skips = collections.defaultdict(collections.Counter), {}, collections.Counter()
    for file in test_files(copy, options.files):
        name = str(file.relative_to(copy))
        for test, (outcome, text) in run_file(copy, name, options.output).items():
            kind = class_of(test, outcome, text, known)
            table[name][kind] += 1
            results[test] = (kind, text)
            if kind == "skipped":
                skips[text] += 1
            if kind in ("missing", "wrong", "no end"):
                print(f"{kind}: {test}: {text[:300]}", flush=True)
        print(f"{name}: " + ", ".join(f"{count} {kind}" for kind, count in sorted(table[name].items())), flush=True)
    for suite in SUITES:
        total = sum((counts for name, counts in table.items() if name.startswith(suite)), collections.Counter())
        print(f"{suite}: {sum(total.values())} tests: " + ", ".join(f"{count} {kind}" for kind, count in sorted(total.items())))
    if options.skips:
        for reason, count in skips.most_common():
            print(f"skipped {count}: {reason}")
    unused = [pattern for pattern, _, _ in known if not options.files and not any(kind not in ("passed", "skipped") and matches(test, pattern) for test, (kind, _) in results.items())]
    for pattern in unused:
        print(f"expected to fail, but does not: {pattern}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)
    return 1 if any(kind in ("missing", "wrong", "no end") for kind, _ in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
