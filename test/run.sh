#!/usr/bin/env bash
# Runs all tests: installs what they need, builds, makes the Python environments, runs ctest. Options go to ctest: test/run.sh -R trace
set -euo pipefail
cd "$(dirname "$0")/.."
test/packages.sh
cmake --preset release >/dev/null
cmake --build --preset release
test/environments.sh
exec ctest --preset release "$@"
