#include "predictor/core/collective.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace maya {
namespace {

// Bytes on the wire for a byte of data.
constexpr double kProtocolBytes[kCollectiveProtocols] = {2, 128.0 / 120, 1};

// What one algorithm asks of the links, for one collective.
struct Demand {
  double link_bytes = 0;     // of a GPU over NVLink or PCIe, one direction
  double local_bytes = 0;    // that a GPU copies or adds
  double network_bytes = 0;  // of a GPU's share of its node's adapters
  double link_steps = 0, network_steps = 0;
};

class Planner {
 public:
  Planner(const Cluster& cluster, const LinkModel& link, const NetworkModel& network, const CollectiveCall& call)
      : cluster_(cluster),
        link_(link),
        network_(network),
        call_(call),
        ranks_(call.ranks),
        nodes_(cluster.network == Network::kNone ? 1 : std::clamp<double>(call.nodes, 1, call.ranks)),
        per_node_(std::max(1.0, ranks_ / nodes_)),
        link_bandwidth_(cluster.nvlink_bandwidth > 0 ? cluster.nvlink_bandwidth : cluster.pcie_bandwidth),
        network_bandwidth_(nodes_ > 1 ? cluster.node_network_bandwidth() / cluster.gpus_per_node : 0) {
    plan_.ns = std::numeric_limits<double>::infinity();
  }

  CollectivePlan plan() {
    switch (call_.kind) {
      case CollectiveKind::kAllReduce:
        all_reduce();
        break;
      case CollectiveKind::kAllGather:
      case CollectiveKind::kReduceScatter:
        gathering();
        break;
      case CollectiveKind::kBroadcast:
      case CollectiveKind::kReduce:
        from_root();
        break;
      case CollectiveKind::kAllToAll:
      case CollectiveKind::kGather:
      case CollectiveKind::kScatter:
      case CollectiveKind::kSend:
      case CollectiveKind::kRecv:
        pairwise();
        break;
    }
    plan_.ns = std::max(plan_.ns, plan_.bound_ns);
    return plan_;
  }

 private:
  double bytes() const { return call_.bytes; }
  double others() const { return ranks_ - 1; }

  void all_reduce() {
    const double ring = 2 * others() / ranks_ * bytes();
    consider(CollectiveAlgorithm::kRing, {ring, (2 * ranks_ - 1) / ranks_ * bytes(), ring / per_node_,
                                          2 * (ranks_ - nodes_), nodes_ > 1 ? 2 * (nodes_ - 1) : 0});
    const bool reducing_switch = cluster_.nvlink_switch_reduce && per_node_ > kNvlsMoreThanRanks;
    // A node of the double tree sends half of the data up twice and down once for each child; two nodes have one child
    // between them, three have two.
    const double tree = std::min(2.0, nodes_ / 2) * bytes() / per_node_;
    if (nodes_ > 1) {
      const double depth = 2 * std::ceil(std::log2(nodes_));
      consider(CollectiveAlgorithm::kTree,
               {per_node_ > 1 ? 2 * bytes() : 0, 2 * bytes(), tree, 2 * (per_node_ - 1), depth});
      if (reducing_switch) consider(CollectiveAlgorithm::kNvls, {switched(), 0, tree, 2, depth});
    } else if (reducing_switch) {
      consider(CollectiveAlgorithm::kNvls, {switched(), 0, 0, 2, 0});
    }
    const double inside = reducing_switch ? switched() : 2 * (per_node_ - 1) / per_node_ * bytes();
    const double between =
        cluster_.network_reduce ? bytes() / per_node_ : 2 * (nodes_ - 1) / nodes_ * bytes() / per_node_;
    bound(per_node_ > 1 ? inside : 0, between);
  }

  // Every byte crosses the switch once to be added and once to be spread, and a GPU holds its own share.
  double switched() const { return (1 + 1 / per_node_) * bytes(); }

  void gathering() {
    const double ring = others() / ranks_ * bytes();
    consider(CollectiveAlgorithm::kRing,
             {ring, bytes(), ring / per_node_, ranks_ - nodes_, nodes_ > 1 ? nodes_ - 1 : 0});
    bound((per_node_ - 1) / ranks_ * bytes(), (ranks_ - per_node_) / ranks_ * bytes() / per_node_);
  }

  // The pipeline passes every rank, so its length counts for the first byte only.
  void from_root() {
    consider(CollectiveAlgorithm::kRing,
             {bytes(), bytes(), bytes() / per_node_, ranks_ - nodes_, nodes_ > 1 ? nodes_ - 1 : 0});
    bound(per_node_ > 1 ? bytes() : 0, bytes() / per_node_);
  }

  void pairwise() {
    const double inside = per_node_ - 1, outside = ranks_ - per_node_;
    const bool one_pair = call_.kind == CollectiveKind::kSend || call_.kind == CollectiveKind::kRecv;
    const bool rooted = call_.kind == CollectiveKind::kGather || call_.kind == CollectiveKind::kScatter;
    // A message is a rank's share; a root moves one for every other rank, over its own adapter. Messages go out side by
    // side, several channels at a time.
    constexpr double kMessagesTogether = 8;
    const double message = one_pair ? bytes() : bytes() / ranks_;
    Demand demand;
    demand.link_bytes = inside * message;
    demand.network_bytes = outside * message;
    demand.local_bytes = one_pair ? bytes() : rooted ? inside * message + message : bytes();
    demand.link_steps = inside > 0 ? 1 + (inside - 1) / kMessagesTogether : 0;
    demand.network_steps = outside > 0 ? 1 + (outside - 1) / kMessagesTogether : 0;
    consider(CollectiveAlgorithm::kPairwise, demand);
    bound(demand.link_bytes, demand.network_bytes);
  }

