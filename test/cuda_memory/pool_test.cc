// Stream-ordered allocation.
#include "driver_memory_helpers.h"

using namespace memory_test;

namespace {

uint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which) {
  cuuint64_t value = 0;
  REQUIRE(cuMemPoolGetAttribute(pool, which, &value) == CUDA_SUCCESS);
  return value;
}

CUmemPoolProps properties(CUdevice device) {
  CUmemPoolProps made = {};
  made.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  made.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  made.location.id = device;
  return made;
}

}  // namespace

TEST_CASE("the default pool reserves, serves, and gives back after a synchronisation") {
  PrimaryContext context;
  CUmemoryPool pool = nullptr;
  REQUIRE(cuDeviceGetDefaultMemPool(&pool, 0) == CUDA_SUCCESS);
  const size_t before = free_bytes();
  CHECK(attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == 0);  // documented default
  CUdeviceptr address = 0;
  REQUIRE(cuMemAllocAsync(&address, 1000, nullptr) == CUDA_SUCCESS);
  CHECK(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 1024);
  const uint64_t reserved = attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
  CHECK(reserved >= 2 * kMiB);
  CHECK(free_bytes() == before - reserved);
  upload(address, pattern(1000));
  CHECK(download(address, 1000) == pattern(1000));
  REQUIRE(cuMemFreeAsync(address, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(address, nullptr) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
  CHECK(free_bytes() == before);
}

TEST_CASE("a release threshold keeps memory, trimming takes it") {
  PrimaryContext context;
  const size_t before = free_bytes();
  CUmemoryPool pool = nullptr;
  const CUmemPoolProps wanted = properties(0);
  REQUIRE(cuMemPoolCreate(&pool, &wanted) == CUDA_SUCCESS);
  cuuint64_t threshold = UINT64_MAX;
  REQUIRE(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold) == CUDA_SUCCESS);
  CUdeviceptr address = 0;
  REQUIRE(cuMemAllocFromPoolAsync(&address, 100 * kMiB, pool, nullptr) == CUDA_SUCCESS);
  REQUIRE(cuMemFree_v2(address) == CUDA_SUCCESS);  // documented: cuMemFree may free such memory
  REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 100 * kMiB);
  CHECK(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
  CHECK(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 100 * kMiB);
  cuuint64_t zero = 0, one = 1;
  CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero) == CUDA_SUCCESS);
  CHECK(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 0);
  REQUIRE(cuMemPoolTrimTo(pool, 0) == CUDA_SUCCESS);
  CHECK(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
  CHECK(free_bytes() == before);

  // A pool that is destroyed gives its memory back when its last allocation is freed.
  REQUIRE(cuMemAllocFromPoolAsync(&address, kMiB, pool, nullptr) == CUDA_SUCCESS);
  REQUIRE(cuMemPoolDestroy(pool) == CUDA_SUCCESS);
  CHECK(cuMemPoolTrimTo(pool, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(free_bytes() < before);
  REQUIRE(cuMemFreeAsync(address, nullptr) == CUDA_SUCCESS);
  CHECK(free_bytes() == before);
}

TEST_CASE("a device allocates from its current pool") {
  PrimaryContext context(1);
  CUmemoryPool standard = nullptr, current = nullptr, made = nullptr;
  REQUIRE(cuDeviceGetDefaultMemPool(&standard, 1) == CUDA_SUCCESS);
  REQUIRE(cuDeviceGetMemPool(&current, 1) == CUDA_SUCCESS);
  CHECK(current == standard);
  CUmemPoolProps wanted = properties(1);
  wanted.maxSize = 64 * kMiB;
  REQUIRE(cuMemPoolCreate(&made, &wanted) == CUDA_SUCCESS);
  CHECK(cuDeviceSetMemPool(0, made) == CUDA_ERROR_INVALID_VALUE);  // a pool of another device
  REQUIRE(cuDeviceSetMemPool(1, made) == CUDA_SUCCESS);
  CUdeviceptr address = 0;
  REQUIRE(cuMemAllocAsync(&address, 100, nullptr) == CUDA_SUCCESS);
  CUmemoryPool owner = nullptr;
  REQUIRE(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address) == CUDA_SUCCESS);
  CHECK(owner == made);
  CUdeviceptr too_much = 0;
  CHECK(cuMemAllocAsync(&too_much, 64 * kMiB, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemFreeAsync(address, nullptr) == CUDA_SUCCESS);
  REQUIRE(cuMemPoolDestroy(made) == CUDA_SUCCESS);
  REQUIRE(cuDeviceGetMemPool(&current, 1) == CUDA_SUCCESS);
  CHECK(current == standard);
  CHECK(cuMemPoolDestroy(standard) == CUDA_ERROR_INVALID_VALUE);  // documented: the default pool cannot be destroyed

  CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, {1}};
  REQUIRE(cuMemGetDefaultMemPool(&current, &location, CU_MEM_ALLOCATION_TYPE_PINNED) == CUDA_SUCCESS);
  CHECK(current == standard);
}

TEST_CASE("pools hold back memory only while nobody else needs it") {
  PrimaryContext context(1);
  CUmemoryPool pool = nullptr;
  REQUIRE(cuDeviceGetDefaultMemPool(&pool, 1) == CUDA_SUCCESS);
  cuuint64_t threshold = UINT64_MAX;
  REQUIRE(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold) == CUDA_SUCCESS);
  CUdeviceptr address = 0, other = 0;
  const size_t most = free_bytes() / (2 * kMiB) * (2 * kMiB);
  REQUIRE(cuMemAllocAsync(&address, most, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemAlloc_v2(&other, 10 * kMiB) == CUDA_ERROR_OUT_OF_MEMORY);
  REQUIRE(cuMemFreeAsync(address, nullptr) == CUDA_SUCCESS);
  REQUIRE(cuMemAlloc_v2(&other, 10 * kMiB) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(other) == CUDA_SUCCESS);
  threshold = 0;
  REQUIRE(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold) == CUDA_SUCCESS);
}

TEST_CASE("documented errors of pools") {
  PrimaryContext context;
  CUdeviceptr address = 0;
  CUmemoryPool pool = nullptr;
  cuuint64_t value = 0;
  CHECK(cuMemAllocAsync(nullptr, 100, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAllocAsync(&address, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAllocAsync(&address, 100, reinterpret_cast<CUstream>(&address)) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuMemAllocFromPoolAsync(&address, 100, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFreeAsync(0, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemPoolCreate(&pool, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CUmemPoolProps wanted = properties(9);
  CHECK(cuMemPoolCreate(&pool, &wanted) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemPoolGetAttribute(nullptr, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceGetDefaultMemPool(&pool, 9) == CUDA_ERROR_INVALID_DEVICE);
  REQUIRE(cuDeviceGetDefaultMemPool(&pool, 0) == CUDA_SUCCESS);
  CHECK(cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(99), &value) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value) == CUDA_ERROR_INVALID_VALUE);
  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  CUmemLocation own{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, peer{CU_MEM_LOCATION_TYPE_DEVICE, {1}};
  REQUIRE(cuMemPoolGetAccess(&flags, pool, &own) == CUDA_SUCCESS);
  CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  REQUIRE(cuMemPoolGetAccess(&flags, pool, &peer) == CUDA_SUCCESS);
  CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
  const CUmemAccessDesc allow{peer, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  REQUIRE(cuMemPoolSetAccess(pool, &allow, 1) == CUDA_SUCCESS);
  REQUIRE(cuMemPoolGetAccess(&flags, pool, &peer) == CUDA_SUCCESS);
  CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}
