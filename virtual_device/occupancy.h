// How many blocks of a kernel fit on a multiprocessor: the formula of NVIDIA's CUDA Occupancy Calculator and of the
// public header cuda_occupancy.h, for compute capability 7.5 and later. Pure functions; thread safe.
#pragma once

#include <cstdint>

#include "virtual_device/kernel.h"
#include "virtual_device/profile.h"

namespace maya::device {

inline constexpr uint32_t kWarpThreads = 32;
// Registers are given to warps in units of 256, in each of the four partitions of a multiprocessor.
inline constexpr uint32_t kRegisterUnit = 256;
inline constexpr uint32_t kPartitions = 4;

// A kernel's needs and settings. Shared memory in bytes.
struct BlockNeeds {
  uint32_t threads = 1;    // of a block
  uint32_t registers = 0;  // per thread
  uint32_t static_shared_bytes = 0;
  uint64_t dynamic_shared_bytes = 0;
  uint32_t max_threads = 1024;            // the kernel's own limit
  int32_t max_dynamic_shared_bytes = -1;  // set by the program; -1: the default limit of 48 KiB in all
  int32_t carveout_percent = -1;          // preferred share of shared memory; -1: no preference
};

// Resident blocks on one multiprocessor; 0 when a block cannot run at all.
uint32_t active_blocks(const DeviceProfile& profile, const BlockNeeds& needs);

// Largest block that a kernel with so many registers per thread can be launched with, at most 1024 (65,536 registers a
// block).
uint32_t threads_by_registers(uint32_t registers);

// The block size with most resident threads and the number of blocks that fills the device with it.
// `dynamic_shared(threads)` gives the dynamic shared memory of a block size; `limit` is the largest block size wanted,
// 0 for none. As cuOccupancyMaxPotentialBlockSize: sizes are tried from the largest down in steps of a warp, the first
// best is taken.
template <typename DynamicShared>
void best_block(const DeviceProfile& profile, BlockNeeds needs, uint32_t limit, DynamicShared&& dynamic_shared,
                uint32_t* threads, uint32_t* blocks) {
  uint32_t largest = needs.max_threads < profile.threads_per_block ? needs.max_threads : profile.threads_per_block;
  if (limit != 0 && limit < largest) largest = limit;
  *threads = 0;
  *blocks = 0;
  uint32_t most_resident = 0;
  for (uint32_t aligned = (largest + kWarpThreads - 1) / kWarpThreads * kWarpThreads; aligned >= kWarpThreads;
       aligned -= kWarpThreads) {
    needs.threads = aligned < largest ? aligned : largest;
    needs.dynamic_shared_bytes = dynamic_shared(needs.threads);
    const uint32_t resident_blocks = active_blocks(profile, needs);
    if (resident_blocks * needs.threads > most_resident) {
      most_resident = resident_blocks * needs.threads;
      *threads = needs.threads;
      *blocks = resident_blocks * profile.multiprocessors;
    }
    if (most_resident == profile.threads_per_multiprocessor) return;
  }
}

// Dynamic shared memory that a block may use when `blocks` of them share a multiprocessor; 0 when they do not fit.
uint64_t available_dynamic_shared(const DeviceProfile& profile, const BlockNeeds& needs, uint32_t blocks);

// Clusters of `cluster_blocks` blocks that can be resident on the whole device. Blocks of a cluster share a graphics
// processing cluster (GPC) of profile.extra["multiprocessors_per_gpc"] multiprocessors, 16 where the profile does not
// say.
uint32_t active_clusters(const DeviceProfile& profile, const BlockNeeds& needs, uint32_t cluster_blocks);

}  // namespace maya::device
