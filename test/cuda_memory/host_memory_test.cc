// Pinned, registered and managed host memory.
#include <cstring>

#include "driver_memory_helpers.h"

using namespace memory_test;

TEST_CASE("pinned memory is usable host memory at one address for host and device") {
  PrimaryContext context;
  const size_t before = free_bytes();
  void* memory = nullptr;
  REQUIRE(cuMemHostAlloc(&memory, 10000, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP) == CUDA_SUCCESS);
  CHECK(reinterpret_cast<uintptr_t>(memory) % 256 == 0);
  CHECK(free_bytes() == before);
  std::memset(memory, 7, 10000);
  CUdeviceptr device = 0;
  REQUIRE(cuMemHostGetDevicePointer_v2(&device, memory, 0) == CUDA_SUCCESS);
  CHECK(device == unified(memory));
  unsigned int flags = 0;
  REQUIRE(cuMemHostGetFlags(&flags, memory) == CUDA_SUCCESS);
  CHECK(flags == (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  CHECK(cuMemFreeHost(static_cast<char*>(memory) + 16) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree_v2(unified(memory)) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFreeHost(memory) == CUDA_SUCCESS);
  CHECK(cuMemFreeHost(memory) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFreeHost(nullptr) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("documented errors of pinned memory") {
  PrimaryContext context;
  void* memory = nullptr;
  CUdeviceptr device = 0;
  unsigned int flags = 0;
  CHECK(cuMemHostAlloc(&memory, 100, 0x80) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemHostAlloc(nullptr, 100, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemHostAlloc(&memory, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemHostAlloc(&memory, SIZE_MAX, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemAllocHost_v2(nullptr, 100) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuMemAllocHost_v2(&memory, 100) == CUDA_SUCCESS);
  CHECK(cuMemHostGetDevicePointer_v2(&device, memory, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemHostGetDevicePointer_v2(nullptr, memory, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemHostGetDevicePointer_v2(&device, &device, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemHostGetFlags(&flags, &device) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemHostGetFlags(nullptr, memory) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFreeHost(memory) == CUDA_SUCCESS);
}

TEST_CASE("registering host memory") {
  PrimaryContext context;
  Bytes memory(8192);
  CHECK(cuMemHostUnregister(memory.data()) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  REQUIRE(cuMemHostRegister_v2(memory.data(), memory.size(), CU_MEMHOSTREGISTER_PORTABLE) == CUDA_SUCCESS);
  CHECK(cuMemHostRegister_v2(memory.data(), memory.size(), 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  CHECK(cuMemHostRegister_v2(memory.data() + 4096, 100, 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  CUdeviceptr device = 0;
  CHECK(cuMemHostGetDevicePointer_v2(&device, memory.data(), 0) == CUDA_SUCCESS);
  CHECK(cuMemFreeHost(memory.data()) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemHostUnregister(memory.data()) == CUDA_SUCCESS);
  CHECK(cuMemHostUnregister(memory.data()) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  CHECK(cuMemHostRegister_v2(nullptr, 10, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemHostRegister_v2(memory.data(), 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemHostRegister_v2(memory.data(), 10, 0x100) == CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr on_device = allocate(100);
  CHECK(cuMemHostRegister_v2(reinterpret_cast<void*>(on_device), 100, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree_v2(on_device) == CUDA_SUCCESS);
}

TEST_CASE("managed memory: read and written by the host, advised, prefetched, larger than the host") {
  PrimaryContext context;
  CUdeviceptr address = 0;
  REQUIRE(cuMemAllocManaged(&address, 200 * kGiB, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
  auto* host = reinterpret_cast<unsigned char*>(address);
  host[0] = 5;
  host[200 * kGiB - 1] = 6;
  CHECK(download(address, 1) == Bytes{5});
  REQUIRE(cuMemsetD8_v2(address, 9, 100) == CUDA_SUCCESS);
  CHECK(host[99] == 9);

  int value = 77;
  const auto query = [&](CUmem_range_attribute attribute) {
    REQUIRE(cuMemRangeGetAttribute(&value, 4, attribute, address, 4096) == CUDA_SUCCESS);
    return value;
  };
  CHECK(query(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY) == 0);
  CHECK(query(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION) == CU_DEVICE_INVALID);
  CHECK(query(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION) == CU_DEVICE_INVALID);
  REQUIRE(cuMemAdvise(address, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemAdvise(address, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 1) == CUDA_SUCCESS);
  REQUIRE(cuMemAdvise(address, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemPrefetchAsync(address, 4096, CU_DEVICE_CPU, nullptr) == CUDA_SUCCESS);
  CHECK(query(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY) == 1);
  CHECK(query(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION) == 1);
  CHECK(query(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION) == CU_DEVICE_CPU);
  // The documentation's own example: 12 bytes and one device give { 0, invalid, invalid }.
  int accessed[3] = {7, 7, 7};
  REQUIRE(cuMemRangeGetAttribute(accessed, 12, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, address, 4096) == CUDA_SUCCESS);
  CHECK(accessed[0] == 0);
  CHECK(accessed[1] == CU_DEVICE_INVALID);
  CHECK(accessed[2] == CU_DEVICE_INVALID);

  CHECK(cuMemAdvise(address, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 5) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuMemAdvise(address, 4096, static_cast<CUmem_advise>(99), 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAdvise(address, 201 * kGiB, CU_MEM_ADVISE_SET_READ_MOSTLY, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemPrefetchAsync(address, 4096, 9, nullptr) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuMemRangeGetAttribute(&value, 8, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address, 4096) ==
        CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr device = allocate(4096);
  CHECK(cuMemPrefetchAsync(device, 4096, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree_v2(device) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
  CHECK(cuMemAllocManaged(&address, 100, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAllocManaged(&address, 100, CU_MEM_ATTACH_SINGLE) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAllocManaged(&address, 0, CU_MEM_ATTACH_GLOBAL) == CUDA_ERROR_INVALID_VALUE);
}
