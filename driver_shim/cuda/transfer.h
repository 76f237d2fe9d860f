// What all copies and fills have in common: where the two sides lie, moving the bytes, and accounting for the time.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "driver_shim/cuda/gate.h"
#include "trace_proto/maya_trace_fields.h"

namespace maya::cuda {

using CopyKind = trace::fields::CopyKind;

// One side of a copy. Managed and pinned memory are host memory.
struct Place {
  bool on_device = false;
  uint64_t address = 0;
};

inline Place host_place(const void* pointer) { return {false, reinterpret_cast<uint64_t>(pointer)}; }
// Where a unified address lies: anything outside the device range is host memory.
inline Place unified_place(const device::Memory& memory, CUdeviceptr address) {
  return {memory.in_device_range(address), address};
}
// Host memory that the driver does not know is pageable.
bool is_pageable(const device::Memory& memory, const Place& place);

// False when [place, place + bytes) is not memory that a copy may touch: null, or leaving its allocation. Host memory
// that the driver does not know cannot be checked.
bool is_accessible(const device::Memory& memory, const Place& place, uint64_t bytes);
// For arguments that must be a device pointer: device memory, or host memory that the driver gave out or registered.
bool is_device_accessible(const device::Memory& memory, CUdeviceptr address, uint64_t bytes);

// Moves bytes; both sides were found accessible. Known and unknown states go along between device ranges; unknown bytes
// arrive on the host as zero.
CUresult move_bytes(device::Memory& memory, const Place& destination, const Place& source, uint64_t bytes);

struct CopyWork {
  uint32_t kind = CopyKind::kHostToHost;  // as in the trace
  uint64_t bytes = 0;
  uint64_t rows = 1;
  bool pageable = false;
  int32_t source_device = -1, destination_device = -1;  // kPeer
};
// Kind and pageability of a copy between two places. Looks up devices only where there are several.
CopyWork describe_copy(Driver& driver, const Place& destination, const Place& source, uint64_t bytes);

// Places the copy on the stream's virtual clock, lets the host wait where CUDA's "API synchronization behavior" says
// so, and records it. `asynchronous`: the entry point is one of the Async forms. Times are of trace::now_ns().
void account_copy(Driver& driver, Stream& stream, const CopyWork& work, bool asynchronous, uint64_t entry_ns,
                  uint64_t own_ns);

// A whole linear copy on `stream`: checks, moves, accounts. `between_peers`: the call named both devices, so that it
// reaches pools of either.
CUresult copy_linear(Driver& driver, Stream& stream, const Place& destination, const Place& source, uint64_t bytes,
                     bool asynchronous, bool between_peers = false);

}  // namespace maya::cuda
