#include "predictor/kineto/convert.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "predictor/kineto/collective_name.h"
#include "predictor/kineto/dependencies.h"
#include "predictor/kineto/launches.h"
#include "predictor/kineto/library_operation.h"
#include "predictor/kineto/queued_gaps.h"
#include "predictor/kineto/trace_assembly.h"
#include "predictor/target.h"
#include "predictor/training/device_name.h"
#include "trace_proto/maya_trace_fields.h"
#include "virtual_device/device_names.h"

namespace maya::predictor::kineto {
namespace {

constexpr uint32_t kDefaultStream = 7;             // CUPTI's number of a context's default stream
constexpr uint32_t kNonBlockingFlag = 1;           // CU_STREAM_NON_BLOCKING
constexpr uint64_t kBeginning_ns = 1'000'000'000;  // of the trace, on its own clock
constexpr size_t kMostStreams = 4096;

enum class CallKind { kOther, kDeviceSynchronize, kStreamSynchronize, kEventSynchronize };

CallKind kind_of(std::string_view name) {
  if (name == "cudaDeviceSynchronize" || name == "cuCtxSynchronize" || name == "cudaFree" || name == "cuMemFree_v2" ||
      name == "cudaThreadSynchronize")
    return CallKind::kDeviceSynchronize;
  if (name == "cudaStreamSynchronize" || name == "cuStreamSynchronize") return CallKind::kStreamSynchronize;
  if (name == "cudaEventSynchronize" || name == "cuEventSynchronize") return CallKind::kEventSynchronize;
  return CallKind::kOther;
}

bool is_graph_launch(std::string_view name) {
  return name.rfind("cudaGraphLaunch", 0) == 0 || name.rfind("cuGraphLaunch", 0) == 0;
}

proto::Copy::Kind copy_kind_of(std::string_view name) {
  const auto says = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  if (says("HtoD")) return proto::Copy::HOST_TO_DEVICE;
  if (says("DtoH")) return proto::Copy::DEVICE_TO_HOST;
  if (says("HtoH")) return proto::Copy::HOST_TO_HOST;
  if (says("PtoP")) return proto::Copy::PEER;
  return proto::Copy::DEVICE_TO_DEVICE;
}

class Converter {
 public:
  Converter(const KinetoTrace& trace, const Launches& launches, Conversion* conversion)
      : trace_(trace), launches_(launches), conversion_(*conversion) {
    first_ns_ = ~uint64_t{0};
    for (const uint64_t enqueued_ns : launches_.enqueued_ns) first_ns_ = std::min(first_ns_, enqueued_ns);
    for (const RuntimeCall& call : trace.calls) first_ns_ = std::min(first_ns_, call.start_ns);
    for (const StepMark& step : trace.steps) first_ns_ = std::min(first_ns_, step.start_ns);
  }

  bool too_many_streams() const { return too_many_streams_; }

  void convert() {
    describe_streams();
    if (too_many_streams_) return;
    find_waits();
    mark_steps();
    work_without_calls();
    std::map<uint32_t, uint32_t> last_work;  // by thread
    for (const uint32_t c : launches_.calls) {
      if (!launches_.work_of[c].empty()) {
        enqueue(c);
        last_work[trace_.calls[c].thread] = launches_.work_of[c].back();
      } else {
        const auto last = last_work.find(trace_.calls[c].thread);
        synchronize(c, last == last_work.end() ? kNoIndex : last->second);
      }
    }
  }

  std::string finish(const proto::ProcessHeader& header) { return assembly_.finish(header); }

 private:
  uint64_t time_of(uint64_t ns) const { return ns - first_ns_ + kBeginning_ns; }
  const DeviceWork& work(uint32_t i) const { return trace_.work[i]; }

  uint32_t string_id(const std::string& text) {
    const auto [found, is_new] = strings_.try_emplace(text, static_cast<uint32_t>(strings_.size() + 1));
    if (is_new) {
      proto::InternedString* const string = assembly_.add_definition()->mutable_string();
      string->set_id(found->second);
      string->set_text(text);
    }
    return found->second;
  }

