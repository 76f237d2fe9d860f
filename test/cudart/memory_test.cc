#include <cuda_runtime_api.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <vector>

TEST_CASE("device memory") {
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  size_t free_before = 0, free_after = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&free_before, &total) == cudaSuccess);
  CHECK(free_before < total);
  void* pointer = nullptr;
  REQUIRE(cudaMalloc(&pointer, 64 << 20) == cudaSuccess);
  CHECK(reinterpret_cast<uintptr_t>(pointer) % 256 == 0);  // CUDA C++ programming guide: at least 256-byte alignment
  REQUIRE(cudaMemGetInfo(&free_after, &total) == cudaSuccess);
  CHECK(free_before - free_after == 64 << 20);
  CHECK(cudaFree(pointer) == cudaSuccess);
  CHECK(cudaFree(pointer) == cudaErrorInvalidValue);
  CHECK(cudaFree(nullptr) == cudaSuccess);
  CHECK(cudaMalloc(&pointer, 0) == cudaSuccess);
  CHECK(pointer == nullptr);
  CHECK(cudaMalloc(nullptr, 16) == cudaErrorInvalidValue);
  CHECK(cudaMalloc(&pointer, total + 1) == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaMalloc(&pointer, 4096) == cudaSuccess);  // running out of memory is not sticky
  CHECK(cudaFree(pointer) == cudaSuccess);
}

