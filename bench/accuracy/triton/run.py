#!/usr/bin/env python3
"""Times of Triton kernels that were counted from their instructions, beside the published times of the same kernels.

Rows: Liger-Kernel's own benchmark table (bench/accuracy/triton/run.py DATA, DATA the folder of measured data), operations that are Triton kernels only.
Rows shorter than --least ms are left out: there the host was measured. Prints a table in Markdown.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
DEVICES = {"NVIDIA A100-SXM4-80GB": "a100-sxm-80", "NVIDIA H100 80GB HBM3": "h100-sxm", "NVIDIA H100 PCIe": "h100-pcie", "NVIDIA B200": "b200-sxm"}
# Shapes that liger_times.py runs; other rows of the table have others. Cross entropy asks the host for numbers between its kernels.
WANTED = {("rms_norm", "forward"), ("rms_norm", "backward"), ("layer_norm", "forward"), ("layer_norm", "backward"), ("group_norm", "forward"),
          ("group_norm", "backward"), ("jsd", "forward"), ("kl_div", "forward"), ("tvd", "forward")}


def published(data, least):
    rows = []
    with open(pathlib.Path(data) / "liger-kernel" / "all_benchmark_data.csv", newline="") as file:
        for row in csv.DictReader(file):
            key = (row["kernel_name"], row["kernel_operation_mode"])
            if row["metric_name"] != "speed" or row["kernel_provider"] != "liger" or key not in WANTED or row["gpu_name"] not in DEVICES:
                continue
            if row["kernel_name"] == "jsd" and row["gpu_name"] == "NVIDIA B200":
                continue  # another shape
            if float(row["y_value_50"]) >= least:
                rows.append((DEVICES[row["gpu_name"]], *key, int(float(row["x_value"])), float(row["y_value_50"]), row["liger_version"]))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="folder of measured data")
    parser.add_argument("--bin", default=ROOT / "build/release/bin", type=pathlib.Path, help="where maya-run is")
    parser.add_argument("--least", type=float, default=0.05, help="ms; shorter rows are left out")
    parser.add_argument("--only", default="", help="operations whose name has this")
    options = parser.parse_args()
    rows = [row for row in published(options.data, options.least) if options.only in row[1]]
    environments = pathlib.Path(os.environ.get("MAYA_ENVIRONMENTS", pathlib.Path.home() / ".cache/maya/environments"))
    python = environments / "models/bin/python"
    if not python.exists() or not (environments / "extensions").exists():
        sys.exit("triton/run.py: no environments models and extensions: make them with test/environments.sh models extensions")
    environment = dict(os.environ, PYTHONPATH=str(environments / "extensions"))
    predicted = {}
    for device in sorted({row[0] for row in rows}):
        cases = sorted({(row[1], row[3], row[2]) for row in rows if row[0] == device})
        command = [options.bin / "maya-run", "--device", device, "--no-trace", "--", python, pathlib.Path(__file__).with_name("liger_times.py"), json.dumps(cases)]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
        for line in done.stdout.splitlines():
            if line.startswith("{"):
                one = json.loads(line)
                predicted[device, one["operation"], one["direction"], one["size"]] = one["ms"]
        if done.returncode != 0:
            print(f"triton/run.py: the program ended with {done.returncode} on {device}", file=sys.stderr)
    print("| device | operation | size | measured ms | predicted ms | error | measured with Liger |\n|---|---|---|---|---|---|---|")
    errors = {}
    for device, operation, direction, size, ms, version in rows:
        ours = predicted.get((device, operation, direction, size))
        if ours is None:
            print(f"| {device} | {operation} {direction} | {size} | {ms:.3f} | not run | | {version} |")
            continue
        errors.setdefault(f"{operation} {direction}", []).append(ours / ms - 1)
        print(f"| {device} | {operation} {direction} | {size} | {ms:.3f} | {ours:.3f} | {ours / ms - 1:+.1%} | {version} |")
    print("\n| operation | rows | median error | mean error | worst | bias |\n|---|---|---|---|---|---|")
    for name, values in [*sorted(errors.items()), ("all", [e for values in errors.values() for e in values])]:
        sizes = sorted(abs(e) for e in values)
        bias = math.exp(sum(math.log(1 + e) for e in values) / len(values)) - 1
        print(f"| {name} | {len(values)} | {sizes[len(sizes) // 2]:.1%} | {sum(sizes) / len(sizes):.1%} | {sizes[-1]:.1%} | {bias:+.1%} |")


main()
