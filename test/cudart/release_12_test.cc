// libcudart.so.12 by the header of CUDA 12.9: calls that have another form than in CUDA 13, and the sizes of structs.
#include <cuda_runtime_api.h>

#include <catch2/catch.hpp>
#include <cstring>

static_assert(CUDART_VERSION >= 12080 && CUDART_VERSION < 13000);

// The name that programs built with CUDA 11 use; the header maps it to its _v2.
#undef cudaGetDeviceProperties
extern "C" cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);

namespace {

// A struct of the program with bytes behind it that a call must not write.
template <typename T>
struct Guarded {
  T value;
  unsigned char behind[128];
  Guarded() { memset(static_cast<void*>(this), 0x5a, sizeof *this); }
  bool intact(const void* from) const {
    for (auto* at = static_cast<const unsigned char*>(from); at < behind + sizeof behind; ++at)
      if (*at != 0x5a) return false;
    return true;
  }
};

}  // namespace

TEST_CASE("an older runtime on a newer driver") {
  int runtime = 0, driver = 0;
  CHECK(cudaRuntimeGetVersion(&runtime) == cudaSuccess);
  CHECK(cudaDriverGetVersion(&driver) == cudaSuccess);
  CHECK(runtime == 12090);
  CHECK(driver >= 13000);
}

TEST_CASE("device properties have the layout of CUDA 12, and that of CUDA 11 under the old name") {
  STATIC_REQUIRE(sizeof(cudaDeviceProp) == 1032);
  Guarded<cudaDeviceProp> now;
  REQUIRE(cudaGetDeviceProperties_v2(&now.value, 0) == cudaSuccess);
  CHECK(now.intact(now.behind));
  // The default device is an H100 SXM: NVIDIA's data sheet and cudaDeviceProp's documentation.
  CHECK(std::string(now.value.name).find("H100") != std::string::npos);
  CHECK(now.value.major == 9);
  CHECK(now.value.multiProcessorCount == 132);
  CHECK(now.value.warpSize == 32);
  CHECK(now.value.computeMode == cudaComputeModeDefault);
  CHECK(now.value.kernelExecTimeoutEnabled == 0);
  CHECK(now.value.deviceOverlap == 1);
  CHECK(now.value.clockRate == 1980000);  // kilohertz
  CHECK(now.value.memoryBusWidth == 5120);
  CHECK(now.value.singleToDoublePrecisionPerfRatio == 2);
  int attribute = 0;
  CHECK(cudaDeviceGetAttribute(&attribute, cudaDevAttrMemoryClockRate, 0) == cudaSuccess);
  CHECK(now.value.memoryClockRate == attribute);

  Guarded<cudaDeviceProp> old;
  REQUIRE(cudaGetDeviceProperties(&old.value, 0) == cudaSuccess);
  constexpr size_t kBytesOfCuda11 = 728;  // sizeof(cudaDeviceProp) of CUDA 11.8
  CHECK(memcmp(&old.value, &now.value, kBytesOfCuda11) == 0);
  CHECK(old.intact(reinterpret_cast<unsigned char*>(&old.value) + kBytesOfCuda11));
  CHECK(cudaGetDeviceProperties_v2(nullptr, 0) == cudaErrorInvalidValue);
  CHECK(cudaGetDeviceProperties_v2(&now.value, 99) == cudaErrorInvalidDevice);
  cudaGetLastError();
}

TEST_CASE("pointer attributes have the size of CUDA 12") {
  STATIC_REQUIRE(sizeof(cudaPointerAttributes) == 24);
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, 64) == cudaSuccess);
  Guarded<cudaPointerAttributes> found;
  REQUIRE(cudaPointerGetAttributes(&found.value, memory) == cudaSuccess);
  CHECK(found.intact(found.behind));
  CHECK(found.value.type == cudaMemoryTypeDevice);
  CHECK(found.value.device == 0);
  CHECK(found.value.devicePointer == memory);
  CHECK(cudaFree(memory) == cudaSuccess);
}

