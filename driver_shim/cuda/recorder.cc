#include "driver_shim/cuda/recorder.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "driver_shim/cuda/driver.h"
#include "driver_shim/cuda/fork_guard.h"
#include "driver_shim/cuda/profiler.h"

namespace maya::cuda {
namespace {

namespace fields = trace::fields;
using trace::Encoder;
using Packet = fields::Packet;

// A call in which Maya took long: the thread may have waited for a processor meanwhile, which own_ns has in it.
void pass_over_long(trace::Writer* writer, uint64_t own_ns) {
  constexpr uint64_t kLong_ns = 100'000;
  if (own_ns > kLong_ns) writer->pass_over_delays();
}

// Writes one packet whose `kind` is the message built by `fill`.
template <typename Fill>
void write(trace::Writer* writer, uint32_t kind, uint64_t time_ns, uint32_t stream, uint64_t own_ns, uint64_t wait_ns,
           Fill&& fill) {
  if (writer == nullptr) return;
  Encoder body;
  fill(body);
  Encoder packet;
  packet.integer(Packet::kStream, stream);
  packet.integer(Packet::kOwnNs, own_ns);
  packet.integer(Packet::kWaitNs, wait_ns);
  packet.message(kind, body);
  writer->packet(packet, time_ns);
  pass_over_long(writer, own_ns);
}

template <typename Fill>
void write(trace::Writer* writer, uint32_t kind, Fill&& fill) {
  if (writer != nullptr) write(writer, kind, trace::now_ns(), 0, 0, 0, fill);
}

// The end of the process. The library stays usable: only the trace ends here.
__attribute__((destructor)) void finish_trace() { Recorder::get().finish(); }

__attribute__((constructor)) void abandon_trace_in_children() {
  pthread_atfork(nullptr, nullptr, [] { Recorder::get().abandon(); });
}

}  // namespace

Recorder& Recorder::get() {
  static Recorder& recorder = *new Recorder;
  return recorder;
}

uint32_t Recorder::string_id(std::string_view text) {
  if (text.empty() || !enabled()) return 0;
  uint32_t id = 0;
  try {
    std::lock_guard<std::mutex> lock(mutex_);
    if (const auto known = strings_.find(text); known != strings_.end()) return known->second;
    id = static_cast<uint32_t>(strings_.size() + 1);
    strings_.emplace(text, id);
  } catch (const std::bad_alloc&) {
    return 0;
  }
  write(writer(), Packet::kString, [&](Encoder& body) {
    body.integer(fields::InternedString::kId, id);
    body.text(fields::InternedString::kText, text);
  });
  return id;
}

void Recorder::allocation(const device::Allocation& allocation) {
  using F = fields::Allocation;
  Profiler::tell_memory(allocation, false);
  write(writer(), Packet::kAllocation, [&](Encoder& body) {
    body.integer(F::kKind, static_cast<uint32_t>(allocation.kind));
    body.integer(F::kAddress, allocation.base);
    body.integer(F::kBytes, allocation.bytes);
    body.integer(F::kChargedBytes, allocation.charged_bytes);
    body.integer(F::kLayer, static_cast<uint32_t>(allocation.layer));
    body.integer(F::kDevice, static_cast<uint32_t>(allocation.device));
  });
}

void Recorder::free(const device::Allocation& allocation) {
  using F = fields::Free;
  Profiler::tell_memory(allocation, true);
  write(writer(), Packet::kFree, [&](Encoder& body) {
    body.integer(F::kKind, static_cast<uint32_t>(allocation.kind));
    body.integer(F::kAddress, allocation.base);
    body.integer(F::kChargedBytes, allocation.charged_bytes);
    body.integer(F::kDevice, static_cast<uint32_t>(allocation.device));
    body.integer(F::kLayer, static_cast<uint32_t>(allocation.layer));
    body.integer(F::kBytes, allocation.bytes);
  });
}

void Recorder::allocation_failure(std::string_view call, int device, uint64_t requested_bytes,
                                  const device::DeviceMemoryUse& use, const uint64_t* largest, int largest_count) {
  using F = fields::AllocationFailure;
  write(writer(), Packet::kAllocationFailure, [&](Encoder& body) {
    body.text(F::kCall, call);
    body.integer(F::kRequestedBytes, requested_bytes);
    body.integer(F::kFreeBytes, use.free_bytes);
    body.integer(F::kCapacityBytes, use.capacity_bytes);
    body.integer(F::kDevice, static_cast<uint32_t>(device));
    body.packed(F::kLayerBytes, use.layer_bytes, device::kLayerCount);
    body.packed(F::kLargestHolderBytes, largest, static_cast<size_t>(std::max(largest_count, 0)));
  });
}

void Recorder::mapping(uint64_t address, uint64_t bytes, uint64_t handle, bool unmap) {
  using F = fields::Mapping;
  write(writer(), Packet::kMapping, [&](Encoder& body) {
    body.integer(F::kAddress, address);
    body.integer(F::kBytes, bytes);
    body.integer(F::kHandle, handle);
    body.integer(F::kUnmap, unmap);
  });
}

void Recorder::copy(int kind, uint64_t bytes, bool asynchronous, bool pageable, uint64_t rows, uint32_t stream,
                    uint64_t entry_ns, uint64_t own_ns, uint64_t wait_ns) {
  using F = fields::Copy;
  write(writer(), Packet::kCopy, entry_ns, stream, own_ns, wait_ns, [&](Encoder& body) {
    body.integer(F::kKind, static_cast<uint32_t>(kind));
    body.integer(F::kBytes, bytes);
    body.integer(F::kAsynchronous, asynchronous);
    body.integer(F::kPageable, pageable);
    body.integer(F::kRows, rows);
  });
}

void Recorder::fill(uint64_t bytes, uint32_t value, uint32_t width, bool asynchronous, uint64_t rows, uint32_t stream,
                    uint64_t entry_ns, uint64_t own_ns) {
  using F = fields::Fill;
  write(writer(), Packet::kFill, entry_ns, stream, own_ns, 0, [&](Encoder& body) {
    body.integer(F::kBytes, bytes);
    body.integer(F::kValue, value);
    body.integer(F::kWidth, width);
    body.integer(F::kAsynchronous, asynchronous);
    body.integer(F::kRows, rows);
  });
}

void Recorder::event(int call, uint32_t event, uint32_t stream, bool ready, uint32_t end_event, uint64_t wait_ns,
                     uint64_t own_ns, uint64_t entry_ns) {
  using F = fields::EventCall;
  if (!enabled()) return;
  if (entry_ns == 0) entry_ns = trace::now_ns() - own_ns;
  write(writer(), Packet::kEvent, entry_ns, stream, own_ns, wait_ns, [&](Encoder& body) {
    body.integer(F::kCall, static_cast<uint32_t>(call));
    body.integer(F::kEvent, event);
    body.integer(F::kReady, ready);
    body.integer(F::kEndEvent, end_event);
  });
}

void Recorder::synchronization(int scope, uint32_t stream, bool ready, uint32_t device, uint64_t wait_ns,
                               uint64_t own_ns) {
  using F = fields::Synchronization;
  if (!enabled()) return;
  write(writer(), Packet::kSynchronization, trace::now_ns() - own_ns, stream, own_ns, wait_ns, [&](Encoder& body) {
    body.integer(F::kScope, static_cast<uint32_t>(scope));
    body.integer(F::kReady, ready);
    body.integer(F::kDevice, device);
  });
}

void Recorder::stream(uint32_t id, uint32_t device, uint32_t flags, int32_t priority, bool destroyed) {
  using F = fields::StreamDescriptor;
  write(writer(), Packet::kStreamDescriptor, [&](Encoder& body) {
    body.integer(F::kId, id);
    body.integer(F::kDevice, device);
    body.integer(F::kFlags, flags);
    body.sint(F::kPriority, priority);
    body.integer(F::kDestroyed, destroyed);
  });
}

void Recorder::host_function(uint32_t stream, uint64_t measured_ns, uint64_t entry_ns) {
  if (!enabled()) return;
  write(writer(), Packet::kHostFunction, entry_ns != 0 ? entry_ns : trace::now_ns(), stream, 0, 0,
        [&](Encoder& body) { body.integer(fields::HostFunction::kMeasuredNs, measured_ns); });
}

void Recorder::module(uint32_t device, uint64_t image_bytes, uint64_t charged_bytes, bool unload, uint64_t own_ns) {
  using F = fields::ModuleLoad;
  if (!enabled()) return;
  write(writer(), Packet::kModule, trace::now_ns(), 0, own_ns, 0, [&](Encoder& body) {
    body.integer(F::kDevice, device);
    body.integer(F::kImageBytes, image_bytes);
    body.integer(F::kChargedBytes, charged_bytes);
    body.integer(F::kUnload, unload);
  });
}

void Recorder::range(int call, std::string_view text, std::string_view domain, uint64_t id) {
  using F = fields::RangeMark;
  const uint32_t text_id = string_id(text);
  const uint32_t domain_id = string_id(domain);
  write(writer(), Packet::kRange, [&](Encoder& body) {
    body.integer(F::kCall, static_cast<uint32_t>(call));
    body.integer(F::kText, text_id);
    body.integer(F::kId, id);
    body.integer(F::kDomain, domain_id);
  });
}

void Recorder::communicator(uint32_t id, uint64_t unique, uint32_t rank, uint32_t ranks, uint32_t device,
                            uint64_t charged_bytes, bool destroyed) {
  using F = fields::Communicator;
  write(writer(), Packet::kCommunicator, [&](Encoder& body) {
    body.integer(F::kId, id);
    body.fixed64(F::kUnique, unique);
    body.integer(F::kRank, rank);
    body.integer(F::kRanks, ranks);
    body.integer(F::kDevice, device);
    body.integer(F::kChargedBytes, charged_bytes);
    body.integer(F::kDestroyed, destroyed);
  });
}

void Recorder::communicator(uint32_t id, const CommunicatorDescription& description) {
  using F = fields::Communicator;
  const CommunicatorDescription& d = description;
  write(writer(), Packet::kCommunicator, [&](Encoder& body) {
    body.integer(F::kId, id);
    body.fixed64(F::kUnique, d.unique);
    body.integer(F::kRank, d.rank);
    body.integer(F::kRanks, d.ranks);
    body.integer(F::kDevice, static_cast<uint32_t>(d.device));
    body.fixed64(F::kParent, d.parent);
    body.text(F::kName, d.name);
    body.integer(F::kTwins, d.twins != 0);
    if (d.world_ranks == nullptr) return;
    const std::vector<int64_t> members(d.world_ranks, d.world_ranks + d.ranks);
    body.packed_sint(F::kWorldRanks, members.data(), members.size());
  });
}

void Recorder::graph_launch(uint32_t graph, uint32_t packets, uint32_t stream, uint64_t entry_ns) {
  using F = fields::GraphLaunch;
  write(writer(), Packet::kGraphLaunch, entry_ns, stream, 0, 0, [&](Encoder& body) {
    body.integer(F::kGraph, graph);
    body.integer(F::kNodes, packets);
    body.integer(F::kNodesFollow, true);
  });
}

void Recorder::timed_operation(uint32_t operation, uint32_t stream, uint32_t group, uint64_t entry_ns,
                               uint64_t own_ns) {
  trace::Writer* const to = writer();
  if (to == nullptr) return;
  Encoder packet;
  packet.integer(Packet::kOperation, operation);
  packet.integer(Packet::kStream, stream);
  packet.integer(Packet::kGroup, group);
  packet.integer(Packet::kOwnNs, own_ns);
  to->packet(packet, entry_ns);
  pass_over_long(to, own_ns);
}

void Recorder::timed_launch(uint32_t configuration, uint32_t stream, uint64_t entry_ns, uint64_t own_ns) {
  trace::Writer* const to = writer();
  if (to == nullptr) return;
  Encoder packet;
  packet.integer(Packet::kLaunch, configuration);
  packet.integer(Packet::kStream, stream);
  packet.integer(Packet::kOwnNs, own_ns);
  to->packet(packet, entry_ns);
  pass_over_long(to, own_ns);
}

void Recorder::notice(int severity, std::string_view text) {
  using F = fields::Notice;
  write(writer(), Packet::kNotice, [&](Encoder& body) {
    body.integer(F::kSeverity, static_cast<uint32_t>(severity));
    body.text(F::kText, text);
  });
}

void Recorder::unsupported(const char* library, const char* entry_point) {
  if (in_forked_child()) return;
  try {
    const std::string name = std::string(library) + ":" + entry_point;
    std::lock_guard<std::mutex> lock(mutex_);
    ++unsupported_[name];
  } catch (const std::bad_alloc&) {
  }
}

uint32_t Recorder::kernel(const device::KernelInfo& kernel) {
  using F = fields::KernelDescriptor;
  const uint32_t id = next_kernel_.fetch_add(1, std::memory_order_relaxed);
  const uint32_t name = string_id(kernel.name);
  std::vector<uint64_t> offsets, sizes;
  for (const device::KernelParameter& parameter : kernel.parameters) {
    offsets.push_back(parameter.offset);
    sizes.push_back(parameter.size);
  }
  write(writer(), Packet::kKernel, [&](Encoder& body) {
    body.integer(F::kId, id);
    body.integer(F::kName, name);
    body.integer(F::kRegisters, kernel.registers);
    body.integer(F::kStaticSharedBytes, kernel.static_shared_bytes);
    body.integer(F::kMaxThreads, kernel.max_threads);
    body.integer(F::kArchitecture, kernel.architecture);
    body.packed(F::kParameterOffsets, offsets.data(), offsets.size());
    body.packed(F::kParameterSizes, sizes.data(), sizes.size());
  });
  return id;
}

uint32_t Recorder::launch_configuration(uint32_t kernel, const device::Launch& launch,
                                        const LaunchView::Scalar* scalars, uint32_t scalar_count, double estimate_ns,
                                        const device::KernelWork* work) {
  using F = fields::LaunchConfiguration;
  const uint32_t id = next_configuration_.fetch_add(1, std::memory_order_relaxed);
  std::vector<uint64_t> slots, values;
  for (uint32_t i = 0; i < scalar_count; ++i) {
    slots.push_back(uint64_t{scalars[i].offset} << 8 | scalars[i].size);
    values.push_back(scalars[i].value);
  }
  write(writer(), Packet::kConfiguration, [&](Encoder& body) {
    body.integer(F::kId, id);
    body.integer(F::kKernel, kernel);
    body.integer(F::kGridX, launch.grid[0]);
    body.integer(F::kGridY, launch.grid[1]);
    body.integer(F::kGridZ, launch.grid[2]);
    body.integer(F::kBlockX, launch.block[0]);
    body.integer(F::kBlockY, launch.block[1]);
    body.integer(F::kBlockZ, launch.block[2]);
    body.integer(F::kDynamicSharedBytes, launch.dynamic_shared_bytes);
    body.integer(F::kClusterX, launch.cluster[0]);
    body.integer(F::kClusterY, launch.cluster[1]);
    body.integer(F::kClusterZ, launch.cluster[2]);
    body.integer(F::kCooperative, launch.cooperative);
    body.packed(F::kScalarSlots, slots.data(), slots.size());
    body.packed(F::kScalarValues, values.data(), values.size());
    body.number(F::kEstimateNs, estimate_ns);
    if (work == nullptr) return;
    using W = fields::KernelWork;
    Encoder counted;
    counted.number(W::kReadBytes, work->read_bytes);
    counted.number(W::kWrittenBytes, work->written_bytes);
    counted.number(W::kRequestedBytes, work->requested_bytes);
    counted.number(W::kInstructions, work->instructions);
    counted.number(W::kFunctions, work->functions);
    for (int i = 0; i < device::kMatrixTypes; ++i)
      counted.number(W::kHalfFlops + static_cast<uint32_t>(i), work->flops[i]);
    counted.number(W::kUncertainty, work->uncertainty);
    body.message(F::kWork, counted);
  });
  return id;
}

uint32_t Recorder::operation_descriptor(const OperationRecord& operation, double estimate_ns) {
  using F = fields::OperationDescriptor;
  const uint32_t id = next_operation_.fetch_add(1, std::memory_order_relaxed);
  const uint32_t api = string_id(operation.api);
  uint64_t keys[OperationRecord::kMaxFields];
  int64_t values[OperationRecord::kMaxFields];
  const size_t count = std::min<size_t>(operation.count, OperationRecord::kMaxFields);
  for (size_t i = 0; i < count; ++i) {
    keys[i] = static_cast<uint64_t>(operation.fields[i].key);
    values[i] = operation.fields[i].value;
  }
  write(writer(), Packet::kOperationDescriptor, [&](Encoder& body) {
    body.integer(F::kId, id);
    body.integer(F::kFamily, static_cast<uint32_t>(operation.family));
    body.integer(F::kApi, api);
    body.packed(F::kKeys, keys, count);
    body.packed_sint(F::kValues, values, count);
    body.number(F::kEstimateNs, estimate_ns);
  });
  return id;
}

void Recorder::finish() {
  if (in_forked_child()) return;
  trace::Writer* open = writer();
  std::lock_guard<std::mutex> lock(mutex_);
  if (open == nullptr || finished_) return;
  finished_ = true;
  write(open, Packet::kEnd, [&](Encoder& body) {
    using F = fields::ProcessEnd;
    body.integer(F::kPacketsLost, open->packets_lost());
    body.text(F::kReason, "exit");
    body.integer(F::kHostBytesDropped, driver_.load(std::memory_order_acquire)->memory().host_bytes_dropped());
    for (const auto& [name, count] : unsupported_) {
      Encoder call;
      call.text(fields::CallCount::kName, name);
      call.integer(fields::CallCount::kCount, count);
      body.message(F::kUnsupported, call);
    }
  });
  open->finish();
}

void Recorder::finish_at_exit() {
  if (process_.load(std::memory_order_acquire) != getpid() || !mutex_.try_lock()) return;
  mutex_.unlock();
  finish();
}

void Recorder::abandon() {
  if (trace::Writer* open = writer(); open != nullptr) open->abandon();
}

}  // namespace maya::cuda
