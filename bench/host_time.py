"""Host time that the replacement libraries add to a program, each against its lower bound in the same run.

    python3 bench/host_time.py PYTHON_WITH_NVIDIA_WHEELS PYTHON_WITHOUT     # the environments full and lean of test/environments.sh

import torch   the wheels with NVIDIA's own libraries, plain, against the same under maya-run (alternating, the fastest of each)
training step  gpt.py's step, from runs of 2 and of 12 steps: calls of each kind in the trace, times the cost of a call that bench/calls measures, taken
               from the step's host time. The ratio is to libraries whose calls cost nothing.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[1]
BUILD = SOURCE / "build/release"
PROGRAMS = pathlib.Path(os.environ.get("MAYA_PROGRAMS", SOURCE.parent / "shared/programs"))


def fastest_import(command, rounds=5):
    times = []
    for _ in range(rounds):
        start = time.monotonic()
        subprocess.run([*command, "-c", "import torch"], check=True, capture_output=True)
        times.append(time.monotonic() - start)
    return min(times)


def call_costs():
    """Nanoseconds by name, from bench/calls."""
    text = subprocess.run([BUILD / "bench/calls"], env=dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "lib")), check=True, capture_output=True, text=True).stdout
    return {name.strip(): float(ns) for name, ns in re.findall(r"^(.+?)\s+([\d.]+) ns", text, re.M)}


# Packets of the trace by the call of bench/calls whose cost stands for them.
COST_OF = {
    "launch": "kernel launch through the runtime", "operation": "cublasGemmEx", "event": "event record", "fill": "4-byte copy, device to host",
    "copy": "4-byte copy, device to host", "synchronization": "event record", "allocation": "cudaMalloc and cudaFree, 4 MiB",
}


def traced_run(python, steps):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([BUILD / "bin/maya-run", "--trace-dir", folder, "--", python, PROGRAMS / "gpt.py", "--steps", str(steps)], check=True, capture_output=True)
        stats = subprocess.run([BUILD / "bin/maya-trace", "stats", "--json", *pathlib.Path(folder).glob("*.pb")], check=True, capture_output=True, text=True)
        return json.loads(stats.stdout)


def host_ns(stats):
    return stats["processes"][0]["host_time_ns"]


def main():
    full, lean = sys.argv[1:3]
    run = [str(BUILD / "bin/maya-run"), "--no-trace", "--", full]
    plain, ours = fastest_import([full]), fastest_import(run)
    print(f"import torch                 {plain:7.3f} s plain   {ours:7.3f} s under maya-run   {ours / plain:5.3f}x")

    costs = call_costs()
    few, many = traced_run(lean, 2), traced_run(lean, 12)
    kinds = {kind["kind"]: kind["packets"] for kind in few["kinds"]}
    per_step = {kind["kind"]: (kind["packets"] - kinds.get(kind["kind"], 0)) / 10 for kind in many["kinds"]}
    step_ns = (host_ns(many) - host_ns(few)) / 10
    own_ns = sum(per_step.get(kind, 0) * costs[name] for kind, name in COST_OF.items())
    print(f"training step of gpt.py      {step_ns / 1e6:7.2f} ms host time, {own_ns / 1e6:6.3f} ms of it in Maya   {step_ns / (step_ns - own_ns):5.3f}x")


if __name__ == "__main__":
    main()
