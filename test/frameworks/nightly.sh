#!/usr/bin/env bash
# Runs all cases of the frameworks' tests, also those that are too long for every change: test/frameworks/nightly.sh [pytorch deepspeed ...]
set -uo pipefail
cd "$(dirname "$0")"
../environments.sh frameworks torchtitan lean models diffusers jax extensions ecosystem applications vllm transformer-engine hta
export MAYA_NIGHTLY=1 PYTHONDONTWRITEBYTECODE=1
status=0
for name in ${*:-pytorch deepspeed megatron trainers torchtitan vision jax extensions ecosystem applications vllm engine profile}; do
  python3 "test_$name.py" || status=1
done
exit $status
