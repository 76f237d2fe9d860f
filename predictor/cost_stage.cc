#include "predictor/cost_stage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "predictor/core/kernel_name.h"
#include "predictor/numbers.h"
#include "virtual_device/occupancy.h"

namespace maya::predictor {
namespace {

using trace::EventKind;

// Share of the multiprocessors that a grid reaches: one block a multiprocessor first.
uint32_t grid_width_permille(const uint32_t grid[3], const device::DeviceProfile& target) {
  if (target.multiprocessors == 0) return kWholeDevice_permille;
  const double blocks = static_cast<double>(grid[0]) * grid[1] * grid[2];
  const double share = blocks / target.multiprocessors;
  return share >= 1 ? kWholeDevice_permille : std::max(1u, static_cast<uint32_t>(share * kWholeDevice_permille));
}

// Blocks of the grid over those that are resident at once.
double waves_of(const LaunchView& view, const device::DeviceProfile& target) {
  device::BlockNeeds needs = block_needs(view);
  needs.threads = std::min<uint32_t>(needs.threads, target.threads_per_block);
  const double resident = static_cast<double>(device::active_blocks(target, needs)) * target.multiprocessors;
  const double blocks = static_cast<double>(view.grid[0]) * view.grid[1] * view.grid[2];
  return resident > 0 ? blocks / resident : 0;
}

Engine engine_of(Family family) {
  return family == Family::kCollective || family == Family::kPointToPoint ? Engine::kCommunication : Engine::kCompute;
}

void estimate_work(const Estimator& target, OperationCost* cost) {
  Derivation derivation;
  cost->estimate = target.estimate(cost->work, &derivation);
  cost->engine = engine_of(cost->work.family);
  if (cost->engine != Engine::kCommunication) return;
  cost->fabric = derivation.collective.plan.fabric;
  const double share = std::clamp(derivation.collective.link_share, 0.0, 1.0);
  cost->link_share_permille = static_cast<uint32_t>(share * kWholeDevice_permille);
}

// Of a trace, so any number may be anything.
device::KernelWork counted_work(const proto::KernelWork& from) {
  const auto sane = [](double value) { return std::isfinite(value) ? std::max(value, 0.0) : 0.0; };
  device::KernelWork work;
  work.read_bytes = sane(from.read_bytes());
  work.written_bytes = sane(from.written_bytes());
  work.requested_bytes = sane(from.requested_bytes());
  work.instructions = sane(from.instructions());
  work.functions = sane(from.functions());
  work.flops = {sane(from.half_flops()), sane(from.tf32_flops()), sane(from.eight_bit_flops()),
                sane(from.four_bit_flops()), sane(from.double_flops())};
  work.uncertainty = std::min(sane(from.uncertainty()), 1.0);
  return work;
}

OperationCost cost_of_launch(const trace::LoadedTrace& trace, const trace::Configuration& configuration,
                             const Estimator& target) {
  OperationCost cost;
  LaunchView view;
  if (configuration.kernel < trace.kernels.size()) {
    const trace::Kernel& kernel = trace.kernels[configuration.kernel];
    view.mangled_name = kernel.name;
    view.registers = kernel.registers;
    view.static_shared_bytes = kernel.static_shared_bytes;
    view.parameter_count = static_cast<uint32_t>(kernel.parameter_sizes.size());
  }
  cost.name = view.mangled_name.empty() ? "(kernel without a name)" : model::demangle(view.mangled_name);
  std::copy_n(configuration.grid, 3, view.grid);
  std::copy_n(configuration.block, 3, view.block);
  view.dynamic_shared_bytes = configuration.dynamic_shared_bytes;
  std::vector<LaunchView::Scalar> scalars;
  for (const auto& scalar : configuration.scalars) scalars.push_back({scalar.offset, scalar.size, scalar.value});
  view.scalars = scalars.data();
  view.scalar_count = static_cast<uint32_t>(scalars.size());

  device::KernelWork counted;
  if (configuration.work) {
    counted = counted_work(*configuration.work);
    view.counted = &counted;
  }
  cost.work = configuration.operation < trace.operations.size()
                  ? work_of(trace.operations[configuration.operation].record)
                  : work_of(view, cost.name);
  estimate_work(target, &cost);
  cost.width_permille = grid_width_permille(configuration.grid, target.profile());
  cost.waves = waves_of(view, target.profile());
  cost.kind = mix(1, cost.name.data(), cost.name.size());
  cost.identity = cost.kind;
  for (int i = 0; i < 3; ++i) cost.identity = mix(mix(cost.identity, view.grid[i]), view.block[i]);
  for (const auto& scalar : scalars) cost.identity = mix(mix(cost.identity, scalar.offset), scalar.value);
  return cost;
}

OperationCost cost_of_operation(const trace::Operation& operation, uint32_t nodes, const Estimator& target) {
  OperationCost cost;
  cost.name = operation.record.api != nullptr && *operation.record.api != 0 ? operation.record.api
                                                                            : "(library call without a name)";
  OperationRecord record = operation.record;
  if (nodes != 0) {
    record.clear(Key::kNodes);
    record.set(Key::kNodes, nodes);
  }
  cost.work = work_of(record);
  estimate_work(target, &cost);
  cost.kind = mix(mix(2, cost.name.data(), cost.name.size()), static_cast<uint64_t>(operation.record.family));
  cost.identity = cost.kind;
  for (int i = 0; i < operation.record.count; ++i) {
    const OperationRecord::Field& field = operation.record.fields[i];
    // Numbers that count calls up differ from step to step.
    if (field.key == Key::kSequence || field.key == Key::kGroupCall) continue;
    cost.identity = mix(mix(cost.identity, static_cast<uint64_t>(field.key)), static_cast<uint64_t>(field.value));
  }
  return cost;
}

OperationCost cost_of_copy(const proto::Copy& copy, const Estimator& target) {
  OperationCost cost;
  const char* host = copy.pageable() ? "Pageable" : "Pinned";
  switch (copy.kind()) {
    case proto::Copy::HOST_TO_HOST:
      cost.name = "Memcpy HtoH (Pageable -> Pageable)";
      cost.engine = Engine::kHost;
      break;
    case proto::Copy::HOST_TO_DEVICE:
      cost.name = std::string("Memcpy HtoD (") + host + " -> Device)";
      cost.engine = Engine::kCopyIn;
      break;
    case proto::Copy::DEVICE_TO_HOST:
      cost.name = std::string("Memcpy DtoH (Device -> ") + host + ")";
      cost.engine = Engine::kCopyOut;
      break;
    case proto::Copy::PEER:
      cost.name = "Memcpy PtoP (Device -> Device)";
      cost.engine = Engine::kCommunication;
      break;
    default:
      cost.name = "Memcpy DtoD (Device -> Device)";
      break;
  }
  cost.work.family = Family::kCopy;
  cost.work.read_bytes = static_cast<double>(copy.bytes());
  cost.work.written_bytes = static_cast<double>(copy.bytes());
  cost.estimate = target.estimate_copy(copy.kind(), copy.bytes(), copy.pageable());
  cost.kind = mix(3, cost.name.data(), cost.name.size());
  cost.identity = mix(cost.kind, copy.bytes());
  return cost;
}

OperationCost cost_of_fill(const proto::Fill& fill, const Estimator& target) {
  OperationCost cost;
  cost.name = "Memset (Device)";
  cost.work.family = Family::kFill;
  cost.work.written_bytes = static_cast<double>(fill.bytes());
  cost.estimate = target.estimate_fill(fill.bytes());
  cost.kind = mix(4, cost.name.data(), cost.name.size());
  cost.identity = mix(cost.kind, fill.bytes());
  return cost;
}

// A launch whose description was lost with a damaged part of the trace still costs something: the shortest kernel.
OperationCost lost_cost(const Estimator& target) {
  OperationCost cost;
  cost.name = "(description lost)";
  const double floor_ns = target.profile().kernel_floor_ns;
  cost.estimate = {floor_ns, floor_ns, floor_ns, Provenance::kUnknown};
  cost.kind = cost.identity = 5;
  return cost;
}

class Builder {
 public:
  Builder(const trace::LoadedTrace& trace, const Estimator& target, Durations durations,
          std::span<const uint32_t> nodes)
      : trace_(trace), target_(target), durations_(durations), nodes_(nodes) {
    configurations_.assign(trace.configurations.size(), kNone);
    operations_.assign(trace.operations.size(), kNone);
  }

