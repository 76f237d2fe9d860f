#include "predictor/breakdown.h"

#include <algorithm>

#include "predictor/numbers.h"

namespace maya::predictor {
namespace {

// What runs at one moment, by kind: compute, copies, data that moves, and communication that waits.
enum State : uint8_t { kCompute, kCopies, kBubble, kWaiting, kMoves };  // kMoves + kind: data of the kind moves
constexpr size_t kStates = kMoves + kExposedKinds;

struct Change {
  uint64_t time_ns;
  uint32_t call;
  uint8_t state;
  bool begins;
};

struct Running {
  std::array<uint32_t, kStates> of{};
  uint32_t moving = 0;
  bool none() const { return moving + of[kCompute] + of[kCopies] + of[kBubble] + of[kWaiting] == 0; }
  void change(const Change& c) {
    const uint32_t by = c.begins ? 1 : ~uint32_t{0};
    of[c.state] += by;
    if (c.state >= kMoves) moving += by;
  }
  size_t first_kind() const {
    size_t kind = 0;
    while (kind + 1 < kExposedKinds && of[kMoves + kind] == 0) ++kind;
    return kind;
  }
};

// The part [from, to) of the timeline, during which the same things run, added to the intervals that it meets.
class Adder {
 public:
  Adder(const std::vector<Interval>& intervals, std::vector<Breakdown>* parts)
      : intervals_(intervals), parts_(*parts) {}

  void add(uint64_t from, uint64_t to, const Running& running, bool host_bound) {
    while (at_ < intervals_.size() && intervals_[at_].end_ns <= from) ++at_;
    for (size_t i = at_; i < intervals_.size() && intervals_[i].begin_ns < to; ++i) {
      const uint64_t length =
          saturating_subtract(std::min(to, intervals_[i].end_ns), std::max(from, intervals_[i].begin_ns));
      Breakdown& part = parts_[i];
      if (running.moving > 0) part.communication += length;
      if (running.of[kCompute] > 0) {
        part.compute += length;
      } else if (running.moving > 0) {
        part.exposed_communication += length;
        part.exposed[running.first_kind()] += length;
      } else if (running.of[kCopies] > 0) {
        part.copies += length;
      } else if (running.of[kBubble] > 0) {
        part.pipeline_bubble += length;
      } else if (running.of[kWaiting] > 0) {
        part.waiting_for_ranks += length;
      } else if (host_bound) {
        part.host_bound += length;
      } else {
        part.idle += length;
      }
    }
  }

 private:
  const std::vector<Interval>& intervals_;
  std::vector<Breakdown>& parts_;
  size_t at_ = 0;
};

}  // namespace

const char* exposed_kind_name(size_t kind) {
  static constexpr const char* kNames[kExposedKinds] = {"all_reduce",     "broadcast", "reduce",   "all_gather",
                                                        "reduce_scatter", "send_recv", nullptr,    "all_to_all",
                                                        "gather",         "scatter",   "peer_copy"};
  return kind < kExposedKinds ? kNames[kind] : nullptr;
}

std::vector<Breakdown> break_down(const Program& program, const Simulation& simulation,
                                  const std::vector<Interval>& intervals) {
  std::vector<Breakdown> parts(intervals.size());
  std::vector<Change> changes;
  for (uint32_t i = 0; i < program.calls.size(); ++i) {
    const HostCall& call = program.calls[i];
    if (call.kind != CallKind::kEnqueue || call.engine == Engine::kHost) continue;
    if (simulation.work_start_ns[i] == kNever_ns || simulation.work_end_ns[i] == kNever_ns) continue;
    const auto add = [&](uint64_t from, uint64_t to, size_t state) {
      if (from >= to) return;
      changes.push_back({from, i, static_cast<uint8_t>(state), true});
      changes.push_back({to, i, static_cast<uint8_t>(state), false});
    };
    const uint64_t start_ns = simulation.work_start_ns[i], end_ns = simulation.work_end_ns[i];
    if (call.engine != Engine::kCommunication) {
      add(start_ns, end_ns, is_copy(call.engine) ? kCopies : kCompute);
    } else if (call.communication == kNone) {
      add(start_ns, end_ns, kMoves + kPeerCopies);
    } else {
      const CollectiveKind kind = program.communications[call.communication].kind;
      const bool transfer = kind == CollectiveKind::kSend || kind == CollectiveKind::kRecv;
      const uint64_t matched_ns = std::min(simulation.matched_ns[call.communication], end_ns);
      add(start_ns, matched_ns, transfer ? kBubble : kWaiting);
      add(matched_ns, end_ns, kMoves + static_cast<size_t>(transfer ? CollectiveKind::kSend : kind));
    }
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
    if (a.begins != b.begins) return a.begins;  // touching pieces of work leave no gap between them
    return a.call < b.call;
  });
  Adder adder(intervals, &parts);
  Running running;
  uint64_t since = 0;
  for (const Change& change : changes) {
    if (change.time_ns > since) {
      // A gap ends with the start of the next piece of work, which tells why there was one.
      adder.add(since, change.time_ns, running, running.none() && simulation.launched_late[change.call]);
      since = change.time_ns;
    }
    running.change(change);
  }
  // After the last piece of work only the host goes on.
  adder.add(since, kNever_ns, running, true);
  return parts;
}

}  // namespace maya::predictor
