#include "predictor/breakdown.h"

#include <algorithm>

#include "predictor/numbers.h"

namespace maya::predictor {
namespace {

struct Change {
  uint64_t time_ns;
  uint32_t call;
  bool begins;
};

// What runs at one moment.
struct Running {
  uint32_t compute = 0;
  uint32_t communication = 0;
  uint32_t copies = 0;
  bool none() const { return compute + communication + copies == 0; }
  uint32_t& of(Engine engine) {
    if (engine == Engine::kCommunication) return communication;
    return is_copy(engine) ? copies : compute;
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
      if (running.communication > 0) part.communication += length;
      if (running.compute > 0) {
        part.compute += length;
      } else if (running.communication > 0) {
        part.exposed_communication += length;
      } else if (running.copies > 0) {
        part.copies += length;
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

std::vector<Breakdown> break_down(const Program& program, const Simulation& simulation,
                                  const std::vector<Interval>& intervals) {
  std::vector<Breakdown> parts(intervals.size());
  std::vector<Change> changes;
  for (uint32_t i = 0; i < program.calls.size(); ++i) {
    const HostCall& call = program.calls[i];
    if (call.kind != CallKind::kEnqueue || call.engine == Engine::kHost) continue;
    if (simulation.work_start_ns[i] == kNever_ns || simulation.work_end_ns[i] == kNever_ns) continue;
    if (simulation.work_end_ns[i] == simulation.work_start_ns[i]) continue;
    changes.push_back({simulation.work_start_ns[i], i, true});
    changes.push_back({simulation.work_end_ns[i], i, false});
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
    uint32_t& count = running.of(program.calls[change.call].engine);
    count = change.begins ? count + 1 : count - 1;
  }
  // After the last piece of work only the host goes on.
  adder.add(since, kNever_ns, running, true);
  return parts;
}

}  // namespace maya::predictor
