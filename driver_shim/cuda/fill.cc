#include "driver_shim/cuda/fill.h"

#include "driver_shim/cuda/allocation.h"
#include "driver_shim/cuda/transfer.h"
#include "virtual_device/memory_known_bytes.h"

namespace maya::cuda {
namespace {

// Pinned and managed memory is the program's own.
void fill_host(uint64_t address, uint32_t value, uint32_t width_bytes, size_t count) {
  const uint32_t word = device::fill_word(address, value, width_bytes);
  device::expand_fill(reinterpret_cast<void*>(address), address, count * width_bytes, word);
}

uint64_t row_bytes(const CUDA_MEMSET_NODE_PARAMS& fill) { return fill.width * fill.elementSize; }

bool is_well_formed(const CUDA_MEMSET_NODE_PARAMS& fill) {
  if (fill.elementSize != 1 && fill.elementSize != 2 && fill.elementSize != 4) return false;
  if (fill.dst % fill.elementSize != 0 || (fill.height > 1 && fill.pitch % fill.elementSize != 0)) return false;
  if (fill.width == 0 || fill.height == 0) return true;
  if (fill.width > SIZE_MAX / fill.elementSize) return false;
  return fill.height == 1 || (fill.pitch >= row_bytes(fill) && fill.height <= SIZE_MAX / fill.pitch);
}

}  // namespace

CUresult check_fill(const device::Memory& memory, const CUDA_MEMSET_NODE_PARAMS& fill) {
  if (!is_well_formed(fill)) return CUDA_ERROR_INVALID_VALUE;
  if (fill.width == 0 || fill.height == 0) return CUDA_SUCCESS;
  const uint64_t extent_bytes = (fill.height - 1) * fill.pitch + row_bytes(fill);
  return is_device_accessible(memory, fill.dst, extent_bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult fill_memory(device::Memory& memory, const CUDA_MEMSET_NODE_PARAMS& fill, size_t* runs) {
  const bool flat = fill.height == 1 || fill.pitch == row_bytes(fill);
  const size_t count = flat ? 1 : fill.height;
  const size_t columns = flat ? fill.width * fill.height : fill.width;
  const bool on_device = memory.in_device_range(fill.dst);
  if (runs != nullptr) *runs = count;
  for (size_t run = 0; run < count; ++run) {
    const CUdeviceptr at = fill.dst + run * fill.pitch;
    if (!on_device) {
      fill_host(at, fill.value, fill.elementSize, columns);
      continue;
    }
    const device::MemoryStatus status = memory.fill(at, fill.value, fill.elementSize, columns);
    if (status != device::MemoryStatus::kOk) return memory_result(status);
  }
  return CUDA_SUCCESS;
}

}  // namespace maya::cuda
