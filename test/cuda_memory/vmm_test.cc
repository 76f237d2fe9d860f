// Virtual memory management, in the order in which PyTorch's expandable segments call it.
#include <unistd.h>

#include "driver_memory_helpers.h"

using namespace memory_test;

namespace {

CUmemAllocationProp device_memory(int device, int handle_types = 0) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(handle_types);
  return properties;
}

CUmemAccessDesc read_write(int device) {
  return {{CU_MEM_LOCATION_TYPE_DEVICE, {device}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

}  // namespace

TEST_CASE("an expandable segment grows, is used, shrinks and goes") {
  PrimaryContext context;
  const size_t before = free_bytes();
  const CUmemAllocationProp properties = device_memory(0);
  size_t granularity = 0;
  REQUIRE(cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS);
  CHECK(granularity == 2 * kMiB);
  constexpr size_t kSegment = 20 * kMiB;
  CUdeviceptr base = 0;
  REQUIRE(cuMemAddressReserve(&base, 90 * kGiB, 0, 0, 0) == CUDA_SUCCESS);
  CHECK(base % granularity == 0);
  CHECK(free_bytes() == before);
  std::vector<CUmemGenericAllocationHandle> handles;
  const CUmemAccessDesc access = read_write(0);
  for (size_t i = 0; i < 4; ++i) {
    CUmemGenericAllocationHandle handle = 0;
    REQUIRE(cuMemCreate(&handle, kSegment, &properties, 0) == CUDA_SUCCESS);
    handles.push_back(handle);
    REQUIRE(cuMemMap(base + i * kSegment, kSegment, 0, handle, 0) == CUDA_SUCCESS);
  }
  REQUIRE(cuMemSetAccess(base, 4 * kSegment, &access, 1) == CUDA_SUCCESS);
  CHECK(free_bytes() == before - 4 * kSegment);
  const Bytes data = pattern(2 * kSegment + 12345);
  upload(base + 1000, data);
  CHECK(download(base + 1000, data.size()) == data);
  REQUIRE(cuMemsetD32_v2(base, 0x01020304, 3 * kSegment / 4) == CUDA_SUCCESS);
  CHECK(download(base + 2 * kSegment - 4, 8) == Bytes{4, 3, 2, 1, 4, 3, 2, 1});
  Bytes more(10);
  CHECK(cuMemcpyDtoH_v2(more.data(), base + 4 * kSegment - 5, 10) == CUDA_ERROR_INVALID_VALUE);

  CUdeviceptr found = 0;
  size_t bytes = 0;
  REQUIRE(cuMemGetAddressRange_v2(&found, &bytes, base + kSegment + 5) == CUDA_SUCCESS);
  CHECK(found == base + kSegment);
  CHECK(bytes == kSegment);

  REQUIRE(cuMemUnmap(base + kSegment, kSegment) == CUDA_SUCCESS);
  CHECK(free_bytes() == before - 4 * kSegment);  // the handle holds it
  REQUIRE(cuMemRelease(handles[1]) == CUDA_SUCCESS);
  CHECK(free_bytes() == before - 3 * kSegment);
  CHECK(cuMemUnmap(base, 4 * kSegment) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAddressFree(base, 90 * kGiB) == CUDA_ERROR_INVALID_VALUE);
  for (const size_t i : {0, 2, 3}) {
    REQUIRE(cuMemRelease(handles[i]) == CUDA_SUCCESS);
    REQUIRE(cuMemUnmap(base + i * kSegment, kSegment) == CUDA_SUCCESS);
  }
  CHECK(free_bytes() == before);
  CHECK(cuMemAddressFree(base, kGiB) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuMemAddressFree(base, 90 * kGiB) == CUDA_SUCCESS);
}

TEST_CASE("physical memory runs out like any other") {
  PrimaryContext context(1);
  const CUmemAllocationProp properties = device_memory(1);
  std::vector<CUmemGenericAllocationHandle> handles;
  CUmemGenericAllocationHandle handle = 0;
  while (cuMemCreate(&handle, kGiB, &properties, 0) == CUDA_SUCCESS) handles.push_back(handle);
  CHECK(handles.size() >= 75);
  CHECK(free_bytes() < kGiB);
  CHECK(cuMemCreate(&handle, kGiB, &properties, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  for (const CUmemGenericAllocationHandle each : handles) CHECK(cuMemRelease(each) == CUDA_SUCCESS);
}

TEST_CASE("access can be asked for") {
  PrimaryContext context;
  const CUmemAllocationProp properties = device_memory(0);
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr base = 0;
  REQUIRE(cuMemCreate(&handle, 4 * kMiB, &properties, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemAddressReserve(&base, 4 * kMiB, 0, 0, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemMap(base, 4 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
  const CUmemLocation own{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, peer{CU_MEM_LOCATION_TYPE_DEVICE, {1}};
  unsigned long long flags = 99;
  REQUIRE(cuMemGetAccess(&flags, &own, base) == CUDA_SUCCESS);
  CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);  // "all mappings start with no accessibility setup"
  CUmemAccessDesc both[2] = {read_write(0), read_write(1)};
  both[1].flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  REQUIRE(cuMemSetAccess(base, 4 * kMiB, both, 2) == CUDA_SUCCESS);
  REQUIRE(cuMemGetAccess(&flags, &own, base + 100) == CUDA_SUCCESS);
  CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  REQUIRE(cuMemGetAccess(&flags, &peer, base + 100) == CUDA_SUCCESS);
  CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READ);
  CHECK(cuMemSetAccess(base, 6 * kMiB, both, 2) == CUDA_ERROR_INVALID_VALUE);
  both[1].location.id = 7;
  CHECK(cuMemSetAccess(base, 4 * kMiB, both, 2) == CUDA_ERROR_INVALID_DEVICE);
  CUmemGenericAllocationHandle retained = 0;
  REQUIRE(cuMemRetainAllocationHandle(&retained, reinterpret_cast<void*>(base + 5)) == CUDA_SUCCESS);
  CHECK(retained == handle);
  CUmemAllocationProp seen = {};
  REQUIRE(cuMemGetAllocationPropertiesFromHandle(&seen, handle) == CUDA_SUCCESS);
  CHECK(seen.location.id == 0);
  REQUIRE(cuMemUnmap(base, 4 * kMiB) == CUDA_SUCCESS);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);  // the retained reference
  CHECK(cuMemRelease(handle) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemGetAllocationPropertiesFromHandle(&seen, handle) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuMemAddressFree(base, 4 * kMiB) == CUDA_SUCCESS);
}

TEST_CASE("a file descriptor stands for memory within the process") {
  PrimaryContext context;
  const CUmemAllocationProp properties = device_memory(0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  CUmemGenericAllocationHandle handle = 0, imported = 0;
  REQUIRE(cuMemCreate(&handle, 2 * kMiB, &properties, 0) == CUDA_SUCCESS);
  int descriptor = -1;
  REQUIRE(cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
          CUDA_SUCCESS);
  CHECK(descriptor >= 0);
  void* const os_handle = reinterpret_cast<void*>(static_cast<intptr_t>(descriptor));
  REQUIRE(cuMemImportFromShareableHandle(&imported, os_handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) ==
          CUDA_SUCCESS);
  CHECK(cuMemRelease(imported) == CUDA_SUCCESS);
  CHECK(cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0) ==
        CUDA_ERROR_INVALID_VALUE);  // not asked for
  close(descriptor);
  CHECK(cuMemImportFromShareableHandle(&imported, os_handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) ==
        CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  const CUmemAllocationProp private_memory = device_memory(0);
  REQUIRE(cuMemCreate(&handle, 2 * kMiB, &private_memory, 0) == CUDA_SUCCESS);
  CHECK(cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
        CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
}

TEST_CASE("documented errors of virtual memory management") {
  PrimaryContext context;
  CUdeviceptr base = 0;
  CUmemGenericAllocationHandle handle = 0;
  size_t granularity = 0;
  CHECK(cuMemAddressReserve(&base, 1000, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE);      // a multiple of the page size
  CHECK(cuMemAddressReserve(&base, 2 * kMiB, 3, 0, 0) == CUDA_ERROR_INVALID_VALUE);  // a power of two
  CHECK(cuMemAddressReserve(&base, 2 * kMiB, 0, 0, 1) == CUDA_ERROR_INVALID_VALUE);  // flags must be zero
  CHECK(cuMemAddressReserve(nullptr, 2 * kMiB, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAddressReserve(&base, size_t{1} << 60, 0, 0, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  CUmemAllocationProp properties = device_memory(0);
  CHECK(cuMemCreate(&handle, kMiB, &properties, 0) == CUDA_ERROR_INVALID_VALUE);  // a multiple of the granularity
  CHECK(cuMemCreate(&handle, 2 * kMiB, nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemCreate(&handle, 2 * kMiB, &properties, 1) == CUDA_ERROR_INVALID_VALUE);
  properties.location.id = 9;
  CHECK(cuMemCreate(&handle, 2 * kMiB, &properties, 0) == CUDA_ERROR_INVALID_DEVICE);
  properties = device_memory(0);
  properties.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
  CHECK(cuMemCreate(&handle, 2 * kMiB, &properties, 0) == CUDA_ERROR_INVALID_VALUE);  // documented
  CHECK(cuMemGetAllocationGranularity(&granularity, nullptr, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ==
        CUDA_ERROR_INVALID_VALUE);
  properties = device_memory(0);
  REQUIRE(cuMemCreate(&handle, 2 * kMiB, &properties, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemAddressReserve(&base, 8 * kMiB, 0, 0, 0) == CUDA_SUCCESS);
  CHECK(cuMemMap(base, 4 * kMiB, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(base + kMiB, 2 * kMiB, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(base, 2 * kMiB, 2 * kMiB, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(base, 2 * kMiB, 0, handle, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(base, 2 * kMiB, 0, handle + 1000, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemUnmap(base, 2 * kMiB) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(base)) == CUDA_ERROR_INVALID_VALUE);
  Bytes data(10);
  CHECK(cuMemcpyHtoD_v2(base, data.data(), 10) == CUDA_ERROR_INVALID_VALUE);  // reserved, not mapped
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(cuMemAddressFree(base, 8 * kMiB) == CUDA_SUCCESS);
}
