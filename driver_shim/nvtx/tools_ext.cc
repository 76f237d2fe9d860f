// libnvToolsExt.so.1: NVTX as a library, which programs linked before NVTX 3 was headers alone. NVIDIA's headers hold
// all of it; compiled with NVTX_EXPORT_API they make the library (nvToolsExt.h, "NVTX_EXPORT_API"). Like every NVTX 3
// it hands its calls to what NVTX_INJECTION64_PATH names: ours (injection.cc), which records them.
#define NVTX_EXPORT_API
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtSync.h>
