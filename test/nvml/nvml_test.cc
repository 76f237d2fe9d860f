// NVML and the driver show the same devices. Expected texts and codes are those of the NVML API reference.
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <cuda.h>
#include <nvml.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

namespace {

// Environment before any library reads it.
const int kEnvironment = [] {
  setenv("MAYA_DEVICE", "h100-sxm", 1);
  setenv("MAYA_DEVICES", "2", 1);
  setenv("MAYA_TRACE", "0", 1);
  setenv("MAYA_RUN_ID", ("nvml-test-" + std::to_string(getpid())).c_str(), 1);  // no other program counts
  return 0;
}();

nvmlDevice_t device(unsigned int index) {
  nvmlDevice_t handle = nullptr;
  REQUIRE(nvmlDeviceGetHandleByIndex_v2(index, &handle) == NVML_SUCCESS);
  return handle;
}

struct Session {
  Session() { REQUIRE(nvmlInit_v2() == NVML_SUCCESS); }
  ~Session() { nvmlShutdown(); }
};

}  // namespace

TEST_CASE("calls before nvmlInit and after nvmlShutdown are refused") {
  unsigned int count = 0;
  CHECK(nvmlDeviceGetCount_v2(&count) == NVML_ERROR_UNINITIALIZED);
  CHECK(nvmlShutdown() == NVML_ERROR_UNINITIALIZED);
  REQUIRE(nvmlInit_v2() == NVML_SUCCESS);
  REQUIRE(nvmlInit_v2() == NVML_SUCCESS);  // counted
  REQUIRE(nvmlShutdown() == NVML_SUCCESS);
  CHECK(nvmlDeviceGetCount_v2(&count) == NVML_SUCCESS);
  CHECK(count == 2);
  REQUIRE(nvmlShutdown() == NVML_SUCCESS);
  CHECK(nvmlDeviceGetCount_v2(&count) == NVML_ERROR_UNINITIALIZED);
}

TEST_CASE("NVML needs no CUDA initialisation and does not cause one") {
  Session session;
  device(0);
  int driver_devices = 0;
  CHECK(cuDeviceGetCount(&driver_devices) == CUDA_ERROR_NOT_INITIALIZED);
}

TEST_CASE("identity") {
  Session session;
  char text[96];
  REQUIRE(nvmlDeviceGetName(device(0), text, sizeof text) == NVML_SUCCESS);
  CHECK(std::string(text) == "NVIDIA H100 80GB HBM3");  // as the driver of an H100 SXM answers
  CHECK(nvmlDeviceGetName(device(0), text, 5) == NVML_ERROR_INSUFFICIENT_SIZE);
  CHECK(nvmlDeviceGetName(device(0), nullptr, 5) == NVML_ERROR_INVALID_ARGUMENT);
  CHECK(nvmlDeviceGetName(nullptr, text, sizeof text) == NVML_ERROR_INVALID_ARGUMENT);
  CHECK(nvmlDeviceGetName(reinterpret_cast<nvmlDevice_t>(8), text, sizeof text) == NVML_ERROR_INVALID_ARGUMENT);
  nvmlDevice_t handle;
  CHECK(nvmlDeviceGetHandleByIndex_v2(2, &handle) == NVML_ERROR_INVALID_ARGUMENT);

  REQUIRE(nvmlDeviceGetUUID(device(1), text, sizeof text) == NVML_SUCCESS);
  CHECK(strlen(text) == 40);  // "GPU-" and 8-4-4-4-12 digits
  REQUIRE(nvmlDeviceGetHandleByUUID(text, &handle) == NVML_SUCCESS);
  CHECK(handle == device(1));
  CHECK(nvmlDeviceGetHandleByUUID("GPU-0", &handle) == NVML_ERROR_NOT_FOUND);

  int major = 0, minor = 0;
  REQUIRE(nvmlDeviceGetCudaComputeCapability(device(0), &major, &minor) == NVML_SUCCESS);
  CHECK(major == 9);
  CHECK(minor == 0);
  unsigned int cores = 0;
  REQUIRE(nvmlDeviceGetNumGpuCores(device(0), &cores) == NVML_SUCCESS);
  CHECK(cores == 16896);  // 132 multiprocessors of 128 FP32 cores, H100 SXM5 data sheet
}

TEST_CASE("the driver and NVML agree on UUID, bus and name") {
  Session session;
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  for (int i = 0; i < 2; ++i) {
    CUuuid uuid;
    REQUIRE(cuDeviceGetUuid_v2(&uuid, i) == CUDA_SUCCESS);
    std::string text = "GPU-";
    for (int b = 0; b < 16; ++b) {
      char digits[3];
      snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[b]));
      text += digits;
      if (b == 3 || b == 5 || b == 7 || b == 9) text += '-';
    }
    char nvml_text[96];
    REQUIRE(nvmlDeviceGetUUID(device(static_cast<unsigned int>(i)), nvml_text, sizeof nvml_text) == NVML_SUCCESS);
    CHECK(text == nvml_text);
    char bus[32];
    REQUIRE(cuDeviceGetPCIBusId(bus, sizeof bus, i) == CUDA_SUCCESS);
    nvmlDevice_t handle;
    REQUIRE(nvmlDeviceGetHandleByPciBusId_v2(bus, &handle) == NVML_SUCCESS);
    CHECK(handle == device(static_cast<unsigned int>(i)));
  }
}

TEST_CASE("memory moves with allocations and lists this process") {
  Session session;
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  CUcontext context;
  REQUIRE(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
  REQUIRE(cuCtxSetCurrent(context) == CUDA_SUCCESS);
  nvmlMemory_t before, after;
  REQUIRE(nvmlDeviceGetMemoryInfo(device(0), &before) == NVML_SUCCESS);
  CHECK(before.total == 85520809984ull);  // 81,559 MiB as nvidia-smi prints for an H100 80GB
  CUdeviceptr p;
  REQUIRE(cuMemAlloc_v2(&p, 1ull << 30) == CUDA_SUCCESS);
  REQUIRE(nvmlDeviceGetMemoryInfo(device(0), &after) == NVML_SUCCESS);
  CHECK(after.used - before.used == 1ull << 30);
  CHECK(before.free - after.free == 1ull << 30);
  unsigned int count = 0;
  CHECK(nvmlDeviceGetComputeRunningProcesses_v3(device(0), &count, nullptr) == NVML_ERROR_INSUFFICIENT_SIZE);
  CHECK(count == 1);
  nvmlProcessInfo_t info;
  REQUIRE(nvmlDeviceGetComputeRunningProcesses_v3(device(0), &count, &info) == NVML_SUCCESS);
  CHECK(info.pid == static_cast<unsigned int>(getpid()));
  CHECK(info.usedGpuMemory >= 1ull << 30);
  REQUIRE(cuMemFree_v2(p) == CUDA_SUCCESS);
  REQUIRE(cuDevicePrimaryCtxRelease_v2(0) == CUDA_SUCCESS);
}

TEST_CASE("NVLink of an H100 SXM: 18 links, version 4, to switches") {
  Session session;
  nvmlEnableState_t active;
  CHECK(nvmlDeviceGetNvLinkState(device(0), 17, &active) == NVML_SUCCESS);
  CHECK(active == NVML_FEATURE_ENABLED);
  CHECK(nvmlDeviceGetNvLinkState(device(0), 99, &active) == NVML_ERROR_INVALID_ARGUMENT);
  unsigned int version = 0;
  CHECK(nvmlDeviceGetNvLinkVersion(device(0), 0, &version) == NVML_SUCCESS);
  CHECK(version == NVML_NVLINK_VERSION_4_0);
}
