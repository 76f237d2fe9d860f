// Copies of boxes: rows of bytes, rows apart by a pitch, slices apart by a number of rows. 1-D, 2-D and 3-D copies, and
// arrays, come down to this.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "driver_shim/cuda/transfer.h"

namespace maya::cuda {

struct Extent {
  uint64_t width_bytes = 0;
  uint64_t rows = 1;
  uint64_t slices = 1;
};

struct VolumeSide {
  Place start;               // first byte of the box
  uint64_t pitch_bytes = 0;  // from row to row
  uint64_t slice_rows = 0;   // rows from slice to slice
};

// One side of CUDA_MEMCPY2D, CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER.
struct SideArguments {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  uint64_t x_bytes, y, z;
  uint64_t pitch_bytes, height;  // 0: packed
};

// Checks one side against the documented rules and finds its first byte.
CUresult resolve_side(const device::Memory& memory, const SideArguments& arguments, const Extent& extent,
                      VolumeSide* out);

// Whether both sides' memory is there.
CUresult check_volume(const device::Memory& memory, const VolumeSide& destination, const VolumeSide& source,
                      const Extent& extent);
// Moves the bytes of what was found right.
CUresult move_volume(device::Memory& memory, const VolumeSide& destination, const VolumeSide& source,
                     const Extent& extent);
// Runs of bytes that such a copy moves.
uint64_t runs_of(const VolumeSide& destination, const VolumeSide& source, const Extent& extent);
// The copy as a node of the graph that `stream` is captured into.
CUresult capture_volume(const device::Memory& memory, Stream& stream, const VolumeSide& destination,
                        const VolumeSide& source, const Extent& extent, bool asynchronous);

// Checks both sides' memory, moves the bytes, accounts for one copy. Nothing is moved unless everything is accessible.
CUresult copy_volume(Driver& driver, Stream& stream, const VolumeSide& destination, const VolumeSide& source,
                     const Extent& extent, bool asynchronous);

}  // namespace maya::cuda
