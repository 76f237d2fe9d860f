// Shared by the tests of graphs.
#pragma once

#include <array>

#include "test/cuda/driver_helpers.h"

namespace driver_test {

class TestStream {
 public:
  explicit TestStream(unsigned int flags = CU_STREAM_NON_BLOCKING) {
    REQUIRE(cuStreamCreate(&stream_, flags) == CUDA_SUCCESS);
  }
  ~TestStream() { cuStreamDestroy_v2(stream_); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  operator CUstream() const { return stream_; }

 private:
  CUstream stream_ = nullptr;
};

class TestEvent {
 public:
  TestEvent() { REQUIRE(cuEventCreate(&event_, CU_EVENT_DEFAULT) == CUDA_SUCCESS); }
  ~TestEvent() { cuEventDestroy_v2(event_); }
  TestEvent(const TestEvent&) = delete;
  TestEvent& operator=(const TestEvent&) = delete;
  operator CUevent() const { return event_; }

 private:
  CUevent event_ = nullptr;
};

// Sixteen words of device memory.
class Words {
 public:
  static constexpr size_t kCount = 16;
  Words() { REQUIRE(cuMemAlloc_v2(&address_, kCount * 4) == CUDA_SUCCESS); }
  ~Words() { cuMemFree_v2(address_); }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  operator CUdeviceptr() const { return address_; }
  std::array<unsigned int, kCount> read() const {
    std::array<unsigned int, kCount> values{};
    REQUIRE(cuMemcpyDtoH_v2(values.data(), address_, sizeof values) == CUDA_SUCCESS);
    return values;
  }
  unsigned int first() const { return read()[0]; }
  void set(unsigned int value) { REQUIRE(cuMemsetD32_v2(address_, value, kCount) == CUDA_SUCCESS); }

 private:
  CUdeviceptr address_ = 0;
};

inline CUDA_MEMSET_NODE_PARAMS fill_words(CUdeviceptr to, unsigned int value, size_t count = Words::kCount) {
  return {to, 0, value, 4, count, 1};
}

inline CUDA_MEMCPY3D copy_bytes(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  CUDA_MEMCPY3D p{};
  p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  p.srcDevice = from;
  p.dstDevice = to;
  p.WidthInBytes = bytes;
  p.Height = p.Depth = 1;
  return p;
}

inline size_t node_count(CUgraph graph) {
  size_t count = 0;
  REQUIRE(cuGraphGetNodes(graph, nullptr, &count) == CUDA_SUCCESS);
  return count;
}

inline CUgraphExec instantiate(CUgraph graph, unsigned long long flags = 0) {
  CUgraphExec made = nullptr;
  REQUIRE(cuGraphInstantiateWithFlags(&made, graph, flags) == CUDA_SUCCESS);
  return made;
}

inline CUstreamCaptureStatus capture_status(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  REQUIRE(cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS);
  return status;
}

}  // namespace driver_test
