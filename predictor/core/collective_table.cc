#include "predictor/core/collective_table.h"

#include <algorithm>
#include <cmath>

#include "predictor/core/embedded_clusters.h"

namespace maya {
namespace {

// Collectives of this size fill every link.
constexpr double kFilling_bytes = 4294967296;

// Of equal links, those of the same device come first.
constexpr double kOtherDevice = 1e-3;

// How unlike the links of a measurement are to those wanted; 0: the same. Links inside a node are compared by kind,
// then by bandwidth; networks by kind, then by the bandwidth that a GPU has.
double distance_of_links(const Cluster& a, const Cluster& b) {
  double distance = 0;
  if ((a.nvlink_generation > 0) != (b.nvlink_generation > 0)) distance += 8;
  if (a.nvlink_switch != b.nvlink_switch) distance += 4;
  const double left = a.nvlink_generation > 0 ? a.nvlink_bandwidth : a.pcie_bandwidth;
  const double right = b.nvlink_generation > 0 ? b.nvlink_bandwidth : b.pcie_bandwidth;
  constexpr double kSame = 0.01;  // bandwidths this near are the same
  const double apart = std::abs(std::log(left / right));
  return distance + (apart < kSame ? 0 : apart) + (a.device == b.device ? 0 : kOtherDevice);
}

double network_per_gpu(const Cluster& cluster) { return cluster.node_network_bandwidth() / cluster.gpus_per_node; }

double distance_of_networks(const Cluster& a, const Cluster& b) {
  double distance = 0;
  // RDMA networks are alike; those that go through a host's software are not.
  const auto is_rdma = [](Network network) { return network == Network::kInfiniband || network == Network::kRoce; };
  if (a.network != b.network) distance += is_rdma(a.network) && is_rdma(b.network) ? 0.25 : 1;
  if (a.network_reduce != b.network_reduce) distance += 0.5;
  const double apart = std::abs(std::log(network_per_gpu(a) / network_per_gpu(b)));
  return distance + (apart < 0.01 ? 0 : apart);
}

// Collectives whose calibration may stand for another's, the most alike first.
double distance_of_kinds(CollectiveKind wanted, CollectiveKind measured) {
  if (wanted == CollectiveKind::kRecv) wanted = CollectiveKind::kSend;
  if (measured == CollectiveKind::kRecv) measured = CollectiveKind::kSend;
  if (wanted == measured) return 0;
  using K = CollectiveKind;
  const auto class_of = [](K kind) {
    switch (kind) {
      case K::kAllGather:
      case K::kReduceScatter:
        return 0;
      case K::kBroadcast:
      case K::kReduce:
        return 1;
      case K::kAllReduce:
        return 2;
      default:
        return 4;
    }
  };
  const int apart = std::abs(class_of(wanted) - class_of(measured));
  return 0.5 + apart;
}

}  // namespace

double CollectiveCurve::calibrated(double log_model) const {
  const auto above = std::lower_bound(knots.begin(), knots.end(), log_model,
                                      [](const Knot& knot, double value) { return knot.log_model < value; });
  if (above == knots.begin()) return log_model + knots.front().log_ns - knots.front().log_model;
  if (above == knots.end()) return log_model + knots.back().log_ns - knots.back().log_model;
  const Knot &low = *(above - 1), &high = *above;
  const double width = high.log_model - low.log_model;
  const double share = width > 0 ? (log_model - low.log_model) / width : 1;
  return low.log_ns + share * (high.log_ns - low.log_ns);
}

void CollectiveTable::set_parameter(std::string_view name, double value, double error) {
  for (CollectiveParameter& parameter : parameters_) {
    if (parameter.name != name) continue;
    parameter.value = value;
    parameter.error = error;
    return;
  }
  parameters_.push_back({std::string(name), value, error});
}

const CollectiveParameter* CollectiveTable::find_parameter(std::string_view name) const {
  for (const CollectiveParameter& parameter : parameters_)
    if (parameter.name == name) return &parameter;
  return nullptr;
}

double CollectiveTable::parameter(std::string_view name, double otherwise) const {
  const CollectiveParameter* const found = find_parameter(name);
  return found != nullptr ? found->value : otherwise;
}

void CollectiveTable::finish() {
  for (CollectiveFabric& fabric : fabrics_) {
    if (fabric.cluster.network != Network::kNone) fabric.link = link_of(fabric.cluster);
    for (CollectiveCurve& curve : fabric.curves) {
      std::sort(curve.knots.begin(), curve.knots.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
      for (CollectiveCurve::Knot& knot : curve.knots) {
        const CollectiveCall call{curve.kind, knot.bytes, curve.ranks, curve.nodes};
        knot.log_model =
            std::log(plan_collective(fabric.cluster, fabric.link, network_model(fabric.cluster.network), call).ns);
        knot.log_ns = std::log(knot.ns);
      }
      // Neighbours that fall are pooled to their mean until all grow (isotonic regression).
      struct Pool {
        double sum;
        size_t count;
        double mean() const { return sum / static_cast<double>(count); }
      };
      std::vector<Pool> pools;
      for (const CollectiveCurve::Knot& knot : curve.knots) {
        pools.push_back({knot.log_ns, 1});
        while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
          pools[pools.size() - 2].sum += pools.back().sum;
          pools[pools.size() - 2].count += pools.back().count;
          pools.pop_back();
        }
      }
      size_t next = 0;
      for (const Pool& pool : pools)
        for (size_t i = 0; i < pool.count; ++i) curve.knots[next++].log_ns = pool.mean();
    }
  }
}

struct CollectiveTable::Choice {
  const CollectiveFabric* fabric = nullptr;
  const CollectiveCurve* curve = nullptr;
  const CollectiveCurve* other = nullptr;  // of the same fabric and kind, on the other side of the rank count
  double kind = 0, links = 0;              // distances
};

CollectiveTable::Choice CollectiveTable::choose(const Cluster& cluster, const CollectiveCall& call) const {
  Choice best;
  double least = 1e300;
  const bool networked = call.nodes > 1;
  for (const CollectiveFabric& fabric : fabrics_) {
    if ((fabric.cluster.network != Network::kNone) != networked) continue;
    // A curve over the network says little about links inside of nodes, and the other way round.
    const double links =
        networked ? distance_of_networks(fabric.cluster, cluster) + 0.25 * distance_of_links(fabric.cluster, cluster)
                  : distance_of_links(fabric.cluster, cluster);
    for (const CollectiveCurve& curve : fabric.curves) {
      if (curve.knots.empty()) continue;
      const double kind = distance_of_kinds(call.kind, curve.kind);
      const double ranks = std::abs(std::log2(static_cast<double>(curve.ranks) / call.ranks));
      const double nodes = std::abs(std::log2(static_cast<double>(curve.nodes) / call.nodes));
      // The kind first, then the links, then the nearest ranks.
      const double distance = 3 * kind + 2 * links + 0.1 * ranks + 0.1 * nodes;
      if (distance >= least) continue;
      least = distance;
      best = {&fabric, &curve, nullptr, kind, links};
    }
  }
  if (best.curve == nullptr || best.curve->ranks == call.ranks || best.curve->nodes != call.nodes) return best;
  // The nearest curve on the other side of the rank count.
  const bool below = best.curve->ranks < call.ranks;
  for (const CollectiveCurve& curve : best.fabric->curves) {
    if (curve.kind != best.curve->kind || curve.nodes != best.curve->nodes || curve.knots.empty()) continue;
    if (below ? curve.ranks <= call.ranks : curve.ranks >= call.ranks) continue;
    const bool nearer =
        best.other == nullptr || (below ? curve.ranks < best.other->ranks : curve.ranks > best.other->ranks);
    if (nearer) best.other = &curve;
  }
  return best;
}

const LinkModel& CollectiveTable::link_of(const Cluster& cluster) const {
  static const LinkModel kDefault;
  const CollectiveFabric* nearest = nullptr;
  double least = 1e300;
  for (const CollectiveFabric& fabric : fabrics_) {
    if (fabric.cluster.network != Network::kNone) continue;
    const double distance = distance_of_links(fabric.cluster, cluster);
    if (distance >= least) continue;
    least = distance;
    nearest = &fabric;
  }
  return nearest == nullptr ? kDefault : nearest->link;
}

CollectiveEstimate CollectiveTable::estimate(const Cluster& cluster, const CollectiveCall& wanted) const {
  CollectiveCall call = wanted;
  if (cluster.network == Network::kNone) call.nodes = 1;
  CollectiveEstimate result;
  const Choice choice = choose(cluster, call);
  result.plan = plan_collective(cluster, link_of(cluster), network_model(cluster.network), call);
  // Collectives that work in another way than the measured one leave the model as it is.
  constexpr double kMostAlike = 2;
  const auto log_ns_of = [&](double model_ns) {
    const double log_model = std::log(model_ns);
    if (choice.curve == nullptr || choice.kind >= kMostAlike) return log_model;
    const double log_ns = choice.curve->calibrated(log_model);
    if (choice.other == nullptr) return log_ns;
    const double from = std::log(choice.curve->ranks), to = std::log(choice.other->ranks);
    const double share = (std::log(call.ranks) - from) / (to - from);
    return log_ns + share * (choice.other->calibrated(log_model) - log_ns);
  };
  result.distance = CollectiveDistance::kNone;
  if (choice.curve != nullptr) {
    const CollectiveCurve& curve = *choice.curve;
    result.fabric = choice.fabric;
    result.curve = choice.curve;
    const bool inside_sizes = call.bytes >= curve.knots.front().bytes && call.bytes <= curve.knots.back().bytes;
    const bool same_ranks = curve.ranks == call.ranks && curve.nodes == call.nodes;
    if (choice.links > 2 * kOtherDevice) {
      result.distance = CollectiveDistance::kOtherFabric;
    } else if (choice.kind > 0) {
      result.distance = CollectiveDistance::kOtherKind;
    } else if (!inside_sizes || (!same_ranks && choice.other == nullptr)) {
      result.distance = CollectiveDistance::kOutside;
    } else if (!same_ranks) {
      result.distance = CollectiveDistance::kOtherRanks;
    } else {
      const bool measured = std::any_of(curve.knots.begin(), curve.knots.end(),
                                        [&](const auto& knot) { return knot.bytes == call.bytes; });
      result.distance = choice.links > 0 ? CollectiveDistance::kOtherRanks
                        : measured       ? CollectiveDistance::kMeasured
                                         : CollectiveDistance::kOtherSize;
    }
  }
  static constexpr Provenance kProvenance[kCollectiveDistances] = {
      Provenance::kMeasured,     Provenance::kInterpolated, Provenance::kInterpolated, Provenance::kExtrapolated,
      Provenance::kExtrapolated, Provenance::kExtrapolated, Provenance::kAnalytic};
  Estimate& estimate = result.estimate;
  estimate.median_ns = std::max(std::exp(log_ns_of(result.plan.ns)), result.plan.bound_ns);
  apply_interval(result.distance, &estimate);
  estimate.low_ns = std::max(estimate.low_ns, result.plan.bound_ns);
  estimate.provenance = kProvenance[static_cast<int>(result.distance)];
  if (result.plan.link_bandwidth > 0) {
    CollectiveCall filling = call;
    filling.bytes = std::max(call.bytes, kFilling_bytes);
    const CollectivePlan plan = plan_collective(cluster, link_of(cluster), network_model(cluster.network), filling);
    const double filling_ns = std::max(std::exp(log_ns_of(plan.ns)), plan.bound_ns);
    result.link_share = std::min(1.0, call.bytes / estimate.median_ns * filling_ns / filling.bytes);
  }
  return result;
}

CollectiveEstimate estimate_collective(const device::DeviceProfile& profile, const Cluster& cluster,
                                       const CollectiveTable& table, const Work& work) {
  const CollectiveCall call = collective_call(work.shape);
  CollectiveEstimate result;
  Estimate& estimate = result.estimate;
  if (call.ranks > 1) {
    result = table.estimate(cluster, call);
  } else {
    // Read and written once, at the share of the peak that copies reach.
    constexpr double kCopyShare = 0.8;
    result.plan.ns = profile.kernel_floor_ns + 2 * call.bytes / (profile.memory_bandwidth * kCopyShare) * 1e9;
    estimate = {result.plan.ns, 0.75 * result.plan.ns, 1.35 * result.plan.ns, Provenance::kAnalytic};
  }
  if (work.guessed || work.rough) {
    estimate.provenance = work.guessed ? Provenance::kUnknown : Provenance::kAnalytic;
    estimate.low_ns = 0.25 * estimate.median_ns;
    estimate.high_ns = 4 * estimate.median_ns;
  }
  const double floor_ns = std::max(profile.kernel_floor_ns, result.plan.bound_ns);
  estimate.median_ns = std::max(estimate.median_ns, floor_ns);
  estimate.low_ns = std::max(estimate.low_ns, floor_ns);
  estimate.high_ns = std::max(estimate.high_ns, floor_ns);
  return result;
}

const CollectiveTable& builtin_collectives() {
  static const CollectiveTable* table = [] {
    auto* parsed = new CollectiveTable;
    std::string error;
    if (!parsed->parse(kEmbeddedCollectives, &error)) *parsed = CollectiveTable();
    return parsed;
  }();
  return *table;
}

}  // namespace maya
