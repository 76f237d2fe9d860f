#include "driver_shim/cuda/volume.h"

#include "driver_shim/cuda/array.h"
#include "driver_shim/cuda/capture.h"
#include "driver_shim/cuda/graph_parameters.h"
#include "trace_proto/writer.h"

namespace maya::cuda {
namespace {

constexpr uint64_t kLongestPitch_bytes = 0x7fffffff;  // CU_DEVICE_ATTRIBUTE_MAX_PITCH of every device

// From the first byte of a box to the end of its last row; false when that overflows.
bool span_bytes(const VolumeSide& side, const Extent& extent, uint64_t* bytes) {
  const __uint128_t last_row = static_cast<__uint128_t>(extent.slices - 1) * side.slice_rows + (extent.rows - 1);
  const __uint128_t span = last_row * side.pitch_bytes + extent.width_bytes;
  *bytes = static_cast<uint64_t>(span);
  return span <= UINT64_MAX / 2;
}

CUresult resolve_array(const SideArguments& arguments, const Extent& extent, VolumeSide* out) {
  const Array* array = array_of(arguments.array);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto inside = [](uint64_t begin, uint64_t length, uint64_t end) {
    return begin <= end && length <= end - begin;
  };
  if (arguments.x_bytes % array->element_bytes != 0 || extent.width_bytes % array->element_bytes != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (!inside(arguments.x_bytes, extent.width_bytes, array->row_bytes()) ||
      !inside(arguments.y, extent.rows, array->rows()) || !inside(arguments.z, extent.slices, array->slices()))
    return CUDA_ERROR_INVALID_VALUE;
  out->pitch_bytes = array->row_bytes();
  out->slice_rows = array->rows();
  out->start = {true,
                array->base + (arguments.z * out->slice_rows + arguments.y) * out->pitch_bytes + arguments.x_bytes};
  return CUDA_SUCCESS;
}

}  // namespace

CUresult resolve_side(const device::Memory& memory, const SideArguments& arguments, const Extent& extent,
                      VolumeSide* out) {
  if (arguments.type == CU_MEMORYTYPE_ARRAY) return resolve_array(arguments, extent, out);
  const uint64_t pitch = arguments.pitch_bytes != 0 ? arguments.pitch_bytes : arguments.x_bytes + extent.width_bytes;
  const uint64_t height = arguments.height != 0 ? arguments.height : arguments.y + extent.rows;
  if (arguments.pitch_bytes > kLongestPitch_bytes || arguments.x_bytes > UINT64_MAX / 2 ||
      pitch < arguments.x_bytes + extent.width_bytes)
    return CUDA_ERROR_INVALID_VALUE;
  if (arguments.height == 0 && extent.slices > 1) return CUDA_ERROR_INVALID_VALUE;
  if (extent.slices > 1 && height < arguments.y + extent.rows) return CUDA_ERROR_INVALID_VALUE;
  const __uint128_t offset = (static_cast<__uint128_t>(arguments.z) * height + arguments.y) * pitch + arguments.x_bytes;
  if (offset > UINT64_MAX / 2) return CUDA_ERROR_INVALID_VALUE;
  switch (arguments.type) {
    case CU_MEMORYTYPE_HOST:
      if (arguments.host == nullptr) return CUDA_ERROR_INVALID_VALUE;
      out->start = host_place(arguments.host);
      break;
    case CU_MEMORYTYPE_DEVICE:
      if (!is_device_accessible(memory, arguments.device, 1)) return CUDA_ERROR_INVALID_VALUE;
      out->start = unified_place(memory, arguments.device);
      break;
    case CU_MEMORYTYPE_UNIFIED:
      if (arguments.device == 0) return CUDA_ERROR_INVALID_VALUE;
      out->start = unified_place(memory, arguments.device);
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  out->start.address += static_cast<uint64_t>(offset);
  out->pitch_bytes = pitch;
  out->slice_rows = height;
  return CUDA_SUCCESS;
}

CUresult check_volume(const device::Memory& memory, const VolumeSide& destination, const VolumeSide& source,
                      const Extent& extent) {
  for (const VolumeSide* side : {&destination, &source}) {
    uint64_t bytes = 0;
    if (!span_bytes(*side, extent, &bytes) || !is_accessible(memory, side->start, bytes))
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult move_volume(device::Memory& memory, const VolumeSide& destination, const VolumeSide& source,
                     const Extent& extent) {
  // Rows, then slices, that follow each other without a gap on both sides are one run.
  uint64_t run_bytes = extent.width_bytes;
  uint64_t rows = extent.rows;
  uint64_t slices = extent.slices;
  if (destination.pitch_bytes == run_bytes && source.pitch_bytes == run_bytes) {
    run_bytes *= rows;
    rows = 1;
    if (destination.slice_rows == extent.rows && source.slice_rows == extent.rows) {
      run_bytes *= slices;
      slices = 1;
    }
  }
  for (uint64_t slice = 0; slice < slices; ++slice) {
    for (uint64_t row = 0; row < rows; ++row) {
      const auto at = [&](const VolumeSide& side) {
        return Place{side.start.on_device, side.start.address + (slice * side.slice_rows + row) * side.pitch_bytes};
      };
      if (const CUresult status = move_bytes(memory, at(destination), at(source), run_bytes); status != CUDA_SUCCESS)
        return status;
    }
  }
  return CUDA_SUCCESS;
}

uint64_t runs_of(const VolumeSide& destination, const VolumeSide& source, const Extent& extent) {
  if (destination.pitch_bytes != extent.width_bytes || source.pitch_bytes != extent.width_bytes)
    return extent.rows * extent.slices;
  return destination.slice_rows == extent.rows && source.slice_rows == extent.rows ? 1 : extent.slices;
}

CUresult capture_volume(const device::Memory& memory, Stream& stream, const VolumeSide& destination,
                        const VolumeSide& source, const Extent& extent, bool asynchronous) {
  if (!asynchronous) return Captures::refuse(stream);
  if (const CUresult status = check_volume(memory, destination, source, extent); status != CUDA_SUCCESS) return status;
  return Captures::add(stream, captured_copy(destination, source, extent));
}

CUresult copy_volume(Driver& driver, Stream& stream, const VolumeSide& destination, const VolumeSide& source,
                     const Extent& extent, bool asynchronous) {
  if (extent.width_bytes == 0 || extent.rows == 0 || extent.slices == 0) return CUDA_SUCCESS;
  if (stream.capture() != nullptr)
    return capture_volume(driver.memory(), stream, destination, source, extent, asynchronous);
  const uint64_t entry_ns = trace::now_ns();
  device::Memory& memory = driver.memory();
  if (const CUresult status = check_volume(memory, destination, source, extent); status != CUDA_SUCCESS) return status;
  if (const CUresult status = move_volume(memory, destination, source, extent); status != CUDA_SUCCESS) return status;
  CopyWork work =
      describe_copy(driver, destination.start, source.start, extent.width_bytes * extent.rows * extent.slices);
  work.rows = runs_of(destination, source, extent);
  account_copy(driver, stream, work, asynchronous, entry_ns, trace::now_ns() - entry_ns);
  return CUDA_SUCCESS;
}

}  // namespace maya::cuda