TEST_CASE("pitched memory") {
  void* pointer = nullptr;
  size_t pitch = 0;
  REQUIRE(cudaMallocPitch(&pointer, &pitch, 1000, 10) == cudaSuccess);
  CHECK(pitch >= 1000);
  CHECK(pitch % 32 == 0);
  CHECK(cudaFree(pointer) == cudaSuccess);
  cudaPitchedPtr pitched;
  REQUIRE(cudaMalloc3D(&pitched, {100, 20, 3}) == cudaSuccess);
  CHECK(pitched.xsize == 100);
  CHECK(pitched.ysize == 20);
  CHECK(pitched.pitch >= 100);
  CHECK(cudaMemset3D(pitched, 7, {100, 20, 3}) == cudaSuccess);
  unsigned char last = 0;
  CHECK(cudaMemcpy(&last, static_cast<char*>(pitched.ptr) + pitched.pitch * 59 + 99, 1, cudaMemcpyDeviceToHost) ==
        cudaSuccess);
  CHECK(last == 7);
  // A box inside it: rows 0..4 of each of two slices.
  CHECK(cudaMemset3D(pitched, 9, {10, 5, 2}) == cudaSuccess);
  CHECK(cudaMemcpy(&last, static_cast<char*>(pitched.ptr) + pitched.pitch * (20 + 4) + 9, 1, cudaMemcpyDeviceToHost) ==
        cudaSuccess);
  CHECK(last == 9);
  CHECK(cudaMemcpy(&last, static_cast<char*>(pitched.ptr) + pitched.pitch * 5, 1, cudaMemcpyDeviceToHost) ==
        cudaSuccess);
  CHECK(last == 7);
  CHECK(cudaFree(pitched.ptr) == cudaSuccess);
  CHECK(cudaMallocPitch(nullptr, &pitch, 10, 10) == cudaErrorInvalidValue);
  CHECK(cudaMalloc3D(nullptr, {1, 1, 1}) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("pinned host memory is known as such") {
  void* pinned = nullptr;
  REQUIRE(cudaHostAlloc(&pinned, 1 << 16, cudaHostAllocPortable) == cudaSuccess);
  memset(pinned, 1, 1 << 16);
  cudaPointerAttributes attributes;
  REQUIRE(cudaPointerGetAttributes(&attributes, static_cast<char*>(pinned) + 100) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeHost);
  CHECK(attributes.device == 0);
  CHECK(attributes.hostPointer == static_cast<char*>(pinned) + 100);
  CHECK(attributes.devicePointer != nullptr);
  void* device = nullptr;
  CHECK(cudaHostGetDevicePointer(&device, pinned, 0) == cudaSuccess);
  CHECK(device != nullptr);
  unsigned flags = 0;
  CHECK(cudaHostGetFlags(&flags, pinned) == cudaSuccess);
  CHECK((flags & cudaHostAllocPortable) != 0);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
  CHECK(cudaFreeHost(pinned) == cudaErrorInvalidValue);
  CHECK(cudaFreeHost(nullptr) == cudaSuccess);
  CHECK(cudaHostAlloc(&pinned, 16, 0x100) == cudaErrorInvalidValue);
  CHECK(cudaHostAlloc(nullptr, 16, 0) == cudaErrorInvalidValue);
  CHECK(cudaMallocHost(&pinned, 4096) == cudaSuccess);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("registered, unregistered, device and managed pointers") {
  std::vector<char> pageable(1 << 20);
  cudaPointerAttributes attributes;
  REQUIRE(cudaPointerGetAttributes(&attributes, pageable.data()) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeUnregistered);
  CHECK(attributes.devicePointer == nullptr);
  CHECK(cudaHostRegister(pageable.data(), pageable.size(), cudaHostRegisterDefault) == cudaSuccess);
  REQUIRE(cudaPointerGetAttributes(&attributes, pageable.data()) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeHost);
  CHECK(cudaHostRegister(pageable.data(), pageable.size(), cudaHostRegisterDefault) ==
        cudaErrorHostMemoryAlreadyRegistered);
  CHECK(cudaHostUnregister(pageable.data()) == cudaSuccess);
  CHECK(cudaHostUnregister(pageable.data()) == cudaErrorHostMemoryNotRegistered);

  void* device = nullptr;
  REQUIRE(cudaMalloc(&device, 4096) == cudaSuccess);
  REQUIRE(cudaPointerGetAttributes(&attributes, device) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeDevice);
  CHECK(attributes.device == 0);
  CHECK(attributes.devicePointer == device);
  CHECK(attributes.hostPointer == nullptr);
  CHECK(cudaFree(device) == cudaSuccess);

  void* managed = nullptr;
  REQUIRE(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal) == cudaSuccess);
  static_cast<int*>(managed)[3] = 5;
  REQUIRE(cudaPointerGetAttributes(&attributes, managed) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeManaged);
  CHECK(attributes.devicePointer == managed);
  CHECK(attributes.hostPointer == managed);
  const cudaMemLocation location = {cudaMemLocationTypeDevice, 0};
  CHECK(cudaMemAdvise(managed, 4096, cudaMemAdviseSetReadMostly, location) == cudaSuccess);
  CHECK(cudaMemPrefetchAsync(managed, 4096, location, 0, nullptr) == cudaSuccess);
  int read_mostly = 0;
  CHECK(cudaMemRangeGetAttribute(&read_mostly, sizeof read_mostly, cudaMemRangeAttributeReadMostly, managed, 4096) ==
        cudaSuccess);
  CHECK(read_mostly == 1);
  CHECK(cudaFree(managed) == cudaSuccess);
  CHECK(cudaPointerGetAttributes(nullptr, managed) == cudaErrorInvalidValue);
  CHECK(cudaMallocManaged(nullptr, 16, cudaMemAttachGlobal) == cudaErrorInvalidValue);
  CHECK(cudaMallocManaged(&managed, 16, 0) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("stream-ordered memory and pools") {
  cudaMemPool_t pool = nullptr;
  REQUIRE(cudaDeviceGetDefaultMemPool(&pool, 0) == cudaSuccess);
  cudaMemPool_t current = nullptr;
  CHECK(cudaDeviceGetMemPool(&current, 0) == cudaSuccess);
  CHECK(current == pool);
  uint64_t threshold = 1 << 20;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold) == cudaSuccess);
  uint64_t got = 0;
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got) == cudaSuccess);
  CHECK(got == threshold);
  void* pointer = nullptr;
  REQUIRE(cudaMallocAsync(&pointer, 1 << 16, nullptr) == cudaSuccess);
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &got) == cudaSuccess);
  CHECK(got >= 1 << 16);
  CHECK(cudaMemsetAsync(pointer, 3, 1 << 16, nullptr) == cudaSuccess);
  CHECK(cudaFreeAsync(pointer, nullptr) == cudaSuccess);
  CHECK(cudaStreamSynchronize(nullptr) == cudaSuccess);
  CHECK(cudaMemPoolTrimTo(pool, 0) == cudaSuccess);

  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t own = nullptr;
  REQUIRE(cudaMemPoolCreate(&own, &properties) == cudaSuccess);
  CHECK(cudaMallocFromPoolAsync(&pointer, 4096, own, nullptr) == cudaSuccess);
  CHECK(cudaFreeAsync(pointer, nullptr) == cudaSuccess);
  CHECK(cudaMemPoolDestroy(own) == cudaSuccess);
  CHECK(cudaMallocAsync(nullptr, 16, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaMemPoolCreate(nullptr, &properties) == cudaErrorInvalidValue);
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 9) == cudaErrorInvalidDevice);
  cudaGetLastError();
}