  CostTable build() {
    table_.of_event.reserve(trace_.events.size());
    table_.measured_ns.reserve(trace_.events.size());
    for (const trace::Event& event : trace_.events) {
      table_.of_event.push_back(cost_of(event));
      table_.measured_ns.push_back(measured_of(event));
    }
    return std::move(table_);
  }

 private:
  uint32_t add(OperationCost cost) {
    table_.costs.push_back(std::move(cost));
    return static_cast<uint32_t>(table_.costs.size() - 1);
  }

  uint32_t lost() {
    ++table_.without_definition;
    if (lost_ == kNone) lost_ = add(lost_cost(target_));
    return lost_;
  }

  uint32_t cost_of(const trace::Event& event) {
    switch (event.kind) {
      case EventKind::kLaunch: {
        if (event.index >= configurations_.size()) return lost();
        uint32_t& index = configurations_[event.index];
        if (index == kNone) index = add(cost_of_launch(trace_, trace_.configurations[event.index], target_));
        return index;
      }
      case EventKind::kOperation: {
        if (event.index >= operations_.size()) return lost();
        uint32_t& index = operations_[event.index];
        if (index == kNone)
          index = add(cost_of_operation(trace_.operations[event.index],
                                        event.index < nodes_.size() ? nodes_[event.index] : 0, target_));
        return index;
      }
      case EventKind::kCopy: {
        const proto::Copy& copy = trace_.copies[event.index];
        const auto [found, is_new] = copies_.try_emplace({copy.kind(), copy.bytes(), copy.pageable()}, kNone);
        if (is_new) found->second = add(cost_of_copy(copy, target_));
        return found->second;
      }
      case EventKind::kFill: {
        const proto::Fill& fill = trace_.fills[event.index];
        const auto [found, is_new] = fills_.try_emplace(fill.bytes(), kNone);
        if (is_new) found->second = add(cost_of_fill(fill, target_));
        return found->second;
      }
      default:
        return kNone;
    }
  }

