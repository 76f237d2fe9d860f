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

TEST_CASE("nothing at all, stream-ordered, has an address that can be freed") {
  PrimaryContext context;
  CUdeviceptr one = 0, other = 0;
  REQUIRE(cuMemAllocAsync(&one, 0, nullptr) == CUDA_SUCCESS);
  REQUIRE(cuMemAllocAsync(&other, 0, nullptr) == CUDA_SUCCESS);
  CHECK(one != 0);
  CHECK(one != other);
  CHECK(cuMemFreeAsync(one, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(other, nullptr) == CUDA_SUCCESS);
}

namespace {

CUmemPoolProps placed(CUmemAllocationType type, CUmemLocationType location, int id = 0) {
  CUmemPoolProps wanted = {};
  wanted.allocType = type;
  wanted.location = {location, {id}};
  return wanted;
}

}  // namespace

TEST_CASE("pools of pinned and of managed memory hand out memory of the host") {
  PrimaryContext context;
  const auto type = GENERATE(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_ALLOCATION_TYPE_MANAGED);
  const auto where = GENERATE(CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA);
  const CUmemPoolProps wanted = placed(type, where);
  const size_t before = free_bytes();
  CUmemoryPool pool = nullptr, of_address = nullptr;
  CUdeviceptr address = 0;
  REQUIRE(cuMemPoolCreate(&pool, &wanted) == CUDA_SUCCESS);
  REQUIRE(cuMemAllocFromPoolAsync(&address, 5000, pool, nullptr) == CUDA_SUCCESS);
  CHECK(free_bytes() == before);
  auto* host = reinterpret_cast<unsigned char*>(address);
  host[4999] = 7;  // the program's to write
  CHECK(download(address + 4999, 1) == Bytes{7});
  CUmemorytype kind{};
  REQUIRE(cuPointerGetAttribute(&of_address, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address) == CUDA_SUCCESS);
  CHECK(of_address == pool);
  unsigned int managed = 0;
  REQUIRE(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == CUDA_SUCCESS);
  CHECK((managed != 0) == (type == CU_MEM_ALLOCATION_TYPE_MANAGED));
  REQUIRE(cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS);
  cuuint64_t used = 0;
  REQUIRE(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) == CUDA_SUCCESS);
  CHECK(used == 8192);  // whole pages
  CUmemLocation cpu{CU_MEM_LOCATION_TYPE_HOST, {0}};
  CUmemAccess_flags flags{};
  REQUIRE(cuMemPoolGetAccess(&flags, pool, &cpu) == CUDA_SUCCESS);
  CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  SECTION("cuMemFreeAsync") { CHECK(cuMemFreeAsync(address, nullptr) == CUDA_SUCCESS); }
  SECTION("cuMemFree") { CHECK(cuMemFree_v2(address) == CUDA_SUCCESS); }
  REQUIRE(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) == CUDA_SUCCESS);
  CHECK(used == 0);
  CHECK(cuMemFreeAsync(address, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemPoolDestroy(pool) == CUDA_SUCCESS);
}

