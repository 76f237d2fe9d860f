#include "predictor/explain.h"

#include <algorithm>

#include "predictor/core/limits.h"
#include "predictor/numbers.h"

namespace maya::predictor {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

std::string of_curve(const CollectiveCurve& curve) {
  return std::string(collective_name(curve.kind)) + " of " + std::to_string(curve.ranks) + " ranks" +
         (curve.nodes > 1 ? " on " + std::to_string(curve.nodes) + " nodes" : "");
}

void explain_collective(const CollectiveEstimate& collective, const Cluster& cluster, double bytes, Explanation* e) {
  const CollectivePlan& plan = collective.plan;
  e->bound = plan.fabric == Fabric::kNetwork  ? "network"
             : plan.fabric == Fabric::kNvlink ? "links of the node"
                                              : "memory";
  e->model = std::string(algorithm_name(plan.algorithm)) + ", " + std::string(protocol_name(plan.protocol)) + ", on " +
             cluster.name + ": " + fixed(plan.wire_bytes / 1e6, 3) + " MB of a GPU at " +
             fixed(plan.link_bandwidth / 1e9, 1) + " GB/s, structure alone " + fixed(plan.ns / 1e3, 2) +
             " us, at least " + fixed(plan.bound_ns / 1e3, 2) + " us";
  if (collective.curve == nullptr) return;
  const CollectiveCurve& curve = *collective.curve;
  e->model += "; calibrated by " + of_curve(curve) + " on " + collective.fabric->cluster.name;
  // The measured sizes to both sides.
  const auto above = std::lower_bound(curve.knots.begin(), curve.knots.end(), bytes,
                                      [](const auto& knot, double value) { return knot.bytes < value; });
  for (auto knot = above == curve.knots.begin() ? above : above - 1; knot != curve.knots.end(); ++knot) {
    e->nearest.push_back({of_curve(curve) + ", " + fixed(knot->bytes, 0) + " bytes", knot->ns});
    if (knot->bytes >= bytes) break;
  }
}

}  // namespace

Explanation explain(const OperationCost& cost, const Estimator& estimator) {
  const device::DeviceProfile& target = estimator.profile();
  Explanation e;
  e.name = cost.name;
  e.family = cost.work.family;
  for (int i = 0; i < cost.work.shape.count; ++i) {
    const OperationRecord::Field& field = cost.work.shape.fields[i];
    e.shape.emplace_back(key_name(static_cast<uint32_t>(field.key)), field.value);
  }
  e.type = cost.work.type;
  e.flops = cost.work.flops;
  e.read_bytes = cost.work.read_bytes;
  e.written_bytes = cost.work.written_bytes;
  e.estimate = cost.estimate;
  e.scale = cost.scale;
  e.slowest_device = cost.slowest_device;
  if (is_copy(cost.engine)) {
    e.bound = "transfer";
    return e;
  }
  Derivation derivation;
  estimator.estimate(cost.work, &derivation);
  e.sustained_factor = derivation.sustained_factor;
  if (is_collective(cost.work.family)) {
    explain_collective(derivation.collective, estimator.cluster(), collective_call(cost.work.shape).bytes, &e);
    return e;
  }
  if (derivation.model != nullptr) {
    constexpr size_t kMostNearest = 3;
    e.model = describe_model(*derivation.model);
    e.nearest = nearest_measurements(estimator, *derivation.model, cost.work, kMostNearest);
  }
  const double peak = model::peak_of(target, cost.work.type, cost.work.tensor_cores);
  if (peak > 0) e.compute_ns = cost.work.flops / peak * kNanosecondsPerSecond;
  if (target.memory_bandwidth > 0)
    e.memory_ns = (e.read_bytes + e.written_bytes) / target.memory_bandwidth * kNanosecondsPerSecond;
  e.floor_ns = target.kernel_floor_ns;
  e.bound = e.compute_ns >= e.memory_ns && e.compute_ns >= e.floor_ns ? "compute"
            : e.memory_ns >= e.floor_ns                               ? "memory"
                                                                      : "launch floor";
  return e;
}

}  // namespace maya::predictor
