#!/usr/bin/env bash
# Large worlds from command to report: time and memory of each stage. run.sh [OUT.md] [CASE...]; cases as below, all without any.
# PYTHON is a Python with torch (default: the lean environment that test/environments.sh makes); MAYA the folder of a build's commands.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${MAYA:-$root/build/release/bin}
python=${PYTHON:-$HOME/.cache/maya/environments/lean/bin/python}
out=${1:-/dev/stdout}
shift || true
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# name | ranks | arguments of llama.py
cases=(
  "llama-8b-fsdp-8|8|--model 8b --checkpoint"
  "llama-8b-fsdp-128|128|--model 8b --checkpoint"
  "llama-8b-fsdp-1024|1024|--model 8b --checkpoint"
  "llama-70b-fsdp-tp8-256|256|--model 70b --tensor 8 --checkpoint"
  "llama-405b-tp8-pp16-8192|8192|--model 405b --tensor 8 --pipeline 16 --micro-batches 32 --checkpoint"
  "llama-405b-tp8-pp16-16384|16384|--model 405b --tensor 8 --pipeline 16 --micro-batches 32 --checkpoint"
)

# Runs a command; sets seconds, memory (MiB of its largest process) and status.
measure() {
  /usr/bin/time -o "$work/time" -f "%e %M" "$@" >"$work/output" 2>&1
  status=$?
  read -r seconds memory < <(tail -1 "$work/time")
  memory=$((memory / 1024))
}

{
  echo "| case | ranks | processes run | run: s | run: MiB a process | predict: s | predict: MiB | step, ms (80 % interval) | MFU | peak memory |"
  echo "|---|---|---|---|---|---|---|---|---|---|"
} >"$out"
for one in "${cases[@]}"; do
  IFS='|' read -r name ranks arguments <<<"$one"
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  # shellcheck disable=SC2086
  measure "$bin/maya-run" --world-size "$ranks" --gpus-per-node 8 --cluster dgx-h100 --trace-dir "$work/$name" -- \
    "$python" "$here/llama.py" $arguments
  if [ "$status" -ne 0 ]; then
    echo "| $name | $ranks | failed: $(tail -1 "$work/output") |" >>"$out"
    continue
  fi
  run_seconds=$seconds run_memory=$memory processes=$(ls "$work/$name"/*.pb | wc -l)
  measure "$bin/maya-predict" --json "$work/$name"
  python3 - "$work/output" "$name" "$ranks" "$processes" "$run_seconds" "$run_memory" "$seconds" "$memory" >>"$out" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
name, ranks, processes, run_s, run_mib, predict_s, predict_mib = sys.argv[2:]
step = report["step_time_ms"]
peak = report["memory"]["peak_bytes"] / 2**30
mfu = report.get("mfu")
print(f"| {name} | {ranks} | {processes} | {run_s} | {run_mib} | {predict_s} | {predict_mib} | "
      f"{step['median']:.0f} ({step['low']:.0f} to {step['high']:.0f}) | {'' if mfu is None else f'{mfu:.3f}'} | {peak:.1f} GiB, {report['memory']['verdict']} |")
PY
  rm -rf "${work:?}/$name"
done
