// Many threads at once: launches, and races between creating, using and destroying each kind of object (reliability.md
// figure 11; meant to be run under ThreadSanitizer as well).
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "test/cuda/driver_helpers.h"

using driver_test::CurrentContext;
using driver_test::Module;

namespace {

// Runs `body(thread)` on `threads` threads with the context current; returns how many calls of it were false.
int on_threads(int threads, CUcontext context, const std::function<bool(int)>& body) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i)
    running.emplace_back([&, i] {
      if (cuCtxSetCurrent(context) != CUDA_SUCCESS || !body(i)) ++wrong;
    });
  for (std::thread& thread : running) thread.join();
  return wrong.load();
}

}  // namespace

namespace {

// Turns of the processor that another thread gets on the only processor of both, while this one fills `bytes` of
// memory and waits for that, 200 times. -1: a call failed.
int turns_of_other(CUcontext context, bool other_uses_driver, size_t bytes) {
  cpu_set_t before, one;
  if (sched_getaffinity(0, sizeof before, &before) != 0) return -1;
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) return -1;
  CUdeviceptr memory = 0;
  bool right = cuMemAlloc_v2(&memory, bytes) == CUDA_SUCCESS;
  std::atomic<bool> ended{false};
  std::atomic<int> turns{0};
  std::atomic<bool> other_right{true};
  std::thread other([&] {
    if (other_uses_driver) other_right = cuCtxSetCurrent(context) == CUDA_SUCCESS;
    while (!ended.load()) {
      ++turns;
      sched_yield();
    }
  });
  while (turns.load() == 0) sched_yield();
  const int at_start = turns.load();
  for (int i = 0; i < 200; ++i)
    right = right && cuMemsetD8Async(memory, 0, bytes, nullptr) == CUDA_SUCCESS && cuCtxSynchronize() == CUDA_SUCCESS;
  const int had = turns.load() - at_start;
  ended = true;
  other.join();
  right = sched_setaffinity(0, sizeof before, &before) == 0 && cuMemFree_v2(memory) == CUDA_SUCCESS && right;
  return right && other_right.load() ? had : -1;
}

}  // namespace

// Of the calls alone, the host has done all 200 within a time slice.
TEST_CASE("A thread that waits for the device leaves the processor to others, as in a real wait") {
  CurrentContext current;
  // 0.3 ms each: 1 GiB at 3.35 TB/s.
  CHECK(turns_of_other(current.get(), false, 1 << 30) >= 50);
}

TEST_CASE("Short waits leave the processor to threads that use the driver too") {
  CurrentContext current;
  // 15 us each at 3.35 TB/s: longer than the calls take, under a sanitizer too.
  CHECK(turns_of_other(current.get(), true, 48 << 20) >= 50);
}

TEST_CASE("64 threads launch at once") {
  CurrentContext current;
  Module module;
  const CUfunction nothing = module.function("nothing");
  const CUfunction scale = module.function("scale");
  CHECK(on_threads(64, current.get(), [&](int thread) {
          CUdeviceptr data = 0;
          uint32_t count = 0;
          void* parameters[] = {&data, &count};
          for (int i = 0; i < 1000; ++i) {
            count = static_cast<uint32_t>(i % 100);
            if (cuLaunchKernel(nothing, static_cast<unsigned>(thread + 1), 1, 1, 32, 1, 1, 0, nullptr, nullptr,
                               nullptr) != CUDA_SUCCESS)
              return false;
            if (cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, CU_STREAM_PER_THREAD, parameters, nullptr) != CUDA_SUCCESS)
              return false;
          }
          return cuStreamSynchronize(CU_STREAM_PER_THREAD) == CUDA_SUCCESS;
        }) == 0);
}

// A thread that is alone puts work on streams without an atomic exchange; none may be lost where others come and go.
TEST_CASE("Work on one stream is not lost while threads come and go") {
  CurrentContext current;
  Module module;
  const CUfunction nothing = module.function("nothing");
  void* none[] = {nullptr};
  const auto launch = [&] {
    return cuLaunchKernel(nothing, 1, 1, 1, 32, 1, 1, 0, nullptr, none, nullptr) == CUDA_SUCCESS;
  };
  CUevent start = nullptr, end = nullptr;
  for (CUevent* event : {&start, &end}) REQUIRE(cuEventCreate(event, 0) == CUDA_SUCCESS);
  const auto elapsed_ms = [&] {
    float milliseconds = 0;
    REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);
    REQUIRE(cuEventElapsedTime(&milliseconds, start, end) == CUDA_SUCCESS);
    return milliseconds;
  };
  // How long launches take the device at least when one thread makes them, behind one that is there already: the first
  // begins later than it was made, which counts in no round.
  constexpr int kLaunches = 2000, kRounds = 40, kEach = kLaunches / kRounds / 2;
  float least_ms = 1e9f;
  for (int round = 0; round < kRounds; ++round) {
    REQUIRE(launch());
    REQUIRE(cuEventRecord(start, nullptr) == CUDA_SUCCESS);
    for (int i = 0; i < 2 * kEach; ++i) REQUIRE(launch());
    REQUIRE(cuEventRecord(end, nullptr) == CUDA_SUCCESS);
    least_ms = std::min(least_ms, elapsed_ms());
  }
  REQUIRE(cuEventRecord(start, nullptr) == CUDA_SUCCESS);
  std::atomic<int> wrong{0};
  for (int round = 0; round < kRounds; ++round) {
    std::thread other([&] {
      if (cuCtxSetCurrent(current.get()) != CUDA_SUCCESS) ++wrong;
      for (int i = 0; i < kEach; ++i)
        if (!launch()) ++wrong;
    });
    for (int i = 0; i < kEach; ++i)
      if (!launch()) ++wrong;
    other.join();
  }
  REQUIRE(cuEventRecord(end, nullptr) == CUDA_SUCCESS);
  CHECK(wrong == 0);
  CHECK(elapsed_ms() >= 0.99f * kRounds * least_ms);
  for (CUevent event : {start, end}) CHECK(cuEventDestroy_v2(event) == CUDA_SUCCESS);
}

