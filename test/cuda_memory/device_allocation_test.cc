// cuMemAlloc, cuMemFree, cuMemAllocPitch, cuMemGetInfo, cuMemGetAddressRange.
#include <thread>

#include "driver_memory_helpers.h"

using namespace memory_test;

TEST_CASE("allocation changes what is free, in steps of 2 MiB, and freeing changes it back") {
  PrimaryContext context;
  const size_t before = free_bytes();
  const CUdeviceptr large = allocate(10 * kMiB + 1);
  CHECK(large % 256 == 0);  // cuMemAlloc: "suitably aligned for any kind of variable"; 256 in the programming guide
  CHECK(free_bytes() == before - 12 * kMiB);
  const CUdeviceptr small = allocate(1);
  const CUdeviceptr other = allocate(4);
  CHECK(free_bytes() == before - 14 * kMiB);
  for (const CUdeviceptr address : {large, small, other}) CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
  CHECK(free_bytes() == before);
}

TEST_CASE("totals are the device's, and its own use is not free") {
  PrimaryContext context;
  size_t free = 0, total = 0, device_total = 0;
  REQUIRE(cuMemGetInfo_v2(&free, &total) == CUDA_SUCCESS);
  REQUIRE(cuDeviceTotalMem_v2(&device_total, 0) == CUDA_SUCCESS);
  CHECK(total == device_total);
  CHECK(free < total);
  CHECK(cuMemGetInfo_v2(nullptr, &total) == CUDA_SUCCESS);
  CHECK(cuMemGetInfo_v2(&free, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemGetInfo_v2(nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("documented errors of allocation and freeing") {
  PrimaryContext context;
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc_v2(nullptr, 100) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAlloc_v2(&address, 0) ==
        CUDA_ERROR_INVALID_VALUE);  // "If bytesize is 0, cuMemAlloc() returns CUDA_ERROR_INVALID_VALUE"
  CHECK(cuMemAlloc_v2(&address, size_t{1} << 50) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemAlloc_v2(&address, SIZE_MAX) == CUDA_ERROR_OUT_OF_MEMORY);
  address = allocate(100);
  CHECK(cuMemFree_v2(address + 8) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(address) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree_v2(0x1234) == CUDA_ERROR_INVALID_VALUE);
  int on_stack = 0;
  CHECK(cuMemFree_v2(unified(&on_stack)) == CUDA_ERROR_INVALID_VALUE);

  // A new thread has no context.
  CUresult status = CUDA_SUCCESS, info = CUDA_SUCCESS;
  std::thread([&] {
    CUdeviceptr unused = 0;
    size_t free = 0;
    status = cuMemAlloc_v2(&unused, 100);
    info = cuMemGetInfo_v2(&free, nullptr);
  }).join();
  CHECK(status == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(info == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("a device is filled to the last 2 MiB, then refuses, and is usable again after a free") {
  PrimaryContext context(1);
  std::vector<CUdeviceptr> blocks;
  CUdeviceptr address = 0;
  while (cuMemAlloc_v2(&address, kGiB) == CUDA_SUCCESS) blocks.push_back(address);
  const size_t rest = free_bytes();
  CHECK(rest < kGiB);
  CHECK(blocks.size() >= 75);  // 80 GB device
  CHECK(cuMemAlloc_v2(&address, rest + 1) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(free_bytes() == rest);
  const size_t whole = rest / (2 * kMiB) * (2 * kMiB);
  blocks.push_back(allocate(whole));
  CHECK(cuMemAlloc_v2(&address, 1) == CUDA_ERROR_OUT_OF_MEMORY);
  for (const CUdeviceptr block : blocks) CHECK(cuMemFree_v2(block) == CUDA_SUCCESS);
  CHECK(cuMemAlloc_v2(&address, 1) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
}

TEST_CASE("pitched allocation") {
  PrimaryContext context;
  CUdeviceptr address = 0;
  size_t pitch = 0;
  REQUIRE(cuMemAllocPitch_v2(&address, &pitch, 1000, 30, 4) == CUDA_SUCCESS);
  CHECK(pitch >= 1000);
  CHECK(pitch % 512 == 0);
  size_t bytes = 0;
  REQUIRE(cuMemGetAddressRange_v2(nullptr, &bytes, address) == CUDA_SUCCESS);
  CHECK(bytes == pitch * 30);
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
  CHECK(cuMemAllocPitch_v2(&address, &pitch, 1000, 30, 5) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAllocPitch_v2(&address, &pitch, 0, 30, 4) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAllocPitch_v2(&address, nullptr, 1000, 30, 4) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAllocPitch_v2(&address, &pitch, SIZE_MAX, 2, 4) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemAllocPitch_v2(&address, &pitch, SIZE_MAX / 4, 8, 4) == CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_CASE("address ranges: any address inside, optional results") {
  PrimaryContext context;
  const CUdeviceptr address = allocate(1000);
  CUdeviceptr base = 0;
  size_t bytes = 0;
  REQUIRE(cuMemGetAddressRange_v2(&base, &bytes, address + 999) == CUDA_SUCCESS);
  CHECK(base == address);
  CHECK(bytes == 1000);
  CHECK(cuMemGetAddressRange_v2(nullptr, nullptr, address) == CUDA_SUCCESS);
  CHECK(cuMemGetAddressRange_v2(&base, &bytes, address + 1000) == CUDA_ERROR_NOT_FOUND);
  CHECK(cuMemGetAddressRange_v2(&base, &bytes, 0) == CUDA_ERROR_NOT_FOUND);
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
  CHECK(cuMemGetAddressRange_v2(&base, &bytes, address) == CUDA_ERROR_NOT_FOUND);
}

TEST_CASE("the memory of a context goes with it") {
  PrimaryContext other;
  const size_t before = free_bytes();
  CUcontext context = nullptr;
  REQUIRE(cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS);
  const CUdeviceptr device = allocate(50 * kMiB);
  void* host = nullptr;
  REQUIRE(cuMemAllocHost_v2(&host, 100) == CUDA_SUCCESS);
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR shape{1024, 1024, CU_AD_FORMAT_FLOAT, 4};
  REQUIRE(cuArrayCreate_v2(&array, &shape) == CUDA_SUCCESS);
  REQUIRE(cuCtxDestroy_v2(context) == CUDA_SUCCESS);
  CHECK(free_bytes() == before);
  CHECK(cuMemFree_v2(device) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFreeHost(host) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuArrayDestroy(array) == CUDA_ERROR_INVALID_HANDLE);
}
