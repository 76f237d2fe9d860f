// A client's own clock. Last of all: a clock that was registered once stays.
#include <time.h>

#include <catch2/catch.hpp>

#include "test/cupti/profile.h"

using namespace maya::test;

namespace {

constexpr CUpti_ActivityKind kFill = CUPTI_ACTIVITY_KIND_MEMSET, kRuntime = CUPTI_ACTIVITY_KIND_RUNTIME;

uint64_t real_time_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

TEST_CASE("A client's own clock is used for all times") {
  static uint64_t start = real_time_ns();
  // Ten ticks a nanosecond, from 0.
  REQUIRE(cuptiActivityRegisterTimestampCallback([]() -> uint64_t { return (real_time_ns() - start) * 10; }) ==
          CUPTI_SUCCESS);
  Profile profile({kFill, kRuntime});
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, 1 << 30) == cudaSuccess);
  // 1 GiB at 3.35 TB/s, the peak of the default device (h100-sxm): at least 0.32 ms.
  for (int i = 0; i < 10; ++i) REQUIRE(cudaMemsetAsync(memory, 0, 1 << 30, nullptr) == cudaSuccess);
  cudaDeviceSynchronize();
  uint64_t now = 0;
  REQUIRE(cuptiGetTimestamp(&now) == CUPTI_SUCCESS);
  profile.stop();
  const auto fills = Profile::all<CUpti_ActivityMemset4>(kFill);
  REQUIRE(fills.size() == 10);
  for (const auto& fill : fills) {
    CHECK(fill.end - fill.start > 3'200'000);
    CHECK(fill.end - fill.start < 12'000'000);
    CHECK(fill.end <= now + 100'000);
  }
  cudaFree(memory);
  REQUIRE(cuptiActivityRegisterTimestampCallback([]() -> uint64_t { return real_time_ns(); }) == CUPTI_SUCCESS);
}
