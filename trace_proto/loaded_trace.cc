#include "trace_proto/loaded_trace.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "trace_proto/id_index.h"

namespace maya::trace {
namespace {

// Gathers one process, then resolves ids: a definition may stand behind its first use.
class Loader {
 public:
  explicit Loader(const std::string& path) { trace_.path = path; }
  void add(const PacketView& packet);
  LoadedTrace finish();

 private:
  template <class Table, class Item>
  void add_item(const PacketView& packet, EventKind kind, Table* table, const Item& item) {
    add_event(packet, kind, static_cast<uint32_t>(table->size()));
    table->push_back(item);
  }
  void add_event(const PacketView& packet, EventKind kind, uint32_t index) {
    trace_.events.push_back({packet.time_ns, packet.own_ns, packet.wait_ns, packet.measured_ns, packet.call_ns,
                             packet.start_ns, packet.thread, packet.stream, packet.group, index, kind,
                             take_delay(packet.thread)});
  }
  uint64_t take_delay(uint32_t thread) {
    if (delays_.empty()) return 0;
    const auto found = delays_.find(thread);
    if (found == delays_.end()) return 0;
    const uint64_t delay_ns = found->second;
    delays_.erase(found);
    return delay_ns;
  }
  void add_message(const PacketView& packet, const proto::Packet& message);
  void resolve_kernels();
  void resolve_operations();
  void resolve_events();

