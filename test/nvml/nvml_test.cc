// NVML and the driver show the same devices. Expected texts and codes are those of the NVML API reference.
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <cuda.h>
#include <nvml.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
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

TEST_CASE("settings are an administrator's; what the device does not have is not there") {
  Session session;
  const nvmlDevice_t first_device = device(0);
  // "If the user doesn't have permission to perform this operation."
  CHECK(nvmlDeviceSetComputeMode(first_device, NVML_COMPUTEMODE_DEFAULT) == NVML_ERROR_NO_PERMISSION);
  CHECK(nvmlDeviceSetComputeMode(first_device, static_cast<nvmlComputeMode_t>(99)) == NVML_ERROR_INVALID_ARGUMENT);
  CHECK(nvmlDeviceSetPersistenceMode(first_device, NVML_FEATURE_DISABLED) == NVML_ERROR_NO_PERMISSION);
  CHECK(nvmlDeviceSetPowerManagementLimit(first_device, 500000) == NVML_ERROR_NO_PERMISSION);
  nvmlDeviceCapabilities_t capabilities{nvmlDeviceCapabilities_v1, 7};
  CHECK(nvmlDeviceGetCapabilities(first_device, &capabilities) == NVML_SUCCESS);
  CHECK(capabilities.capMask == 0);
  capabilities.version = 1;
  CHECK(nvmlDeviceGetCapabilities(first_device, &capabilities) == NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  nvmlPdi_t first{nvmlPdi_v1, 0}, second{nvmlPdi_v1, 0};
  CHECK(nvmlDeviceGetPdi(first_device, &first) == NVML_SUCCESS);
  CHECK(nvmlDeviceGetPdi(device(1), &second) == NVML_SUCCESS);
  CHECK(first.value != second.value);
  nvmlGridLicensableFeatures_t features{1, 3, {}};
  CHECK(nvmlDeviceGetGridLicensableFeatures_v4(first_device, &features) == NVML_SUCCESS);
  CHECK(features.isGridLicenseSupported == 0);
  CHECK(features.licensableFeaturesCount == 0);
  nvmlClockOffset_t offset{nvmlClockOffset_v1, NVML_CLOCK_GRAPHICS, NVML_PSTATE_0, 5, 5, 5};
  CHECK(nvmlDeviceGetClockOffsets(first_device, &offset) == NVML_SUCCESS);
  CHECK(offset.maxClockOffsetMHz == 0);
  offset.type = NVML_CLOCK_VIDEO;
  CHECK(nvmlDeviceGetClockOffsets(first_device, &offset) == NVML_ERROR_INVALID_ARGUMENT);
  unsigned long long reasons = 0;
  CHECK(nvmlDeviceGetSupportedClocksEventReasons(first_device, &reasons) == NVML_SUCCESS);
  CHECK(reasons == 0x1ff);  // the nine of CUDA 12 and 13.2
}

TEST_CASE("the CPUs near a device are those that the host has") {
  Session session;
  unsigned long set[4] = {};
  REQUIRE(nvmlDeviceGetCpuAffinity(device(0), 4, set) == NVML_SUCCESS);
  long bits = 0;
  for (const unsigned long word : set) bits += __builtin_popcountl(word);
  CHECK(bits == std::min(256l, sysconf(_SC_NPROCESSORS_CONF)));
  CHECK((set[0] & 1) == 1);
}

TEST_CASE("a device is found by its UUID with and without the prefix") {
  Session session;
  char uuid[96];
  nvmlDevice_t found = nullptr;
  REQUIRE(nvmlDeviceGetUUID(device(1), uuid, sizeof uuid) == NVML_SUCCESS);
  REQUIRE(std::string(uuid).substr(0, 4) == "GPU-");
  CHECK(nvmlDeviceGetHandleByUUID(uuid, &found) == NVML_SUCCESS);
  CHECK(found == device(1));
  found = nullptr;
  CHECK(nvmlDeviceGetHandleByUUID(uuid + 4, &found) == NVML_SUCCESS);
  CHECK(found == device(1));
  CHECK(nvmlDeviceGetHandleByUUID(uuid + 5, &found) == NVML_ERROR_NOT_FOUND);
}

TEST_CASE("events of the system can be waited for, and do not come") {
  Session session;
  nvmlSystemEventSetCreateRequest_t create{nvmlSystemEventSetCreateRequest_v1, nullptr};
  REQUIRE(nvmlSystemEventSetCreate(&create) == NVML_SUCCESS);
  nvmlSystemRegisterEventRequest_t wanted{nvmlSystemRegisterEventRequest_v1, nvmlSystemEventTypeGpuDriverUnbind,
                                          create.set};
  CHECK(nvmlSystemRegisterEvents(&wanted) == NVML_SUCCESS);
  wanted.eventTypes = 0x80;
  CHECK(nvmlSystemRegisterEvents(&wanted) == NVML_ERROR_INVALID_ARGUMENT);
  nvmlSystemEventData_v1_t data[1] = {};
  nvmlSystemEventSetWaitRequest_t wait{nvmlSystemEventSetWaitRequest_v1, 1, create.set, data, 1, 9};
  CHECK(nvmlSystemEventSetWait(&wait) == NVML_ERROR_TIMEOUT);
  CHECK(wait.numEvent == 0);
  nvmlSystemEventSetFreeRequest_t end{nvmlSystemEventSetFreeRequest_v1, create.set};
  CHECK(nvmlSystemEventSetFree(&end) == NVML_SUCCESS);
  CHECK(nvmlSystemEventSetWait(&wait) == NVML_ERROR_INVALID_ARGUMENT);
}
