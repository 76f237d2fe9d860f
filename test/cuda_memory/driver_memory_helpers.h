// Shared by the tests of the driver's memory entry points.
#pragma once

#include <cuda.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <numeric>
#include <vector>

namespace memory_test {

inline constexpr size_t kKiB = 1 << 10;
inline constexpr size_t kMiB = 1 << 20;
inline constexpr size_t kGiB = 1 << 30;

using Bytes = std::vector<unsigned char>;

// The primary context of a device, current for the life of the object.
class PrimaryContext {
 public:
  explicit PrimaryContext(CUdevice device = 0) : device_(device) {
    REQUIRE(cuInit(0) == CUDA_SUCCESS);
    REQUIRE(cuDevicePrimaryCtxRetain(&context_, device) == CUDA_SUCCESS);
    REQUIRE(cuCtxPushCurrent_v2(context_) == CUDA_SUCCESS);
  }
  ~PrimaryContext() {
    CUcontext popped = nullptr;
    cuCtxPopCurrent_v2(&popped);
    cuDevicePrimaryCtxRelease_v2(device_);
  }
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;
  CUcontext get() const { return context_; }

 private:
  CUdevice device_;
  CUcontext context_ = nullptr;
};

inline size_t free_bytes() {
  size_t free = 0, total = 0;
  REQUIRE(cuMemGetInfo_v2(&free, &total) == CUDA_SUCCESS);
  return free;
}

inline CUdeviceptr allocate(size_t bytes) {
  CUdeviceptr address = 0;
  REQUIRE(cuMemAlloc_v2(&address, bytes) == CUDA_SUCCESS);
  return address;
}

// 1, 2, 3... modulo 251, a prime, so that rows and pages differ.
inline Bytes pattern(size_t bytes, unsigned first = 1) {
  Bytes data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>((first + i) % 251);
  return data;
}

inline Bytes download(CUdeviceptr address, size_t bytes) {
  Bytes data(bytes, 0xee);
  REQUIRE(cuMemcpyDtoH_v2(data.data(), address, bytes) == CUDA_SUCCESS);
  return data;
}

inline void upload(CUdeviceptr address, const Bytes& data) {
  REQUIRE(cuMemcpyHtoD_v2(address, data.data(), data.size()) == CUDA_SUCCESS);
}

inline CUdeviceptr unified(const void* host) { return reinterpret_cast<CUdeviceptr>(host); }

}  // namespace memory_test
