#!/usr/bin/env bash
# Accuracy of the kernel models on shapes that were kept back: median, mean and 95th percentile error, signed bias, share
# inside the 80 % interval, beside the pure roofline and a constant efficiency, for shapes kept back at random and for
# whole groups of them: pairs of columns and depth, head counts, row lengths, filter shapes.
# usage: bench/accuracy/kernels/run.sh DATA [DEVICE...]     DATA: folder of measurements; default devices: all with tables
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
data="${1:?usage: run.sh DATA [DEVICE...]}"
shift
binaries="${MAYA_BINARIES:-$here/../../../build/release/bin}"
devices=("$@")
if [ ${#devices[@]} = 0 ]; then
  for table in "$here"/../../../predictor/tables/*.table; do devices+=("$(basename "$table" .table)"); done
fi
for split in random unseen; do
  echo "## Shapes kept back: $split"
  for device in "${devices[@]}"; do
    "$binaries/maya-train" --device "$device" --data "$data" --split "$split" --quiet
  done
done
