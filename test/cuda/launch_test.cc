// Launches: checks and forms.
#include <cstring>

#include "test/cuda/driver_helpers.h"

using driver_test::CurrentContext;
using driver_test::Module;

namespace {

CUresult launch(CUfunction function, unsigned int grid, unsigned int block, unsigned int shared_bytes = 0,
                void** parameters = nullptr, void** extra = nullptr) {
  return cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared_bytes, nullptr, parameters, extra);
}

}  // namespace

TEST_CASE("A launch is checked as documented") {
  CurrentContext current;
  Module module;
  const CUfunction nothing = module.function("nothing");
  CHECK(launch(nothing, 1, 1) == CUDA_SUCCESS);
  CHECK(launch(nothing, 0x7fffffff, 1024) == CUDA_SUCCESS);
  CHECK(launch(nothing, 0, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(launch(nothing, 0x80000000, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(launch(nothing, 1, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(launch(nothing, 1, 1025) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLaunchKernel(nothing, 1, 65536, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 65, 0, nullptr, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLaunchKernel(nothing, 1, 1, 1, 64, 64, 1, 0, nullptr, nullptr, nullptr) ==
        CUDA_ERROR_INVALID_VALUE);  // 4096 threads
  CHECK(launch(nothing, 1, 1, 49152) == CUDA_SUCCESS);
  CHECK(launch(nothing, 1, 1, 49153) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuFuncSetAttribute(nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000) == CUDA_SUCCESS);
  CHECK(launch(nothing, 1, 1, 100000) == CUDA_SUCCESS);
  CHECK(launch(nothing, 1, 1, 100001) == CUDA_ERROR_INVALID_VALUE);
  CHECK(launch(nullptr, 1, 1) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(launch(reinterpret_cast<CUfunction>(0x1234), 1, 1) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, reinterpret_cast<CUstream>(0x1234), nullptr, nullptr) ==
        CUDA_ERROR_INVALID_HANDLE);
  // More threads than the kernel was compiled for.
  CHECK(launch(module.function("small"), 1, 64) == CUDA_SUCCESS);
  CHECK(launch(module.function("small"), 1, 65) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("Parameters: pointers, a buffer, both, none") {
  CurrentContext current;
  Module module;
  const CUfunction scale = module.function("scale");
  CUdeviceptr data = 0;
  uint32_t count = 16;
  REQUIRE(cuMemAlloc_v2(&data, 64) == CUDA_SUCCESS);
  void* pointers[] = {&data, &count};
  CHECK(launch(scale, 1, 32, 0, pointers) == CUDA_SUCCESS);
  CHECK(launch(scale, 1, 32, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
  struct {
    CUdeviceptr data;
    uint32_t count;
  } buffer = {data, count};
  size_t bytes = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  CHECK(launch(scale, 1, 32, 0, nullptr, extra) == CUDA_SUCCESS);
  CHECK(launch(scale, 1, 32, 0, pointers, extra) == CUDA_ERROR_INVALID_VALUE);
  bytes = 11;
  CHECK(launch(scale, 1, 32, 0, nullptr, extra) == CUDA_ERROR_INVALID_VALUE);
  void* unknown[] = {reinterpret_cast<void*>(7), &buffer, CU_LAUNCH_PARAM_END};
  CHECK(launch(scale, 1, 32, 0, nullptr, unknown) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree_v2(data) == CUDA_SUCCESS);
}

TEST_CASE("Launch attributes") {
  CurrentContext current;
  Module module;
  const CUfunction nothing = module.function("nothing");
  CUlaunchAttribute attribute{};
  CUlaunchConfig config{};
  config.gridDimX = 8, config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  CHECK(cuLaunchKernelEx(&config, nothing, nullptr, nullptr) == CUDA_SUCCESS);
  CHECK(cuLaunchKernelEx(nullptr, nothing, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
  config.attrs = &attribute;
  config.numAttrs = 1;
  const auto with_cluster = [&](unsigned int x) {
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {x, 1, 1};
    return cuLaunchKernelEx(&config, nothing, nullptr, nullptr);
  };
  CHECK(with_cluster(4) == CUDA_SUCCESS);
  CHECK(with_cluster(8) == CUDA_SUCCESS);
  CHECK(with_cluster(3) == CUDA_ERROR_INVALID_CLUSTER_SIZE);   // does not divide the grid
  CHECK(with_cluster(16) == CUDA_ERROR_INVALID_CLUSTER_SIZE);  // more than 8 needs an attribute of the function
  CHECK(with_cluster(0) == CUDA_ERROR_INVALID_CLUSTER_SIZE);
  attribute.id = static_cast<CUlaunchAttributeID>(1000);
  CHECK(cuLaunchKernelEx(&config, nothing, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CUevent event = nullptr;
  REQUIRE(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
  attribute.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
  attribute.value.launchCompletionEvent = {event, 0};
  CHECK(cuLaunchKernelEx(&config, nothing, nullptr, nullptr) == CUDA_SUCCESS);
  CHECK(cuEventSynchronize(event) == CUDA_SUCCESS);
  CHECK(cuEventDestroy_v2(event) == CUDA_SUCCESS);
}

TEST_CASE("A cooperative grid must fit on the device at once") {
  CurrentContext current;
  Module module;
  const CUfunction nothing = module.function("nothing");
  // 2048 threads on each of 132 multiprocessors: 2 blocks of 1024 each (H100, CUDA programming guide).
  CHECK(cuLaunchCooperativeKernel(nothing, 264, 1, 1, 1024, 1, 1, 0, nullptr, nullptr) == CUDA_SUCCESS);
  CHECK(cuLaunchCooperativeKernel(nothing, 265, 1, 1, 1024, 1, 1, 0, nullptr, nullptr) ==
        CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

TEST_CASE("A kernel that launches others is refused, others of its module run") {
  CurrentContext current;
  const char* const text = R"(.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) cudaLaunchDeviceV2 (.param .b64 p, .param .b64 q);
.visible .entry parent() { call.uni (r), cudaLaunchDeviceV2, (p, q); ret; }
.visible .entry plain() { ret; }
)";
  CUmodule module = nullptr;
  REQUIRE(cuModuleLoadData(&module, text) == CUDA_SUCCESS);
  CUfunction parent = nullptr, plain = nullptr;
  REQUIRE(cuModuleGetFunction(&parent, module, "parent") == CUDA_SUCCESS);
  REQUIRE(cuModuleGetFunction(&plain, module, "plain") == CUDA_SUCCESS);
  CHECK(launch(parent, 1, 1) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(launch(parent, 1, 1) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(launch(plain, 1, 1) == CUDA_SUCCESS);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  REQUIRE(cuGraphCreate(&graph, 0) == CUDA_SUCCESS);
  CUDA_KERNEL_NODE_PARAMS parameters = {};
  parameters.func = parent;
  parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
  parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
  CHECK(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &parameters) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
  CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
}

TEST_CASE("The launch interface before CUDA 4") {
  CurrentContext current;
  Module module;
  const CUfunction scale = module.function("scale");
  CUdeviceptr data = 0;
  REQUIRE(cuMemAlloc_v2(&data, 64) == CUDA_SUCCESS);
  CHECK(cuFuncSetBlockShape(scale, 32, 1, 1) == CUDA_SUCCESS);
  CHECK(cuFuncSetBlockShape(scale, 0, 1, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuFuncSetSharedSize(scale, 1024) == CUDA_SUCCESS);
  CHECK(cuParamSetv(scale, 0, &data, sizeof data) == CUDA_SUCCESS);
  CHECK(cuParamSeti(scale, 8, 16) == CUDA_SUCCESS);
  CHECK(cuParamSetf(scale, -1, 1.0f) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuParamSetSize(scale, 12) == CUDA_SUCCESS);
  CHECK(cuLaunchGrid(scale, 4, 4) == CUDA_SUCCESS);
  CHECK(cuLaunchGridAsync(scale, 4, 4, nullptr) == CUDA_SUCCESS);
  CHECK(cuLaunchGrid(scale, 0, 4) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLaunch(module.function("nothing")) == CUDA_SUCCESS);
  CHECK(cuLaunch(nullptr) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuMemFree_v2(data) == CUDA_SUCCESS);
}

TEST_CASE("A kernel unloaded is not a kernel any more") {
  CurrentContext current;
  CUfunction function = nullptr;
  {
    Module module;
    function = module.function("nothing");
    CHECK(launch(function, 1, 1) == CUDA_SUCCESS);
  }
  CHECK(launch(function, 1, 1) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("What is set for a kernel counts for launches that were made before, too") {
  CurrentContext current;
  Module module;
  const CUfunction nothing = module.function("nothing");
  void* none[] = {nullptr};
  const auto launch = [&](unsigned grid, unsigned shared_bytes) {
    return cuLaunchKernel(nothing, grid, 1, 1, 32, 1, 1, shared_bytes, nullptr, none, nullptr);
  };
  constexpr unsigned kMore_bytes = 100 << 10;
  CHECK(launch(1, kMore_bytes) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuFuncSetAttribute(nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kMore_bytes) == CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) CHECK(launch(1, kMore_bytes) == CUDA_SUCCESS);
  CHECK(cuFuncSetAttribute(nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0) == CUDA_SUCCESS);
  CHECK(launch(1, kMore_bytes) == CUDA_ERROR_INVALID_VALUE);
  // A cluster of two must divide the grid.
  for (int i = 0; i < 3; ++i) CHECK(launch(3, 0) == CUDA_SUCCESS);
  CHECK(cuFuncSetAttribute(nothing, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2) == CUDA_SUCCESS);
  CHECK(cuFuncSetAttribute(nothing, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1) == CUDA_SUCCESS);
  CHECK(cuFuncSetAttribute(nothing, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1) == CUDA_SUCCESS);
  CHECK(launch(3, 0) == CUDA_ERROR_INVALID_CLUSTER_SIZE);
  for (int i = 0; i < 3; ++i) CHECK(launch(4, 0) == CUDA_SUCCESS);
}

TEST_CASE("A launch that was made before is refused where it must be") {
  CurrentContext current;
  Module module;
  const CUfunction nothing = module.function("nothing");
  void* none[] = {nullptr};
  CUstream stream = nullptr;
  REQUIRE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  const auto launch = [&](CUstream on) { return cuLaunchKernel(nothing, 1, 1, 1, 32, 1, 1, 0, on, none, nullptr); };
  for (int i = 0; i < 3; ++i) CHECK(launch(stream) == CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) CHECK(launch(nullptr) == CUDA_SUCCESS);
  CHECK(launch(reinterpret_cast<CUstream>(&stream)) == CUDA_ERROR_INVALID_HANDLE);
  // A stream of its own context needs no current one, the default stream does.
  REQUIRE(cuCtxPopCurrent_v2(nullptr) == CUDA_SUCCESS);
  CHECK(launch(stream) == CUDA_SUCCESS);
  CHECK(launch(nullptr) == CUDA_ERROR_INVALID_CONTEXT);
  REQUIRE(cuCtxPushCurrent_v2(current.get()) == CUDA_SUCCESS);
  // One that is captured only adds to the graph.
  CUgraph graph = nullptr;
  size_t nodes = 0;
  REQUIRE(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) CHECK(launch(stream) == CUDA_SUCCESS);
  REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CHECK(cuGraphGetNodes(graph, nullptr, &nodes) == CUDA_SUCCESS);
  CHECK(nodes == 3);
  CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
  REQUIRE(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
  CHECK(launch(stream) == CUDA_ERROR_INVALID_HANDLE);
}