  uint64_t measured_of(const trace::Event& event) const {
    if (event.measured_ns == 0 || table_.of_event.back() == kNone) return 0;
    if (durations_ == Durations::kMeasured) return std::min(event.measured_ns, kLongest_ns);
    if (event.kind != EventKind::kOperation || event.index >= trace_.operations.size()) return 0;
    const OperationRecord& record = trace_.operations[event.index].record;
    return engine_of(record.family) == Engine::kCommunication && record.get(Key::kBytes) == 0
               ? std::min(event.measured_ns, kLongest_ns)
               : 0;
  }

  const trace::LoadedTrace& trace_;
  const Estimator& target_;
  const Durations durations_;
  const std::span<const uint32_t> nodes_;
  CostTable table_;
  std::vector<uint32_t> configurations_;
  std::vector<uint32_t> operations_;
  std::map<std::tuple<int, uint64_t, bool>, uint32_t> copies_;
  std::map<uint64_t, uint32_t> fills_;
  uint32_t lost_ = kNone;
};

}  // namespace

CostTable estimate_trace(const trace::LoadedTrace& trace, const Estimator& target, Durations durations,
                         std::span<const uint32_t> nodes) {
  return Builder(trace, target, durations, nodes).build();
}

bool has_measured_durations(const trace::LoadedTrace& trace) {
  return std::any_of(trace.events.begin(), trace.events.end(),
                     [](const trace::Event& e) { return e.measured_ns != 0; });
}

}  // namespace maya::predictor