TEST_CASE("capture information in its three forms") {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, 64) == cudaSuccess);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* dependencies = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  size_t count = 9;
  CHECK(cudaStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &dependencies, &count) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusNone);

  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(cudaMemsetAsync(memory, 0, 64, stream) == cudaSuccess);
  CHECK(cudaStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &dependencies, &count) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusActive);
  CHECK(id != 0);
  REQUIRE(count == 1);
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  CHECK(cudaGraphNodeGetType(dependencies[0], &type) == cudaSuccess);
  CHECK(type == cudaGraphNodeTypeMemset);
  unsigned long long same = 0;
  cudaGraph_t same_graph = nullptr;
  CHECK(cudaStreamGetCaptureInfo_v3(stream, &status, &same, &same_graph, &dependencies, &edges, &count) == cudaSuccess);
  CHECK(same == id);
  CHECK(same_graph == graph);
  CHECK(cudaStreamUpdateCaptureDependencies(stream, nullptr, 0, cudaStreamSetCaptureDependencies) == cudaSuccess);
  CHECK(cudaStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &dependencies, &count) == cudaSuccess);
  CHECK(count == 0);
  cudaGraph_t captured = nullptr;
  CHECK(cudaStreamEndCapture(stream, &captured) == cudaSuccess);
  CHECK(cudaGraphDestroy(captured) == cudaSuccess);
  CHECK(cudaFree(memory) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE("edges of a graph without and with data") {
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaGraphCreate(&graph, 0) == cudaSuccess);
  cudaGraphNode_t first = nullptr, second = nullptr;
  cudaGraphNodeParams empty = {};
  empty.type = cudaGraphNodeTypeEmpty;
  REQUIRE(cudaGraphAddNode(&first, graph, nullptr, 0, &empty) == cudaSuccess);
  REQUIRE(cudaGraphAddNode_v2(&second, graph, nullptr, nullptr, 0, &empty) == cudaSuccess);
  CHECK(cudaGraphAddDependencies(graph, &first, &second, 1) == cudaSuccess);
  cudaGraphNode_t from = nullptr, to = nullptr;
  size_t count = 1;
  CHECK(cudaGraphGetEdges(graph, &from, &to, &count) == cudaSuccess);
  CHECK(count == 1);
  CHECK(from == first);
  CHECK(to == second);
  cudaGraphEdgeData data = {};
  CHECK(cudaGraphGetEdges_v2(graph, &from, &to, &data, &count) == cudaSuccess);
  CHECK(data.type == cudaGraphDependencyTypeDefault);
  CHECK(cudaGraphNodeGetDependencies(second, &from, &count) == cudaSuccess);
  CHECK(from == first);
  CHECK(cudaGraphNodeGetDependentNodes(first, &to, &count) == cudaSuccess);
  CHECK(to == second);
  CHECK(cudaGraphRemoveDependencies(graph, &first, &second, 1) == cudaSuccess);
  CHECK(cudaGraphNodeGetDependencies(second, nullptr, &count) == cudaSuccess);
  CHECK(count == 0);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
}

TEST_CASE("managed memory is advised and prefetched by device ordinal, or by location") {
  void* memory = nullptr;
  REQUIRE(cudaMallocManaged(&memory, 4096, cudaMemAttachGlobal) == cudaSuccess);
  CHECK(cudaMemAdvise(memory, 4096, cudaMemAdviseSetPreferredLocation, 0) == cudaSuccess);
  CHECK(cudaMemPrefetchAsync(memory, 4096, 0, nullptr) == cudaSuccess);
  CHECK(cudaMemPrefetchAsync(memory, 4096, cudaCpuDeviceId, nullptr) == cudaSuccess);
  CHECK(cudaMemPrefetchAsync(memory, 4096, 99, nullptr) == cudaErrorInvalidDevice);
  cudaMemLocation host = {};
  host.type = cudaMemLocationTypeHost;
  CHECK(cudaMemPrefetchAsync_v2(memory, 4096, host, 0, nullptr) == cudaSuccess);
  CHECK(cudaFree(memory) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("a batch of copies tells which one failed") {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  char from[2] = {3, 4}, to[2] = {};
  void* destinations[2] = {&to[0], &to[1]};
  void* sources[2] = {&from[0], &from[1]};
  size_t sizes[2] = {1, 1}, start = 0, failed = 7;
  cudaMemcpyAttributes attributes = {};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  CHECK(cudaMemcpyBatchAsync(destinations, sources, sizes, 2, &attributes, &start, 1, &failed, stream) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(to[0] == 3);
  CHECK(to[1] == 4);
  // "SIZE_MAX if the error doesn't pertain to any specific copy"; no attributes at all is such an error.
  CHECK(cudaMemcpyBatchAsync(destinations, sources, sizes, 2, nullptr, &start, 1, &failed, stream) ==
        cudaErrorInvalidValue);
  CHECK(failed == SIZE_MAX);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("driver functions are given out as of CUDA 12") {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  CHECK(cudaGetDriverEntryPoint("cuMemAlloc", &function, cudaEnableDefault, &result) == cudaSuccess);
  CHECK(result == cudaDriverEntryPointSuccess);
  CHECK(function != nullptr);
  // cuda.h of CUDA 13.2 introduced it: too new for what this runtime asks by default.
  CHECK(cudaGetDriverEntryPoint("cuMemcpyWithAttributesAsync", &function, cudaEnableDefault, &result) == cudaSuccess);
  CHECK(result == cudaDriverEntryPointVersionNotSufficent);
  CHECK(function == nullptr);
  CHECK(cudaGetDriverEntryPointByVersion("cuMemcpyWithAttributesAsync", &function, 13020, cudaEnableDefault, &result) ==
        cudaSuccess);
  CHECK(result == cudaDriverEntryPointSuccess);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST_CASE("the deprecated thread calls are the device calls") {
  CHECK(cudaThreadSynchronize() == cudaSuccess);
  CHECK(cudaThreadExit() == cudaSuccess);
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 64) ==
        cudaSuccess);  // "any subsequent API call to this device will reinitialize the device"
  CHECK(cudaFree(memory) == cudaSuccess);
}
