// CUDA graphs through the runtime.
#include <cuda_runtime_api.h>

#include <catch2/catch.hpp>

namespace {

constexpr size_t kCount = 16;

struct Buffer {
  Buffer() { REQUIRE(cudaMalloc(&pointer, kCount * 4) == cudaSuccess); }
  ~Buffer() { cudaFree(pointer); }
  unsigned char first() const {
    unsigned char value = 0;
    REQUIRE(cudaMemcpy(&value, pointer, 1, cudaMemcpyDeviceToHost) == cudaSuccess);
    return value;
  }
  void* pointer = nullptr;
};

struct Stream {
  Stream() { REQUIRE(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking) == cudaSuccess); }
  ~Stream() { cudaStreamDestroy(handle); }
  cudaStream_t handle = nullptr;
};

cudaMemsetParams fill(void* to, unsigned int value) { return {to, 0, value, 1, kCount * 4, 1}; }

}  // namespace

TEST_CASE("a captured stream becomes a graph that can be launched again and again") {
  Buffer a, b;
  Stream stream;
  REQUIRE(cudaMemset(a.pointer, 1, kCount * 4) == cudaSuccess);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  CHECK(cudaMemsetAsync(b.pointer, 9, kCount * 4, stream.handle) == cudaSuccess);
  CHECK(cudaMemcpyAsync(b.pointer, a.pointer, kCount * 4, cudaMemcpyDeviceToDevice, stream.handle) == cudaSuccess);
  cudaStreamCaptureStatus status{};
  unsigned long long id = 0;
  cudaGraph_t growing = nullptr;
  const cudaGraphNode_t* dependencies = nullptr;
  size_t count = 0;
  CHECK(cudaStreamGetCaptureInfo(stream.handle, &status, &id, &growing, &dependencies, nullptr, &count) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusActive);
  CHECK(id != 0);
  CHECK(count == 1);
  REQUIRE(cudaStreamEndCapture(stream.handle, &graph) == cudaSuccess);
  CHECK(graph == growing);
  CHECK(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  CHECK(cudaGraphUpload(executable, stream.handle) == cudaSuccess);
  for (const int value : {1, 2}) {
    CHECK(cudaMemset(a.pointer, value, kCount * 4) == cudaSuccess);
    CHECK(cudaGraphLaunch(executable, stream.handle) == cudaSuccess);
    CHECK(b.first() == value);
  }
  CHECK(cudaGraphExecDestroy(executable) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaGraphLaunch(executable, stream.handle) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
}

TEST_CASE("what a capture forbids has the runtime's errors") {
  Stream stream;
  void* pointer = nullptr;
  REQUIRE(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(cudaMalloc(&pointer, 4) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamSynchronize(stream.handle) == cudaErrorStreamCaptureInvalidated);
  cudaGraph_t graph = reinterpret_cast<cudaGraph_t>(1);
  CHECK(cudaStreamEndCapture(stream.handle, &graph) == cudaErrorStreamCaptureInvalidated);
  CHECK(graph == nullptr);
  CHECK(cudaStreamEndCapture(stream.handle, &graph) == cudaErrorIllegalState);
  cudaGetLastError();
}

TEST_CASE("nodes of every kind that the runtime makes") {
  Buffer a, b;
  Stream stream;
  cudaEvent_t event = nullptr;
  REQUIRE(cudaEventCreate(&event) == cudaSuccess);
  cudaGraph_t graph = nullptr, child = nullptr;
  REQUIRE(cudaGraphCreate(&graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphCreate(&child, 0) == cudaSuccess);
  cudaGraphNode_t set = nullptr, copy = nullptr, host = nullptr, inner = nullptr, node = nullptr;
  cudaMemsetParams value = fill(a.pointer, 5);
  REQUIRE(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &value) == cudaSuccess);
  REQUIRE(cudaGraphAddMemcpyNode1D(&copy, graph, &set, 1, b.pointer, a.pointer, kCount * 4, cudaMemcpyDefault) ==
          cudaSuccess);
  int calls = 0;
  const cudaHostNodeParams function{[](void* count) { ++*static_cast<int*>(count); }, &calls};
  REQUIRE(cudaGraphAddHostNode(&host, graph, &copy, 1, &function) == cudaSuccess);
  REQUIRE(cudaGraphAddEventRecordNode(&node, graph, &host, 1, event) == cudaSuccess);
  REQUIRE(cudaGraphAddEmptyNode(&inner, child, nullptr, 0) == cudaSuccess);
  REQUIRE(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, child) == cudaSuccess);
  cudaGraphNodeParams any = {};
  any.type = cudaGraphNodeTypeMemAlloc;
  any.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
  any.alloc.poolProps.location.type = cudaMemLocationTypeDevice;
  any.alloc.bytesize = 256;
  REQUIRE(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &any) == cudaSuccess);
  CHECK(any.alloc.dptr != nullptr);
  REQUIRE(cudaGraphAddMemFreeNode(&inner, graph, &node, 1, any.alloc.dptr) == cudaSuccess);
  size_t count = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &count) == cudaSuccess);
  CHECK(count == 7);

  cudaMemcpy3DParms shape{};
  CHECK(cudaGraphMemcpyNodeGetParams(copy, &shape) == cudaSuccess);
  CHECK(shape.srcPtr.ptr == a.pointer);
  CHECK(shape.dstPtr.ptr == b.pointer);
  CHECK(shape.extent.width == kCount * 4);
  cudaGraphNodeType type{};
  CHECK(cudaGraphNodeGetType(host, &type) == cudaSuccess);
  CHECK(type == cudaGraphNodeTypeHost);

  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaGraphInstantiateWithFlags(&executable, graph, 0) == cudaSuccess);
  CHECK(cudaGraphLaunch(executable, stream.handle) == cudaSuccess);
  CHECK(b.first() == 5);
  CHECK(calls == 1);
  CHECK(cudaEventSynchronize(event) == cudaSuccess);
  value = fill(a.pointer, 6);
  CHECK(cudaGraphExecMemsetNodeSetParams(executable, set, &value) == cudaSuccess);
  CHECK(cudaGraphLaunch(executable, stream.handle) == cudaSuccess);
  CHECK(b.first() == 6);
  CHECK(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, b.pointer, a.pointer, 4, static_cast<cudaMemcpyKind>(9)) ==
        cudaErrorInvalidMemcpyDirection);
  CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, nullptr) == cudaErrorInvalidValue);
  cudaKernelNodeParams kernel{};
  int not_a_kernel = 0;
  kernel.func = &not_a_kernel;
  CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel) == cudaErrorInvalidDeviceFunction);
  cudaGetLastError();
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(child);
  cudaGraphDestroy(graph);
  cudaEventDestroy(event);
}