TEST_CASE("Of many threads that destroy one object, exactly one succeeds") {
  CurrentContext current;
  for (int round = 0; round < 50; ++round) {
    CUstream stream = nullptr;
    CUevent event = nullptr;
    CUdeviceptr memory = 0;
    REQUIRE(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
    REQUIRE(cuEventCreate(&event, 0) == CUDA_SUCCESS);
    REQUIRE(cuMemAlloc_v2(&memory, 4096) == CUDA_SUCCESS);
    std::atomic<int> streams{0}, events{0}, frees{0};
    CHECK(on_threads(8, current.get(), [&](int) {
            streams += cuStreamDestroy_v2(stream) == CUDA_SUCCESS;
            events += cuEventDestroy_v2(event) == CUDA_SUCCESS;
            frees += cuMemFree_v2(memory) == CUDA_SUCCESS;
            return true;
          }) == 0);
    CHECK(streams.load() == 1);
    CHECK(events.load() == 1);
    CHECK(frees.load() == 1);
  }
}

TEST_CASE("Contexts made and destroyed by many threads") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  CHECK(on_threads(16, nullptr, [](int thread) {
          for (int i = 0; i < 20; ++i) {
            CUcontext context = nullptr;
            CUdeviceptr memory = 0;
            if (cuCtxCreate_v2(&context, 0, thread % 2) != CUDA_SUCCESS ||
                cuMemAlloc_v2(&memory, 1 << 20) != CUDA_SUCCESS)
              return false;
            if (cuCtxSynchronize() != CUDA_SUCCESS || cuCtxDestroy_v2(context) != CUDA_SUCCESS) return false;
            if (cuDevicePrimaryCtxRetain(&context, 1) != CUDA_SUCCESS ||
                cuDevicePrimaryCtxRelease_v2(1) != CUDA_SUCCESS)
              return false;
          }
          return true;
        }) == 0);
}

TEST_CASE("Events recorded, waited for and destroyed by many threads") {
  CurrentContext current;
  CHECK(on_threads(16, current.get(), [](int) {
          for (int i = 0; i < 200; ++i) {
            CUstream stream = nullptr;
            CUevent event = nullptr;
            if (cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
                cuEventCreate(&event, 0) != CUDA_SUCCESS)
              return false;
            if (cuEventRecord(event, stream) != CUDA_SUCCESS || cuStreamWaitEvent(nullptr, event, 0) != CUDA_SUCCESS)
              return false;
            if (cuEventSynchronize(event) != CUDA_SUCCESS || cuEventDestroy_v2(event) != CUDA_SUCCESS) return false;
            if (cuStreamDestroy_v2(stream) != CUDA_SUCCESS) return false;
          }
          return true;
        }) == 0);
}

TEST_CASE("Graphs captured, launched and destroyed by many threads") {
  CurrentContext current;
  CHECK(on_threads(16, current.get(), [](int) {
          CUstream stream = nullptr, side = nullptr;
          CUevent fork = nullptr, join = nullptr;
          CUdeviceptr memory = 0;
          if (cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
              cuStreamCreate(&side, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
              cuEventCreate(&fork, 0) != CUDA_SUCCESS || cuEventCreate(&join, 0) != CUDA_SUCCESS)
            return false;
          CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
          if (cuThreadExchangeStreamCaptureMode(&mode) != CUDA_SUCCESS) return false;
          for (int i = 0; i < 50; ++i) {
            CUgraph graph = nullptr;
            CUgraphExec executable = nullptr;
            if (cuMemAlloc_v2(&memory, 4096) != CUDA_SUCCESS ||
                cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) != CUDA_SUCCESS ||
                cuMemsetD8Async(memory, 1, 4096, stream) != CUDA_SUCCESS ||
                cuEventRecord(fork, stream) != CUDA_SUCCESS || cuStreamWaitEvent(side, fork, 0) != CUDA_SUCCESS ||
                cuMemsetD8Async(memory, 2, 2048, side) != CUDA_SUCCESS || cuEventRecord(join, side) != CUDA_SUCCESS ||
                cuStreamWaitEvent(stream, join, 0) != CUDA_SUCCESS ||
                cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS ||
                cuGraphInstantiateWithFlags(&executable, graph, 0) != CUDA_SUCCESS)
              return false;
            for (int launch = 0; launch < 3; ++launch)
              if (cuGraphLaunch(executable, stream) != CUDA_SUCCESS) return false;
            if (cuGraphExecDestroy(executable) != CUDA_SUCCESS || cuGraphDestroy(graph) != CUDA_SUCCESS ||
                cuMemFree_v2(memory) != CUDA_SUCCESS)
              return false;
          }
          return cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS &&
                 cuStreamDestroy_v2(stream) == CUDA_SUCCESS && cuStreamDestroy_v2(side) == CUDA_SUCCESS;
        }) == 0);
}
