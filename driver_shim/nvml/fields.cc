// nvmlDeviceGetFieldValues: what other entry points answer, by number.
#include <string.h>

#include "driver_shim/nvml/library.h"
#include "driver_shim/nvml/programs.h"
#include "driver_shim/nvml/usage.h"

using namespace maya::nvml;

namespace {

// True when the field counts errors, which an emulated device never has.
bool is_error_count(unsigned int field) {
  return (field >= NVML_FI_DEV_ECC_SBE_VOL_TOTAL && field <= NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL) ||
         (field >= NVML_FI_DEV_RETIRED_PENDING_SBE && field <= NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L11) ||
         (field >= NVML_FI_DEV_REMAPPED_COR && field <= NVML_FI_DEV_REMAPPED_FAILURE) ||
         (field >= NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L0 && field <= NVML_FI_DEV_NVLINK_ERROR_DL_CRC) ||
         (field >= NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER && field <= NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER) ||
         (field >= NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS && field <= NVML_FI_DEV_PCIE_COUNT_LANE_ERROR);
}

struct Answer {
  nvmlValueType_t type = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
  unsigned long long value = 0;
  nvmlReturn_t status = NVML_SUCCESS;
};

Answer whole(unsigned long long value) { return {NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, value, NVML_SUCCESS}; }
Answer small(unsigned int value) { return {NVML_VALUE_TYPE_UNSIGNED_INT, value, NVML_SUCCESS}; }

unsigned long long copied(const Device& device, bool from_device) {
  unsigned long long bytes = 0;
  for (const Program& program : programs_on(device)) bytes += program.copied_bytes[from_device ? 1 : 0];
  return bytes;
}

Answer answer_field(const Device& d, nvmlDevice_t handle, unsigned int field, unsigned int scope) {
  if (is_error_count(field)) return whole(0);
  switch (field) {
    case NVML_FI_DEV_ECC_CURRENT:
    case NVML_FI_DEV_ECC_PENDING:
      return small(NVML_FEATURE_ENABLED);
    case NVML_FI_DEV_MEMORY_TEMP:
    case NVML_FI_DEV_GPU_TEMP:
      return small(kIdleTemperature_celsius);
    case NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION:
    case NVML_FI_DEV_ENERGY:
      return whole(energy_millijoules(d));
    case NVML_FI_DEV_POWER_AVERAGE:
    case NVML_FI_DEV_POWER_INSTANT:
      return small(power_milliwatts(d, utilization_percent(programs_on(d))));
    case NVML_FI_DEV_POWER_MAX_LIMIT:
    case NVML_FI_DEV_POWER_DEFAULT_LIMIT:
    case NVML_FI_DEV_POWER_CURRENT_LIMIT:
    case NVML_FI_DEV_POWER_REQUESTED_LIMIT:
      return small(d.profile.power_limit_watts * 1000);
    case NVML_FI_DEV_PCIE_COUNT_TX_BYTES:
      return whole(copied(d, true));
    case NVML_FI_DEV_PCIE_COUNT_RX_BYTES:
      return whole(copied(d, false));
    case NVML_FI_DEV_NVLINK_LINK_COUNT:
      return link_count(d) == 0 ? Answer{{}, 0, NVML_ERROR_NOT_SUPPORTED} : small(link_count(d));
    case NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT:
      return small(link_count(d));
    case NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON:
    case NVML_FI_DEV_NVLINK_GET_SPEED:
      if (link_count(d) == 0 || (field == NVML_FI_DEV_NVLINK_GET_SPEED && scope >= link_count(d)))
        return {{}, 0, NVML_ERROR_NOT_SUPPORTED};
      return small(static_cast<unsigned int>(link_bandwidth(d) / 1e6));
    case NVML_FI_DEV_NVLINK_GET_STATE:
      return scope < link_count(d) ? small(NVML_FEATURE_ENABLED) : Answer{{}, 0, NVML_ERROR_NOT_SUPPORTED};
    case NVML_FI_DEV_NVLINK_GET_VERSION: {
      unsigned int version = 0;
      const nvmlReturn_t status = nvmlDeviceGetNvLinkVersion(handle, scope, &version);
      return {NVML_VALUE_TYPE_UNSIGNED_INT, version, status};
    }
    case NVML_FI_DEV_C2C_LINK_COUNT:
    case NVML_FI_DEV_IS_RESETLESS_MIG_SUPPORTED:
    case NVML_FI_DEV_GET_GPU_RECOVERY_ACTION:  // 0: none is needed
      return small(0);
    default:
      return {{}, 0, NVML_ERROR_NOT_SUPPORTED};
  }
}

}  // namespace

MAYA_NVML nvmlDeviceGetFieldValues(nvmlDevice_t handle, int count, nvmlFieldValue_t* values) {
  return with_device(handle, values != nullptr && count > 0, [&](Device& d) {
    for (int i = 0; i < count; ++i) {
      nvmlFieldValue_t& one = values[i];
      const Answer answer = answer_field(d, handle, one.fieldId, one.scopeId);
      one.timestamp = static_cast<long long>(realtime_us());
      one.latencyUsec = 0;
      one.valueType = answer.type;
      one.nvmlReturn = answer.status;
      memset(&one.value, 0, sizeof one.value);
      if (answer.type == NVML_VALUE_TYPE_UNSIGNED_INT)
        one.value.uiVal = static_cast<unsigned int>(answer.value);
      else
        one.value.ullVal = answer.value;
    }
  });
}
MAYA_NVML nvmlDeviceClearFieldValues(nvmlDevice_t handle, int count, nvmlFieldValue_t* values) {
  return with_device(handle, values != nullptr && count > 0, [&](Device&) {
    for (int i = 0; i < count; ++i)
      values[i].nvmlReturn = is_error_count(values[i].fieldId) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
  });
}
