#!/usr/bin/env bash
# Makes the Python environments that the end-to-end tests run in, outside the checkout, once: test/environments.sh [NAME...]
# full: torch with all of NVIDIA's wheels, transformers; lean: torch alone; numba: numba-cuda with NVIDIA's compilers.
# models: torch alone with the model libraries of bench/accuracy/steps; transformers-4.38, transformers-4.45, fms, litgpt: folders of packages to put before
# those of models (PYTHONPATH): what published runs were measured with.
# frameworks: torch alone with the training frameworks of test/frameworks; torchtitan: a folder of packages to put before those of frameworks.
# jax: JAX with its CUDA 13 plugin, without NVIDIA's libraries but the compiler (ptxas) that XLA runs.
# diffusers: a folder of packages to put before those of models.
# vllm: vLLM with its pinned needs (test/frameworks/vllm-requirements.txt), without NVIDIA's libraries: 5 GB.
# hta: Meta's Holistic Trace Analysis, which reads profiles of torch.profiler.
# extensions: a folder of packages with kernels of their own, to put before those of models; ecosystem: of packages without, to put before both;
# applications: of trainers and libraries on top of those, to put before all three.
# transformer-engine: a folder of packages to put before those of models or frameworks. Its torch part has no wheel: it is built here, with the headers of full, 25 minutes on two
# idle cores. Wheels that were kept are taken from the folder in PIP_FIND_LINKS.
# torch-2.8: torch 2.8.0, built with CUDA 12, alone; cuda-12: a folder with NVIDIA's libraries of CUDA 12.9, the small ones.
# Without names: full lean numba frameworks torch-2.8 cuda-12.
set -euo pipefail
root=${MAYA_ENVIRONMENTS:-$HOME/.cache/maya/environments}
python=${MAYA_PYTHON:-python3}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
torch=torch==2.15.0
# torch's own needs that are plain Python, for the environments without NVIDIA's wheels
small="numpy sympy networkx jinja2 fsspec filelock typing_extensions setuptools>=77.0.3"
# the same of the model libraries
small_models="huggingface-hub==2.4.0 tokenizers==0.23.3 safetensors==0.8.0 regex pyyaml tqdm psutil packaging pillow requests pandas threadpoolctl pyarrow xxhash"
# the same of the training frameworks
small_frameworks="huggingface-hub==2.4.0 tokenizers==0.23.3 safetensors==0.8.0 regex pyyaml tqdm psutil packaging requests pydantic einops hjson msgpack ninja py-cpuinfo"
requirements() {
  case $1 in
    full) echo "$torch numpy transformers==5.24.0 accelerate==1.15.0" ;;
    lean) echo "--no-deps $torch" ;;
    torch-2.8) echo "--no-deps torch==2.8.0" ;;
    cuda-12) echo "--no-deps nvidia-cuda-runtime-cu12==12.9.79 nvidia-cuda-cupti-cu12==12.9.79 nvidia-nvjitlink-cu12==12.9.86" \
      "nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-nvtx-cu12==12.4.127" ;;
    numba) echo "numba-cuda[cu13]==0.30.4 cffi pytest filecheck nvidia-ml-py" ;;
    models) echo "--no-deps $torch triton==3.9.0 transformers==5.24.0 accelerate==1.15.0 peft==0.21.2 torchvision==0.29.2" ;;
    transformers-4.38) echo "--no-deps transformers==4.38.1 tokenizers==0.15.2 huggingface-hub==0.36.0" ;;
    transformers-4.45) echo "--no-deps transformers==4.45.2 tokenizers==0.20.3 huggingface-hub==0.36.0" ;;
    fms) echo "--no-deps transformers==4.48.1 tokenizers==0.21.4 huggingface-hub==0.36.0 peft==0.15.2 accelerate==1.6.0 fms-acceleration==0.6.4" \
      "fms-acceleration-foak==0.7.4 fms-acceleration-peft==0.4.4 bitsandbytes==0.50.2 datasets==3.6.0 dill==0.3.8 multiprocess==0.70.16" ;;
    frameworks) echo "--no-deps --no-build-isolation $torch transformers==5.24.0 accelerate==1.15.0 lightning==2.6.6 lightning-utilities==0.15.3 torchmetrics==1.9.0" \
      "megatron-core==0.16.1 deepspeed==0.19.8" ;;
    torchtitan) echo "--no-deps torchtitan==0.3.0 triton==3.9.0 torchdata==0.11.0 torch_checkpointing==0.1.1 spmd_types==0.2.3 datasets==4.7.0 dill==0.3.8" \
      "multiprocess==0.70.16 huggingface-hub==1.33.0 pyarrow==25.0.0 pandas==2.3.3 xxhash==3.6.0 tyro==1.0.17 docstring-parser==0.17.0 typeguard==4.4.4" \
      "tensorboard==2.20.0 protobuf==6.33.2 absl-py==2.5.1 python-dateutil==2.9.0.post0 six==1.17.0 pytz==2026.6 tzdata==2026.6 httpx==0.28.1" \
      "httpcore==1.0.9 h11==0.16.0 anyio==4.16.0" ;;
    extensions) echo "--no-deps bitsandbytes==0.50.2 liger-kernel==0.8.5 torch_geometric==2.8.1 timm==1.0.31 torchao==0.18.0" \
      "trl==1.16.0 datasets==5.2.0 dill==0.4.1 multiprocess==0.70.19" ;;
    ecosystem) echo "--no-deps open_clip_torch==3.3.0 ftfy==6.3.1 wcwidth==0.9.4 monai==1.6.1 segmentation-models-pytorch==0.6.0 e3nn==0.6.0 opt_einsum==3.4.0" \
      "opt_einsum_fx==0.1.4 sentence-transformers==6.2.0 scikit-learn==1.9.1 joblib==1.6.0 scipy==1.17.1 narwhals==2.29.0 galore-torch==1.0 stable-baselines3==2.9.2" \
      "einops==0.8.2 gymnasium==1.4.0 cloudpickle==3.1.3 farama-notifications==0.0.6" ;;
    applications) echo "--no-deps ultralytics==8.4.190 ultralytics-thop==2.2.3 opencv-python-headless==5.0.0.93 matplotlib==3.11.2 contourpy==1.3.3 cycler==0.12.1" \
      "kiwisolver==1.5.1 pyparsing==3.3.3 fonttools==4.68.0 polars==2.1.0 polars-runtime-32==2.1.0 py-cpuinfo==9.0.0 fastai==2.8.12 fastcore==2.2.41 fastprogress==1.0.3" \
      "fastdownload==0.0.8 fasttransform==0.0.5 plum-dispatch==2.10.1 beartype==0.23.1 rich==15.0.0 markdown-it-py==4.3.0 mdurl==0.1.2 pygments==2.21.0 keras==3.15.1" \
      "namex==0.1.0 h5py==3.16.0 optree==0.20.0 absl-py==2.5.1 ml_dtypes==0.6.0 lightning==2.6.6 lightning-utilities==0.15.3 torchmetrics==1.9.0 x-transformers==2.31.10" \
      "einx==0.4.3 loguru==0.7.3 frozendict==2.5.1 torch-einops-utils==0.2.0 mambapy==1.2.0 kornia==0.9.0 kornia-rs==0.2.0 opacus==1.6.0 gpytorch==1.15.2" \
      "linear_operator==0.6.1 jaxtyping==0.3.11 wadler-lindig==0.1.8 pytorch-forecasting==1.8.0 scikit-base==1.2.0 torchaudio==2.11.1" ;;
    diffusers) echo "--no-deps diffusers==0.42.1" ;;
    transformer-engine) echo "--no-deps --no-build-isolation transformer-engine==2.20.2 transformer-engine-cu13==2.20.2 transformer-engine-torch==2.20.2" \
      "nvdlfw-inspect==0.2.2 onnx==1.23.2 onnxscript==0.7.2 onnx-ir==1.1.0 ml_dtypes==0.6.0 protobuf==6.33.2 einops==0.8.2 pydantic==2.14.4 pydantic-core==2.50.5" \
      "annotated-types==0.8.0 typing-inspection==0.4.5 nvidia-cudnn-frontend==1.32.0 nvidia-cuda-nvrtc==13.2.86 nvidia-cuda-runtime==13.2.86 triton==3.9.0" ;;
    hta) echo "--no-deps HolisticTraceAnalysis==0.5.0 pandas==2.3.3 numpy==2.2.6 plotly==7.1.0 narwhals==2.29.0 packaging==26.4 networkx==3.6.1" \
      "python-dateutil==2.9.0.post0 pytz==2026.6 tzdata==2026.6 six==1.17.0 psutil==7.2.2 pydot==4.0.1 pyparsing==3.3.3 PyYAML==6.0.4" ;;
    jax) echo "--no-deps jax==0.10.2 jaxlib==0.10.2 jax-cuda13-plugin==0.10.2 jax-cuda13-pjrt==0.10.2 ml_dtypes==0.6.0 numpy==2.4.6 opt_einsum==3.4.0 scipy==1.17.1" \
      "nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88" ;;
    vllm) echo "--no-deps $(grep -v '^#' "$here/frameworks/vllm-requirements.txt" | tr '\n' ' ')" ;;
    litgpt) echo "--no-deps litgpt==0.5.13 lightning==2.6.6 lightning-utilities==0.15.3 torchmetrics==1.9.0 jsonargparse==4.53.0" ;;
    *) echo "environments.sh: unknown environment: $1; known are full lean numba models transformers-4.38 transformers-4.45 fms litgpt frameworks torchtitan torch-2.8 cuda-12 diffusers extensions ecosystem applications transformer-engine vllm jax hta" >&2; exit 2 ;;
  esac
}
# Transformer Engine's torch part against the torch and the headers of full.
build_transformer_engine() {
  "$0" full
  local tools nvidia
  tools=$(mktemp -d)
  nvidia=$(echo "$root"/full/lib/python3*/site-packages/nvidia)
  "$root/full/bin/pip" install --quiet --disable-pip-version-check --target "$tools" wheel pybind11 ninja
  # shellcheck disable=SC2046
  PATH=$tools/bin:$PATH PYTHONPATH=$tools CUDA_HOME=$nvidia/cu13 NVTE_BUILD_USE_NVIDIA_WHEELS=1 NVTE_WITH_NCCL_EP=0 NVTE_PYTORCH_FORCE_BUILD=TRUE \
    "$root/full/bin/pip" install --quiet --disable-pip-version-check --target "$root/transformer-engine" $(requirements transformer-engine)
  rm -r "$tools"
}
mkdir -p "$root"
for name in "${@:-full lean numba frameworks torch-2.8 cuda-12}"; do
  for one in $name; do
    wanted="$($python --version) $(requirements "$one") $small"
    [ "$one" = models ] && wanted="$wanted $small_models"
    [ "$one" = frameworks ] && wanted="$wanted $small_frameworks"
    # One maker at a time: another waits here, then finds it made.
    exec {lock}>"$root/.$one.lock"
    flock "$lock"
    [ "$(cat "$root/$one/.requirements" 2>/dev/null)" = "$wanted" ] && { exec {lock}>&-; continue; }
    echo "environments.sh: making $root/$one" >&2
    rm -rf "${root:?}/$one"
    if [ "$one" = transformer-engine ]; then
      build_transformer_engine
    elif [[ $one =~ ^(transformers-4.38|transformers-4.45|fms|litgpt|torchtitan|cuda-12|diffusers|extensions|ecosystem|applications)$ ]]; then
      # shellcheck disable=SC2046
      "$python" -m pip install --quiet --disable-pip-version-check --target "$root/$one" $(requirements "$one")
    else
      "$python" -m venv "$root/$one"
      case $one in
        lean | torch-2.8) more=$small ;;
        models) more="$small $small_models" ;;
        frameworks) more="$small $small_frameworks" ;;
        *) more= ;;
      esac
      # First the small ones: what is built here (deepspeed has no wheel) needs them.
      # shellcheck disable=SC2086
      [ -z "$more" ] || "$root/$one/bin/pip" install --quiet --disable-pip-version-check --no-warn-conflicts $more
      # shellcheck disable=SC2046
      "$root/$one/bin/pip" install --quiet --disable-pip-version-check --no-warn-conflicts $(requirements "$one")
    fi
    echo "$wanted" > "$root/$one/.requirements"
    exec {lock}>&-
  done
done
