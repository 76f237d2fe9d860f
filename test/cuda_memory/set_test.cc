#include "driver_memory_helpers.h"

using namespace memory_test;

TEST_CASE("memsets of all widths") {
  PrimaryContext context;
  const CUdeviceptr address = allocate(64);
  REQUIRE(cuMemsetD8_v2(address, 1, 64) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD16_v2(address + 2, 0x0302, 2) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD32_v2(address + 8, 0x07060504, 2) == CUDA_SUCCESS);
  CHECK(download(address, 18) == Bytes{1, 1, 2, 3, 2, 3, 1, 1, 4, 5, 6, 7, 4, 5, 6, 7, 1, 1});
  REQUIRE(cuMemsetD8Async(address, 9, 1, nullptr) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD16Async(address + 4, 0x0b0a, 1, nullptr) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD32Async(address + 12, 0, 1, nullptr) == CUDA_SUCCESS);
  CHECK(download(address, 18) == Bytes{9, 1, 2, 3, 10, 11, 1, 1, 4, 5, 6, 7, 0, 0, 0, 0, 1, 1});
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
}

TEST_CASE("2-D memsets leave the bytes between their rows") {
  PrimaryContext context;
  const CUdeviceptr address = allocate(40);
  REQUIRE(cuMemsetD8_v2(address, 1, 40) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD2D16_v2(address, 8, 0x0303, 2, 3) == CUDA_SUCCESS);
  CHECK(download(address, 24) == Bytes{3, 3, 3, 3, 1, 1, 1, 1, 3, 3, 3, 3, 1, 1, 1, 1, 3, 3, 3, 3, 1, 1, 1, 1});
  REQUIRE(cuMemsetD2D8Async(address, 10, 5, 10, 4, nullptr) == CUDA_SUCCESS);  // no gaps
  CHECK(download(address, 40) == Bytes(40, 5));
  REQUIRE(cuMemsetD2D32_v2(address, 20, 0, 1, 2) == CUDA_SUCCESS);
  CHECK(download(address + 18, 8) == Bytes{5, 5, 0, 0, 0, 0, 5, 5});
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
}

TEST_CASE("memsets of memory on the host's side") {
  PrimaryContext context;
  void* pinned = nullptr;
  REQUIRE(cuMemAllocHost_v2(&pinned, 64) == CUDA_SUCCESS);
  const auto* bytes = static_cast<const unsigned char*>(pinned);
  REQUIRE(cuMemsetD16_v2(unified(pinned) + 2, 0x0201, 3) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD32_v2(unified(pinned) + 12, 0x06050403, 1) == CUDA_SUCCESS);
  CHECK(Bytes(bytes, bytes + 17) == Bytes{0, 0, 1, 2, 1, 2, 1, 2, 0, 0, 0, 0, 3, 4, 5, 6, 0});
  CHECK(cuMemsetD8_v2(unified(pinned), 0, 65) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFreeHost(pinned) == CUDA_SUCCESS);
}

TEST_CASE("documented errors of memsets") {
  PrimaryContext context;
  const CUdeviceptr address = allocate(64);
  CHECK(cuMemsetD16_v2(address + 1, 0, 1) == CUDA_ERROR_INVALID_VALUE);       // "must be two byte aligned"
  CHECK(cuMemsetD32_v2(address + 2, 0, 1) == CUDA_ERROR_INVALID_VALUE);       // "must be four byte aligned"
  CHECK(cuMemsetD2D32_v2(address, 10, 0, 1, 2) == CUDA_ERROR_INVALID_VALUE);  // and the pitch
  CHECK(cuMemsetD8_v2(address, 0, 65) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemsetD32_v2(address, 0, SIZE_MAX) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemsetD2D8_v2(address, 32, 0, 32, 3) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemsetD2D8_v2(address, 16, 0, 32, 2) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemsetD8_v2(0, 0, 1) == CUDA_ERROR_INVALID_VALUE);
  Bytes host(10);
  CHECK(cuMemsetD8_v2(unified(host.data()), 0, 10) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemsetD8_v2(address, 0, 0) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
}
