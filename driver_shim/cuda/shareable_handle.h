// Sharing memory between processes: the contents of the handles that this driver hands out. A handle works where it was
// made; memory of another process has addresses and a size here, but its bytes are that process's: they are unknown,
// and read as zero. Pools are different: what is allocated from them has the same bytes everywhere (pool_share.h).
#pragma once

#include <cuda.h>

#include <cstdint>

namespace maya::cuda {

// What an exported descriptor or an IPC handle says. Fits CU_IPC_HANDLE_SIZE.
struct SharedMemoryTicket {
  static constexpr uint64_t kMagic = 0x6d617961'69706331;  // "mayaipc1"
  uint64_t magic = kMagic;
  uint64_t kind = 0;     // of the Kind below
  uint64_t process = 0;  // process id
  uint64_t object = 0;   // handle, allocation id, event id or number of the pool
  uint64_t address = 0;  // of a pool: its types; of an allocation of one: where it is in the pool's area
  uint64_t bytes = 0;
  int64_t device = 0;
  enum Kind : uint64_t { kPhysical = 1, kAllocation = 2, kEvent = 3, kPool = 4, kPoolAllocation = 5 };
};
static_assert(sizeof(SharedMemoryTicket) <= CU_IPC_HANDLE_SIZE);

uint64_t this_process();

// A sealed file descriptor, closed on exec, that stands for physical memory. The program closes it.
CUresult export_to_descriptor(uint64_t handle, uint64_t bytes, int device, int* descriptor);
// The handle behind such a descriptor. CUDA_ERROR_INVALID_VALUE when it is none, CUDA_ERROR_NOT_SUPPORTED when another
// process made it.
CUresult import_from_descriptor(int descriptor, uint64_t* handle);

}  // namespace maya::cuda