TEST_CASE("documented errors of pools of host memory, and their default pools") {
  PrimaryContext context;
  CUmemoryPool pool = nullptr, current = nullptr;
  const auto create = [&](CUmemPoolProps wanted) { return cuMemPoolCreate(&pool, &wanted); };
  CHECK(create(placed(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)) ==
        CUDA_ERROR_INVALID_VALUE);
  CHECK(create(placed(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_NONE)) == CUDA_ERROR_INVALID_VALUE);
  CHECK(create(placed(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_HOST_NUMA, 5)) == CUDA_ERROR_INVALID_VALUE);
  CUmemPoolProps shared = placed(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_HOST);
  shared.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CHECK(create(shared) == CUDA_ERROR_INVALID_VALUE);  // "not IPC capable"
  CUmemPoolProps limited = placed(CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_LOCATION_TYPE_DEVICE);
  limited.maxSize = kMiB;
  CHECK(create(limited) == CUDA_ERROR_INVALID_VALUE);  // "must be set to zero for managed memory pools"

  CUmemLocation host{CU_MEM_LOCATION_TYPE_HOST, {3}}, nowhere{CU_MEM_LOCATION_TYPE_NONE, {0}};
  REQUIRE(cuMemGetDefaultMemPool(&pool, &host, CU_MEM_ALLOCATION_TYPE_PINNED) == CUDA_SUCCESS);
  REQUIRE(cuMemGetMemPool(&current, &host, CU_MEM_ALLOCATION_TYPE_PINNED) == CUDA_SUCCESS);
  CHECK(pool == current);
  CHECK(cuMemPoolDestroy(pool) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuMemGetDefaultMemPool(&current, &nowhere, CU_MEM_ALLOCATION_TYPE_MANAGED) == CUDA_SUCCESS);
  CHECK(pool != current);
  CHECK(cuMemSetMemPool(&host, CU_MEM_ALLOCATION_TYPE_PINNED, current) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemGetDefaultMemPool(&current, &nowhere, CU_MEM_ALLOCATION_TYPE_PINNED) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a pool that others may import: the same bytes at both addresses") {
  PrimaryContext context;
  const bool on_device = GENERATE(true, false);
  CUmemPoolProps wanted =
      placed(CU_MEM_ALLOCATION_TYPE_PINNED, on_device ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST_NUMA);
  wanted.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemoryPool pool = nullptr, imported = nullptr;
  REQUIRE(cuMemPoolCreate(&pool, &wanted) == CUDA_SUCCESS);
  CUdeviceptr address = 0, there = 0;
  REQUIRE(cuMemAllocFromPoolAsync(&address, 10000, pool, nullptr) == CUDA_SUCCESS);
  upload(address, pattern(10000));
  int descriptor = -1;
  REQUIRE(cuMemPoolExportToShareableHandle(&descriptor, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
          CUDA_SUCCESS);
  REQUIRE(cuMemPoolImportFromShareableHandle(&imported, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) == CUDA_SUCCESS);
  close(descriptor);
  CHECK(imported != pool);
  CUmemPoolPtrExportData data = {};
  REQUIRE(cuMemPoolExportPointer(&data, address) == CUDA_SUCCESS);
  const size_t before = free_bytes();
  REQUIRE(cuMemPoolImportPointer(&there, imported, &data) == CUDA_SUCCESS);
  CHECK(free_bytes() == before);  // it is not there twice
  CHECK(there != address);
  CHECK(download(there, 10000) == pattern(10000));
  REQUIRE(cuMemsetD8_v2(there + 100, 9, 50) == CUDA_SUCCESS);
  CHECK(download(address + 99, 2) == Bytes{static_cast<unsigned char>(pattern(100)[99]), 9});
  REQUIRE(cuMemsetD8_v2(address + 5000, 3, 1) == CUDA_SUCCESS);
  CHECK(download(there + 5000, 1) == Bytes{3});

  CUdeviceptr more = 0;
  // "Imported memory pools do not support creating new allocations."
  CHECK(cuMemAllocFromPoolAsync(&more, 100, imported, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemPoolExportPointer(&data, there) == CUDA_SUCCESS);  // may go on to a third
  CHECK(cuMemPoolImportPointer(&more, pool, &data) == CUDA_ERROR_INVALID_VALUE);
  data = {};
  CHECK(cuMemPoolImportPointer(&more, imported, &data) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFreeAsync(there, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(there, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(download(address, 1) == pattern(1));
  CHECK(cuMemFreeAsync(address, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemPoolDestroy(imported) == CUDA_SUCCESS);
  CHECK(cuMemPoolDestroy(pool) == CUDA_SUCCESS);
}

TEST_CASE("a pool without handle types cannot be shared") {
  PrimaryContext context;
  CUmemPoolProps wanted = properties(0);
  CUmemoryPool pool = nullptr;
  int descriptor = -1;
  REQUIRE(cuMemPoolCreate(&pool, &wanted) == CUDA_SUCCESS);
  CHECK(cuMemPoolExportToShareableHandle(&descriptor, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
        CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr address = 0;
  CUmemPoolPtrExportData data = {};
  REQUIRE(cuMemAllocFromPoolAsync(&address, 100, pool, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemPoolExportPointer(&data, address) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFreeAsync(address, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemPoolDestroy(pool) == CUDA_SUCCESS);
}

TEST_CASE("another device copies to and from a pool only once it was let in") {
  PrimaryContext context(0);
  CUmemPoolProps wanted = properties(1);
  CUmemoryPool pool = nullptr;
  REQUIRE(cuMemPoolCreate(&pool, &wanted) == CUDA_SUCCESS);
  CUdeviceptr there = 0;
  {
    PrimaryContext other(1);
    REQUIRE(cuMemAllocFromPoolAsync(&there, 100, pool, nullptr) == CUDA_SUCCESS);
  }
  const CUdeviceptr here = allocate(100);
  CHECK(cuMemcpyAsync(there, here, 100, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyAsync(here, there, 100, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CUmemAccessDesc allow{{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  REQUIRE(cuMemPoolSetAccess(pool, &allow, 1) == CUDA_SUCCESS);
  CHECK(cuMemcpyAsync(there, here, 100, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemcpyAsync(here, there, 100, nullptr) == CUDA_SUCCESS);
  allow.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  REQUIRE(cuMemPoolSetAccess(pool, &allow, 1) == CUDA_SUCCESS);
  CHECK(cuMemcpyAsync(here, there, 100, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree_v2(here) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(there) == CUDA_SUCCESS);
  CHECK(cuMemPoolDestroy(pool) == CUDA_SUCCESS);
}
