#!/usr/bin/env bash
# Makes the learned tables of all devices, and the timings of collectives.
# usage: predictor/tables/make.sh DATA [DEVICE...|collectives]     DATA: folder of measurements
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
data="${1:?usage: make.sh DATA [DEVICE...]}"
shift
binaries="${MAYA_BINARIES:-$here/../../build/release/bin}"
devices=("$@")
if [ ${#devices[@]} = 0 ]; then
  devices=(a100-sxm-80 a100-sxm-40 a100-pcie-80 a100-pcie-40 h100-sxm h100-pcie h100-sxm-96 h200-sxm l40s b200-sxm collectives)
fi
for device in "${devices[@]}"; do
  if [ "$device" = collectives ]; then
    "$binaries/maya-train" --collectives --data "$data" --out "$here/collectives.txt" --parameters "$here/parameters.txt"
    continue
  fi
  "$binaries/maya-train" --device "$device" --data "$data" --out "$here/$device.table" --parameters "$here/parameters.txt" --quiet
done
