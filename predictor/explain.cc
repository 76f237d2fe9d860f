#include "predictor/explain.h"

#include "predictor/core/limits.h"

namespace maya::predictor {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

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
  if (is_copy(cost.engine)) {
    e.bound = "transfer";
    return e;
  }
  Derivation derivation;
  estimator.estimate(cost.work, &derivation);
  e.sustained_factor = derivation.sustained_factor;
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
