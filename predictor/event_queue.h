// The events of a simulation in their total order: time, then the order in which they were scheduled. Internal to the
// simulator.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
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
  uint32_t index;
  uint32_t program : 24;
  uint32_t what : 8;
};
inline constexpr uint32_t kMostPrograms = 1 << 24;

// A radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster Algorithms for the Shortest Path Problem", 1990): nothing is
// scheduled before the last event that was taken, so events can lie in buckets by the highest bit in which their time
// differs from the time of that one. When the first bucket is used up, the next one that holds anything is dealt out
// to those before it, which are empty then. Nothing is compared, and events of one time keep the order in which they
// were scheduled: every bucket is in that order, and dealing out keeps it.
class EventQueue {
 public:
  bool empty() const { return filled_ == 0; }

  // A time that has passed is taken as now, one after kLatest_ns (292 years) as that.
  void schedule(uint64_t time_ns, uint32_t program, uint32_t index, What what) {
    put({std::clamp(time_ns, now_ns_, kLatest_ns), index, program, static_cast<uint32_t>(what)});
  }

  ScheduledEvent take() {
    if ((filled_ & 1) == 0) deal_out();
    std::vector<ScheduledEvent>& present = buckets_[0];
    const ScheduledEvent event = present[taken_++];
    if (taken_ == present.size()) {
      present.clear();
      taken_ = 0;
      filled_ &= ~uint64_t{1};
    }
    return event;
  }

 private:
  static constexpr uint64_t kLatest_ns = (uint64_t{1} << 63) - 1;

  void put(const ScheduledEvent& event) {
    const int bucket = std::bit_width(event.time_ns ^ now_ns_);
    buckets_[static_cast<size_t>(bucket)].push_back(event);
    filled_ |= uint64_t{1} << bucket;
  }

  void deal_out() {
    const int first = std::countr_zero(filled_);
    std::vector<ScheduledEvent>& bucket = buckets_[static_cast<size_t>(first)];
    filled_ &= filled_ - 1;
    now_ns_ = bucket.front().time_ns;
    for (const ScheduledEvent& event : bucket) now_ns_ = std::min(now_ns_, event.time_ns);
    for (const ScheduledEvent& event : bucket) put(event);
    bucket.clear();
  }

  // The first is of the time of the last event taken.
  std::array<std::vector<ScheduledEvent>, 64> buckets_;
  uint64_t filled_ = 0;  // bit by bucket
  uint64_t now_ns_ = 0;
  size_t taken_ = 0;  // of the first bucket
};

}  // namespace maya::predictor
