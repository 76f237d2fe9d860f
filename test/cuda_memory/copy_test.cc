// Linear copies.
#include <dlfcn.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "driver_memory_helpers.h"

using namespace memory_test;

TEST_CASE("what goes up comes down, through every form") {
  PrimaryContext context;
  CUstream stream = nullptr;
  REQUIRE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  const Bytes data = pattern(100000);
  const CUdeviceptr a = allocate(data.size());
  const CUdeviceptr b = allocate(data.size());
  REQUIRE(cuMemcpyHtoDAsync_v2(a, data.data(), data.size(), stream) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyDtoDAsync_v2(b, a, data.size(), stream) == CUDA_SUCCESS);
  Bytes back(data.size());
  REQUIRE(cuMemcpyDtoHAsync_v2(back.data(), b, data.size(), stream) == CUDA_SUCCESS);
  REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  CHECK(back == data);

  // cuMemcpy infers all four directions.
  const Bytes other = pattern(5000, 99);
  REQUIRE(cuMemcpy(a, unified(other.data()), 5000) == CUDA_SUCCESS);
  REQUIRE(cuMemcpy(b + 10, a, 5000) == CUDA_SUCCESS);
  Bytes first(5000), second(5000);
  REQUIRE(cuMemcpyAsync(unified(first.data()), b + 10, 5000, stream) == CUDA_SUCCESS);
  REQUIRE(cuMemcpy(unified(second.data()), unified(first.data()), 5000) == CUDA_SUCCESS);
  CHECK(second == other);
  REQUIRE(cuMemcpyDtoD_v2(a, b, 20) == CUDA_SUCCESS);
  CHECK(download(a, 20) == download(b, 20));
  CHECK(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(a) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(b) == CUDA_SUCCESS);
}

TEST_CASE("memory that nobody wrote reads as zero, also after it was used before") {
  PrimaryContext context;
  CUdeviceptr address = allocate(3 * kMiB);
  upload(address, pattern(3 * kMiB));
  REQUIRE(cuMemFree_v2(address) == CUDA_SUCCESS);
  address = allocate(3 * kMiB);
  CHECK(download(address, 3 * kMiB) == Bytes(3 * kMiB, 0));
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
}

TEST_CASE("zeros that come down take none of this machine's memory, and overwrite what was there") {
  const auto resident_bytes = [] {
    size_t size = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> size >> resident;
    return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  };
  PrimaryContext context;
  const CUdeviceptr unknown = allocate(256 * kMiB);
  void* host = nullptr;
  REQUIRE(cuMemHostAlloc(&host, 256 * kMiB, 0) == CUDA_SUCCESS);
  auto* const bytes = static_cast<unsigned char*>(host);
  bytes[0] = bytes[100 * kMiB + 7] = bytes[256 * kMiB - 1] = 7;
  const size_t before = resident_bytes();
  for (const bool filled : {false, true}) {
    if (filled) REQUIRE(cuMemsetD8_v2(unknown, 0, 256 * kMiB) == CUDA_SUCCESS);
    REQUIRE(cuMemcpyDtoH_v2(host, unknown, 256 * kMiB) == CUDA_SUCCESS);
    CHECK(resident_bytes() < before + 32 * kMiB);
    for (const size_t at : {size_t{0}, 100 * kMiB + 7, 256 * kMiB - 1}) CHECK(bytes[at] == 0);
    bytes[100 * kMiB + 7] = 9;
  }
  CHECK(cuMemFreeHost(host) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(unknown) == CUDA_SUCCESS);
}

