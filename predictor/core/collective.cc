// Collectives and point-to-point transfers, first order: latency that grows with the ranks, and payload over the
// bandwidth of the slowest link of the path. Bus factors are those of nccl-tests' PERFORMANCE document; link
// efficiencies give the all-reduce bus bandwidths that public measurements show at 0.5 GiB and more: A100 190/215/228
// GB/s at 2/4/8 ranks, H100 315/347 at 2/4 and 437-467 with NVLS at 8.
#include <algorithm>
#include <cmath>

#include "predictor/core/families.h"

namespace maya::model {
namespace {

// One 400 Gb/s adapter a device; a cluster description will replace it.
constexpr double kNetworkBandwidth_bytes_per_s = 50e9;
constexpr double kNetworkEfficiency = 0.85;
// Through host memory, several devices to a bridge.
constexpr double kPcieEfficiency = 0.3;
// Fixed cost and cost of a step inside a node, by generation: medians of nccl-tests below 256 KiB.
constexpr double kLinkBase_ns[kGenerations] = {9000, 9000, 6000, 8500};
constexpr double kLinkStep_ns[kGenerations] = {1000, 1000, 700, 1000};
// Until this much went over the slowest link the pipeline fills: those bytes take this share longer.
constexpr double kRamp_bytes = 16 << 20;
constexpr double kRampShare = 0.8;
constexpr double kNetworkStep_ns = 6000;
// In-switch reduction carries each byte once instead of twice.
constexpr double kNvlsEfficiency = 1.02;
constexpr double kNvlsLeastRanks = 5;
constexpr double kNvlsLeast_bytes = 2 << 20;

struct Shape {
  double bus_factor;  // bytes over the slowest link for each payload byte
  double steps;
};

Shape shape_of(CollectiveKind kind, double ranks) {
  const double others = ranks - 1;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return {2 * others / ranks, 2 * std::ceil(std::log2(ranks))};
    // kBytes is what one rank sends in (NCCL's sendcount) for an all-gather, what it gets for a reduce-scatter.
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      return {others, others};
    case CollectiveKind::kAllToAll:
      return {others / ranks, others};
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
      return {1, std::ceil(std::log2(ranks))};
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      return {others, 1};
    case CollectiveKind::kSend:
    case CollectiveKind::kRecv:
      return {1, 1};
  }
  return {1, 1};
}

double ring_efficiency(double ranks) { return ranks <= 2 ? 0.66 : ranks <= 4 ? 0.74 : 0.78; }

}  // namespace

double collective_ns(const device::DeviceProfile& profile, const Work& work) {
  const OperationRecord& record = work.shape;
  const double bytes = static_cast<double>(record.get(Key::kBytes));
  const auto kind = static_cast<CollectiveKind>(record.get(Key::kCollective));
  double ranks = static_cast<double>(record.get(Key::kRanks));
  const double nodes = static_cast<double>(std::max<int64_t>(record.get(Key::kNodes), 1));
  const bool point_to_point = kind == CollectiveKind::kSend || kind == CollectiveKind::kRecv;
  if (point_to_point) ranks = 2;
  // A world of one: a copy on the device, or nothing.
  if (ranks <= 1) return profile.kernel_floor_ns + 2 * bytes / (profile.memory_bandwidth * 0.8) * 1e9;

  const Shape shape = shape_of(kind, ranks);
  const auto generation = static_cast<int>(generation_of(profile));
  const double latency =
      kLinkBase_ns[generation] + shape.steps * (nodes > 1 ? kNetworkStep_ns : kLinkStep_ns[generation]);
  double bandwidth = profile.nvlink_bandwidth > 0 ? profile.nvlink_bandwidth * ring_efficiency(ranks)
                                                  : profile.pcie_bandwidth * kPcieEfficiency;
  const double traffic = bytes * shape.bus_factor;
  if (nodes > 1) {
    // Every device of a node drives its own adapter, so a node's payload leaves over all of them.
    const double per_node = std::max(1.0, ranks / nodes);
    const double network = kNetworkBandwidth_bytes_per_s * kNetworkEfficiency * (point_to_point ? 1 : per_node);
    bandwidth = std::min(bandwidth, network);
  } else if (kind == CollectiveKind::kAllReduce && profile.compute_major >= 9 && profile.nvlink_bandwidth > 0 &&
             ranks >= kNvlsLeastRanks && bytes >= kNvlsLeast_bytes) {
    bandwidth = profile.nvlink_bandwidth * kNvlsEfficiency;
  }
  return latency + (traffic + kRampShare * std::min(traffic, kRamp_bytes)) / bandwidth * 1e9;
}

}  // namespace maya::model
