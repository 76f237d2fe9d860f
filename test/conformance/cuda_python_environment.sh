#!/usr/bin/env bash
# The Python environment that suite.py needs for cuda-bindings and cuda-core: test/conformance/cuda_python_environment.sh COPY FOLDER
# COPY: a copy of cuda-python's repository. FOLDER: gets the environment in FOLDER/venv (0.8 GB; 4 minutes of one core).
# cuda-bindings is built from the copy, because its wheel has NVIDIA's runtime linked into it, which works only with NVIDIA's driver: here
# the runtime is linked as a library of its own. Everything else comes from the package registry.
set -euo pipefail
[ $# = 2 ] || { echo "usage: cuda_python_environment.sh COPY FOLDER" >&2; exit 2; }
copy=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
"${MAYA_PYTHON:-python3}" -m venv "$folder/venv"
pip() { "$folder/venv/bin/pip" --disable-pip-version-check "$@"; }
pip install -q cuda-core==1.2.0 cuda-pathfinder==1.6.1 numpy ml-dtypes cloudpickle psutil cffi pytest==9.1.0 pytest-benchmark pytest-randomly pytest-repeat \
  pytest-rerunfailures pytest-timeout "cython>=3.2,<3.3" "setuptools>=80" "setuptools_scm[simple]>=8,!=10.1" wheel
pip install -q --no-deps "nvidia-cuda-nvrtc==13.3.*" "nvidia-nvjitlink==13.3.*" "nvidia-nvvm==13.3.*" "nvidia-nvfatbin==13.3.*" "nvidia-cuda-runtime==13.3.*" \
  "nvidia-cuda-crt==13.3.*" "nvidia-cuda-cccl==13.3.*" "nvidia-cuda-profiler-api==13.3.*" "nvidia-nvml-dev==13.3.*" "nvidia-cufile==1.18.*"
nvidia=$("$folder/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia/cu13

# A toolkit folder whose static runtime stands for the shared one. What that has and the runtime of the emulated driver (13.2) has not answers
# that it needs a newer driver (cudaErrorCallRequiresNewerDriver, 36).
mkdir -p "$folder/toolkit/lib64"
ln -sfn "$nvidia/include" "$folder/toolkit/include"
for name in cudaStreamBeginRecaptureToGraph cudaStreamBeginRecaptureToGraph_ptsz; do echo "int $name(void) { return 36; }"; done > "$folder/toolkit/newer.c"
cc -fPIC -fvisibility=hidden -c "$folder/toolkit/newer.c" -o "$folder/toolkit/newer.o"
echo "INPUT($folder/toolkit/newer.o $nvidia/lib/libcudart.so.13)" > "$folder/toolkit/lib64/libcudart_static.a"

# The build writes into its sources.
rm -rf "$folder/sources"
cp -r "$copy/cuda_bindings" "$folder/sources"
# Tests need no fast bindings: not optimised, they are compiled in a fraction of the time.
sed -i 's/\["-O3"\]/["-O0", "-g0"]/' "$folder/sources/build_hooks.py"
export CUDA_PYTHON_PARALLEL_LEVEL=${MAYA_JOBS:-$(nproc)} CUDA_HOME="$folder/toolkit" CUDA_PATH="$folder/toolkit" SETUPTOOLS_SCM_PRETEND_VERSION=13.4.0
pip install --no-build-isolation --no-deps --force-reinstall "$folder/sources"
