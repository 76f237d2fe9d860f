#!/usr/bin/env bash
# Runs all tests: installs what they need, builds, makes the Python environments, runs ctest. Options go to ctest: test/run.sh -R trace
set -euo pipefail
cd "$(dirname "$0")/.."
test/packages.sh
cmake --preset release -DMAYA_BUILD_TESTS=ON -DMAYA_BUILD_BENCH=ON >/dev/null
cmake --build --preset release
test/environments.sh
# NVIDIA's own libraries and PyTorch's wheel, which exported names and kernel images are compared with.
environments=${MAYA_ENVIRONMENTS:-$HOME/.cache/maya/environments}
packages=$(echo "$environments"/full/lib/python3*/site-packages)
MAYA_OLDER_TORCH_DIRS=$(echo "$environments"/torch-2.8/lib/python3*/site-packages/torch)
export MAYA_OLDER_TORCH_DIRS MAYA_NVIDIA_12_DIR=$environments/cuda-12/nvidia
export MAYA_NVIDIA_DIR=$packages/nvidia MAYA_TORCH_DIR=$packages/torch MAYA_NVIDIA_CUDART=$packages/nvidia/cu13/lib/libcudart.so.13
exec ctest --preset release "$@"
