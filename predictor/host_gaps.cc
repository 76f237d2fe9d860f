#include "predictor/host_gaps.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "predictor/numbers.h"

namespace maya::predictor {
namespace {

using trace::EventKind;

// How far the alignment of two steps looks ahead for calls that only one of them makes.
constexpr size_t kLookAhead_calls = 64;
// Of gaps of ranks that ran side by side. More processes than processors wait for each other in most of their gaps.
constexpr double kQuantileOfRanks = 0.1;
// Calls of a thread that tell what it is about: the one that the gap is before, and those before it.
constexpr size_t kContext_calls = 6;
// Fewer gaps than these after the same calls say little; then fewer calls have to be the same.
constexpr size_t kEnoughGaps = 8;

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
      // The event before this one is of another thread: it is what woke this one, unless this one was in its own call
      // until later.
      const uint64_t woken_ns = return_of(trace.events[i - 1]);
      if (!thread.seen || woken_ns > thread.return_ns) {
        from_ns = woken_ns;
        gaps.after[i] = static_cast<uint32_t>(i - 1);
      }
    }
    const uint64_t passed_ns = saturating_subtract(event.time_ns, from_ns);
    gaps.gap_ns[i] = std::min(saturating_subtract(passed_ns, event.delay_ns), kLongest_ns);
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

void use_gaps_of_all(std::span<const GapSource> ranks) {
  struct Call {
    const GapSource* rank;
    uint32_t event;
    std::array<uint64_t, kContext_calls> context;  // what the thread called last, the newest first
  };
  std::vector<Call> left;
  for (const GapSource& rank : ranks) {
    if (rank.steps->steps.empty()) continue;
    std::unordered_map<uint32_t, std::array<uint64_t, kContext_calls>> contexts;  // by thread
    const uint32_t begin = rank.steps->steps[rank.steps->warm_up].begin;
    for (uint32_t i = 0; i < rank.steps->steps.back().end; ++i) {
      std::array<uint64_t, kContext_calls>& context = contexts[rank.trace->events[i].thread];
      std::copy_backward(context.begin(), context.end() - 1, context.end());
      context[0] = call_signature(*rank.trace, *rank.costs, i, 0);
      if (i >= begin) left.push_back({&rank, i, context});
    }
  }
  for (size_t length = kContext_calls; length > 0; length /= 2) {
    std::unordered_map<uint64_t, std::vector<Call>> alike;
    for (const Call& call : left) alike[mix(0, call.context.data(), length * sizeof(uint64_t))].push_back(call);
    left.clear();
    for (const auto& [context, list] : alike) {
      if (list.size() < kEnoughGaps && length > 1) {
        left.insert(left.end(), list.begin(), list.end());
        continue;
      }
      std::vector<uint64_t> gaps;
      for (const Call& call : list) gaps.push_back(call.rank->gaps->gap_ns[call.event]);
      const uint64_t usual = quantile(std::move(gaps), kQuantileOfRanks);
      for (const Call& call : list) call.rank->gaps->gap_ns[call.event] = usual;
    }
  }
}

void use_median_gaps(const trace::LoadedTrace& trace, const CostTable& costs, const Steps& steps, HostGaps* gaps) {
  const size_t counted = steps.steps.size() - std::min<size_t>(steps.steps.size(), steps.warm_up);
  if (counted < 2) return;
  std::vector<std::vector<uint64_t>> signatures;
  for (size_t k = steps.warm_up; k < steps.steps.size(); ++k) {
    std::vector<uint64_t>& list = signatures.emplace_back();
    for (uint32_t i = steps.steps[k].begin; i < steps.steps[k].end; ++i)
      list.push_back(call_signature(trace, costs, i, trace.events[i].thread));
  }
  std::vector<uint64_t> lengths;
  for (const auto& list : signatures) lengths.push_back(list.size());
  const uint64_t usual = median(lengths);
  const std::vector<uint64_t>& reference =
      *std::find_if(signatures.begin(), signatures.end(), [&](const auto& list) { return list.size() == usual; });

  std::vector<std::vector<uint32_t>> positions;
  std::vector<std::vector<uint64_t>> observed(reference.size());
  for (size_t k = 0; k < counted; ++k) {
    positions.push_back(align(reference, signatures[k]));
    for (size_t s = 0; s < positions[k].size(); ++s)
      if (positions[k][s] != kNone)
        observed[positions[k][s]].push_back(gaps->gap_ns[steps.steps[steps.warm_up + k].begin + s]);
  }
  std::vector<uint64_t> medians(reference.size());
  for (size_t r = 0; r < reference.size(); ++r) medians[r] = median(observed[r]);
  for (size_t k = 0; k < counted; ++k) {
    for (size_t s = 0; s < positions[k].size(); ++s) {
      const uint32_t r = positions[k][s];
      if (r != kNone && observed[r].size() == counted)
        gaps->gap_ns[steps.steps[steps.warm_up + k].begin + s] = medians[r];
    }
  }
}

}  // namespace maya::predictor
