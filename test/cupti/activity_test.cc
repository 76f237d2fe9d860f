// Activity records of what a program does: names, shapes, correlation, and times in CUPTI's documented relation.
#include <cublas_v2.h>
#include <nvtx3/nvToolsExt.h>
#include <time.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "test/cupti/profile.h"

using namespace maya::test;

namespace {

uint64_t real_time_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

constexpr CUpti_ActivityKind kKernel = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, kRuntime = CUPTI_ACTIVITY_KIND_RUNTIME,
                             kDriver = CUPTI_ACTIVITY_KIND_DRIVER, kCopy = CUPTI_ACTIVITY_KIND_MEMCPY,
                             kFill = CUPTI_ACTIVITY_KIND_MEMSET, kWait = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                             kExternal = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;

}  // namespace

TEST_CASE("A kernel has its name, shape and times, and the correlation id of the call that launched it") {
  empty_kernel();
  const uint64_t before = real_time_ns();
  Profile profile({kKernel, kDriver});
  REQUIRE(launch(nullptr, 5, 96) == CUDA_SUCCESS);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  profile.stop();
  const uint64_t after = real_time_ns();

  const auto kernels = Profile::all<CUpti_ActivityKernel11>(kKernel);
  REQUIRE(kernels.size() == 1);
  const CUpti_ActivityKernel11& kernel = kernels[0];
  CHECK(std::string(kernel.name) == "empty_kernel");
  CHECK(kernel.gridX == 5);
  CHECK(kernel.blockX == 96);
  CHECK(kernel.deviceId == 0);
  CHECK(kernel.contextId == 1);
  CHECK(kernel.streamId == 7);  // the default stream, as in every profile of a device
  CHECK(kernel.start < kernel.end);
  CHECK(kernel.completed == kernel.end);
  CHECK(kernel.queued == CUPTI_TIMESTAMP_UNKNOWN);  // "not collected by default"
  CHECK(kernel.graphId == 0);

  const auto calls = Profile::all<CUpti_ActivityAPI>(kDriver);
  REQUIRE(calls.size() == 1);  // cudaDeviceSynchronize is the runtime's
  const CUpti_ActivityAPI& call = calls[0];
  CHECK(call.cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  CHECK(call.correlationId == kernel.correlationId);
  CHECK(call.processId == static_cast<uint32_t>(getpid()));
  CHECK(call.returnValue == CUDA_SUCCESS);
  // "Linux uses clock_gettime(CLOCK_REALTIME)"
  CHECK(before <= call.start);
  CHECK(call.start <= call.end);
  CHECK(call.start < kernel.start);
  CHECK(kernel.end <= after);
}

TEST_CASE("Work of one stream does not overlap, and waits for it end behind it") {
  Profile profile({kKernel, kCopy, kFill, kRuntime, kWait});
  float* memory = nullptr;
  REQUIRE(cudaMalloc(reinterpret_cast<void**>(&memory), 64 << 20) == cudaSuccess);
  std::vector<float> host(16 << 20);
  for (int i = 0; i < 20; ++i) {
    launch();
    REQUIRE(cudaMemsetAsync(memory, i, 64 << 20, nullptr) == cudaSuccess);
    REQUIRE(cudaMemcpyAsync(memory, host.data(), 64 << 20, cudaMemcpyHostToDevice, nullptr) == cudaSuccess);
  }
  REQUIRE(cudaStreamSynchronize(nullptr) == cudaSuccess);
  REQUIRE(cudaFree(memory) == cudaSuccess);
  profile.stop();

  std::map<uint64_t, uint64_t> spans;
  for (const auto& kernel : Profile::all<CUpti_ActivityKernel11>(kKernel)) spans[kernel.start] = kernel.end;
  const auto copies = Profile::all<CUpti_ActivityMemcpy6>(kCopy);
  for (const auto& copy : copies) spans[copy.start] = copy.end;
  const auto fills = Profile::all<CUpti_ActivityMemset4>(kFill);
  for (const auto& fill : fills) spans[fill.start] = fill.end;
  REQUIRE(spans.size() == 60);
  uint64_t end = 0;
  for (const auto& [start, stop] : spans) {
    CHECK(end <= start);
    end = stop;
  }
  CHECK(copies[0].copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
  CHECK(copies[0].srcKind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
  CHECK(copies[0].dstKind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  CHECK(copies[0].bytes == 64 << 20);
  CHECK(fills[3].value == 3);
  CHECK(fills[3].bytes == 64 << 20);

  const auto waits = Profile::all<CUpti_ActivitySynchronization2>(kWait);
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
  CHECK(waits[0].streamId == 7);
  CHECK(waits[0].end >= end);
  std::map<uint32_t, CUpti_ActivityAPI> calls;
  for (const auto& call : Profile::all<CUpti_ActivityAPI>(kRuntime)) calls[call.correlationId] = call;
  for (const auto& copy : copies) {
    REQUIRE(calls.count(copy.correlationId) == 1);
    CHECK(calls[copy.correlationId].cbid == CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020);
    CHECK(calls[copy.correlationId].start <= copy.start);
  }
  REQUIRE(calls.count(waits[0].correlationId) == 1);
  CHECK(calls[waits[0].correlationId].cbid == CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020);
}

TEST_CASE("A library operation is a kernel that a runtime launch put there") {
  cublasHandle_t handle = nullptr;
  REQUIRE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  float* memory = nullptr;
  REQUIRE(cudaMalloc(reinterpret_cast<void**>(&memory), 1 << 20) == cudaSuccess);
  Profile profile({kKernel, kRuntime, kExternal});
  const float one = 1, zero = 0;
  REQUIRE(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 42) == CUPTI_SUCCESS);
  REQUIRE(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, memory, 64, memory, 64, &zero, memory, 64) ==
          CUBLAS_STATUS_SUCCESS);
  uint64_t last = 0;
  REQUIRE(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last) == CUPTI_SUCCESS);
  CHECK(last == 42);
  cudaDeviceSynchronize();
  profile.stop();
  const auto kernels = Profile::all<CUpti_ActivityKernel11>(kKernel);
  REQUIRE(kernels.size() == 1);
  CHECK(std::string(kernels[0].name).find("gemm") != std::string::npos);
  bool found = false;
  for (const auto& call : Profile::all<CUpti_ActivityAPI>(kRuntime))
    if (call.correlationId == kernels[0].correlationId) {
      found = true;
      CHECK(call.cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
      CHECK(call.start < kernels[0].start);
    }
  CHECK(found);
  const auto external = Profile::all<CUpti_ActivityExternalCorrelation>(kExternal);
  REQUIRE(external.size() == 1);
  CHECK(external[0].externalId == 42);
  CHECK(external[0].externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0);
  CHECK(external[0].correlationId == kernels[0].correlationId);
  cudaFree(memory);
  cublasDestroy(handle);
}

TEST_CASE("Events and the waits for them carry the same number") {
  constexpr CUpti_ActivityKind kEvent = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  cudaStream_t other = nullptr;
  cudaEvent_t event = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cudaEventCreate(&event) == cudaSuccess);
  REQUIRE(cuptiActivityEnableCudaEventDeviceTimestamps(1) == CUPTI_SUCCESS);
  Profile profile({kKernel, kWait, kEvent});
  launch(other);
  REQUIRE(cudaEventRecord(event, other) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(nullptr, event, 0) == cudaSuccess);
  REQUIRE(cudaEventSynchronize(event) == cudaSuccess);
  profile.stop();
  REQUIRE(cuptiActivityEnableCudaEventDeviceTimestamps(0) == CUPTI_SUCCESS);

  const auto events = Profile::all<CUpti_ActivityCudaEvent2>(kEvent);
  const auto waits = Profile::all<CUpti_ActivitySynchronization2>(kWait);
  const auto kernels = Profile::all<CUpti_ActivityKernel11>(kKernel);
  REQUIRE(events.size() == 1);
  REQUIRE(waits.size() == 2);
  REQUIRE(kernels.size() == 1);
  CHECK(events[0].streamId == kernels[0].streamId);
  CHECK(events[0].streamId != 7);
  CHECK(events[0].deviceTimestamp >= kernels[0].end);
  CHECK(waits[0].type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
  CHECK(waits[0].streamId == 7);
  CHECK(waits[1].type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
  CHECK(waits[1].streamId == static_cast<uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE));
  CHECK(waits[1].end >= kernels[0].end);
  for (const auto& wait : waits) {
    CHECK(wait.cudaEventId == events[0].eventId);
    CHECK(wait.cudaEventSyncId == events[0].cudaEventSyncId);
  }
  uint32_t id = 0;
  REQUIRE(cuptiGetStreamIdEx(nullptr, other, 0, &id) == CUPTI_SUCCESS);
  CHECK(id == kernels[0].streamId);
  cudaEventDestroy(event);
  cudaStreamDestroy(other);
}

TEST_CASE("A graph's kernels have its id and the correlation id of its launch") {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  for (int i = 0; i < 3; ++i) launch(stream);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  uint32_t id = 0;
  REQUIRE(cuptiGetGraphExecId(executable, &id) == CUPTI_SUCCESS);
  {
    Profile profile({kKernel, kRuntime});
    REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
    cudaStreamSynchronize(stream);
    profile.stop();
    const auto kernels = Profile::all<CUpti_ActivityKernel11>(kKernel);
    REQUIRE(kernels.size() == 3);
    const auto calls = Profile::all<CUpti_ActivityAPI>(kRuntime);
    REQUIRE(calls.size() == 2);
    CHECK(calls[0].cbid == CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000);
    for (const auto& kernel : kernels) {
      CHECK(kernel.graphId == id);
      CHECK(kernel.graphNodeId != 0);
      CHECK(kernel.correlationId == calls[0].correlationId);
    }
    CHECK(kernels[0].end <= kernels[1].start);
    CHECK(kernels[1].end <= kernels[2].start);
  }
  // One record for the whole graph in place of those of its nodes.
  Profile profile({kKernel, CUPTI_ACTIVITY_KIND_GRAPH_TRACE});
  REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
  cudaStreamSynchronize(stream);
  profile.stop();
  CHECK(Profile::all<CUpti_ActivityKernel11>(kKernel).empty());
  const auto graphs = Profile::all<CUpti_ActivityGraphTrace2>(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  REQUIRE(graphs.size() == 1);
  CHECK(graphs[0].graphId == id);
  CHECK(graphs[0].start < graphs[0].end);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

TEST_CASE("Allocations and streams leave records") {
  constexpr CUpti_ActivityKind kMemory = CUPTI_ACTIVITY_KIND_MEMORY2, kStream = CUPTI_ACTIVITY_KIND_STREAM;
  Profile profile({kMemory, kStream});
  void* memory = nullptr;
  cudaStream_t stream = nullptr;
  REQUIRE(cudaMalloc(&memory, 12345) == cudaSuccess);
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cudaFree(memory) == cudaSuccess);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  profile.stop();
  const auto changes = Profile::all<CUpti_ActivityMemory4>(kMemory);
  REQUIRE(changes.size() == 2);
  CHECK(changes[0].memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
  CHECK(changes[1].memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
  for (const auto& change : changes) {
    CHECK(change.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    CHECK(change.address == reinterpret_cast<uint64_t>(memory));
    CHECK(change.bytes == 12345);
  }
  const auto streams = Profile::all<CUpti_ActivityStream>(kStream);
  REQUIRE(streams.size() == 1);
  CHECK(streams[0].flag == CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING);
}

TEST_CASE("Contexts that are there already are dumped on request") {
  cudaFree(nullptr);
  Profile profile({});
  REQUIRE(cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_CONTEXT) == CUPTI_SUCCESS);
  REQUIRE(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONTEXT) == CUPTI_SUCCESS);
  profile.stop();
  const auto contexts = Profile::all<CUpti_ActivityContext4>(CUPTI_ACTIVITY_KIND_CONTEXT);
  REQUIRE(contexts.size() == 1);
  CHECK(contexts[0].contextId == 1);
  CHECK(contexts[0].nullStreamId == 7);
}

TEST_CASE("NVTX ranges are markers") {
  // As documented: NVTX loads the library of this name at its first call.
  setenv("NVTX_INJECTION64_PATH", "libcupti.so.13", 1);
  constexpr CUpti_ActivityKind kMarker = CUPTI_ACTIVITY_KIND_MARKER;
  Profile profile({kMarker});
  CHECK(nvtxRangePushA("outer") == 0);
  CHECK(nvtxRangePushA("inner") == 1);
  CHECK(nvtxRangePop() == 1);
  CHECK(nvtxRangePop() == 0);
  const nvtxRangeId_t range = nvtxRangeStartA("anywhere");
  nvtxMarkA("here");
  nvtxRangeEnd(range);
  profile.stop();
  const auto markers = Profile::all<CUpti_ActivityMarker2>(kMarker);
  REQUIRE(markers.size() == 7);
  const auto check = [&](size_t i, CUpti_ActivityFlag flag, const char* name, size_t same_id_as) {
    CHECK(markers[i].flags == flag);
    CHECK((markers[i].name == nullptr ? std::string() : markers[i].name) == name);
    CHECK(markers[i].id == markers[same_id_as].id);
    CHECK(markers[i].domain == nullptr);
    CHECK(markers[i].objectKind == CUPTI_ACTIVITY_OBJECT_THREAD);
  };
  check(0, CUPTI_ACTIVITY_FLAG_MARKER_START, "outer", 0);
  check(1, CUPTI_ACTIVITY_FLAG_MARKER_START, "inner", 1);
  check(2, CUPTI_ACTIVITY_FLAG_MARKER_END, "", 1);
  check(3, CUPTI_ACTIVITY_FLAG_MARKER_END, "", 0);
  check(4, CUPTI_ACTIVITY_FLAG_MARKER_START, "anywhere", 4);
  check(5, CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, "here", 5);
  check(6, CUPTI_ACTIVITY_FLAG_MARKER_END, "", 4);
  for (size_t i = 1; i < markers.size(); ++i) CHECK(markers[i - 1].timestamp <= markers[i].timestamp);
}
