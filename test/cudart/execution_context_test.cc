// Execution contexts and device resources, on an H100 SXM (132 multiprocessors); more in
// test/cuda/green_context_test.cc.
#include <cuda_runtime_api.h>

#include <catch2/catch.hpp>

TEST_CASE("a part of the device as an execution context") {
  cudaDevResource all = {}, part = {}, found = {};
  REQUIRE(cudaDeviceGetDevResource(0, &all, cudaDevResourceTypeSm) == cudaSuccess);
  CHECK(all.sm.smCount == 132);
  unsigned groups = 1;
  REQUIRE(cudaDevSmResourceSplitByCount(&part, &groups, &all, nullptr, 0, 16) == cudaSuccess);
  cudaDevResourceDesc_t descriptor = nullptr;
  REQUIRE(cudaDevResourceGenerateDesc(&descriptor, &part, 1) == cudaSuccess);
  cudaExecutionContext_t context = nullptr;
  CHECK(cudaGreenCtxCreate(&context, descriptor, 0, 1) == cudaErrorInvalidValue);  // "must be 0"
  REQUIRE(cudaGreenCtxCreate(&context, descriptor, 0, 0) == cudaSuccess);
  REQUIRE(cudaExecutionCtxGetDevResource(context, &found, cudaDevResourceTypeSm) == cudaSuccess);
  CHECK(found.sm.smCount == 16);
  int device = -1;
  CHECK(cudaExecutionCtxGetDevice(&device, context) == cudaSuccess);
  CHECK(device == 0);
  cudaStream_t stream = nullptr;
  REQUIRE(cudaExecutionCtxStreamCreate(&stream, context, cudaStreamDefault, 0) == cudaSuccess);
  REQUIRE(cudaStreamGetDevResource(stream, &found, cudaDevResourceTypeSm) == cudaSuccess);
  CHECK(found.sm.smCount == 16);
  void* memory = nullptr;
  cudaEvent_t event = nullptr;
  REQUIRE(cudaMalloc(&memory, 64) == cudaSuccess);
  REQUIRE(cudaEventCreate(&event) == cudaSuccess);
  CHECK(cudaMemsetAsync(memory, 3, 64, stream) == cudaSuccess);
  CHECK(cudaExecutionCtxRecordEvent(context, event) == cudaSuccess);
  CHECK(cudaExecutionCtxWaitEvent(context, event) == cudaSuccess);
  CHECK(cudaExecutionCtxSynchronize(context) == cudaSuccess);
  unsigned char byte = 0;
  CHECK(cudaMemcpy(&byte, memory, 1, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(byte == 3);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaExecutionCtxDestroy(context) == cudaSuccess);
  CHECK(cudaEventDestroy(event) == cudaSuccess);
  CHECK(cudaFree(memory) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("the execution context of a device is its primary one") {
  cudaExecutionContext_t context = nullptr, other = nullptr;
  REQUIRE(cudaDeviceGetExecutionCtx(&context, 0) == cudaSuccess);
  REQUIRE(cudaDeviceGetExecutionCtx(&other, 1) == cudaSuccess);
  CHECK(cudaDeviceGetExecutionCtx(&other, 99) == cudaErrorInvalidDevice);
  unsigned long long id = 0, other_id = 0;
  int device = -1;
  CHECK(cudaExecutionCtxGetId(context, &id) == cudaSuccess);
  CHECK(cudaExecutionCtxGetId(other, &other_id) == cudaSuccess);
  CHECK(id != other_id);
  CHECK(cudaExecutionCtxGetDevice(&device, other) == cudaSuccess);
  CHECK(device == 1);
  cudaDevResource resource = {};
  CHECK(cudaExecutionCtxGetDevResource(context, &resource, cudaDevResourceTypeSm) == cudaSuccess);
  CHECK(resource.sm.smCount == 132);
  cudaGraph_t graph = nullptr;
  cudaGraphConditionalHandle condition = 0;
  REQUIRE(cudaGraphCreate(&graph, 0) == cudaSuccess);
  CHECK(cudaGraphConditionalHandleCreate_v2(&condition, graph, context, 0, 0) == cudaSuccess);
  CHECK(cudaGraphConditionalHandleCreate_v2(&condition, graph, nullptr, 0, 0) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  // A stream of another device's context, whatever is current.
  cudaStream_t stream = nullptr;
  REQUIRE(cudaExecutionCtxStreamCreate(&stream, other, cudaStreamNonBlocking, 0) == cudaSuccess);
  CHECK(cudaStreamGetDevice(stream, &device) == cudaSuccess);
  CHECK(device == 1);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  cudaGetLastError();
}