TEST_CASE("copies between devices") {
  PrimaryContext first(0);
  const CUdeviceptr a = allocate(1000);
  upload(a, pattern(1000));
  CUdeviceptr b = 0;
  {
    PrimaryContext second(1);
    b = allocate(1000);
    REQUIRE(cuMemcpyPeer(b, second.get(), a, first.get(), 1000) == CUDA_SUCCESS);
    CHECK(cuMemcpyPeer(b, nullptr, a, first.get(), 1000) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(download(b, 1000) == pattern(1000));
    REQUIRE(cuMemcpyPeerAsync(b, second.get(), a, first.get(), 10, nullptr) == CUDA_SUCCESS);
    REQUIRE(cuMemFree_v2(b) == CUDA_SUCCESS);
  }
  CHECK(cuMemFree_v2(a) == CUDA_SUCCESS);
}

TEST_CASE("documented errors of linear copies") {
  PrimaryContext context;
  const CUdeviceptr address = allocate(1000);
  Bytes data(2000);
  CHECK(cuMemcpyHtoD_v2(address, data.data(), 1001) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyHtoD_v2(address + 999, data.data(), 2) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyHtoD_v2(address, nullptr, 10) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyHtoD_v2(0, data.data(), 10) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyHtoD_v2(unified(data.data()), data.data(), 10) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyHtoD_v2(address, reinterpret_cast<void*>(address), 10) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoH_v2(nullptr, address, 10) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoH_v2(data.data(), address, 1001) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoH_v2(data.data(), unified(data.data()), 10) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoD_v2(address, address + 500, 501) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoD_v2(address, unified(data.data()), 10) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpy(0, address, 10) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpy(address, 0, 10) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyHtoDAsync_v2(address, data.data(), 10, reinterpret_cast<CUstream>(&data)) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuMemcpyHtoD_v2(address, data.data(), 0) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
  CHECK(cuMemcpyHtoD_v2(address, data.data(), 10) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a copy takes modelled time: the host waits for what it must wait for") {
  PrimaryContext context;
  constexpr size_t kBytes = 256 * kMiB;
  const CUdeviceptr address = allocate(kBytes);
  void* pinned = nullptr;
  REQUIRE(cuMemAllocHost_v2(&pinned, kBytes) == CUDA_SUCCESS);
  CUevent start = nullptr, end = nullptr;
  REQUIRE(cuEventCreate(&start, 0) == CUDA_SUCCESS);
  REQUIRE(cuEventCreate(&end, 0) == CUDA_SUCCESS);
  CUstream stream = nullptr;
  REQUIRE(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);

  REQUIRE(cuEventRecord(start, stream) == CUDA_SUCCESS);
  for (int i = 0; i < 16; ++i)
    REQUIRE(cuMemcpyDtoDAsync_v2(address, address + kBytes / 2, kBytes / 2, stream) == CUDA_SUCCESS);
  REQUIRE(cuEventRecord(end, stream) == CUDA_SUCCESS);
  CHECK(cuEventQuery(end) == CUDA_ERROR_NOT_READY);  // 16 x 128 MiB read and written at 3.35 TB/s: over a millisecond
  REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  CHECK(cuEventQuery(end) == CUDA_SUCCESS);
  float milliseconds = 0;
  REQUIRE(cuEventElapsedTime(&milliseconds, start, end) == CUDA_SUCCESS);
  CHECK(milliseconds > 16 * 2 * 134.2e6 / 3.36e12 * 1e3);  // no faster than the memory
  CHECK(milliseconds < 6);

  // Down to pinned memory the Async form returns at once; to pageable memory it returns when done.
  REQUIRE(cuMemcpyDtoHAsync_v2(pinned, address, kBytes, stream) == CUDA_SUCCESS);
  Bytes pageable(1000);
  REQUIRE(cuMemcpyDtoHAsync_v2(pageable.data(), address, 1000, stream) == CUDA_SUCCESS);
  CHECK(cuStreamQuery(stream) == CUDA_SUCCESS);

  CHECK(cuEventDestroy_v2(start) == CUDA_SUCCESS);
  CHECK(cuEventDestroy_v2(end) == CUDA_SUCCESS);
  CHECK(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
  CHECK(cuMemFreeHost(pinned) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
}

TEST_CASE("per-thread twins work on the thread's own default stream") {
  PrimaryContext context;
  const auto up = reinterpret_cast<decltype(&cuMemcpyHtoD_v2)>(dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2_ptds"));
  const auto down = reinterpret_cast<decltype(&cuMemcpyDtoHAsync_v2)>(dlsym(RTLD_DEFAULT, "cuMemcpyDtoHAsync_v2_ptsz"));
  REQUIRE(up != nullptr);
  REQUIRE(down != nullptr);
  const CUdeviceptr address = allocate(100);
  const Bytes data = pattern(100);
  REQUIRE(up(address, data.data(), 100) == CUDA_SUCCESS);
  Bytes back(100);
  REQUIRE(down(back.data(), address, 100, nullptr) == CUDA_SUCCESS);
  CHECK(back == data);
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
}

TEST_CASE("batches") {
  PrimaryContext context;
  CUstream stream = nullptr;
  REQUIRE(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
  CUdeviceptr to[3], from[3];
  size_t sizes[3] = {100, 200, 300};
  std::vector<Bytes> data;
  for (unsigned i = 0; i < 3; ++i) data.push_back(pattern(sizes[i], i));
  for (int i = 0; i < 3; ++i) {
    to[i] = allocate(sizes[i]);
    from[i] = unified(data[static_cast<size_t>(i)].data());
  }
  CUmemcpyAttributes attributes[2] = {};
  attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
  size_t indices[2] = {0, 2};
  REQUIRE(cuMemcpyBatchAsync_v2(to, from, sizes, 3, attributes, indices, 2, stream) == CUDA_SUCCESS);
  for (size_t i = 0; i < 3; ++i) CHECK(download(to[i], sizes[i]) == data[i]);

  size_t failed = 7;
  CHECK(cuMemcpyBatchAsync(to, from, sizes, 3, attributes, indices, 2, &failed, nullptr) ==
        CUDA_ERROR_INVALID_VALUE);  // legacy stream
  sizes[1] = 201;
  CHECK(cuMemcpyBatchAsync(to, from, sizes, 3, attributes, indices, 2, &failed, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(failed == 1);
  indices[1] = 3;
  CHECK(cuMemcpyBatchAsync_v2(to, from, sizes, 3, attributes, indices, 2, stream) == CUDA_ERROR_INVALID_VALUE);
  indices[1] = 2;
  attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
  CHECK(cuMemcpyBatchAsync_v2(to, from, sizes, 3, attributes, indices, 2, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyWithAttributesAsync(to[0], from[1], 100, &attributes[0], stream) == CUDA_SUCCESS);
  CHECK(download(to[0], 100) == Bytes(data[1].begin(), data[1].begin() + 100));
  CHECK(cuMemcpyWithAttributesAsync(to[0], from[1], 100, nullptr, stream) == CUDA_ERROR_INVALID_VALUE);
  for (const CUdeviceptr address : to) CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
  CHECK(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
}
