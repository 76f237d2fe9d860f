// NVSHMEM: name and version; no job can be joined.
#include <cstring>

#include "driver_shim/common/api.h"

namespace {

constexpr int kSpecificationMajor = 1, kSpecificationMinor = 3;  // of OpenSHMEM
constexpr int kMajor = 3, kMinor = 7, kPatch = 2;
constexpr char kName[] = "Maya NVSHMEM";

}  // namespace

MAYA_API void nvshmem_info_get_version(int* major, int* minor) {
  if (major != nullptr) *major = kSpecificationMajor;
  if (minor != nullptr) *minor = kSpecificationMinor;
}

MAYA_API void nvshmem_info_get_name(char* name) {
  if (name != nullptr) std::memcpy(name, kName, sizeof kName);
}

MAYA_API void nvshmemx_vendor_get_version_info(int* major, int* minor, int* patch) {
  if (major != nullptr) *major = kMajor;
  if (minor != nullptr) *minor = kMinor;
  if (patch != nullptr) *patch = kPatch;
}
