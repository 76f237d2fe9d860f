#include "predictor/host_gaps.h"

#include <algorithm>
#include <unordered_map>

#include "predictor/numbers.h"

namespace maya::predictor {
namespace {

using trace::EventKind;

// How far the alignment of two steps looks ahead for calls that only one of them makes.
constexpr size_t kLookAhead_calls = 64;
// Of gaps of ranks that ran side by side. More processes than processors wait for each other in most of their gaps.
constexpr double kQuantileOfRanks = 0.1;

struct ThreadState {
  bool seen = false;
  uint64_t return_ns = 0;        // of its last call, on the trace's clock
  uint32_t calls_of_others = 0;  // since then
  uint32_t graph_packets = 0;    // still to come of the graph that it launched
};

// When the call returned, as recorded: at once but for Maya's own time, or as measured on a real device.
uint64_t return_of(const trace::Event& event) {
  const uint64_t waited_ns = event.call_ns != 0 ? event.wait_ns : 0;
  return saturating_add(saturating_add(event.time_ns, event.own_ns), saturating_add(event.call_ns, waited_ns));
}

// What makes two calls of different steps the same call position.
uint64_t call_signature(const trace::LoadedTrace& trace, const CostTable& costs, uint32_t index, uint32_t thread) {
  const trace::Event& event = trace.events[index];
  uint64_t hash = mix(mix(static_cast<uint64_t>(event.kind), thread), event.stream);
  if (costs.of_event[index] != kNone) return mix(hash, costs.costs[costs.of_event[index]].kind);
  switch (event.kind) {
    case EventKind::kEventCall:
      return mix(hash, static_cast<uint64_t>(trace.event_calls[event.index].call()));
    case EventKind::kSynchronization:
      return mix(hash, static_cast<uint64_t>(trace.synchronizations[event.index].scope()));
    case EventKind::kRange:
      return mix(hash, static_cast<uint64_t>(trace.ranges[event.index].call()));
    default:
      return hash;
  }
}

// For every call of `step`, its position in `reference`, or kNone. Both are lists of call signatures.
std::vector<uint32_t> align(const std::vector<uint64_t>& reference, const std::vector<uint64_t>& step) {
  std::vector<uint32_t> position(step.size(), kNone);
  size_t r = 0, s = 0;
  while (r < reference.size() && s < step.size()) {
    if (reference[r] == step[s]) {
      position[s++] = static_cast<uint32_t>(r++);
      continue;
    }
    // The nearest place where both go on alike for two calls, or the next call that they have in common.
    size_t skip_r = 0, skip_s = 0;
    bool found = false;
    for (size_t total = 1; !found && total <= kLookAhead_calls; ++total) {
      for (size_t i = 0; !found && i <= total; ++i) {
        const size_t a = r + i, b = s + (total - i);
        if (a >= reference.size() || b >= step.size() || reference[a] != step[b]) continue;
        if (a + 1 < reference.size() && b + 1 < step.size() && reference[a + 1] != step[b + 1]) continue;
        skip_r = i;
        skip_s = total - i;
        found = true;
      }
    }
    if (!found) skip_r = skip_s = 1;
    r += skip_r;
    s += skip_s;
  }
  return position;
}

}  // namespace

HostGaps recorded_gaps(const trace::LoadedTrace& trace) {
  const size_t count = trace.events.size();
  HostGaps gaps;
  gaps.gap_ns.assign(count, 0);
  gaps.after.assign(count, kNone);
  std::unordered_map<uint32_t, ThreadState> threads;
  const uint64_t first_ns = count == 0 ? 0 : trace.events.front().time_ns;
  uint64_t total_calls = 0;
  std::unordered_map<uint32_t, uint64_t> calls_before;  // by thread: total_calls when it made its last call
  for (size_t i = 0; i < count; ++i) {
    const trace::Event& event = trace.events[i];
    ThreadState& thread = threads[event.thread];
    if (thread.graph_packets != 0) {
      // A part of the launch of a graph: no call, and no gap. Maya took until the last one.
      --thread.graph_packets;
      thread.return_ns = std::max(thread.return_ns, return_of(event));
      continue;
    }
    if (event.kind == EventKind::kGraphLaunch && trace.graph_launches[event.index].nodes_follow())
      thread.graph_packets = trace.graph_launches[event.index].nodes();
    uint64_t from_ns = thread.seen ? thread.return_ns : first_ns;
    const uint64_t others = thread.seen ? total_calls - calls_before[event.thread] : total_calls;
    if (others >= kHandOff_calls) {
      // The event before this one is of another thread: it is what woke this one.
      const trace::Event& waker = trace.events[i - 1];
      from_ns = return_of(waker);
      gaps.after[i] = static_cast<uint32_t>(i - 1);
    }
    gaps.gap_ns[i] = std::min(saturating_subtract(event.time_ns, from_ns), kLongest_ns);
    thread.seen = true;
    // A measured call may stand inside a longer one of the same thread.
    thread.return_ns = event.call_ns != 0 ? std::max(thread.return_ns, return_of(event)) : return_of(event);
    calls_before[event.thread] = ++total_calls;
  }
  return gaps;
}

bool has_measured_calls(const trace::LoadedTrace& trace) {
  return std::any_of(trace.events.begin(), trace.events.end(), [](const trace::Event& e) { return e.call_ns != 0; });
}

void use_median_gaps(std::span<const GapSource> ranks) {
  struct CountedStep {
    const GapSource* rank;
    uint32_t begin;  // first event
    std::vector<uint64_t> signatures;
    std::vector<uint32_t> positions;  // in the reference
  };
  std::vector<CountedStep> counted;
  std::vector<uint64_t> lengths;
  for (const GapSource& rank : ranks) {
    for (size_t k = rank.steps->warm_up; k < rank.steps->steps.size(); ++k) {
      const Step& step = rank.steps->steps[k];
      CountedStep& list = counted.emplace_back(CountedStep{&rank, step.begin, {}, {}});
      std::unordered_map<uint32_t, uint32_t> threads;  // numbered as they appear in the step: ids differ between ranks
      const auto thread_number = [&](uint32_t event) {
        const uint32_t id = rank.trace->events[event].thread;
        return ranks.size() == 1 ? id : threads.try_emplace(id, static_cast<uint32_t>(threads.size())).first->second;
      };
      for (uint32_t i = step.begin; i < step.end; ++i)
        list.signatures.push_back(call_signature(*rank.trace, *rank.costs, i, thread_number(i)));
      lengths.push_back(list.signatures.size());
    }
  }
  if (counted.size() < 2) return;
  const uint64_t usual = median(lengths);
  const std::vector<uint64_t> reference = std::find_if(counted.begin(), counted.end(), [&](const CountedStep& step) {
                                            return step.signatures.size() == usual;
                                          })->signatures;

  std::vector<std::vector<uint64_t>> observed(reference.size());
  for (CountedStep& step : counted) {
    step.positions = align(reference, step.signatures);
    for (size_t s = 0; s < step.positions.size(); ++s)
      if (step.positions[s] != kNone) observed[step.positions[s]].push_back(step.rank->gaps->gap_ns[step.begin + s]);
  }
  std::vector<uint64_t> typical(reference.size());
  const double usual_quantile = ranks.size() > 1 ? kQuantileOfRanks : 0.5;
  for (size_t r = 0; r < reference.size(); ++r) typical[r] = quantile(observed[r], usual_quantile);
  for (size_t first = 0, last = 0; first < counted.size(); first = last) {
    std::vector<uint32_t> made_by(reference.size(), 0);  // how many steps of the rank
    for (; last < counted.size() && counted[last].rank == counted[first].rank; ++last)
      for (const uint32_t r : counted[last].positions)
        if (r != kNone) ++made_by[r];
    for (size_t k = first; k < last; ++k) {
      const CountedStep& step = counted[k];
      for (size_t s = 0; s < step.positions.size(); ++s) {
        const uint32_t r = step.positions[s];
        if (r != kNone && made_by[r] == last - first) step.rank->gaps->gap_ns[step.begin + s] = typical[r];
      }
    }
  }
}

void use_median_gaps(const trace::LoadedTrace& trace, const CostTable& costs, const Steps& steps, HostGaps* gaps) {
  const GapSource rank{&trace, &costs, &steps, gaps};
  use_median_gaps(std::span(&rank, 1));
}

}  // namespace maya::predictor
