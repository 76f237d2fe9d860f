#include "predictor/kineto/measurements.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "predictor/core/kernel_name.h"
#include "predictor/core/operation_columns.h"
#include "predictor/cost_stage.h"
#include "predictor/kineto/collective_name.h"
#include "predictor/kineto/launches.h"
#include "predictor/kineto/library_operation.h"
#include "predictor/training/device_name.h"
#include "predictor/training/merge.h"

namespace maya::predictor::kineto {
namespace {

using training::Measurement;

// Gathers the durations of equal operations.
class Gatherer {
 public:
  Gatherer(const std::string& device, const std::string& source) : device_(device), source_(source) {}

  void add_record(const OperationRecord& record, double time_ns) {
    std::string key = "o" + std::to_string(static_cast<int>(record.family));
    for (int i = 0; i < record.count; ++i)
      key +=
          ' ' + std::to_string(static_cast<int>(record.fields[i].key)) + '=' + std::to_string(record.fields[i].value);
    Gathered& gathered = find(key);
    if (gathered.times_ns.empty()) gathered.measurement.record = record;
    gathered.measurement.record.api = "";
    gathered.times_ns.push_back(time_ns);
  }

  void add_kernel(const std::string& name, const uint32_t grid[3], const uint32_t block[3], uint32_t registers,
                  uint32_t shared_bytes, const std::vector<LaunchView::Scalar>& scalars, double time_ns) {
    std::string key = "k" + name;
    for (int i = 0; i < 3; ++i) key += ' ' + std::to_string(grid[i]) + ' ' + std::to_string(block[i]);
    key += ' ' + std::to_string(registers) + ' ' + std::to_string(shared_bytes);
    for (const LaunchView::Scalar& scalar : scalars)
      key += ' ' + std::to_string(scalar.offset) + ':' + std::to_string(scalar.value);
    Gathered& gathered = find(key);
    Measurement& measurement = gathered.measurement;
    if (gathered.times_ns.empty()) {
      measurement.kernel = name;
      std::copy_n(grid, 3, measurement.grid);
      std::copy_n(block, 3, measurement.block);
      measurement.registers = registers;
      measurement.shared_bytes = shared_bytes;
      measurement.scalars = scalars;
    }
    gathered.times_ns.push_back(time_ns);
  }

  void add_copy(CopyKind kind, uint64_t bytes, double time_ns) {
    OperationRecord record(Family::kCopy, "");
    record.set(Key::kDirection, static_cast<int64_t>(kind)).set(Key::kBytes, size_of(bytes));
    add_record(record, time_ns);
  }

  void add_fill(uint64_t bytes, double time_ns) {
    OperationRecord record(Family::kFill, "");
    record.set(Key::kBytes, size_of(bytes)).set(Key::kWrittenBytes, size_of(bytes));
    add_record(record, time_ns);
  }

  std::vector<Measurement> finish() {
    std::vector<Measurement> result;
    for (Gathered& gathered : list_) {
      std::sort(gathered.times_ns.begin(), gathered.times_ns.end());
      Measurement& measurement = gathered.measurement;
      measurement.device = device_;
      measurement.source = source_;
      measurement.time_ns = training::quantile(gathered.times_ns, 0.5);
      measurement.repeats = static_cast<uint32_t>(gathered.times_ns.size());
      const double low_ns = training::quantile(gathered.times_ns, 0.1);
      if (low_ns > 0) measurement.spread = training::quantile(gathered.times_ns, 0.9) / low_ns;
      if (measurement.time_ns > 0) result.push_back(std::move(measurement));
    }
    return result;
  }

