#!/usr/bin/env bash
# Runs gpt.py and parallel.py under maya-run on older PyTorch wheels of the package registry: test/torch_versions/run.sh [VERSION...]
# Prints one table row a run (README.md). Each version is installed without NVIDIA's libraries (about 1 GB of downloads), used, and removed.
#   MAYA_BIN_PATH, MAYA_LIBRARY_PATH   build under test [build/release/bin and lib]
#   MAYA_TEST_PATH                     its folder of tests, for the check of symbols [build/release/test]
#   MAYA_PROGRAMS                      folder with gpt.py and parallel.py [beside the checkout: shared/programs]
#   MAYA_TORCH_VERSIONS_FOLDER         where versions are installed [a temporary folder]
set -uo pipefail
source_folder=$(cd "$(dirname "$0")/../.." && pwd)
bin=${MAYA_BIN_PATH:-$source_folder/build/release/bin}
tests=${MAYA_TEST_PATH:-$source_folder/build/release/test}
programs=${MAYA_PROGRAMS:-$source_folder/../shared/programs}
python=${MAYA_PYTHON:-python3}
folder=${MAYA_TORCH_VERSIONS_FOLDER:-$(mktemp -d)}
export MAYA_LIBRARY_PATH=${MAYA_LIBRARY_PATH:-$source_folder/build/release/lib}
limit=300 # seconds for one run

# torch and the triton that its wheel declares
declare -A triton=([2.4.1]=3.0.0 [2.5.1]=3.1.0 [2.6.0]=3.2.0 [2.7.1]=3.3.1 [2.8.0]=3.4.0 [2.9.1]=3.5.1 [2.10.0]=3.6.0)
all="2.4.1 2.5.1 2.6.0 2.7.1 2.8.0 2.9.1 2.10.0"

# What a failed run says last of itself, without rank and path, short enough for a table. Ranks that only lost their peers do not count.
reason() {
  grep -E '^(\[rank[0-9]+\]: )?([a-zA-Z_.]+\.)?[A-Za-z]*Error: ' "$1" | grep -vE 'ChildFailedError|RemoteError|DistBackendError|Connection closed' | tail -1 | sed -E 's/^\[rank[0-9]+\]: //; s/ \(\/.*//; s/\|/ /g' | cut -c1-150
}

row() { printf '| %s | %s | %s | %s | %s |\n' "$(date -u +%F)" "$version" "$cuda" "$1" "$2"; }

# run NAME EXPECTED COMMAND...: ok when the command ends with status 0 and its output has EXPECTED.
run() {
  local name=$1 expected=$2
  shift 2
  rm -rf "$folder/traces"
  if timeout $limit "$@" > "$folder/out" 2>&1 && grep -q "$expected" "$folder/out"; then
    row "$name" ok
    return 0
  fi
  return 1
}

strategy() {
  local launch=("$here/bin/python" -m torch.distributed.run --standalone --nproc_per_node 2)
  run "parallel.py $1, 2 ranks" "$1 ok, 2 ranks" "$bin/maya-run" --devices 2 --trace-dir "$folder/traces" -- \
    "${launch[@]}" "$programs/parallel.py" --strategy "$1" && return
  local why
  why=$(reason "$folder/out")
  # Has it anything to do with devices? The same program on CPUs.
  timeout $limit "$bin/maya-run" --no-trace -- "${launch[@]}" "$programs/parallel.py" --strategy "$1" --device cpu > "$folder/cpu" 2>&1
  if [ -n "$why" ] && grep -qF "${why:0:60}" "$folder/cpu"; then
    row "parallel.py $1, 2 ranks" "on CPUs with gloo as well: \`$why\`"
  else
    row "parallel.py $1, 2 ranks" "\`${why:-no error text}\`"
  fi
}

status=0
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $all
for version in "$@"; do
  [ -n "${triton[$version]:-}" ] || { echo "run.sh: unknown version: $version; known are $all" >&2; exit 2; }
  here=$folder/$version
  cuda=
  old=()
  [ "$version" = 2.4.1 ] && old=("numpy<2")
  "$python" -m venv "$here"
  "$here/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir "${old[@]:-numpy}" "sympy==1.13.3" networkx jinja2 fsspec filelock typing_extensions \
    "setuptools<81" || exit 1
  "$here/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir --no-deps "torch==$version" "triton==${triton[$version]}" || exit 1
  packages=$(echo "$here"/lib/python3*/site-packages)
  cuda=$(sed -n "s/^cuda.*= '\(.*\)'/\1/p" "$packages/torch/version.py")
  if [ -x "$tests/exports_test" ]; then
    MAYA_OLDER_TORCH_DIRS=$packages/torch run "symbols imported from NVIDIA's libraries" "All tests passed" "$tests/exports_test" "The same of PyTorch*" ||
      { row "symbols imported from NVIDIA's libraries" "missing: $(grep -E '@lib|== ""' "$folder/out" | head -1)"; status=1; }
  fi
  for options in "" "--compile"; do
    run "gpt.py${options:+ $options}" "peak allocated" "$bin/maya-run" --trace-dir "$folder/traces" -- "$here/bin/python" "$programs/gpt.py" $options ||
      { row "gpt.py${options:+ $options}" "\`$(reason "$folder/out")\`"; status=1; }
  done
  run "pytorch_ddp.py, 2 ranks" "ok" "$bin/maya-run" --devices 2 --trace-dir "$folder/traces" -- "$here/bin/python" -m torch.distributed.run --standalone \
    --nproc_per_node 2 "$source_folder/test/frameworks/programs/pytorch_ddp.py" || { row "pytorch_ddp.py, 2 ranks" "\`$(reason "$folder/out")\`"; status=1; }
  for name in ddp fsdp hsdp pp fsdp_tp tp; do strategy $name; done
  run "parallel.py fsdp, world of 8, --ranks auto" "fsdp ok, 8 ranks" "$bin/maya-run" --world-size 8 --trace-dir "$folder/traces" -- "$here/bin/python" \
    "$programs/parallel.py" --strategy fsdp --no-check || row "parallel.py fsdp, world of 8, --ranks auto" "\`$(reason "$folder/out")\`"
  rm -rf "$here" "$folder/traces"
done
exit $status