  static double stage_ns(double wire, double bandwidth, double share, double ramp_bytes) {
    return wire <= 0 ? 0 : (wire + std::sqrt(wire * ramp_bytes)) / (bandwidth * share) * 1e9;
  }

  void consider(CollectiveAlgorithm algorithm, const Demand& demand) {
    const bool pairs = algorithm == CollectiveAlgorithm::kPairwise;
    const double share = algorithm == CollectiveAlgorithm::kNvls ? link_.switch_share
                         : pairs                                 ? link_.pair_share
                                                                 : link_.wire_share;
    for (int p = 0; p < kCollectiveProtocols; ++p) {
      // The switch reduces whole vectors: Simple only.
      if (algorithm == CollectiveAlgorithm::kNvls && p != static_cast<int>(CollectiveProtocol::kSimple)) continue;
      const double blow_up = kProtocolBytes[p];
      const double inside = stage_ns(demand.link_bytes * blow_up, link_bandwidth_, share, link_.ramp_bytes) +
                            stage_ns(demand.local_bytes * blow_up, link_bandwidth_, link_.local_share, 0);
      const double outside = nodes_ > 1
                                 ? stage_ns(demand.network_bytes * blow_up, network_bandwidth_,
                                            pairs ? network_.pair_share : network_.wire_share, network_.ramp_bytes)
                                 : 0;
      const double latency = link_.floor_ns + (nodes_ > 1 ? network_.floor_ns : 0) +
                             demand.link_steps * link_.step_ns[p] +
                             demand.network_steps * network_.step_share * cluster_.network_latency_ns;
      const double ns = latency + std::max(inside, outside);
      if (ns >= plan_.ns) continue;
      plan_.algorithm = algorithm;
      plan_.protocol = static_cast<CollectiveProtocol>(p);
      plan_.ns = ns;
      plan_.fabric = outside > inside || demand.link_bytes <= 0 ? Fabric::kNetwork : Fabric::kNvlink;
      const bool network = plan_.fabric == Fabric::kNetwork;
      plan_.wire_bytes = network ? demand.network_bytes : demand.link_bytes;
      plan_.link_bandwidth = network ? network_bandwidth_ : link_bandwidth_;
    }
  }

  // Least bytes of a GPU inside its node and over its share of the adapters.
  void bound(double link_bytes, double network_bytes) {
    plan_.bound_ns = link_bytes / link_bandwidth_ * 1e9;
    if (nodes_ > 1) plan_.bound_ns = std::max(plan_.bound_ns, network_bytes / network_bandwidth_ * 1e9);
  }

  // NCCL leaves the switch's reduction to larger groups: data/README.md, "NVLS starts above 4 GPUs".
  static constexpr double kNvlsMoreThanRanks = 4;

  const Cluster& cluster_;
  const LinkModel& link_;
  const NetworkModel& network_;
  const CollectiveCall& call_;
  const double ranks_, nodes_, per_node_;
  const double link_bandwidth_, network_bandwidth_;
  CollectivePlan plan_;
};

}  // namespace

std::string_view algorithm_name(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::kCopy:
      return "copy";
    case CollectiveAlgorithm::kRing:
      return "ring";
    case CollectiveAlgorithm::kTree:
      return "tree";
    case CollectiveAlgorithm::kNvls:
      return "NVLS";
    case CollectiveAlgorithm::kPairwise:
      return "pairwise";
  }
  return "copy";
}

std::string_view protocol_name(CollectiveProtocol protocol) {
  switch (protocol) {
    case CollectiveProtocol::kLl:
      return "LL";
    case CollectiveProtocol::kLl128:
      return "LL128";
    case CollectiveProtocol::kSimple:
      return "Simple";
  }
  return "Simple";
}

std::string_view collective_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all_reduce";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kReduce:
      return "reduce";
    case CollectiveKind::kAllGather:
      return "all_gather";
    case CollectiveKind::kReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::kSend:
      return "send";
    case CollectiveKind::kRecv:
      return "recv";
    case CollectiveKind::kAllToAll:
      return "all_to_all";
    case CollectiveKind::kGather:
      return "gather";
    case CollectiveKind::kScatter:
      return "scatter";
  }
  return "all_reduce";
}

CollectiveCall collective_call(const OperationRecord& operation) {
  CollectiveCall call;
  const int64_t kind = operation.get(Key::kCollective);
  if (kind >= 0 && kind < kCollectiveKinds) call.kind = static_cast<CollectiveKind>(kind);
  call.bytes = static_cast<double>(std::max<int64_t>(operation.get(Key::kBytes), 0));
  constexpr int64_t kMostRanks = 1 << 24;
  call.ranks = static_cast<uint32_t>(std::clamp<int64_t>(operation.get(Key::kRanks), 1, kMostRanks));
  switch (call.kind) {
    case CollectiveKind::kSend:
    case CollectiveKind::kRecv:
      call.ranks = 2;
      break;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      call.bytes *= call.ranks;
      break;
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
      break;
  }
  call.nodes = static_cast<uint32_t>(std::clamp<int64_t>(operation.get(Key::kNodes), 1, call.ranks));
  return call;
}

CollectivePlan plan_collective(const Cluster& cluster, const LinkModel& link, const NetworkModel& network,
                               const CollectiveCall& call) {
  if (call.ranks <= 1) return {};
  return Planner(cluster, link, network, call).plan();
}

}  // namespace maya
