#include "driver_shim/nvml/library.h"

#include <string.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "driver_shim/nvml/programs.h"

namespace maya::nvml {
namespace {

std::mutex mutex;
std::atomic<int> references{0};
std::atomic<int> device_count{0};
Device* devices() {
  static Device* const all = new Device[kMaxDevices];
  return all;
}

}  // namespace

int initialized_count() {
  return references.load(std::memory_order_acquire) > 0 ? device_count.load(std::memory_order_relaxed) : -1;
}

nvmlReturn_t initialize() {
  const MayaTable* table = shim::driver();
  if (table == nullptr) return NVML_ERROR_DRIVER_NOT_LOADED;
  std::lock_guard<std::mutex> lock(mutex);
  if (references.load() == 0) {
    const int count = table->device_count();
    if (count < 0) return NVML_ERROR_DRIVER_NOT_LOADED;
    for (int i = 0; i < count && i < kMaxDevices; ++i) {
      std::string error;
      devices()[i].ordinal = i;
      if (!device::parse_profile(table->device_profile_text(i), &devices()[i].profile, &error))
        return NVML_ERROR_UNKNOWN;
    }
    device_count = count < kMaxDevices ? count : kMaxDevices;
  }
  ++references;
  return NVML_SUCCESS;
}

nvmlReturn_t shutdown() {
  std::lock_guard<std::mutex> lock(mutex);
  if (references.load() == 0) return NVML_ERROR_UNINITIALIZED;
  --references;
  return NVML_SUCCESS;
}

Device* device_of(nvmlDevice_t handle) {
  for (int i = 0; i < device_count.load(std::memory_order_relaxed); ++i)
    if (handle_of(i) == handle) return &devices()[i];
  return nullptr;
}

nvmlDevice_t handle_of(int ordinal) { return reinterpret_cast<nvmlDevice_t>(&devices()[ordinal]); }

nvmlReturn_t copy_text(std::string_view text, char* out, unsigned int length) {
  if (length < text.size() + 1) return NVML_ERROR_INSUFFICIENT_SIZE;
  memcpy(out, text.data(), text.size());
  out[text.size()] = '\0';
  return NVML_SUCCESS;
}

MemoryFigures memory_figures(const Device& device) {
  const device::DeviceProfile& profile = device.profile;
  // The reserve: what the driver keeps of the silicon and what is gone from "free" before any program starts.
  MemoryFigures figures{profile.nvml_memory_bytes,
                        profile.nvml_memory_bytes - profile.total_memory_bytes + profile.driver_reserve_bytes, 0, 0};
  for (const Program& program : programs_on(device)) figures.used += program.used_bytes;
  figures.used = std::min(figures.used, figures.total - figures.reserved);
  figures.free = figures.total - figures.reserved - figures.used;
  return figures;
}

}  // namespace maya::nvml
