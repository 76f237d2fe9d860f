#!/usr/bin/env bash
# Makes the learned tables of all devices.
# usage: predictor/tables/make.sh DATA [DEVICE...]     DATA: folder of measurements
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
data="${1:?usage: make.sh DATA [DEVICE...]}"
shift
binaries="${MAYA_BINARIES:-$here/../../build/release/bin}"
devices=("$@")
if [ ${#devices[@]} = 0 ]; then
  devices=(a100-sxm-80 a100-sxm-40 a100-pcie-80 a100-pcie-40 h100-sxm h100-pcie h100-sxm-96 h200-sxm l40s b200-sxm)
fi
for device in "${devices[@]}"; do
  "$binaries/maya-train" --device "$device" --data "$data" --out "$here/$device.table" --parameters "$here/parameters.txt" --quiet
done
