// The events of a simulation in their total order: time, then the order in which they were scheduled. Internal to the
// simulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace maya::predictor {

enum class What : uint8_t {
  kCall,      // index: call that a host thread makes
  kReady,     // call whose work may start
  kTail,      // call whose kernel lets others in
  kEnd,       // call whose work ends, unless that has been put off
  kPart,      // communication that ends at once
  kTransfer,  // match whose transfer is over, unless that has been put off
};

struct ScheduledEvent {
  uint64_t time_ns;
  uint64_t sequence;
  uint32_t index;
  uint32_t program : 24;
  uint32_t what : 8;
};
inline constexpr uint32_t kMostPrograms = 1 << 24;

// A heap with four children a node: less deep than one with two, and the children share a cache line or two.
class EventQueue {
 public:
  bool empty() const { return events_.empty(); }

  void schedule(uint64_t time_ns, uint32_t program, uint32_t index, What what) {
    const ScheduledEvent event{time_ns, sequence_++, index, program, static_cast<uint32_t>(what)};
    size_t at = events_.size();
    events_.push_back(event);
    while (at > 0) {
      const size_t parent = (at - 1) / kChildren;
      if (!before(event, events_[parent])) break;
      events_[at] = events_[parent];
      at = parent;
    }
    events_[at] = event;
  }

  ScheduledEvent take() {
    const ScheduledEvent top = events_.front();
    const ScheduledEvent last = events_.back();
    events_.pop_back();
    const size_t count = events_.size();
    size_t at = 0;
    for (size_t child = 1; child < count; child = at * kChildren + 1) {
      size_t least = child;
      for (size_t i = child + 1; i < child + kChildren && i < count; ++i)
        if (before(events_[i], events_[least])) least = i;
      if (!before(events_[least], last)) break;
      events_[at] = events_[least];
      at = least;
    }
    if (count > 0) events_[at] = last;
    return top;
  }

 private:
  static constexpr size_t kChildren = 4;
  static bool before(const ScheduledEvent& a, const ScheduledEvent& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.sequence < b.sequence;
  }
  std::vector<ScheduledEvent> events_;
  uint64_t sequence_ = 0;
};

}  // namespace maya::predictor
