#include "virtual_device/occupancy.h"

#include <algorithm>
#include <climits>
#include <span>

namespace maya::device {

namespace {

constexpr uint64_t kSharedUnit_bytes = 128;  // granularity of shared memory from compute capability 8.0 on
constexpr uint64_t kSharedUnitBefore8_bytes = 256;
constexpr uint32_t kMaximumRegisters = 255;  // per thread
constexpr uint32_t kDefaultGpcMultiprocessors = 16;

constexpr uint64_t kKibibyte = 1024;
// Possible sizes of the shared part of the L1 cache, KiB (CUDA programming guide, "Compute capabilities").
constexpr uint64_t kCapacities_7_5[] = {32, 64};
constexpr uint64_t kCapacities_8_0[] = {0, 8, 16, 32, 64, 100, 132, 164};
constexpr uint64_t kCapacities_8_6[] = {0, 8, 16, 32, 64, 100};
constexpr uint64_t kCapacities_9_0[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};

std::span<const uint64_t> shared_capacities(const DeviceProfile& profile) {
  if (profile.compute_major == 7) return kCapacities_7_5;
  if (profile.compute_major == 8 && (profile.compute_minor == 0 || profile.compute_minor == 7)) return kCapacities_8_0;
  if (profile.compute_major == 8 || profile.compute_major == 12) return kCapacities_8_6;
  return kCapacities_9_0;
}

// The smallest possible shared capacity that holds `bytes`.
uint64_t shared_capacity_for(const DeviceProfile& profile, uint64_t bytes) {
  for (const uint64_t capacity : shared_capacities(profile))
    if (capacity * kKibibyte >= bytes) return capacity * kKibibyte;
  return profile.shared_bytes_per_multiprocessor;
}

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

uint64_t shared_unit(const DeviceProfile& profile) {
  return profile.compute_major >= 8 ? kSharedUnit_bytes : kSharedUnitBefore8_bytes;
}

// Bytes of shared memory that the driver keeps for itself in every block, from compute capability 8.0 on.
uint64_t reserved_shared(const DeviceProfile& profile) {
  return profile.compute_major >= 8 ? profile.reserved_shared_bytes_per_block : 0;
}

// Most shared memory that one block may have, with the reserved part.
uint64_t block_shared_limit(const DeviceProfile& profile, const BlockNeeds& needs) {
  const bool opted_in = needs.max_dynamic_shared_bytes >= 0 &&
                        needs.static_shared_bytes + static_cast<uint64_t>(needs.max_dynamic_shared_bytes) >
                            profile.shared_bytes_per_block;
  return (opted_in ? profile.shared_bytes_per_block_optin : profile.shared_bytes_per_block) + reserved_shared(profile);
}

uint32_t blocks_by_registers(const DeviceProfile& profile, const BlockNeeds& needs, uint32_t warps) {
  if (needs.registers == 0) return UINT32_MAX;
  if (needs.registers > kMaximumRegisters) return 0;
  const uint64_t warp_registers = round_up(static_cast<uint64_t>(needs.registers) * kWarpThreads, kRegisterUnit);
  // The launch check takes every partition to hold as many warps as the fullest one.
  if (warp_registers * round_up(warps, kPartitions) > profile.registers_per_block) return 0;
  const uint64_t partition_warps = profile.registers_per_multiprocessor / kPartitions / warp_registers;
  return static_cast<uint32_t>(partition_warps * kPartitions / warps);
}

uint32_t blocks_by_shared(const DeviceProfile& profile, const BlockNeeds& needs) {
  const uint64_t wanted = needs.static_shared_bytes + reserved_shared(profile) + needs.dynamic_shared_bytes;
  const uint64_t allocated = round_up(wanted, shared_unit(profile));
  if (needs.max_dynamic_shared_bytes >= 0 &&
      needs.dynamic_shared_bytes > static_cast<uint64_t>(needs.max_dynamic_shared_bytes))
    return 0;
  if (allocated > block_shared_limit(profile, needs)) return 0;
  if (allocated == 0) return UINT32_MAX;
  uint64_t capacity = profile.shared_bytes_per_multiprocessor;
  if (needs.carveout_percent >= 0) {
    const uint64_t preferred = shared_capacity_for(profile, capacity * std::min(needs.carveout_percent, 100) / 100);
    capacity = preferred >= allocated ? preferred : shared_capacity_for(profile, allocated);
  }
  return static_cast<uint32_t>(capacity / allocated);
}

}  // namespace

uint32_t active_blocks(const DeviceProfile& profile, const BlockNeeds& needs) {
  if (needs.threads == 0 || needs.threads > profile.threads_per_block || needs.threads > needs.max_threads) return 0;
  const uint32_t warps = (needs.threads + kWarpThreads - 1) / kWarpThreads;
  const uint32_t by_warps = profile.threads_per_multiprocessor / kWarpThreads / warps;
  return std::min({by_warps, profile.blocks_per_multiprocessor, blocks_by_registers(profile, needs, warps),
                   blocks_by_shared(profile, needs)});
}

uint32_t threads_by_registers(uint32_t registers) {
  constexpr uint32_t kMaximumThreads = 1024;
  constexpr uint32_t kBlockRegisters = 65536;
  if (registers == 0) return kMaximumThreads;
  const uint32_t warp_registers = static_cast<uint32_t>(round_up(registers * kWarpThreads, kRegisterUnit));
  const uint32_t warps = kBlockRegisters / warp_registers / kPartitions * kPartitions;
  return std::min(kMaximumThreads, warps * kWarpThreads);
}

uint64_t available_dynamic_shared(const DeviceProfile& profile, const BlockNeeds& needs, uint32_t blocks) {
  if (blocks == 0) return 0;
  const uint64_t limit = block_shared_limit(profile, needs);
  uint64_t capacity = profile.shared_bytes_per_multiprocessor;
  if (blocks == 1) {
    capacity = limit;
  } else if (needs.carveout_percent >= 0) {
    capacity = shared_capacity_for(profile, capacity * std::min(needs.carveout_percent, 100) / 100);
  }
  const uint64_t unit = shared_unit(profile);
  const uint64_t share = std::min(capacity / blocks / unit * unit, limit);
  const uint64_t used = needs.static_shared_bytes + reserved_shared(profile);
  if (share < used) return 0;
  const uint64_t settable =
      needs.max_dynamic_shared_bytes >= 0
          ? static_cast<uint64_t>(needs.max_dynamic_shared_bytes)
          : profile.shared_bytes_per_block - std::min(profile.shared_bytes_per_block, needs.static_shared_bytes);
  return std::min(share - used, settable);
}

uint32_t active_clusters(const DeviceProfile& profile, const BlockNeeds& needs, uint32_t cluster_blocks) {
  if (cluster_blocks == 0) return 0;
  const uint32_t resident = active_blocks(profile, needs);
  if (resident == 0) return 0;
  const auto configured = profile.extra.find("multiprocessors_per_gpc");
  const uint32_t gpc = configured == profile.extra.end()
                           ? kDefaultGpcMultiprocessors
                           : static_cast<uint32_t>(std::clamp<int64_t>(configured->second, 1, 1024));
  // Each GPC holds whole clusters only; the last one has what is left over.
  uint32_t clusters = 0;
  for (uint32_t left = profile.multiprocessors; left > 0;) {
    const uint32_t here = std::min(left, gpc);
    clusters += here * resident / cluster_blocks;
    left -= here;
  }
  return clusters;
}

}  // namespace maya::device
