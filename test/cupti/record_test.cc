// Buffers: how they are asked for, filled, delivered, walked, and what happens when there are none.
#include <catch2/catch.hpp>
#include <thread>

#include "test/cupti/profile.h"

using namespace maya::test;

namespace {

constexpr CUpti_ActivityKind kKernel = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;

}  // namespace

TEST_CASE("Full buffers are delivered while the program runs, the rest at the flush") {
  launch();
  cudaDeviceSynchronize();
  const size_t before = Profile::delivered();
  Profile profile({kKernel}, 1024);
  constexpr int kLaunches = 100;
  for (int i = 0; i < kLaunches; ++i) {
    launch();
    cudaDeviceSynchronize();
  }
  // A record has 208 bytes in CUPTI 13.2: four in each buffer.
  CHECK(sizeof(CUpti_ActivityKernel11) <= 1024 / 4);
  CHECK(Profile::delivered() - before >= kLaunches / (1024 / sizeof(CUpti_ActivityKernel11)) - 1);
  profile.stop();
  const auto kernels = Profile::all<CUpti_ActivityKernel11>(kKernel);
  REQUIRE(kernels.size() == kLaunches);
  CHECK(Profile::delivered() - before == Profile::requested());
  for (size_t i = 1; i < kernels.size(); ++i) CHECK(kernels[i - 1].end <= kernels[i].start);
  size_t dropped = 1;
  REQUIRE(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS);
  CHECK(dropped == 0);
}

TEST_CASE("Records without a buffer are dropped and counted, once") {
  launch();
  for (const bool refuse : {true, false}) {
    // Refused, or too small for a kernel's record.
    Profile profile({kKernel}, 64);
    Profile::refuse_buffers(refuse);
    for (int i = 0; i < 3; ++i) launch();
    profile.stop();
    Profile::refuse_buffers(false);
    CHECK(Profile::all<CUpti_ActivityKernel11>(kKernel).empty());
    size_t dropped = 0;
    REQUIRE(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS);
    CHECK(dropped == 3);
    REQUIRE(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS);
    CHECK(dropped == 0);
  }
}

TEST_CASE("An unforced flush keeps buffers with work that has not ended") {
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, 1 << 30) == cudaSuccess);
  Profile profile({CUPTI_ACTIVITY_KIND_MEMSET});
  const size_t before = Profile::delivered();
  for (int i = 0; i < 50; ++i) REQUIRE(cudaMemsetAsync(memory, 0, 1 << 30, nullptr) == cudaSuccess);
  REQUIRE(cuptiActivityFlushAll(0) == CUPTI_SUCCESS);
  CHECK(Profile::delivered() == before);
  cudaDeviceSynchronize();
  REQUIRE(cuptiActivityFlushAll(0) == CUPTI_SUCCESS);
  CHECK(Profile::delivered() == before + 1);
  CHECK(Profile::all<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET).size() == 50);
  cudaFree(memory);
}

TEST_CASE("Walking a buffer") {
  alignas(8) uint8_t buffer[256] = {};
  CUpti_Activity* record = nullptr;
  CHECK(cuptiActivityGetNextRecord(nullptr, 256, &record) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiActivityGetNextRecord(buffer, 256, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiActivityGetNextRecord(buffer, 0, &record) == CUPTI_ERROR_MAX_LIMIT_REACHED);
  CHECK(cuptiActivityGetNextRecord(buffer, 256, &record) == CUPTI_ERROR_INVALID_KIND);  // kind 0
  reinterpret_cast<CUpti_Activity*>(buffer)->kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  CHECK(cuptiActivityGetNextRecord(buffer, sizeof(CUpti_ActivityAPI) - 1, &record) == CUPTI_ERROR_INVALID_KIND);
  CHECK(cuptiActivityGetNextRecord(buffer, sizeof(CUpti_ActivityAPI), &record) == CUPTI_SUCCESS);
  CHECK(reinterpret_cast<uint8_t*>(record) == buffer);
  CHECK(cuptiActivityGetNextRecord(buffer, sizeof(CUpti_ActivityAPI), &record) == CUPTI_ERROR_MAX_LIMIT_REACHED);
}

TEST_CASE("Eight threads lose nothing") {
  launch();
  // Buffers of a few records, so that many threads find one full at the same time.
  const size_t buffer_bytes = GENERATE(512, 4096);
  Profile profile({kKernel, CUPTI_ACTIVITY_KIND_DRIVER}, buffer_bytes);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([] {
      cudaSetDevice(0);
      for (int i = 0; i < 500; ++i) launch();
    });
  for (std::thread& thread : threads) thread.join();
  cudaDeviceSynchronize();
  profile.stop();
  CHECK(Profile::all<CUpti_ActivityKernel11>(kKernel).size() == 4000);
  size_t launches = 0;
  for (const auto& call : Profile::all<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER))
    launches += call.cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel ? 1 : 0;
  CHECK(launches == 4000);
}
