#include <cuda.h>
#include <cuda_runtime_api.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

// Two H100 SXM 80 GB, unless the environment says otherwise; no trace files.
[[maybe_unused]] const bool configured = [] {
  setenv("MAYA_DEVICES", "2", 0);
  setenv("MAYA_DEVICE", "h100-sxm", 0);
  setenv("MAYA_TRACE", "0", 0);
  return true;
}();

}  // namespace

TEST_CASE("devices and versions") {
  int value = 0;
  CHECK(cudaGetDeviceCount(&value) == cudaSuccess);
  CHECK(value == 2);
  CHECK(cudaGetDeviceCount(nullptr) == cudaErrorInvalidValue);
  CHECK(cudaDriverGetVersion(&value) == cudaSuccess);
  CHECK(value == 13020);  // CUDA 13.2, the release torch 2.15.0 is built with
  CHECK(cudaRuntimeGetVersion(&value) == cudaSuccess);
  CHECK(value == (CUDART_VERSION >= 13000 ? 13020 : 12090));
  CHECK(cudaDriverGetVersion(nullptr) == cudaErrorInvalidValue);
  CHECK(cudaRuntimeGetVersion(nullptr) == cudaErrorInvalidValue);
  cudaGetLastError();
}

// H100 SXM5 80 GB: NVIDIA H100 Tensor Core GPU Architecture white paper (132 SMs, 50 MB L2, 5120-bit memory interface);
// CUDA C++ programming guide, compute capability 9.0 (2048 threads and 228 KB shared memory per SM, 227 KB per block,
// 64 K registers, 32 blocks).
TEST_CASE("device properties are those of the device") {
  cudaDeviceProp properties;
  REQUIRE(cudaGetDeviceProperties(&properties, 1) == cudaSuccess);
  CHECK(std::string(properties.name) == "NVIDIA H100 80GB HBM3");
  CHECK(properties.major == 9);
  CHECK(properties.minor == 0);
  CHECK(properties.multiProcessorCount == 132);
  CHECK(properties.warpSize == 32);
  CHECK(properties.maxThreadsPerBlock == 1024);
  CHECK(properties.maxThreadsPerMultiProcessor == 2048);
  CHECK(properties.maxBlocksPerMultiProcessor == 32);
  CHECK(properties.regsPerMultiprocessor == 65536);
  CHECK(properties.sharedMemPerBlock == 48 * 1024);
  CHECK(properties.sharedMemPerBlockOptin == 227 * 1024);
  CHECK(properties.sharedMemPerMultiprocessor == 228 * 1024);
  CHECK(properties.l2CacheSize == 50 * 1024 * 1024);
  CHECK(properties.memoryBusWidth == 5120);
  CHECK(properties.totalGlobalMem > 79ull * 1000 * 1000 * 1000);
  CHECK(properties.totalGlobalMem < 86ull * 1000 * 1000 * 1000);
  CHECK(properties.maxGridSize[0] == 2147483647);
  CHECK(properties.unifiedAddressing == 1);
  CHECK(properties.cooperativeLaunch == 1);
  CHECK(properties.clusterLaunch == 1);
  CHECK(properties.memoryPoolsSupported == 1);

  cudaDeviceProp first;
  REQUIRE(cudaGetDeviceProperties(&first, 0) == cudaSuccess);
  CHECK(memcmp(&first.uuid, &properties.uuid, sizeof first.uuid) != 0);
  CHECK(first.pciBusID != properties.pciBusID);

  CHECK(cudaGetDeviceProperties(nullptr, 0) == cudaErrorInvalidValue);
  CHECK(cudaGetDeviceProperties(&first, 2) == cudaErrorInvalidDevice);
  CHECK(cudaGetDeviceProperties(&first, -1) == cudaErrorInvalidDevice);
  int chosen = -1;
  CHECK(cudaChooseDevice(&chosen, &properties) == cudaSuccess);
  CHECK(chosen == 0);
  cudaGetLastError();
}