  LoadedTrace trace_;
  std::unordered_map<uint32_t, uint64_t> delays_;  // by thread: of packets that are no events, for the next one
  IdIndex kernel_index_, configuration_index_, operation_index_;
  std::vector<uint32_t> kernel_names_;
  std::vector<uint32_t> configuration_kernels_, configuration_operations_;
  std::vector<proto::OperationDescriptor> operation_descriptors_;
};

void Loader::add(const PacketView& packet) {
  trace_.last_time_ns = std::max(trace_.last_time_ns, packet.time_ns);
  if (packet.thread != kNoDefinition) trace_.threads = std::max(trace_.threads, packet.thread + 1);
  if (packet.delay_ns != 0) delays_[packet.thread] += packet.delay_ns;
  if (packet.launch != 0) {
    add_event(packet, EventKind::kLaunch, packet.launch);
  } else if (packet.operation != 0) {
    add_event(packet, EventKind::kOperation, packet.operation);
  } else if (packet.message != nullptr) {
    add_message(packet, *packet.message);
  }
}

void Loader::add_message(const PacketView& packet, const proto::Packet& message) {
  switch (message.kind_case()) {
    case proto::Packet::kProcess:
      trace_.process = message.process();
      trace_.has_process = true;
      break;
    case proto::Packet::kEnd:
      trace_.end = message.end();
      trace_.has_end = true;
      trace_.packets_lost = message.end().packets_lost();
      break;
    case proto::Packet::kString:
      trace_.strings.emplace(message.string().id(), message.string().text());
      break;
    case proto::Packet::kKernel: {
      const proto::KernelDescriptor& from = message.kernel();
      if (!kernel_index_.add(from.id())) break;
      Kernel kernel;
      kernel.registers = from.registers();
      kernel.static_shared_bytes = from.static_shared_bytes();
      kernel.max_threads = from.max_threads();
      kernel.architecture = from.architecture();
      kernel.parameter_offsets.assign(from.parameter_offsets().begin(), from.parameter_offsets().end());
      kernel.parameter_sizes.assign(from.parameter_sizes().begin(), from.parameter_sizes().end());
      kernel_names_.push_back(from.name());
      trace_.kernels.push_back(std::move(kernel));
      break;
    }
    case proto::Packet::kConfiguration: {
      const proto::LaunchConfiguration& from = message.configuration();
      if (!configuration_index_.add(from.id())) break;
      Configuration to;
      const uint32_t grid[3] = {from.grid_x(), from.grid_y(), from.grid_z()};
      const uint32_t block[3] = {from.block_x(), from.block_y(), from.block_z()};
      const uint32_t cluster[3] = {from.cluster_x(), from.cluster_y(), from.cluster_z()};
      std::copy(grid, grid + 3, to.grid);
      std::copy(block, block + 3, to.block);
      std::copy(cluster, cluster + 3, to.cluster);
      to.dynamic_shared_bytes = from.dynamic_shared_bytes();
      to.cooperative = from.cooperative();
      to.estimate_ns = from.estimate_ns();
      if (from.has_work()) to.work = from.work();
      const int scalars = std::min(from.scalar_slots_size(), from.scalar_values_size());
      for (int i = 0; i < scalars; ++i) {
        const uint32_t slot = from.scalar_slots(i);
        to.scalars.push_back(
            {static_cast<uint16_t>(slot >> 8), static_cast<uint16_t>(slot & 0xff), from.scalar_values(i)});
      }
      configuration_kernels_.push_back(from.kernel());
      configuration_operations_.push_back(from.operation());
      trace_.configurations.push_back(std::move(to));
      break;
    }
    case proto::Packet::kOperationDescriptor:
      if (operation_index_.add(message.operation_descriptor().id()))
        operation_descriptors_.push_back(message.operation_descriptor());
      break;
    case proto::Packet::kDevice:
      trace_.devices.push_back(message.device());
      break;
    case proto::Packet::kStreamDescriptor:
      add_item(packet, EventKind::kStream, &trace_.stream_calls, message.stream_descriptor());
      break;
    case proto::Packet::kCopy:
      add_item(packet, EventKind::kCopy, &trace_.copies, message.copy());
      break;
    case proto::Packet::kFill:
      add_item(packet, EventKind::kFill, &trace_.fills, message.fill());
      break;
    case proto::Packet::kAllocation:
      add_item(packet, EventKind::kAllocation, &trace_.allocations, message.allocation());
      break;
    case proto::Packet::kFree:
      add_item(packet, EventKind::kFree, &trace_.frees, message.free());
      break;
    case proto::Packet::kAllocationFailure:
      add_item(packet, EventKind::kAllocationFailure, &trace_.allocation_failures, message.allocation_failure());
      break;
    case proto::Packet::kEvent:
      add_item(packet, EventKind::kEventCall, &trace_.event_calls, message.event());
      break;
    case proto::Packet::kSynchronization:
      add_item(packet, EventKind::kSynchronization, &trace_.synchronizations, message.synchronization());
      break;
    case proto::Packet::kHostFunction:
      add_item(packet, EventKind::kHostFunction, &trace_.host_functions, message.host_function());
      break;
    case proto::Packet::kRange:
      add_item(packet, EventKind::kRange, &trace_.ranges, message.range());
      break;
    case proto::Packet::kCommunicator:
      add_item(packet, EventKind::kCommunicator, &trace_.communicators, message.communicator());
      break;
    case proto::Packet::kNotice:
      add_item(packet, EventKind::kNotice, &trace_.notices, message.notice());
      break;
    case proto::Packet::kMapping:
      add_item(packet, EventKind::kMapping, &trace_.mappings, message.mapping());
      break;
    case proto::Packet::kModule:
      add_item(packet, EventKind::kModule, &trace_.modules, message.module());
      break;
    case proto::Packet::kGraphLaunch:
      add_item(packet, EventKind::kGraphLaunch, &trace_.graph_launches, message.graph_launch());
      break;
    case proto::Packet::kChunk:
    case proto::Packet::KIND_NOT_SET:
      break;
  }
}

void Loader::resolve_kernels() {
  for (size_t i = 0; i < trace_.kernels.size(); ++i) trace_.kernels[i].name = trace_.string(kernel_names_[i]);
  for (size_t i = 0; i < trace_.configurations.size(); ++i) {
    trace_.configurations[i].kernel = kernel_index_.find(configuration_kernels_[i]);
    if (configuration_operations_[i] != 0)
      trace_.configurations[i].operation = operation_index_.find(configuration_operations_[i]);
  }
}

void Loader::resolve_operations() {
  for (const proto::OperationDescriptor& from : operation_descriptors_) {
    Operation to;
    to.record.family = from.family() <= 0xff ? static_cast<Family>(from.family()) : Family::kUnknown;
    const auto api = trace_.strings.find(from.api());
    if (api != trace_.strings.end()) to.record.api = api->second.c_str();
    const int fields = std::min(from.keys_size(), from.values_size());
    for (int i = 0; i < fields; ++i) {
      if (from.keys(i) <= 0xff) to.record.set(static_cast<Key>(from.keys(i)), from.values(i));
    }
    to.estimate_ns = from.estimate_ns();
    trace_.operations.push_back(to);
  }
}

void Loader::resolve_events() {
  for (Event& event : trace_.events) {
    if (event.kind == EventKind::kLaunch) event.index = configuration_index_.find(event.index);
    if (event.kind == EventKind::kOperation) event.index = operation_index_.find(event.index);
  }
  const auto earlier = [](const Event& a, const Event& b) {
    return std::tie(a.time_ns, a.thread) < std::tie(b.time_ns, b.thread);
  };
  // A thread's chunks stand in the file in its own order, so a stable sort keeps that order.
  if (!std::is_sorted(trace_.events.begin(), trace_.events.end(), earlier))
    std::stable_sort(trace_.events.begin(), trace_.events.end(), earlier);
}

LoadedTrace Loader::finish() {
  resolve_kernels();
  resolve_operations();
  resolve_events();
  return std::move(trace_);
}

LoadResult load(Reader* reader, const std::string& path) {
  LoadResult result;
  std::unique_ptr<Loader> loader;
  uint32_t process = 0;
  uint64_t damage_seen = 0;
  size_t damage_kept = 0;
  uint64_t unfinished_seen = 0;
  const auto close = [&] {
    LoadedTrace trace = loader->finish();
    trace.complete =
        trace.has_end && reader->damage_count() == damage_seen && reader->unfinished_chunks() == unfinished_seen;
    trace.damage.assign(reader->damage().begin() + static_cast<ptrdiff_t>(damage_kept), reader->damage().end());
    damage_seen = reader->damage_count();
    damage_kept = reader->damage().size();
    unfinished_seen = reader->unfinished_chunks();
    result.traces.push_back(std::move(trace));
  };
  PacketView packet;
  while (reader->next(&packet)) {
    if (loader != nullptr && packet.process != process) {
      close();
      loader.reset();
    }
    if (loader == nullptr) loader = std::make_unique<Loader>(path);
    process = packet.process;
    loader->add(packet);
  }
  result.status = reader->status();
  result.error = reader->error();
  if (result.status != ReadStatus::kOk) {
    result.traces.clear();
  } else if (loader != nullptr) {
    close();
  }
  return result;
}

}  // namespace

LoadResult load_trace(const std::string& path) { return load(Reader::open(path).get(), path); }

LoadResult load_trace(const void* data, size_t size) { return load(Reader::from_memory(data, size).get(), ""); }

}  // namespace maya::trace
