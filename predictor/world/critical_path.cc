#include "predictor/world/critical_path.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "predictor/predict.h"

namespace maya::predictor {
namespace {

class Walker {
 public:
  explicit Walker(const Prediction& prediction) : prediction_(prediction), previous_(prediction.ranks.size()) {
    for (const RankPrediction& rank : prediction.ranks) steps_left_ += 3 * rank.program.calls.size() + 3;
  }

  std::vector<PathPart> walk() {
    rank_ = prediction_.slowest;
    const RankPrediction& slowest = rank();
    if (slowest.steps.steps.empty()) return {};
    begin_ns_ = slowest.step_begin_ns[slowest.typical_step];
    time_ns_ = begin_ns_ + slowest.step_ns[slowest.typical_step];
    call_ = slowest.steps.steps[slowest.typical_step].last_work;
    at_work_ = true;
    while (time_ns_ > begin_ns_ && steps_left_-- > 0 && (at_work_ ? follow_work() : follow_host())) {
    }
    // What lies before the first call, or what a deadlock cut off.
    if (time_ns_ > begin_ns_) add(PathPart::Kind::kGap, "before the first call", begin_ns_);
    return result();
  }

 private:
  using Key = std::tuple<PathPart::Kind, size_t, std::string>;

  const RankPrediction& rank() const { return prediction_.ranks[rank_]; }
  const Simulation& simulation() const { return rank().simulation; }

  // Accounts for the time back to `from_ns`, and goes there.
  void add(PathPart::Kind kind, const std::string& name, uint64_t from_ns) {
    from_ns = std::max(from_ns, begin_ns_);
    if (from_ns >= time_ns_) return;
    PathPart& part = parts_[{kind, rank_, name}];
    part.total_ns += time_ns_ - from_ns;
    ++part.count;
    time_ns_ = from_ns;
  }

  // Of a group, the call that ends last.
  uint32_t last_of_group(uint32_t leader) const {
    uint32_t last = leader;
    const std::vector<Communication>& list = rank().program.communications;
    for (uint32_t i = rank().program.calls[leader].communication; i > 0 && list[i - 1].leader == leader; --i)
      if (simulation().work_end_ns[list[i - 1].call] > simulation().work_end_ns[last]) last = list[i - 1].call;
    return last;
  }

  bool follow_work() {
    const HostCall& call = rank().program.calls[call_];
    if (call.kind == CallKind::kEnqueue) {
      if (simulation().work_start_ns[call_] == kNever_ns) return false;
      uint32_t work = call_;
      if (call.communication != kNone) work = last_of_group(call_);
      const uint32_t cost = rank().costs.of_event[work];
      const std::string name = cost == kNone ? "host function" : rank().costs.costs[cost].name;
      const uint32_t communication = rank().program.calls[work].communication;
      if (communication == kNone) {
        add(PathPart::Kind::kDevice, name, simulation().work_start_ns[work]);
      } else {
        add(PathPart::Kind::kDevice, name, simulation().matched_ns[communication]);
        go_to_last_arrival(rank().program.communications[communication].match);
      }
    }
    const uint32_t cause = simulation().work_held_by[call_];
    if (cause != kNone) {
      add(PathPart::Kind::kGap, "between queued work", simulation().work_end_ns[cause]);
      call_ = cause;
      return true;
    }
    add(PathPart::Kind::kGap, "launch latency", simulation().call_start_ns[call_]);
    at_work_ = false;
    return true;
  }

  void go_to_last_arrival(uint32_t match) {
    if (match >= prediction_.world.last_arrival.size()) return;
    const ProgramCall& last = prediction_.world.last_arrival[match];
    if (last.program == kNone) return;
    rank_ = last.program;
    const HostCall& call = rank().program.calls[last.call];
    call_ = rank().program.communications[call.communication].leader;
  }

  uint32_t previous_in_thread(uint32_t call) {
    std::vector<uint32_t>& previous = previous_[rank_];
    if (previous.empty()) {
      const Program& program = rank().program;
      std::vector<uint32_t> last(program.threads, kNone);
      for (uint32_t i = 0; i < program.calls.size(); ++i) {
        previous.push_back(last[program.calls[i].thread]);
        last[program.calls[i].thread] = i;
      }
    }
    return previous[call];
  }

  // The time is that of the start of the call, and goes to what it followed.
  bool follow_host() {
    const HostCall& call = rank().program.calls[call_];
    const std::string name = "host thread " + std::to_string(call.thread);
    uint32_t before = previous_in_thread(call_);
    for (const uint32_t other : {call.after, call.record})
      if (other != kNone && (before == kNone || simulation().call_end_ns[other] > simulation().call_end_ns[before]))
        before = other;
    if (before == kNone) {
      add(PathPart::Kind::kHost, name, 0);
      return false;
    }
    add(PathPart::Kind::kHost, name, simulation().call_end_ns[before]);
    call_ = before;
    const uint32_t waited_for = simulation().call_held_by[before];
    if (waited_for != kNone) {
      add(PathPart::Kind::kHost, name, simulation().work_end_ns[waited_for]);
      call_ = waited_for;
      at_work_ = true;
    } else {
      add(PathPart::Kind::kHost, name, simulation().call_start_ns[before]);
    }
    return true;
  }

  std::vector<PathPart> result() {
    std::vector<PathPart> list;
    for (auto& [key, part] : parts_) {
      part.kind = std::get<0>(key);
      part.rank = std::get<1>(key);
      part.name = std::get<2>(key);
      list.push_back(std::move(part));
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const PathPart& a, const PathPart& b) { return a.total_ns > b.total_ns; });
    return list;
  }

  const Prediction& prediction_;
  std::vector<std::vector<uint32_t>> previous_;  // by rank, once it is needed
  size_t rank_ = 0;
  uint32_t call_ = 0;
  bool at_work_ = true;
  uint64_t time_ns_ = 0, begin_ns_ = 0;
  uint64_t steps_left_ = 0;
  std::map<Key, PathPart> parts_;
};

}  // namespace

std::vector<PathPart> find_critical_path(const Prediction& prediction) { return Walker(prediction).walk(); }

}  // namespace maya::predictor