TEST_CASE("device attributes") {
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess);
  CHECK(value == 132);
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 1) == cudaSuccess);
  CHECK(value == 9);
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 2) == cudaErrorInvalidDevice);
  CHECK(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0) == cudaErrorInvalidValue);
  CHECK(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("bus ids name devices both ways") {
  char text[32] = "";
  int device = -1;
  CHECK(cudaDeviceGetPCIBusId(text, sizeof text, 1) == cudaSuccess);
  CHECK(cudaDeviceGetByPCIBusId(&device, text) == cudaSuccess);
  CHECK(device == 1);
  CHECK(cudaDeviceGetPCIBusId(nullptr, 32, 1) == cudaErrorInvalidValue);
  CHECK(cudaDeviceGetPCIBusId(text, sizeof text, 7) == cudaErrorInvalidDevice);
  CHECK(cudaDeviceGetByPCIBusId(&device, nullptr) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("cudaSetDevice makes the primary context current at once; other threads keep device 0") {
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  int device = -1;
  CHECK(cudaGetDevice(&device) == cudaSuccess);
  CHECK(device == 1);
  CUcontext context = nullptr;
  CUdevice driver_device = -1;
  CHECK(cuCtxGetCurrent(&context) == CUDA_SUCCESS);
  CHECK(context != nullptr);
  CHECK(cuCtxGetDevice(&driver_device) == CUDA_SUCCESS);
  CHECK(driver_device == 1);

  std::thread([&] {
    int fresh = -1;
    CHECK(cudaGetDevice(&fresh) == cudaSuccess);
    CHECK(fresh == 0);
    CUcontext none = context;
    CHECK(cuCtxGetCurrent(&none) == CUDA_SUCCESS);
    CHECK(none == nullptr);  // asking makes no context
    CHECK(cudaFree(nullptr) == cudaSuccess);
    CHECK(cuCtxGetCurrent(&none) == CUDA_SUCCESS);
    CHECK(none != nullptr);
    CHECK(none != context);
  }).join();

  CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice);
  CHECK(cudaGetDevice(&device) == cudaSuccess);
  CHECK(device == 1);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  CHECK(cudaGetDevice(nullptr) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("a context that the driver API made current is the device") {
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  CUcontext other = nullptr;
  REQUIRE(cuDevicePrimaryCtxRetain(&other, 1) == CUDA_SUCCESS);
  REQUIRE(cuCtxPushCurrent(other) == CUDA_SUCCESS);
  int device = -1;
  CHECK(cudaGetDevice(&device) == cudaSuccess);
  CHECK(device == 1);
  REQUIRE(cuCtxPopCurrent(nullptr) == CUDA_SUCCESS);
  CHECK(cudaGetDevice(&device) == cudaSuccess);
  CHECK(device == 0);
  CHECK(cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
}

TEST_CASE("flags, limits, cache configuration") {
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  unsigned flags = 0;
  CHECK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync) == cudaSuccess);
  CHECK(cudaGetDeviceFlags(&flags) == cudaSuccess);
  CHECK((flags & cudaDeviceScheduleMask) == cudaDeviceScheduleBlockingSync);
  CHECK((flags & cudaDeviceMapHost) != 0);
  CHECK(cudaSetDeviceFlags(0x1000) == cudaErrorInvalidValue);
  CHECK(cudaGetDeviceFlags(nullptr) == cudaErrorInvalidValue);
  CHECK(cudaInitDevice(1, 0, 0) == cudaSuccess);
  CHECK(cudaInitDevice(5, 0, 0) == cudaErrorInvalidDevice);
  CHECK(cudaInitDevice(0, 0, 8) == cudaErrorInvalidValue);
  size_t value = 0;
  CHECK(cudaDeviceGetLimit(&value, cudaLimitStackSize) == cudaSuccess);
  CHECK(value == 1024);  // documented default
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 4096) == cudaSuccess);
  CHECK(cudaDeviceGetLimit(&value, cudaLimitStackSize) == cudaSuccess);
  CHECK(value == 4096);
  CHECK(cudaDeviceGetLimit(&value, static_cast<cudaLimit>(77)) == cudaErrorInvalidValue);
  CHECK(cudaDeviceGetLimit(nullptr, cudaLimitStackSize) == cudaErrorInvalidValue);
  CHECK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1) == cudaSuccess);
  cudaFuncCache cache = cudaFuncCachePreferNone;
  CHECK(cudaDeviceGetCacheConfig(&cache) == cudaSuccess);
  CHECK(cache == cudaFuncCachePreferL1);
  int least = 9, greatest = 9;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest) == cudaSuccess);
  CHECK(least == 0);
  CHECK(greatest < 0);
  int devices[] = {0, 1, 5};
  CHECK(cudaSetValidDevices(devices, 2) == cudaSuccess);
  CHECK(cudaSetValidDevices(devices + 1, 2) == cudaErrorInvalidDevice);
  CHECK(cudaSetValidDevices(devices, 3) == cudaErrorInvalidValue);
  CHECK(cudaSetValidDevices(nullptr, 1) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("a device that was reset comes back at the next call, without its memory") {
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  size_t free_before = 0, free_after = 0, total = 0;
  void* pointer = nullptr;
  REQUIRE(cudaMalloc(&pointer, size_t{1} << 30) == cudaSuccess);
  REQUIRE(cudaMemGetInfo(&free_before, &total) == cudaSuccess);
  CHECK(cudaDeviceReset() == cudaSuccess);
  REQUIRE(cudaMemGetInfo(&free_after, &total) == cudaSuccess);
  CHECK(free_after >= free_before + (size_t{1} << 30));
  CHECK(cudaFree(pointer) == cudaErrorInvalidValue);
  REQUIRE(cudaMalloc(&pointer, 4096) == cudaSuccess);
  CHECK(cudaFree(pointer) == cudaSuccess);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("peers") {
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  int can = -1;
  CHECK(cudaDeviceCanAccessPeer(&can, 0, 1) == cudaSuccess);
  CHECK(can == 1);
  CHECK(cudaDeviceCanAccessPeer(&can, 0, 0) == cudaSuccess);
  CHECK(can == 0);
  CHECK(cudaDeviceCanAccessPeer(&can, 0, 9) == cudaErrorInvalidDevice);
  CHECK(cudaDeviceEnablePeerAccess(1, 0) == cudaSuccess);
  CHECK(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessAlreadyEnabled);
  CHECK(cudaDeviceDisablePeerAccess(1) == cudaSuccess);
  CHECK(cudaDeviceDisablePeerAccess(1) == cudaErrorPeerAccessNotEnabled);
  CHECK(cudaDeviceEnablePeerAccess(1, 7) == cudaErrorInvalidValue);
  CHECK(cudaDeviceEnablePeerAccess(9, 0) == cudaErrorInvalidDevice);
  cudaGetLastError();
}
