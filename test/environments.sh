#!/usr/bin/env bash
# Makes the Python environments that the end-to-end tests run in, outside the checkout, once: test/environments.sh [NAME...]
# full: torch with all of NVIDIA's wheels, transformers; lean: torch alone; numba: numba-cuda with NVIDIA's compilers.
set -euo pipefail
root=${MAYA_ENVIRONMENTS:-$HOME/.cache/maya/environments}
python=${MAYA_PYTHON:-python3}
torch=torch==2.15.0
# torch's own needs that are plain Python, for the environments without NVIDIA's wheels
small="numpy sympy networkx jinja2 fsspec filelock typing_extensions setuptools>=77.0.3"
requirements() {
  case $1 in
    full) echo "$torch numpy transformers==5.24.0 accelerate==1.15.0" ;;
    lean) echo "--no-deps $torch" ;;
    numba) echo "numba-cuda[cu13]==0.30.4 cffi pytest filecheck nvidia-ml-py" ;;
    *) echo "environments.sh: unknown environment: $1; known are full lean numba" >&2; exit 2 ;;
  esac
}
mkdir -p "$root"
for name in "${@:-full lean numba}"; do
  for one in $name; do
    wanted="$($python --version) $(requirements "$one") $small"
    [ "$(cat "$root/$one/.requirements" 2>/dev/null)" = "$wanted" ] && continue
    echo "environments.sh: making $root/$one" >&2
    rm -rf "${root:?}/$one"
    "$python" -m venv "$root/$one"
    # shellcheck disable=SC2046
    "$root/$one/bin/pip" install --quiet --disable-pip-version-check --no-warn-conflicts $(requirements "$one")
    # shellcheck disable=SC2086
    [ "$one" = lean ] && "$root/$one/bin/pip" install --quiet --disable-pip-version-check --no-warn-conflicts $small
    echo "$wanted" > "$root/$one/.requirements"
  done
done
