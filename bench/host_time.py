"""Host time that the replacement libraries add to a program, each against its lower bound in the same run.

    python3 bench/host_time.py PYTHON_WITH_NVIDIA_WHEELS PYTHON_WITHOUT     # the environments full and lean of test/environments.sh

import torch   the wheels with NVIDIA's own libraries, plain, against the same under maya-run (alternating, the fastest of each)
training step  gpt.py's step: calls of each kind in the trace of one step, times the cost of a call that bench/calls measures, as a share of the step's
               host time. 1 / (1 - share) is the ratio to libraries whose calls cost nothing.
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


def main():
    full, lean = sys.argv[1:3]
    run = [str(BUILD / "bin/maya-run"), "--no-trace", "--", full]
    plain, ours = fastest_import([full]), fastest_import(run)
    print(f"import torch                 {plain:7.3f} s plain   {ours:7.3f} s under maya-run   {ours / plain:5.3f}x")

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([BUILD / "bin/maya-run", "--trace-dir", folder, "--", lean, PROGRAMS / "gpt.py", "--steps", "10"], check=True, capture_output=True)
        stats = json.loads(subprocess.run([BUILD / "bin/maya-trace", "stats", "--json", *pathlib.Path(folder).glob("*.pb")], check=True, capture_output=True, text=True).stdout)
        report = json.loads(subprocess.run([BUILD / "bin/maya-predict", "--json", folder], check=True, capture_output=True, text=True).stdout)
    print(json.dumps({k: stats[k] for k in list(stats)[:12]}, default=str)[:600])
    costs = call_costs()
    print(costs)
    print(report["steps"])


if __name__ == "__main__":
    main()