  void describe_streams() {
    std::map<uint64_t, bool> seen;  // by stream_key
    std::map<uint32_t, uint32_t> ordinals;
    for (const DeviceWork& w : trace_.work) {
      seen[stream_key(w)] = true;
      if (!ordinals.contains(w.device)) ordinals.emplace(w.device, static_cast<uint32_t>(ordinals.size()));
    }
    too_many_streams_ = seen.size() > kMostStreams;
    if (too_many_streams_) return;
    uint32_t next_id = 1;
    for (const auto& [device, ordinal] : ordinals) {
      // The first description of a device is that of its legacy default stream.
      const uint64_t default_key = uint64_t{device} << 32 | kDefaultStream;
      seen[default_key] = true;
      describe(default_key, ordinal == 0 ? 0 : next_id++, ordinal, 0);
      for (const auto& [key, used] : seen)
        if (key >> 32 == device && key != default_key) describe(key, next_id++, ordinal, kNonBlockingFlag);
    }
  }

  void describe(uint64_t key, uint32_t id, uint32_t device, uint32_t flags) {
    proto::StreamDescriptor* const stream = assembly_.add(0, kBeginning_ns)->mutable_stream_descriptor();
    stream->set_id(id);
    stream->set_device(device);
    stream->set_flags(flags);
    stream_ids_[key] = id;
  }

  uint32_t stream_of(uint32_t i) const { return stream_ids_.at(stream_key(work(i))); }

  void find_waits() {
    uint32_t next_event = 1;
    for (const Dependency& dependency : find_dependencies(trace_, launches_)) {
      uint32_t& event = event_after_[dependency.after];
      if (event == 0) event = next_event++;
      waits_[dependency.work].push_back(event);
      ++(dependency.recorded ? conversion_.waits_recorded : conversion_.waits_inferred);
    }
    next_event_ = next_event;
    // Event synchronisations take part in the numbering, since their records stand behind the work they wait for.
    for (const uint32_t c : launches_.calls) {
      if (kind_of(trace_.names[trace_.calls[c].name]) != CallKind::kEventSynchronize) continue;
      const uint32_t awaited = last_ended(c, ~uint64_t{0});
      if (awaited == kNoIndex || work(awaited).end_ns() <= trace_.calls[c].start_ns) continue;
      uint32_t& event = event_after_[awaited];
      if (event == 0) event = next_event_++;
      awaited_by_[c] = awaited;
    }
  }

  // Of the work enqueued before call `c` began, on one stream or on all, what was the last to end before it returned;
  // of one stream only when all its work had ended by then.
  uint32_t last_ended(uint32_t c, uint64_t stream) {
    const RuntimeCall& call = trace_.calls[c];
    uint32_t last = kNoIndex;
    for (auto& [key, list] : by_stream()) {
      if (stream != ~uint64_t{0} && key != stream) continue;
      // Work of a stream ends in the order in which it was enqueued.
      const auto end = std::partition_point(list.begin(), list.end(),
                                            [&](uint32_t i) { return launches_.enqueued_ns[i] < call.start_ns; });
      if (end == list.begin()) continue;
      const auto later = std::partition_point(
          list.begin(), end, [&](uint32_t i) { return work(i).end_ns() <= call.end_ns() + kClockError_ns; });
      if (later == list.begin() || (stream != ~uint64_t{0} && later != end)) continue;
      const uint32_t candidate = *(later - 1);
      if (last == kNoIndex || work(candidate).end_ns() > work(last).end_ns()) last = candidate;
    }
    return last;
  }

  std::map<uint64_t, std::vector<uint32_t>>& by_stream() {
    if (by_stream_.empty())
      for (const uint32_t i : launches_.order) by_stream_[stream_key(work(i))].push_back(i);
    return by_stream_;
  }

  void mark_steps() {
    for (const StepMark& step : trace_.steps) {
      proto::Packet* const push = assembly_.add(step.thread, time_of(step.start_ns));
      push->set_call_ns(1);
      push->mutable_range()->set_call(proto::RangeMark::PUSH);
      push->mutable_range()->set_text(string_id(trace_.names[step.name]));
      proto::Packet* const pop = assembly_.add(step.thread, time_of(step.start_ns + step.duration_ns));
      pop->set_call_ns(1);
      pop->mutable_range()->set_call(proto::RangeMark::POP);
    }
  }

  void work_without_calls() {
    for (const uint32_t i : launches_.order) {
      if (launches_.call_of[i] != kNoIndex) continue;
      ++conversion_.work_without_call;
      add_work(trace_.threads, launches_.enqueued_ns[i], i, 1, 0, false);
    }
  }

