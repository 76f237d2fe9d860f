"""torch.profiler on an unmodified PyTorch: what it shows is what the trace holds and what maya-predict predicts."""
import collections
import json
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))
from harness import BIN, PROGRAMS, WAYS, EndToEnd, python  # noqa: E402

SMALL = "--layers 2 --hidden 256 --heads 4 --vocab 1000 --seq 128 --batch 2".split()
DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def kernels_of_trace(traces):
    """Names of kernels and operations in a Maya trace with their counts, and the sum of their estimates in microseconds."""
    text = subprocess.run([BIN / "maya-trace", "dump", "--json", *traces], check=True, capture_output=True, text=True).stdout
    strings, kernels, configurations, operations = {}, {}, {}, {}
    counts, total_us = collections.Counter(), 0.0
    for packet in (json.loads(line)["packet"] for line in text.splitlines()):
        if "string" in packet:
            strings[packet["string"]["id"]] = packet["string"].get("text", "")
        elif "kernel" in packet:
            kernels[packet["kernel"]["id"]] = strings[packet["kernel"]["name"]]
        elif "configuration" in packet:
            configurations[packet["configuration"]["id"]] = packet["configuration"]
        elif "operation_descriptor" in packet:
            operations[packet["operation_descriptor"]["id"]] = packet["operation_descriptor"]
        elif "launch" in packet:
            configuration = configurations[packet["launch"]]
            counts[kernels[configuration["kernel"]]] += 1
            total_us += configuration["estimate_ns"] / 1e3
        elif "operation" in packet:
            operation = operations[packet["operation"]]
            counts[strings[operation["api"]]] += 1
            total_us += operation["estimate_ns"] / 1e3
    names = list(counts)
    readable = subprocess.run(["c++filt"], input="\n".join(names), check=True, capture_output=True, text=True).stdout.splitlines()
    shown = collections.Counter()
    for name, demangled in zip(names, readable):
        shown[demangled] += counts[name]
    return shown, total_us


class TorchProfiler(EndToEnd):
    def profile(self, way, *arguments):
        out = self.scratch / "profile.json"
        environment, launcher = WAYS[way]
        run = self.run_command([python(environment), HERE / "profiled.py", out, PROGRAMS / "gpt.py", *arguments], launcher)
        self.assertEqual(run.status, 0, run.explain())
        return run, json.loads(out.read_text())["traceEvents"]

    def check(self, way):
        run, events = self.profile(way, *SMALL)
        kernels = [e for e in events if e.get("cat") == "kernel"]
        expected, expected_us = kernels_of_trace(run.traces)
        self.assertEqual(collections.Counter(e["name"] for e in kernels), expected)
        self.assertAlmostEqual(sum(e["dur"] for e in kernels) / expected_us, 1, delta=0.001)

        # Every kernel starts after the call that launched it, and is linked to an operator of the CPU.
        calls = {e["args"]["correlation"]: e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")}
        for kernel in kernels:
            self.assertLess(calls[kernel["args"]["correlation"]]["ts"], kernel["ts"])
            self.assertIn("External id", kernel["args"])
        # Streams do not overlap themselves; times are whole nanoseconds, shown in microseconds.
        streams = collections.defaultdict(list)
        work = sorted((e for e in events if e.get("cat") in DEVICE_WORK), key=lambda e: e["ts"])
        for event in work:
            streams[event["args"]["stream"]].append(event)
        for stream in streams.values():
            for before, after in zip(stream, stream[1:]):
                self.assertLessEqual(before["ts"] + before["dur"], after["ts"] + 0.002)
        # key_averages(): the same device time, and some of it under the operators that caused it.
        figures = dict(line.split() for line in run.out.splitlines() if line.startswith(("device_us", "linked_us")))
        self.assertGreater(float(figures["linked_us"]), 0)
        self.assertAlmostEqual(float(figures["device_us"]) / sum(e["dur"] for e in work), 1, delta=0.01)

        # The steps that maya-predict reports are the last work of the program.
        report = self.predict(run.trace_dir)
        count = sum(o["count"] for o in report["operations"])
        predicted_ms = sum(o["total_ms"] for o in report["operations"])
        self.assertGreater(count, 100)
        self.assertAlmostEqual(sum(e["dur"] for e in work[-count:]) / 1e3 / predicted_ms, 1, delta=0.01)

    def test_lean(self):
        self.check("lean")

    def test_maya_run(self):
        self.check("maya-run")


if __name__ == "__main__":
    unittest.main()
