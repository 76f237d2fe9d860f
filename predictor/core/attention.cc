// Fused attention. A block takes kQueryTile queries of one head and walks over the keys; each walk costs its
// multiply-adds at the implementation's share of peak plus a prologue worth some keys, and a causal walk still computes
// the whole diagonal tile. Shares of peak are the plateaus of FlashAttention's published throughput charts (forward and
// backward, A100 and H100: FlashAttention-2, FlashAttention-3, cuDNN) and, for L40S and B200, of public measurements of
// prefill attention (aiconfigurator).
#include <algorithm>
#include <cmath>

#include "predictor/core/families.h"

namespace maya::model {
namespace {

struct Share {
  double d64, d128, d256;  // by head dimension
};
struct Shares {
  Share forward, backward;
};

constexpr Shares kBest[kGenerations] = {
    {{0.60, 0.68, 0.62}, {0.55, 0.62, 0.52}},  // Ampere
    {{0.42, 0.52, 0.45}, {0.36, 0.45, 0.38}},  // Ada
    {{0.48, 0.63, 0.70}, {0.45, 0.55, 0.50}},  // Hopper
    {{0.34, 0.55, 0.60}, {0.32, 0.45, 0.42}},  // Blackwell
};
// FlashAttention-2 uses mma.sync, which reaches little more than a third of Hopper's peak and less of Blackwell's.
constexpr Shares kFlashAttention2[kGenerations] = {
    kBest[0],
    kBest[1],
    {{0.33, 0.38, 0.33}, {0.295, 0.33, 0.28}},
    {{0.18, 0.20, 0.18}, {0.16, 0.18, 0.15}},
};
// CUTLASS memory-efficient attention against FlashAttention-2: geometric mean of the ratios of xformers' bars in the
// same charts (A100, forward and backward together; 12 bars each, 1.7 to 2.5 and 1.7 to 2.1). FlashAttention 1, of the
// same generation, is charted on the H100 as well, at the same ratio as on the A100 there (2.3 from 2,048 keys on).
constexpr double kMemoryEfficientSlowdown_d64 = 2.16;
constexpr double kMemoryEfficientSlowdown_d128 = 1.94;

constexpr double kQueryTile = 128;
constexpr double kPrologueKeys = 90;
constexpr double kCausalImbalance = 0.94;
constexpr double kFloor_ns = 4000;
constexpr double kMemoryEfficiency = 0.8;
constexpr double kBackwardToForwardFlops = 2.5;

double share_of(const Share& share, double head_dim) {
  if (head_dim <= 64) return share.d64 * std::max(head_dim, 16.0) / 64;
  if (head_dim <= 128) return share.d64 + (share.d128 - share.d64) * (head_dim - 64) / 64;
  return share.d128 + (share.d256 - share.d128) * (std::min(head_dim, 256.0) - 128) / 128;
}

}  // namespace

double memory_efficient_slowdown(double head_dim) {
  const double towards_128 = std::clamp((head_dim - 64) / 64, 0.0, 1.0);
  return kMemoryEfficientSlowdown_d64 + (kMemoryEfficientSlowdown_d128 - kMemoryEfficientSlowdown_d64) * towards_128;
}

double attention_ns(const device::DeviceProfile& profile, const Work& work) {
  const OperationRecord& shape = work.shape;
  const auto generation = static_cast<int>(generation_of(profile));
  const auto implementation = static_cast<Implementation>(shape.get(Key::kImplementation));
  const bool backward = shape.get(Key::kDirection) == 1;
  const bool causal = shape.get(Key::kCausal) != 0;
  const double batch = static_cast<double>(std::max<int64_t>(shape.get(Key::kBatch), 1));
  const double heads = static_cast<double>(std::max<int64_t>(shape.get(Key::kHeads), 1));
  const double queries = static_cast<double>(std::max<int64_t>(shape.get(Key::kSeqQ), 1));
  const double keys = static_cast<double>(std::max<int64_t>(shape.get(Key::kSeqKv), 1));
  const double head_dim = static_cast<double>(std::max<int64_t>(shape.get(Key::kHeadDim), 1));

  const Shares& shares = (implementation == Implementation::kBest ? kBest : kFlashAttention2)[generation];
  double share = share_of(backward ? shares.backward : shares.forward, head_dim);
  if (implementation == Implementation::kMemoryEfficient) share /= memory_efficient_slowdown(head_dim);
  if (causal) share *= kCausalImbalance;

  // Average length of a walk. Of a causal one: the cached prefix, half the rest and half the diagonal tile.
  double walk = keys;
  if (causal) walk = std::max(keys - queries, 0.0) + std::min(keys, queries) / 2 + kQueryTile / 2;
  walk = std::min(walk, keys) + kPrologueKeys;
  const double tile = std::min(queries, kQueryTile);
  const double blocks = batch * heads * std::ceil(queries / kQueryTile);
  const double waves = std::max(1.0, blocks / profile.multiprocessors);
  double flops_per_wave = 4 * std::max(tile, 64.0) * head_dim * walk;
  if (backward) flops_per_wave *= kBackwardToForwardFlops;
  const double peak = peak_of(profile, work.type, work.tensor_cores) / profile.multiprocessors;
  const double compute = waves * flops_per_wave / (peak * share) * 1e9;
  const double memory = bytes_of(work) / (profile.memory_bandwidth * kMemoryEfficiency) * 1e9;
  return kFloor_ns + std::max(compute, memory);
}

}  // namespace maya::model