  // The packets of one piece of work: the waits of its stream, itself, and the record of the event that stands for it.
  void add_work(uint32_t thread, uint64_t entry_ns, uint32_t i, uint64_t call_ns, uint64_t wait_ns, bool holds_up) {
    ++conversion_.work;
    const uint32_t stream = stream_of(i);
    const auto add_event = [&](proto::EventCall::Call call, uint32_t event) {
      proto::Packet* const packet = assembly_.add(thread, time_of(entry_ns));
      packet->set_stream(stream);
      packet->set_call_ns(1);
      packet->mutable_event()->set_call(call);
      packet->mutable_event()->set_event(event);
    };
    if (const auto waits = waits_.find(i); waits != waits_.end())
      for (const uint32_t event : waits->second) add_event(proto::EventCall::WAIT, event);
    proto::Packet* const packet = assembly_.add(thread, time_of(entry_ns));
    packet->set_stream(stream);
    packet->set_measured_ns(std::max<uint64_t>(1, work(i).duration_ns));
    packet->set_start_ns(static_cast<int64_t>(work(i).start_ns - entry_ns));
    packet->set_call_ns(std::max<uint64_t>(1, call_ns));
    packet->set_wait_ns(wait_ns);
    describe_work(i, holds_up, packet);
    if (const auto event = event_after_.find(i); event != event_after_.end())
      add_event(proto::EventCall::RECORD, event->second);
  }

  void describe_work(uint32_t i, bool holds_up, proto::Packet* packet) {
    const DeviceWork& w = work(i);
    const std::string& name = trace_.names[w.name];
    switch (w.kind) {
      case WorkKind::kCopy:
        packet->mutable_copy()->set_kind(copy_kind_of(name));
        packet->mutable_copy()->set_bytes(w.bytes);
        packet->mutable_copy()->set_asynchronous(!holds_up);
        packet->mutable_copy()->set_pageable(name.find("Pageable") != std::string::npos);
        return;
      case WorkKind::kFill:
        packet->mutable_fill()->set_bytes(w.bytes);
        packet->mutable_fill()->set_width(1);
        packet->mutable_fill()->set_asynchronous(!holds_up);
        return;
      case WorkKind::kKernel:
        break;
    }
    if (const auto collective = collective_of(name)) {
      packet->set_operation(operation_id(w, *collective));
    } else {
      packet->set_launch(configuration_id(i));
    }
  }

  uint32_t operation_id(const DeviceWork& w, CollectiveKind kind) {
    const DataType type = element_type_of(trace_.names[w.element_type]);
    const bool pair = kind == CollectiveKind::kSend;
    const int64_t bytes = static_cast<int64_t>(std::min<uint64_t>(w.elements, uint64_t{1} << 56)) *
                          static_cast<int64_t>(data_type_bits(type)) / 8;
    const std::string& name = trace_.names[w.name];
    proto::OperationDescriptor descriptor;
    descriptor.set_family(static_cast<uint32_t>(pair ? Family::kPointToPoint : Family::kCollective));
    descriptor.set_api(string_id(name.substr(0, name.find('('))));
    const auto set = [&](Key key, int64_t value) {
      if (value == 0) return;
      descriptor.add_keys(static_cast<uint32_t>(key));
      descriptor.add_values(value);
    };
    set(Key::kCollective, static_cast<int64_t>(kind));
    set(Key::kBytes, bytes);
    set(Key::kDataType, static_cast<int64_t>(type));
    set(Key::kRanks, w.ranks != 0 ? w.ranks : std::max(0, trace_.world_size));
    return defined(std::move(descriptor));
  }

  uint32_t descriptor_id(const OperationRecord& record) {
    proto::OperationDescriptor descriptor;
    descriptor.set_family(static_cast<uint32_t>(record.family));
    for (int f = 0; f < record.count; ++f) {
      descriptor.add_keys(static_cast<uint32_t>(record.fields[f].key));
      descriptor.add_values(record.fields[f].value);
    }
    return defined(std::move(descriptor));
  }

  uint32_t defined(proto::OperationDescriptor descriptor) {
    const auto [found, is_new] =
        operations_.try_emplace(descriptor.SerializeAsString(), static_cast<uint32_t>(operations_.size() + 1));
    if (is_new) {
      descriptor.set_id(found->second);
      *assembly_.add_definition()->mutable_operation_descriptor() = descriptor;
    }
    return found->second;
  }

