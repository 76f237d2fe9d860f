#!/usr/bin/env python3
"""Fits the two transfer parameters of predictor/tables/parameters.txt on scored steps.

    bench/accuracy/steps/run.py --json scores.json       # with tables made without the parameters
    bench/accuracy/steps/fit.py scores.json

streaming.borrowed: factor on the time of memory-bound kernels of a device whose own were never measured. gemm.tf32: factor on the time
of TF32 products, which 16-bit products stand for. Both by the least mean absolute logarithm of predicted / measured over the BERT rows
of a device, whose steps are matrix products and memory-bound kernels; host time is about 1 % of them.
"""
import json
import math
import sys

STREAMING = {"elementwise", "normalization", "softmax", "reduction", "embedding", "index", "optimizer", "fill", "random", "sort"}
GRID = [0.8 + 0.02 * i for i in range(61)]


def misfit(rows, streaming, tf32):
    total = 0
    for measured, predicted, memory_bound, products in rows:
        total += abs(math.log((predicted + memory_bound * (streaming - 1) + products * (tf32 - 1)) / measured))
    return total / len(rows)


def main():
    scored = [row for row in json.load(open(sys.argv[1]))["rows"] if row.get("predicted_ms") and row["program"] == "bert.py"]
    for device in sorted({row["device"] for row in scored}):
        rows, has_tf32 = [], False
        for row in scored:
            if row["device"] != device:
                continue
            families = row["families_ms"]
            single = "tf32" in " ".join(map(str, row["arguments"])).lower()
            has_tf32 |= single
            rows.append((row["measured_ms"], row["predicted_ms"]["median"],
                         sum(ms for family, ms in families.items() if family in STREAMING), families.get("gemm", 0) if single else 0))
        choices = [(misfit(rows, s, t), abs(s - 1) + abs(t - 1), s, t) for s in GRID for t in (GRID if has_tf32 else [1])]
        best = min(choices)
        only_tf32 = min(choice for choice in choices if abs(choice[2] - 1) < 1e-9)
        print(f"{device:13} {len(rows):2} rows: as it is {misfit(rows, 1, 1):.3f}, gemm.tf32 {only_tf32[3]:.2f} alone {only_tf32[0]:.3f}, "
              f"streaming.borrowed {best[2]:.2f} and gemm.tf32 {best[3]:.2f} {best[0]:.3f}")


if __name__ == "__main__":
    main()
