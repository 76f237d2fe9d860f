#include "driver_shim/nccl/config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

namespace maya::nccl {
namespace {

// Size of the struct up to the attributes that NCCL 2.14 had: blocking alone.
constexpr size_t kSmallestConfig_bytes = offsetof(ncclConfig_t, cgaClusterSize);

}  // namespace

ncclResult_t read_config(const ncclConfig_t* config, const Configuration& from, Configuration* out,
                         std::string* error) {
  *out = from;
  out->name.clear();
  if (config == nullptr) return ncclSuccess;
  if (config->magic != NCCL_API_MAGIC || config->size < kSmallestConfig_bytes || config->size > (1 << 20)) {
    *error = "ncclConfig_t was not made with NCCL_CONFIG_INITIALIZER";
    return ncclInvalidArgument;
  }
  ncclConfig_t whole = NCCL_CONFIG_INITIALIZER;
  memcpy(&whole, config, config->size < sizeof whole ? config->size : sizeof whole);
  const auto within = [&](int value, int low, int high, const char* name) {
    if (value == NCCL_CONFIG_UNDEF_INT || (value >= low && value <= high)) return true;
    *error = std::string("ncclConfig_t: invalid ") + name + " " + std::to_string(value);
    return false;
  };
  // Ranges as the NCCL user guide ("ncclConfig_t") gives them.
  if (!within(whole.blocking, 0, 1, "blocking") || !within(whole.cgaClusterSize, 0, 8, "cgaClusterSize") ||
      !within(whole.minCTAs, 1, 64, "minCTAs") || !within(whole.maxCTAs, 1, 64, "maxCTAs") ||
      !within(whole.splitShare, 0, 1, "splitShare") || !within(whole.shrinkShare, 0, 1, "shrinkShare"))
    return ncclInvalidArgument;
  if (whole.minCTAs != NCCL_CONFIG_UNDEF_INT && whole.maxCTAs != NCCL_CONFIG_UNDEF_INT &&
      whole.minCTAs > whole.maxCTAs) {
    *error = "ncclConfig_t: minCTAs is above maxCTAs";
    return ncclInvalidArgument;
  }
  if (whole.blocking != NCCL_CONFIG_UNDEF_INT) out->blocking = whole.blocking != 0;
  if (whole.minCTAs != NCCL_CONFIG_UNDEF_INT) out->min_channels = whole.minCTAs;
  if (whole.maxCTAs != NCCL_CONFIG_UNDEF_INT) out->max_channels = whole.maxCTAs;
  if (whole.splitShare != NCCL_CONFIG_UNDEF_INT) out->split_share = whole.splitShare != 0;
  if (whole.shrinkShare != NCCL_CONFIG_UNDEF_INT) out->shrink_share = whole.shrinkShare != 0;
  if (whole.commName != nullptr) out->name = whole.commName;
  return ncclSuccess;
}

}  // namespace maya::nccl