  // Of the kernels that one operator launches, the longest is the operation.
  std::optional<OperationRecord> library_operation_of(uint32_t i) {
    const auto operator_of = [&](uint32_t other) {
      const uint32_t call = launches_.call_of[other];
      return call == kNoIndex ? kNoIndex : operators_[call];
    };
    if (operators_.empty()) operators_ = operators_of_calls(trace_, launches_);
    const uint32_t op = operator_of(i);
    if (op == kNoIndex) return std::nullopt;
    const auto operation = library_operation(trace_, trace_.operators[op], trace_.names[work(i).name]);
    if (!operation) return std::nullopt;
    constexpr uint32_t kNeighbours = 8;  // an operator's kernels lie side by side
    const uint32_t place = launches_.place[i];
    for (uint32_t at = place - std::min(place, kNeighbours); at < launches_.order.size() && at <= place + kNeighbours;
         ++at) {
      const uint32_t other = launches_.order[at];
      if (other == i || operator_of(other) != op || work(other).duration_ns < work(i).duration_ns) continue;
      if (work(other).duration_ns == work(i).duration_ns && other > i) continue;
      const auto rival = library_operation(trace_, trace_.operators[op], trace_.names[work(other).name]);
      if (rival && rival->get(Key::kConvDirection) == operation->get(Key::kConvDirection)) return std::nullopt;
    }
    return operation;
  }

  uint32_t configuration_id(uint32_t i) {
    const DeviceWork& w = work(i);
    const auto [kernel, new_kernel] =
        kernels_.try_emplace({w.name, w.registers}, static_cast<uint32_t>(kernels_.size() + 1));
    if (new_kernel) {
      const uint32_t name = string_id(trace_.names[w.name]);
      proto::KernelDescriptor* const descriptor = assembly_.add_definition()->mutable_kernel();
      descriptor->set_id(kernel->second);
      descriptor->set_name(name);
      descriptor->set_registers(w.registers);
    }
    proto::LaunchConfiguration configuration;
    configuration.set_kernel(kernel->second);
    configuration.set_grid_x(w.grid[0]);
    configuration.set_grid_y(w.grid[1]);
    configuration.set_grid_z(w.grid[2]);
    configuration.set_block_x(w.block[0]);
    configuration.set_block_y(w.block[1]);
    configuration.set_block_z(w.block[2]);
    configuration.set_dynamic_shared_bytes(w.shared_bytes);
    if (const auto operation = library_operation_of(i)) configuration.set_operation(descriptor_id(*operation));
    const auto [found, is_new] = configurations_.try_emplace(configuration.SerializeAsString(),
                                                             static_cast<uint32_t>(configurations_.size() + 1));
    if (is_new) {
      configuration.set_id(found->second);
      *assembly_.add_definition()->mutable_configuration() = configuration;
    }
    return found->second;
  }

  void enqueue(uint32_t c) {
    const RuntimeCall& call = trace_.calls[c];
    bool first = true;
    const bool is_graph = is_graph_launch(trace_.names[call.name]);
    if (is_graph) {
      proto::Packet* const packet = assembly_.add(call.thread, time_of(call.start_ns));
      packet->set_call_ns(1);
      packet->mutable_graph_launch()->set_nodes(static_cast<uint32_t>(launches_.work_of[c].size()));
      packet->mutable_graph_launch()->set_nodes_follow(true);
    }
    for (const uint32_t i : launches_.work_of[c]) {
      const uint64_t end_ns = work(i).end_ns();
      const bool holds_up = first && !is_graph && work(i).kind != WorkKind::kKernel && call.end_ns() >= end_ns;
      const uint64_t wait_ns = holds_up && end_ns > call.start_ns ? end_ns - call.start_ns : 0;
      add_work(call.thread, call.start_ns, i, first ? call.duration_ns - wait_ns : 1, wait_ns, holds_up);
      first = false;
    }
  }