 private:
  struct Gathered {
    Measurement measurement;
    std::vector<double> times_ns;
  };
  static int64_t size_of(uint64_t bytes) { return static_cast<int64_t>(std::min<uint64_t>(bytes, uint64_t{1} << 62)); }
  Gathered& find(const std::string& key) {
    const auto [found, is_new] = places_.try_emplace(key, list_.size());
    if (is_new) list_.emplace_back();
    return list_[found->second];
  }
  std::string device_, source_;
  std::unordered_map<std::string, size_t> places_;
  std::vector<Gathered> list_;
};

CopyKind copy_kind_of(int kind, bool pageable) {
  if (kind == proto::Copy::HOST_TO_DEVICE) return pageable ? CopyKind::kHostToDevicePageable : CopyKind::kHostToDevice;
  if (kind == proto::Copy::DEVICE_TO_HOST) return pageable ? CopyKind::kDeviceToHostPageable : CopyKind::kDeviceToHost;
  return static_cast<CopyKind>(kind);
}

CopyKind copy_kind_of(std::string_view name) {
  const auto says = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  const bool pageable = says("Pageable");
  if (says("HtoD")) return copy_kind_of(proto::Copy::HOST_TO_DEVICE, pageable);
  if (says("DtoH")) return copy_kind_of(proto::Copy::DEVICE_TO_HOST, pageable);
  if (says("HtoH")) return CopyKind::kHostToHost;
  return says("PtoP") ? CopyKind::kPeer : CopyKind::kDeviceToDevice;
}

bool ends_in(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

std::vector<Measurement> measurements_of(const KinetoTrace& trace, const std::string& device,
                                         const std::string& source) {
  const Launches launches = find_launches(trace);
  const std::vector<uint32_t> operators = operators_of_calls(trace, launches);
  Gatherer gatherer(device, source);
  // The kernels of one execution of an operator are one measurement; a convolution's gradients are two.
  struct Execution {
    OperationRecord record;
    double time_ns = 0;
  };
  std::map<std::pair<uint32_t, int64_t>, Execution> executions;  // by (operator, direction)
  for (const uint32_t i : launches.order) {
    const DeviceWork& work = trace.work[i];
    const auto time_ns = static_cast<double>(work.duration_ns);
    const std::string& name = trace.names[work.name];
    if (work.kind == WorkKind::kCopy) {
      gatherer.add_copy(copy_kind_of(name), work.bytes, time_ns);
    } else if (work.kind == WorkKind::kFill) {
      gatherer.add_fill(work.bytes, time_ns);
    } else if (!collective_of(name)) {
      const uint32_t call = launches.call_of[i];
      const uint32_t op = call == kNoIndex ? kNoIndex : operators[call];
      const auto record = op == kNoIndex ? std::nullopt : library_operation(trace, trace.operators[op], name);
      if (!record) {
        gatherer.add_kernel(name, work.grid, work.block, work.registers, work.shared_bytes, {}, time_ns);
        continue;
      }
      Execution& execution = executions[{op, record->get(Key::kConvDirection)}];
      // The longest kernel tells layout and precision best.
      if (execution.record.count == 0 || time_ns > execution.time_ns) execution.record = *record;
      execution.time_ns += time_ns;
    }
  }
  for (const auto& [key, execution] : executions) gatherer.add_record(execution.record, execution.time_ns);
  return gatherer.finish();
}

std::vector<Measurement> measurements_of(const trace::LoadedTrace& trace, const std::string& device,
                                         const std::string& source) {
  using trace::EventKind;
  Gatherer gatherer(device, source);
  std::vector<std::string> names(trace.kernels.size());
  for (size_t i = 0; i < names.size(); ++i) names[i] = model::demangle(trace.kernels[i].name);
  const auto is_collective = [](Family family) {
    return family == Family::kCollective || family == Family::kPointToPoint;
  };
  for (const trace::Event& event : trace.events) {
    if (event.measured_ns == 0) continue;
    const auto time_ns = static_cast<double>(event.measured_ns);
    if (event.kind == EventKind::kCopy) {
      const proto::Copy& copy = trace.copies[event.index];
      gatherer.add_copy(copy_kind_of(copy.kind(), copy.pageable()), copy.bytes(), time_ns);
    } else if (event.kind == EventKind::kFill) {
      gatherer.add_fill(trace.fills[event.index].bytes(), time_ns);
    } else if (event.kind == EventKind::kOperation && event.index < trace.operations.size()) {
      const OperationRecord& record = trace.operations[event.index].record;
      if (!is_collective(record.family)) gatherer.add_record(record, time_ns);
    } else if (event.kind == EventKind::kLaunch && event.index < trace.configurations.size()) {
      const trace::Configuration& configuration = trace.configurations[event.index];
      if (configuration.operation < trace.operations.size()) {
        gatherer.add_record(trace.operations[configuration.operation].record, time_ns);
      } else if (configuration.kernel < trace.kernels.size()) {
        const trace::Kernel& kernel = trace.kernels[configuration.kernel];
        std::vector<LaunchView::Scalar> scalars;
        for (const auto& scalar : configuration.scalars) scalars.push_back({scalar.offset, scalar.size, scalar.value});
        gatherer.add_kernel(names[configuration.kernel], configuration.grid, configuration.block, kernel.registers,
                            kernel.static_shared_bytes + configuration.dynamic_shared_bytes, scalars, time_ns);
      }
    }
  }
  return gatherer.finish();
}

Failure read_measurements(const std::string& path, const std::string& device, std::vector<Measurement>* measurements) {
  const std::string source = path.substr(path.find_last_of('/') + 1);
  const auto append = [&](std::vector<Measurement> more) {
    std::move(more.begin(), more.end(), std::back_inserter(*measurements));
  };
  const auto no_device = [&](const std::string& what) {
    return Failure{FailureKind::kInput, path + ": " + what + "; choose one with --device"};
  };
  if (ends_in(path, ".json") || ends_in(path, ".json.gz")) {
    KinetoTrace trace;
    if (Failure failure = read_kineto(path, &trace)) return failure;
    const std::string name = device.empty() ? std::string(training::profile_of(trace.gpu)) : device;
    if (name.empty())
      return no_device(trace.gpu.empty() ? "it does not name its device" : "unknown device: " + trace.gpu);
    append(measurements_of(trace, name, source));
    return {};
  }
  const trace::LoadResult loaded = trace::load_trace(path);
  if (loaded.status != trace::ReadStatus::kOk) return {FailureKind::kInput, path + ": " + loaded.error};
  bool measured = false;
  for (const trace::LoadedTrace& trace : loaded.traces) {
    if (!has_measured_durations(trace)) continue;
    measured = true;
    const std::string name = device.empty() ? trace.process.device_name() : device;
    if (name.empty()) return no_device("it does not name its device");
    append(measurements_of(trace, name, source));
  }
  if (measured) return {};
  return {FailureKind::kInput, "no measured durations: " + path + "; maya-trace import makes traces that have them"};
}

}  // namespace maya::predictor::kineto
