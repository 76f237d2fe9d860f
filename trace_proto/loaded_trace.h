// One process's trace in memory, in the form that the predictor works on: definitions by id, payloads by kind, and one
// list of small events in time order over all threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "predictor/core/operation.h"
#include "trace_proto/maya_trace.pb.h"
#include "trace_proto/reader.h"

namespace maya::trace {

enum class EventKind : uint8_t {
  kLaunch = 0,     // index: into LoadedTrace::configurations
  kOperation = 1,  // index: into operations
  kCopy = 2,       // index: into copies; likewise below
  kFill = 3,
  kAllocation = 4,
  kFree = 5,
  kAllocationFailure = 6,
  kEventCall = 7,
  kSynchronization = 8,
  kHostFunction = 9,
  kRange = 10,
  kCommunicator = 11,
  kStream = 12,  // into stream_calls
  kMapping = 13,
  kModule = 14,
  kGraphLaunch = 15,
  kNotice = 16,
};

struct Event {
  uint64_t time_ns = 0;      // entry of the call, CLOCK_MONOTONIC
  uint64_t own_ns = 0;       // Maya's own time inside the call
  uint64_t wait_ns = 0;      // blocking of the host: modelled, or measured where call_ns is
  uint64_t measured_ns = 0;  // duration on the device as a profiler measured it; 0: not measured
  uint64_t call_ns = 0;      // host time of the call itself, waiting not counted, likewise
  int64_t start_ns = 0;      // where measured_ns is not 0: start on the device, after time_ns
  uint32_t thread = 0;
  uint32_t stream = 0;
  uint32_t group = 0;  // operations inside ncclGroupStart/End: number of the outermost group, from 1; 0: none
  uint32_t index = 0;  // into the table of the kind; kNoDefinition when a launch or operation refers to an id the file
                       // does not define
  EventKind kind = EventKind::kLaunch;
  uint64_t delay_ns = 0;  // of the host's time before the call: the thread was ready and another one had its processor
};
constexpr uint32_t kNoDefinition = 0xffffffff;

struct Kernel {
  std::string_view name;  // mangled; empty when its string is missing
  uint32_t registers = 0;
  uint32_t static_shared_bytes = 0;
  uint32_t max_threads = 0;
  uint32_t architecture = 0;
  std::vector<uint32_t> parameter_offsets;
  std::vector<uint32_t> parameter_sizes;
};

struct Configuration {
  struct Scalar {
    uint16_t offset;
    uint16_t size;
    uint64_t value;
  };
  uint32_t kernel = kNoDefinition;  // index into kernels, kNoDefinition when missing
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t cluster[3] = {0, 0, 0};  // 0: none
  uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  uint32_t operation = kNoDefinition;  // index into operations: the library operation that it carries out, where known
  std::vector<Scalar> scalars;
  double estimate_ns = 0;
  std::optional<proto::KernelWork> work;  // counted from the kernel's instructions
};

struct Operation {
  OperationRecord record;  // record.api points into `strings`
  double estimate_ns = 0;
};

struct LoadedTrace {
  std::string path;
  proto::ProcessHeader process;  // fields at their defaults when the header is lost
  bool has_process = false;
  proto::ProcessEnd end;
  bool has_end = false;
  bool complete = false;      // ended in order, nothing damaged, nothing unfinished
  uint64_t packets_lost = 0;  // as the writer counted them
  std::vector<Damage> damage;
  uint64_t last_time_ns = 0;

  std::unordered_map<uint32_t, std::string> strings;
  std::vector<Kernel> kernels;
  std::vector<Configuration> configurations;
  std::vector<Operation> operations;
  std::vector<proto::DeviceDescriptor> devices;

  std::vector<proto::Copy> copies;
  std::vector<proto::Fill> fills;
  std::vector<proto::Allocation> allocations;
  std::vector<proto::Free> frees;
  std::vector<proto::AllocationFailure> allocation_failures;
  std::vector<proto::EventCall> event_calls;
  std::vector<proto::Synchronization> synchronizations;
  std::vector<proto::HostFunction> host_functions;
  std::vector<proto::RangeMark> ranges;
  std::vector<proto::Communicator> communicators;  // ranks, members and origin, in the order of the calls
  std::vector<proto::StreamDescriptor> stream_calls;
  std::vector<proto::Mapping> mappings;
  std::vector<proto::ModuleLoad> modules;
  std::vector<proto::GraphLaunch> graph_launches;
  std::vector<proto::Notice> notices;

  // Ordered by (time_ns, thread, order within the thread): identical files give identical lists.
  std::vector<Event> events;
  uint32_t threads = 0;  // host threads seen; ids are below it

  std::string_view string(uint32_t id) const {
    const auto found = strings.find(id);
    return found == strings.end() ? std::string_view() : std::string_view(found->second);
  }

  LoadedTrace() = default;
  LoadedTrace(LoadedTrace&&) = default;  // views stay valid: `strings` keeps its nodes
  LoadedTrace& operator=(LoadedTrace&&) = default;
  LoadedTrace(const LoadedTrace&) = delete;
  LoadedTrace& operator=(const LoadedTrace&) = delete;
};

struct LoadResult {
  ReadStatus status = ReadStatus::kOk;
  std::string error;                // one line, empty when status is kOk
  std::vector<LoadedTrace> traces;  // one per process in the file, in file order; not empty when status is kOk
};

LoadResult load_trace(const std::string& path);
LoadResult load_trace(const void* data, size_t size);

}  // namespace maya::trace