  void synchronize(uint32_t c, uint32_t last_work) {
    const RuntimeCall& call = trace_.calls[c];
    const CallKind kind = kind_of(trace_.names[call.name]);
    if (kind == CallKind::kOther) return;
    uint32_t awaited = kNoIndex;
    if (kind == CallKind::kDeviceSynchronize) awaited = last_ended(c, ~uint64_t{0});
    if (kind == CallKind::kStreamSynchronize && last_work != kNoIndex)
      awaited = last_ended(c, synchronized_stream(c, last_work));
    if (kind == CallKind::kEventSynchronize && awaited_by_.count(c) != 0) awaited = awaited_by_[c];
    if (awaited == kNoIndex) return;
    const uint64_t end_ns = std::min(work(awaited).end_ns(), call.end_ns());
    const uint64_t wait_ns = end_ns > call.start_ns ? end_ns - call.start_ns : 0;
    proto::Packet* const packet = assembly_.add(call.thread, time_of(call.start_ns));
    packet->set_call_ns(std::max<uint64_t>(1, call.duration_ns - wait_ns));
    packet->set_wait_ns(wait_ns);
    packet->set_stream(stream_of(awaited));
    if (kind == CallKind::kEventSynchronize) {
      packet->mutable_event()->set_call(proto::EventCall::SYNCHRONIZE);
      packet->mutable_event()->set_event(event_after_[awaited]);
    } else {
      packet->mutable_synchronization()->set_scope(
          kind == CallKind::kDeviceSynchronize ? proto::Synchronization::DEVICE : proto::Synchronization::STREAM);
    }
  }

  uint64_t synchronized_stream(uint32_t c, uint32_t last_work) {
    if (told_streams_.empty())
      for (const Synchronization& s : trace_.synchronizations)
        if (s.has_stream && s.correlation != 0) told_streams_[s.correlation] = s.stream;
    const auto told = told_streams_.find(trace_.calls[c].correlation);
    if (told == told_streams_.end()) return stream_key(work(last_work));
    return uint64_t{work(last_work).device} << 32 | told->second;
  }

  const KinetoTrace& trace_;
  const Launches& launches_;
  Conversion& conversion_;
  TraceAssembly assembly_;
  uint64_t first_ns_ = 0;
  bool too_many_streams_ = false;
  std::map<uint64_t, uint32_t> stream_ids_;
  std::map<uint64_t, std::vector<uint32_t>> by_stream_;        // work in order
  std::unordered_map<uint32_t, std::vector<uint32_t>> waits_;  // by work: events that its stream waits for
  std::unordered_map<uint32_t, uint32_t> event_after_;         // by work: the event recorded behind it
  std::unordered_map<uint32_t, uint32_t> awaited_by_;          // by event synchronisation: work
  std::unordered_map<uint64_t, uint32_t> told_streams_;        // by correlation
  std::vector<uint32_t> operators_;                            // by call
  uint32_t next_event_ = 1;
  std::unordered_map<std::string, uint32_t> strings_, configurations_, operations_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> kernels_;  // by (name, registers)
};

Failure profile_for(const KinetoTrace& trace, const std::string& device, device::DeviceProfile* profile) {
  if (!device.empty()) return named_profile(device, profile);
  const std::string_view name = training::profile_of(trace.gpu);
  if (!name.empty()) {
    *profile = *device::find_builtin_profile(name);
    return {};
  }
  const std::string what = trace.gpu.empty() ? "it does not name its device" : "unknown device: " + trace.gpu;
  return {FailureKind::kInput, trace.path + ": " + what + "; choose one with --device: " +
                                   device::known_device_names() + ", or the path of a profile file"};
}

}  // namespace

Failure convert(const KinetoTrace& trace, const std::string& device, Conversion* conversion) {
  device::DeviceProfile profile;
  if (Failure failure = profile_for(trace, device, &profile)) return failure;
  conversion->device = profile.name;
  proto::ProcessHeader header;
  header.set_format(maya::trace::fields::kFormatVersion);
  header.set_program(trace.path.substr(trace.path.find_last_of('/') + 1));
  header.set_run_id("imported");
  header.set_rank(trace.rank);
  header.set_world_size(trace.world_size);
  header.set_device_name(profile.name);
  header.set_device_count(1);
  if (device::find_builtin_profile(device) == nullptr && !device.empty())
    if (Failure failure = profile_text(device, header.mutable_device_profile())) return failure;
  const Launches launches = find_launches(trace);
  const QueuedGaps gaps = queued_gaps(trace, launches);
  header.set_queued_gap_ns(gaps.kernel_ns);
  header.set_queued_copy_gap_ns(gaps.copy_ns);
  Converter converter(trace, launches, conversion);
  converter.convert();
  if (converter.too_many_streams())
    return {FailureKind::kInput, trace.path + ": work on more than " + std::to_string(kMostStreams) +
                                     " streams; profile one process at a time"};
  conversion->bytes = converter.finish(header);
  return {};
}

}  // namespace maya::predictor::kineto
