#include "driver_shim/cuda/pending_work.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "trace_proto/writer.h"

namespace maya::cuda {
namespace {

struct Work {
  PendingCallbacks callbacks;
  void* argument;
};

// What streams of one kind share of their context: the legacy default stream follows all blocking streams and the
// reverse.
struct StreamTags {
  const Context* context;
  bool legacy;
  bool blocking;
  std::vector<uint32_t> tags;
};

struct State {
  std::mutex mutex;
  uint32_t next_tag = 1;
  std::unordered_map<uint32_t, Work> live;
  std::unordered_map<uint32_t, StreamTags> streams;            // by id
  std::unordered_map<uint32_t, std::vector<uint32_t>> events;  // by id
};

State& state() {
  static State& made = *new State;
  return made;
}

void drop_ended(std::vector<uint32_t>& tags) {
  const auto& live = state().live;
  tags.erase(std::remove_if(tags.begin(), tags.end(), [&](uint32_t tag) { return live.count(tag) == 0; }), tags.end());
}

void add_tags(std::vector<uint32_t>& to, const std::vector<uint32_t>& from) {
  for (const uint32_t tag : from)
    if (std::find(to.begin(), to.end(), tag) == to.end()) to.push_back(tag);
}

StreamTags& entry_of(const Stream& stream) {
  StreamTags& entry =
      state()
          .streams.try_emplace(stream.id(), StreamTags{stream.context(), stream.is_default(), stream.is_blocking(), {}})
          .first->second;
  drop_ended(entry.tags);
  return entry;
}

// Everything that work put on the stream now would wait for.
std::vector<uint32_t> tags_before(const Stream& stream) {
  std::vector<uint32_t> tags;
  for (auto& [id, entry] : state().streams) {
    const bool ordered = entry.context == stream.context() && (stream.is_default()    ? entry.legacy || entry.blocking
                                                               : stream.is_blocking() ? entry.legacy
                                                                                      : false);
    if (id != stream.id() && !ordered) continue;
    drop_ended(entry.tags);
    add_tags(tags, entry.tags);
  }
  return tags;
}

bool find(uint32_t tag, Work* work) {
  std::lock_guard<std::mutex> lock(state().mutex);
  const auto found = state().live.find(tag);
  if (found == state().live.end()) return false;
  *work = found->second;
  return true;
}

}  // namespace

uint32_t PendingWork::add(Driver& driver, const Stream& stream, const PendingCallbacks& callbacks, void* argument,
                          const MemoryRange* results, uint32_t count) {
  driver.memory().set_settle(&PendingWork::settle);
  uint32_t tag = 0;
  {
    std::lock_guard<std::mutex> lock(state().mutex);
    tag = state().next_tag++;
    if (tag == 0) tag = state().next_tag++;
    state().live.emplace(tag, Work{callbacks, argument});
    entry_of(stream).tags.push_back(tag);
    live_.fetch_add(1, std::memory_order_release);
  }
  for (uint32_t i = 0; i < count; ++i) driver.memory().expect(tag, results[i].address, results[i].bytes);
  return tag;
}

void PendingWork::end(Driver& driver, uint32_t tag) {
  driver.memory().end_expecting(tag);
  std::lock_guard<std::mutex> lock(state().mutex);
  if (state().live.erase(tag) != 0) live_.fetch_sub(1, std::memory_order_release);
}

void PendingWork::record(uint32_t event, const Stream& stream) {
  std::lock_guard<std::mutex> lock(state().mutex);
  std::vector<uint32_t> tags;
  if (any()) tags = tags_before(stream);
  if (tags.empty())
    state().events.erase(event);
  else
    state().events[event] = std::move(tags);
  events_.store(static_cast<uint32_t>(state().events.size()), std::memory_order_relaxed);
}

void PendingWork::follow(const Stream& stream, uint32_t event) {
  std::lock_guard<std::mutex> lock(state().mutex);
  const auto found = state().events.find(event);
  if (found == state().events.end()) return;
  drop_ended(found->second);
  add_tags(entry_of(stream).tags, found->second);
}

void PendingWork::forget_event(uint32_t event) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().events.erase(event);
  events_.store(static_cast<uint32_t>(state().events.size()), std::memory_order_relaxed);
}

PendingWork::Tags PendingWork::of_stream(const Stream& stream) {
  std::lock_guard<std::mutex> lock(state().mutex);
  return tags_before(stream);
}

PendingWork::Tags PendingWork::of_event(uint32_t event) {
  std::lock_guard<std::mutex> lock(state().mutex);
  const auto found = state().events.find(event);
  if (found == state().events.end()) return {};
  drop_ended(found->second);
  return found->second;
}

PendingWork::Tags PendingWork::of_context(const Context& context) {
  std::lock_guard<std::mutex> lock(state().mutex);
  Tags tags;
  for (auto& [id, entry] : state().streams) {
    if (entry.context != &context) continue;
    drop_ended(entry.tags);
    add_tags(tags, entry.tags);
  }
  return tags;
}

bool PendingWork::busy(const Tags& tags) {
  for (const uint32_t tag : tags) {
    Work work;
    if (find(tag, &work) && work.callbacks.poll(work.argument) == 0) return true;
  }
  return false;
}

uint64_t PendingWork::wait(const Tags& tags) {
  if (tags.empty()) return 0;
  const uint64_t start_ns = trace::now_ns();
  for (const uint32_t tag : tags) {
    Work work;
    if (find(tag, &work)) work.callbacks.wait(work.argument, 1);
  }
  return trace::now_ns() - start_ns;
}

void PendingWork::settle(uint32_t tag) {
  Work work;
  if (!find(tag, &work)) return;
  const uint64_t start_ns = trace::now_ns();
  work.callbacks.wait(work.argument, 0);
  thread_state().settling_ns += trace::now_ns() - start_ns;
}

}  // namespace maya::cuda
