#!/usr/bin/env bash
# From a fresh Debian 12 machine to a prediction: installs what is needed, builds, trains a small GPT without a GPU, predicts its step time and memory.
#   cli/quickstart.sh [DEVICE]      DEVICE as maya-run --list-devices prints them; h100-sxm when left out
set -euo pipefail
cd "$(dirname "$0")/.."
device=${1:-h100-sxm}
test/packages.sh
cmake --preset release -DMAYA_BUILD_TESTS=OFF -DMAYA_BUILD_BENCH=OFF >/dev/null
cmake --build --preset release
test/environments.sh lean
python=${MAYA_ENVIRONMENTS:-$HOME/.cache/maya/environments}/lean/bin/python
traces=$(mktemp -d)
build/release/bin/maya-run --device "$device" --trace-dir "$traces" -- "$python" cli/example/train_gpt.py
build/release/bin/maya-predict "$traces"
echo "trace: $traces"
