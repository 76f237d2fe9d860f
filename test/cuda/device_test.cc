// Device management. The tests run with MAYA_DEVICES=2 and the default device, an H100 SXM 80 GB; its figures are those
// of public deviceQuery outputs and the CUDA programming guide's table of technical specifications.
#include <cstring>

#include "test/cuda/driver_helpers.h"

namespace {

int attribute(CUdevice_attribute which, CUdevice device = 0) {
  int value = -12345;
  INFO(which);
  CHECK(cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS);
  return value;
}

}  // namespace

TEST_CASE("Initialisation and version") {
  CHECK(cuInit(1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuInit(0) == CUDA_SUCCESS);
  CHECK(cuInit(0) == CUDA_SUCCESS);
  int version = 0;
  CHECK(cuDriverGetVersion(&version) == CUDA_SUCCESS);
  CHECK(version == CUDA_VERSION);
  CHECK(cuDriverGetVersion(nullptr) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("Device handles and who they are") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  int count = 0;
  CHECK(cuDeviceGetCount(&count) == CUDA_SUCCESS);
  CHECK(count == 2);
  CUdevice device = -1;
  CHECK(cuDeviceGet(&device, 1) == CUDA_SUCCESS);
  CHECK(device == 1);
  CHECK(cuDeviceGet(&device, 2) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuDeviceGet(&device, -1) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuDeviceGet(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);

  char name[64] = {};
  CHECK(cuDeviceGetName(name, sizeof name, 0) == CUDA_SUCCESS);
  CHECK(strcmp(name, "NVIDIA H100 80GB HBM3") == 0);
  CHECK(cuDeviceGetName(name, 7, 0) == CUDA_SUCCESS);
  CHECK(strcmp(name, "NVIDIA") == 0);
  CHECK(cuDeviceGetName(name, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceGetName(name, sizeof name, 2) == CUDA_ERROR_INVALID_DEVICE);

  CUuuid first, second;
  CHECK(cuDeviceGetUuid_v2(&first, 0) == CUDA_SUCCESS);
  CHECK(cuDeviceGetUuid_v2(&second, 1) == CUDA_SUCCESS);
  CHECK(memcmp(&first, &second, sizeof first) != 0);
  char luid[8];
  unsigned int mask = 0;
  CHECK(cuDeviceGetLuid(luid, &mask, 0) == CUDA_ERROR_NOT_SUPPORTED);  // Windows only
}

TEST_CASE("PCI bus ids lead back to their device") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  for (CUdevice device = 0; device < 2; ++device) {
    char text[32] = {};
    CHECK(cuDeviceGetPCIBusId(text, sizeof text, device) == CUDA_SUCCESS);
    CHECK(strlen(text) == 12);  // dddd:bb:dd.f
    CUdevice found = -1;
    CHECK(cuDeviceGetByPCIBusId(&found, text) == CUDA_SUCCESS);
    CHECK(found == device);
    CHECK(cuDeviceGetByPCIBusId(&found, text + 5) == CUDA_SUCCESS);  // [bus]:[device].[function]
    CHECK(found == device);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device) == static_cast<int>(strtol(text + 5, nullptr, 16)));
  }
  char text[32];
  CHECK(cuDeviceGetPCIBusId(text, 12, 0) == CUDA_ERROR_INVALID_VALUE);  // the header asks for 13
  CUdevice found = -1;
  CHECK(cuDeviceGetByPCIBusId(&found, "ffff:ff:1f.7") == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuDeviceGetByPCIBusId(&found, "nonsense") == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("Every attribute of cuda.h has a value") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  for (int which = 1; which < CU_DEVICE_ATTRIBUTE_MAX; ++which) {
    int value = -12345;
    INFO(which);
    CHECK(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(which), 0) == CUDA_SUCCESS);
    CHECK(value != -12345);
  }
  int value = 0;
  CHECK(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(0), 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 2) == CUDA_ERROR_INVALID_DEVICE);
}

TEST_CASE("Attributes of an H100") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) == 9);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) == 0);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) == 132);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE) == 32);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) == 1024);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) == 2048);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR) == 32);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) == 65536);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) == 49152);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) == 232448);     // 227 KiB
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) == 233472);  // 228 KiB
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) == 52428800);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) == 5120);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) == 2147483647);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) == 1);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED) == 1);
  size_t bytes = 0;
  CHECK(cuDeviceTotalMem_v2(&bytes, 0) == CUDA_SUCCESS);
  CHECK(bytes == 85028896768u);
  int major = 0, minor = 0;
  CHECK(cuDeviceComputeCapability(&major, &minor, 0) == CUDA_SUCCESS);
  CHECK(major * 10 + minor == 90);
  CUdevprop properties;
  CHECK(cuDeviceGetProperties(&properties, 0) == CUDA_SUCCESS);
  CHECK(properties.maxThreadsDim[2] == 64);
  CHECK(properties.SIMDWidth == 32);
}

TEST_CASE("Textures, affinity and atomics") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  size_t width = 0;
  CHECK(cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_FLOAT, 4, 0) == CUDA_SUCCESS);
  CHECK(width == 268435456u);  // 2^28 elements, technical specifications
  CHECK(cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_FLOAT, 3, 0) == CUDA_ERROR_INVALID_VALUE);
  int supported = -1;
  CHECK(cuDeviceGetExecAffinitySupport(&supported, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0) == CUDA_SUCCESS);
  CHECK(supported == 0);
  CHECK(cuDeviceGetExecAffinitySupport(&supported, CU_EXEC_AFFINITY_TYPE_MAX, 0) == CUDA_ERROR_INVALID_VALUE);
  unsigned int capability = 1;
  CUatomicOperation operation = CU_ATOMIC_OPERATION_CAS;
  CHECK(cuDeviceGetHostAtomicCapabilities(&capability, &operation, 1, 0) == CUDA_SUCCESS);
  CHECK(cuDeviceGetHostAtomicCapabilities(&capability, &operation, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  operation = CU_ATOMIC_OPERATION_MAX;
  CHECK(cuDeviceGetHostAtomicCapabilities(&capability, &operation, 1, 0) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("Peers") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  int value = -1;
  CHECK(cuDeviceCanAccessPeer(&value, 0, 1) == CUDA_SUCCESS);
  CHECK(value == 1);
  CHECK(cuDeviceCanAccessPeer(&value, 0, 0) == CUDA_SUCCESS);
  CHECK(value == 0);
  CHECK(cuDeviceCanAccessPeer(&value, 0, 2) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1) == CUDA_SUCCESS);
  CHECK(value == 1);
  CHECK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuDeviceGetP2PAttribute(&value, static_cast<CUdevice_P2PAttribute>(99), 0, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceGetP2PAttribute(nullptr, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1) == CUDA_ERROR_INVALID_VALUE);
}
