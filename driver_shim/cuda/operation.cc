#include "driver_shim/cuda/operation.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "driver_shim/cuda/capture.h"
#include "driver_shim/cuda/device_time.h"
#include "driver_shim/cuda/operation_cache.h"
#include "driver_shim/cuda/profiler.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/stream_call.h"
#include "predictor/core/estimate.h"

namespace maya::cuda {
namespace {

uint64_t hash_of(const OperationRecord& operation) {
  uint64_t sum =
      (static_cast<uint64_t>(operation.family) + reinterpret_cast<uintptr_t>(operation.api)) * kMultipliers[0];
  for (uint32_t i = 0; i < operation.count; ++i)
    sum += (static_cast<uint64_t>(operation.fields[i].key) << 56 ^ static_cast<uint64_t>(operation.fields[i].value)) *
           (kMultipliers[i % 8] + (i / 8) * 2);
  return sum ^ sum >> 32;
}

bool same(const OperationRecord& a, const OperationRecord& b) {
  if (a.family != b.family || a.count != b.count || a.api != b.api) return false;
  for (int i = 0; i < a.count; ++i)
    if (a.fields[i].key != b.fields[i].key || a.fields[i].value != b.fields[i].value) return false;
  return true;
}

// All operations of the process, so that threads share the ids.
struct Interned {
  std::mutex mutex;
  std::unordered_multimap<uint64_t, OperationCache::Entry> by_hash;
};

Interned& interned() {
  static Interned& made = *new Interned;
  return made;
}

OperationCache::Entry intern(const Estimator& estimator, const OperationRecord& operation, uint64_t hash) {
  std::lock_guard<std::mutex> lock(interned().mutex);
  const auto [first, last] = interned().by_hash.equal_range(hash);
  for (auto known = first; known != last; ++known)
    if (same(known->second.operation, operation)) return known->second;
  const double estimate_ns = estimator.estimate(work_of(operation)).median_ns;
  OperationCache::Entry made{operation, Recorder::get().operation_descriptor(operation, estimate_ns),
                             whole_ns(estimate_ns)};
  interned().by_hash.emplace(hash, made);
  return made;
}

const OperationCache::Entry& look_up(ThreadState& thread, const Estimator& estimator,
                                     const OperationRecord& operation) {
  if (thread.operations == nullptr) thread.operations = std::make_unique<OperationCache>();
  const uint64_t hash = hash_of(operation);
  OperationCache::Entry& entry = thread.operations->entries[(hash ^ hash >> 16) % OperationCache::kEntries];
  if (entry.id == 0 || !same(entry.operation, operation)) entry = intern(estimator, operation, hash);
  return entry;
}

bool is_collective(const OperationRecord& operation) {
  return operation.family == Family::kCollective || operation.family == Family::kPointToPoint;
}

// On a stream that is being captured, operations become nodes of the graph. The number of their group stays with them:
// each launch of the graph makes new numbers of it.
CUresult capture(Stream& stream, const OperationRecord& operation, const MemoryRange* writes, uint32_t write_count,
                 std::shared_ptr<const ReplayedOperation> replayed) {
  OperationNode node;
  node.record = operation;
  if (is_collective(operation)) {
    node.group = static_cast<uint32_t>(operation.get(Key::kGroupCall));
    node.record.clear(Key::kGroupCall);
  }
  if (write_count != 0) node.writes.assign(writes, writes + write_count);
  node.replayed = std::move(replayed);
  return Captures::add(stream, std::move(node));
}

}  // namespace

ResolvedOperation resolve_operation(const Estimator& estimator, const OperationRecord& operation) {
  const OperationCache::Entry entry = intern(estimator, operation, hash_of(operation));
  return {entry.id, entry.duration_ns};
}

void write_operation(uint32_t id, uint32_t group, uint32_t stream, uint64_t entry_ns, uint64_t own_ns) {
  if (group != 0 || own_ns != 0)
    Recorder::get().timed_operation(id, stream, group, entry_ns, own_ns);
  else if (trace::Writer* writer = Recorder::writer(); writer != nullptr)
    writer->operation(id, stream, entry_ns);
}

int is_capturing(CUstream handle) noexcept {
  bool captured = false;
  with_stream(
      handle, false, true,
      [&](Call&, Stream& stream) {
        captured = stream.capture() != nullptr;
        return CUDA_SUCCESS;
      },
      WhileCaptured::kAllowed);
  return captured;
}

CUresult capture_operation(CUstream handle, const OperationRecord* operation,
                           void (*replay)(void* argument, CUstream stream), void (*release)(void* argument),
                           void* argument) noexcept {
  const bool valid = operation != nullptr && operation->count <= OperationRecord::kMaxFields && replay != nullptr;
  return with_stream(
      handle, false, valid,
      [&](Call&, Stream& stream) -> CUresult {
        if (stream.capture() == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
        return capture(stream, *operation, nullptr, 0,
                       std::make_shared<const ReplayedOperation>(replay, release, argument));
      },
      WhileCaptured::kAllowed);
}

CUresult record_operation(CUstream handle, const OperationRecord* operation, const MemoryRange* writes,
                          uint32_t write_count) noexcept {
  return record_timed_operation(handle, operation, writes, write_count, trace::now_ns(), nullptr, nullptr);
}

CUresult record_timed_operation(CUstream handle, const OperationRecord* operation, const MemoryRange* writes,
                                uint32_t write_count, uint64_t entry_ns, void (*rest)(void* argument),
                                void* argument) noexcept {
  const bool valid = operation != nullptr && operation->count <= OperationRecord::kMaxFields &&
                     (write_count == 0 || writes != nullptr);
  // The number of a group is no part of what the operation is.
  OperationRecord alone;
  uint32_t group = 0;
  const OperationRecord* whole = operation;
  if (valid && is_collective(*operation)) {
    group = static_cast<uint32_t>(operation->get(Key::kGroupCall));
    alone = *operation;
    alone.clear(Key::kGroupCall);
    operation = &alone;
  }
  return with_stream(
      handle, false, valid,
      [&](Call& call, Stream& stream) -> CUresult {
        if (stream.capture() != nullptr) return capture(stream, *whole, writes, write_count, nullptr);
        const OperationCache::Entry& entry =
            look_up(call.thread(), call.driver().estimator(stream.context()->device), *operation);
        for (uint32_t i = 0; i < write_count; ++i) call.memory().make_unknown(writes[i].address, writes[i].bytes);
        const uint64_t end_ns =
            stream.enqueue(call.driver().to_virtual_ns(entry_ns) + call.driver().launch_latency_ns(), entry.duration_ns,
                           call.driver().queued_gap_ns());
        if (Profiler::attached()) [[unlikely]]
          Profiler::tell_operation({call.driver(), *stream.context(), stream.id(), end_ns, entry.duration_ns, entry_ns,
                                    0, 0, stream.priority()},
                                   *operation);
        if (rest != nullptr) {
          // `rest` may put other work on the stream, or let the entry's place in the cache be used for another.
          const uint32_t id = entry.id, stream_id = stream.id();
          rest(argument);
          write_operation(id, group, stream_id, entry_ns, trace::now_ns() - entry_ns);
        } else {
          write_operation(entry.id, group, stream.id(), entry_ns);
        }
        return CUDA_SUCCESS;
      },
      WhileCaptured::kAllowed);
}

}  // namespace maya::cuda
