// Pointer attributes.
#include "driver_memory_helpers.h"

using namespace memory_test;

namespace {

template <typename Value>
Value attribute(CUdeviceptr address, CUpointer_attribute which) {
  Value value = {};
  REQUIRE(cuPointerGetAttribute(&value, which, address) == CUDA_SUCCESS);
  return value;
}

}  // namespace

TEST_CASE("attributes of device memory") {
  PrimaryContext context(1);
  const CUdeviceptr base = allocate(1000);
  const CUdeviceptr inside = base + 10;
  CHECK(attribute<CUcontext>(inside, CU_POINTER_ATTRIBUTE_CONTEXT) == context.get());
  CHECK(attribute<unsigned int>(inside, CU_POINTER_ATTRIBUTE_MEMORY_TYPE) == CU_MEMORYTYPE_DEVICE);
  CHECK(attribute<CUdeviceptr>(inside, CU_POINTER_ATTRIBUTE_DEVICE_POINTER) == inside);
  CHECK(attribute<int>(inside, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) == 1);
  CHECK(attribute<CUdeviceptr>(inside, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) == base);
  CHECK(attribute<size_t>(inside, CU_POINTER_ATTRIBUTE_RANGE_SIZE) == 1000);
  CHECK(attribute<int>(inside, CU_POINTER_ATTRIBUTE_MAPPED) == 1);
  CHECK(attribute<int>(inside, CU_POINTER_ATTRIBUTE_IS_MANAGED) == 0);
  CHECK(attribute<int>(inside, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE) == 1);
  const auto id = attribute<unsigned long long>(inside, CU_POINTER_ATTRIBUTE_BUFFER_ID);
  void* host = nullptr;
  CHECK(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, inside) == CUDA_ERROR_INVALID_VALUE);
  unsigned int sync = 1;
  REQUIRE(cuPointerSetAttribute(&sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, base) == CUDA_SUCCESS);
  CHECK(attribute<int>(inside, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) == 1);
  CHECK(cuPointerSetAttribute(&sync, CU_POINTER_ATTRIBUTE_CONTEXT, base) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuMemFree_v2(base) == CUDA_SUCCESS);
  const CUdeviceptr again = allocate(1000);
  CHECK(again == base);
  CHECK(attribute<unsigned long long>(again, CU_POINTER_ATTRIBUTE_BUFFER_ID) != id);  // "IDs are never reused"
  CHECK(attribute<int>(again, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) == 0);
  REQUIRE(cuMemFree_v2(again) == CUDA_SUCCESS);
}

TEST_CASE("attributes of host memory") {
  PrimaryContext context;
  void* pinned = nullptr;
  REQUIRE(cuMemAllocHost_v2(&pinned, 100) == CUDA_SUCCESS);
  CHECK(attribute<unsigned int>(unified(pinned), CU_POINTER_ATTRIBUTE_MEMORY_TYPE) == CU_MEMORYTYPE_HOST);
  CHECK(attribute<void*>(unified(pinned), CU_POINTER_ATTRIBUTE_HOST_POINTER) == pinned);
  CHECK(attribute<CUdeviceptr>(unified(pinned), CU_POINTER_ATTRIBUTE_DEVICE_POINTER) == unified(pinned));
  REQUIRE(cuMemFreeHost(pinned) == CUDA_SUCCESS);
  CUdeviceptr managed = 0;
  REQUIRE(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
  CHECK(attribute<int>(managed, CU_POINTER_ATTRIBUTE_IS_MANAGED) == 1);
  CHECK(attribute<void*>(managed, CU_POINTER_ATTRIBUTE_HOST_POINTER) == reinterpret_cast<void*>(managed));
  REQUIRE(cuMemFree_v2(managed) == CUDA_SUCCESS);
}

TEST_CASE("unknown pointers: an error one by one, default values together") {
  PrimaryContext context;
  int on_stack = 0;
  unsigned int type = 9;
  CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, unified(&on_stack)) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, unified(&on_stack)) ==
        CUDA_ERROR_INVALID_VALUE);
  CUpointer_attribute which[4] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT};
  void* host = &host;
  int ordinal = 9;
  CUcontext seen = context.get();
  void* data[4] = {&type, &host, &ordinal, &seen};
  REQUIRE(cuPointerGetAttributes(4, which, data, unified(&on_stack)) == CUDA_SUCCESS);
  CHECK(type == 0);
  CHECK(host == nullptr);
  CHECK(ordinal == CU_DEVICE_INVALID);
  CHECK(seen == nullptr);
  const CUdeviceptr device = allocate(100);
  REQUIRE(cuPointerGetAttributes(4, which, data, device) == CUDA_SUCCESS);
  CHECK(type == CU_MEMORYTYPE_DEVICE);
  CHECK(host == nullptr);
  CHECK(ordinal == 0);
  CHECK(cuPointerGetAttributes(0, which, data, device) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuPointerGetAttributes(4, nullptr, data, device) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree_v2(device) == CUDA_SUCCESS);
}

TEST_CASE("a reservation has a range, and is mapped where memory is") {
  PrimaryContext context;
  CUdeviceptr base = 0;
  REQUIRE(cuMemAddressReserve(&base, 8 * kMiB, 0, 0, 0) == CUDA_SUCCESS);
  CHECK(attribute<CUdeviceptr>(base + 100, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) == base);
  CHECK(attribute<size_t>(base + 100, CU_POINTER_ATTRIBUTE_RANGE_SIZE) == 8 * kMiB);
  CHECK(attribute<int>(base + 100, CU_POINTER_ATTRIBUTE_MAPPED) == 0);
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemGenericAllocationHandle handle = 0;
  REQUIRE(cuMemCreate(&handle, 2 * kMiB, &properties, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemMap(base + 2 * kMiB, 2 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
  const CUdeviceptr inside = base + 3 * kMiB;
  CHECK(attribute<int>(inside, CU_POINTER_ATTRIBUTE_MAPPED) == 1);
  CHECK(attribute<size_t>(inside, CU_POINTER_ATTRIBUTE_RANGE_SIZE) == 8 * kMiB);
  CHECK(attribute<CUdeviceptr>(inside, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR) == base + 2 * kMiB);
  CHECK(attribute<size_t>(inside, CU_POINTER_ATTRIBUTE_MAPPING_SIZE) == 2 * kMiB);
  CHECK(attribute<int>(inside, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE) == 0);
  REQUIRE(cuMemUnmap(base + 2 * kMiB, 2 * kMiB) == CUDA_SUCCESS);
  REQUIRE(cuMemRelease(handle) == CUDA_SUCCESS);
  REQUIRE(cuMemAddressFree(base, 8 * kMiB) == CUDA_SUCCESS);
}
