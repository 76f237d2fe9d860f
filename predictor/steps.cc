#include "predictor/steps.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "predictor/closing_repetition.h"
#include "predictor/numbers.h"
#include "predictor/repetition.h"

namespace maya::predictor {
namespace {

using trace::EventKind;

// No more than this many leading steps are taken for warm-up because they differ from the rest.
constexpr size_t kMostWarmUpSteps = 10;

// XLA (JAX) times and checks candidates for its kernels while it compiles, often far more launches than the program
// makes. Kernels of its own stand around every candidate; their names tell where.
bool is_tuning(const OperationCost& cost) {
  constexpr std::string_view kNames[] = {"stream_executor::gpu::RedzoneAllocatorKernel", "xla_fp_comparison",
                                         "xla_int_comparison", "RepeatBufferKernel", "DelayKernel("};
  if (cost.name.find("stream_executor::gpu::") == std::string::npos) return false;
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view name) { return cost.name.find(name) != std::string::npos; });
}

// No more operations than this lie between two of these kernels while one program is tuned.
constexpr size_t kTuningGap = 12;

// By event: true for tuning kernels and for what lies between two near ones on a stream.
std::vector<bool> tuning_events(const trace::LoadedTrace& trace, const CostTable& costs) {
  std::vector<bool> tuning(trace.events.size(), false);
  std::map<uint32_t, std::vector<uint32_t>> since;  // by stream: since the last tuning kernel
  for (uint32_t i = 0; i < trace.events.size(); ++i) {
    if (costs.of_event[i] == kNone) continue;
    const bool is_mark = is_tuning(costs.costs[costs.of_event[i]]);
    const auto found = since.find(trace.events[i].stream);
    if (!is_mark && found == since.end()) continue;
    if (is_mark) {
      tuning[i] = true;
      if (found != since.end() && found->second.size() <= kTuningGap)
        for (const uint32_t event : found->second) tuning[event] = true;
      since[trace.events[i].stream] = {};
    } else if (found->second.size() <= kTuningGap) {
      found->second.push_back(i);
    }
  }
  return tuning;
}

struct Marked {
  uint32_t begin;
  uint32_t end;
};

// Events with device work on the main stream, in trace order, without the compiler's tuning. The main stream has work
// in most of the marked steps, and of such streams most work: what a compiler tries out in the first step, and steps
// before a graph takes over, are on another one.
std::vector<uint32_t> main_stream_work(const trace::LoadedTrace& trace, const CostTable& costs,
                                       const std::vector<Marked>& marks) {
  const std::vector<bool> tuning = tuning_events(trace, costs);
  const auto counts_as_work = [&](size_t i) { return costs.of_event[i] != kNone && !tuning[i]; };
  std::map<uint32_t, std::pair<size_t, size_t>> counts;  // by stream: marked steps, events
  for (size_t i = 0; i < trace.events.size(); ++i)
    if (counts_as_work(i)) ++counts[trace.events[i].stream].second;
  for (const Marked& mark : marks) {
    std::set<uint32_t> active;
    for (uint32_t i = mark.begin; i < mark.end && i < trace.events.size(); ++i)
      if (counts_as_work(i)) active.insert(trace.events[i].stream);
    for (const uint32_t stream : active) ++counts[stream].first;
  }
  std::vector<uint32_t> work;
  if (counts.empty()) return work;
  const uint32_t main_stream = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                                 return a.second < b.second;
                               })->first;
  for (size_t i = 0; i < trace.events.size(); ++i)
    if (counts_as_work(i) && trace.events[i].stream == main_stream) work.push_back(static_cast<uint32_t>(i));
  return work;
}

// Generation makes tokens instead of training. Serving engines end every step of it with a kernel that takes in what
// was sampled (vLLM's runner counts the tokens of its requests with it), and none that only warms up, captures graphs
// or measures memory, which can be most of a run.
bool ends_engine_step(const OperationCost& cost) { return cost.name.find("_post_update_kernel") != std::string::npos; }

// PyTorch chooses a token by argmax, also where it samples (torch.multinomial of one sample divides by exponential
// noise and takes the largest). transformers' generate() does so once a step.
bool samples(const OperationCost& cost) {
  return cost.name.find("ArgMaxOps") != std::string::npos || cost.name.find("sampleMultinomial") != std::string::npos;
}

bool updates_weights(const OperationCost& cost) { return cost.work.family == Family::kOptimizer; }

bool trains(const OperationCost& cost) {
  if (updates_weights(cost)) return true;
  constexpr std::string_view kParts[] = {"backward", "Backward", "_bwd", "_grad"};
  return std::any_of(std::begin(kParts), std::end(kParts),
                     [&](std::string_view part) { return cost.name.find(part) != std::string::npos; });
}

// Steps that end with an operation of the kind `ends`. Empty for fewer than three.
template <typename Ends>
std::vector<Marked> steps_that_end(const trace::LoadedTrace& trace, const CostTable& costs, Ends&& ends) {
  constexpr size_t kFewest = 3;
  std::vector<Marked> marks;
  uint32_t begin = 0;
  for (uint32_t i = 0; i < trace.events.size(); ++i) {
    if (costs.of_event[i] == kNone || !ends(costs.costs[costs.of_event[i]])) continue;
    marks.push_back({begin, i + 1});
    begin = i + 1;
  }
  if (marks.size() < kFewest) marks.clear();
  return marks;
}

// "ProfilerStep#12" -> "profilerstep#", when the text is the name of a training step; empty otherwise.
std::string step_name(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, 64)) name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.pop_back();
  std::string word = name;
  while (!word.empty() && std::string_view(" _:#=-").find(word.back()) != std::string_view::npos) word.pop_back();
  for (const std::string_view prefix : {"profiler", "training", "train"}) {
    if (word.compare(0, prefix.size(), prefix) != 0) continue;
    word.erase(0, prefix.size());
    while (!word.empty() && (word.front() == ' ' || word.front() == '_' || word.front() == '-')) word.erase(0, 1);
    break;
  }
  static constexpr std::string_view kWords[] = {"step", "iteration", "iter", "batch"};
  return std::find(std::begin(kWords), std::end(kWords), word) == std::end(kWords) ? std::string() : name;
}

// Ranges with the name of a step, by (name, thread), in order of their begin.
std::vector<Marked> marked_steps(const trace::LoadedTrace& trace) {
  struct Open {
    std::string name;
    uint32_t begin;
  };
  std::map<uint32_t, std::vector<Open>> stacks;  // by thread
  std::map<uint64_t, Open> started;              // by range id
  std::map<std::pair<std::string, uint32_t>, std::vector<Marked>> found;
  for (uint32_t i = 0; i < trace.events.size(); ++i) {
    const trace::Event& event = trace.events[i];
    if (event.kind != EventKind::kRange) continue;
    const proto::RangeMark& range = trace.ranges[event.index];
    std::vector<Open>& stack = stacks[event.thread];
    switch (range.call()) {
      case proto::RangeMark::PUSH:
        stack.push_back({step_name(trace.string(range.text())), i});
        break;
      case proto::RangeMark::POP:
        if (stack.empty()) break;
        if (!stack.back().name.empty()) found[{stack.back().name, event.thread}].push_back({stack.back().begin, i + 1});
        stack.pop_back();
        break;
      case proto::RangeMark::START:
        started[range.id()] = {step_name(trace.string(range.text())), i};
        break;
      case proto::RangeMark::END: {
        const auto open = started.find(range.id());
        if (open == started.end()) break;
        if (!open->second.name.empty()) found[{open->second.name, event.thread}].push_back({open->second.begin, i + 1});
        started.erase(open);
        break;
      }
      default:
        break;
    }
  }
  std::vector<Marked> best;
  for (auto& [key, marks] : found)
    if (marks.size() > best.size()) best = marks;
  std::sort(best.begin(), best.end(), [](const Marked& a, const Marked& b) { return a.begin < b.begin; });
  return best;
}

uint64_t signature(const CostTable& costs, const std::vector<uint32_t>& work, size_t begin, size_t end) {
  uint64_t hash = end - begin;
  for (size_t i = begin; i < end; ++i) hash = mix(hash, costs.costs[costs.of_event[work[i]]].kind);
  return hash;
}

// Adds the step whose work is work[begin, end), over events [first, last).
void add_step(const CostTable& costs, const std::vector<uint32_t>& work, size_t begin, size_t end, uint32_t first,
              uint32_t last, Steps* steps) {
  if (begin >= end) return;
  steps->steps.push_back({first, last, work[end - 1], signature(costs, work, begin, end)});
}

// The first step loads modules, grows pools and makes optimizer state; further leading ones count as warm-up while they
// differ from the work that most steps do, up to a quarter of a training run. An engine may try its kernels out any
// number of times before it makes tokens.
uint32_t count_warm_up(const std::vector<Step>& steps, bool generation) {
  if (steps.size() < 2) return 0;
  std::map<uint64_t, size_t> counts;
  for (const Step& step : steps) ++counts[step.signature];
  const auto usual =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (usual->second < 2) return 1;
  size_t leading = 0;
  while (steps[leading].signature != usual->first) ++leading;
  const size_t most = generation ? steps.size() - 1 : std::max<size_t>(1, std::min(kMostWarmUpSteps, steps.size() / 4));
  return static_cast<uint32_t>(std::clamp<size_t>(leading, 1, most));
}

Steps from_marks(const std::vector<Marked>& marks, FoundBy found_by, const CostTable& costs,
                 const std::vector<uint32_t>& work) {
  Steps steps;
  for (size_t i = 0; i < marks.size(); ++i) {
    // What the program does between two marked steps belongs to the step before: it takes time as well.
    const uint32_t end = i + 1 < marks.size() ? marks[i + 1].begin : marks[i].end;
    const auto from = std::lower_bound(work.begin(), work.end(), marks[i].begin);
    const auto to = std::lower_bound(from, work.end(), end);
    add_step(costs, work, static_cast<size_t>(from - work.begin()), static_cast<size_t>(to - work.begin()),
             marks[i].begin, end, &steps);
  }
  steps.found_by = found_by;
  return steps;
}

// Steps of generate(): one sampling each. Those that do not do what most steps do, the prompt's pass before the first
// token of every call among them, are left out. Empty where argmax is something else than the choice of a token: where
// no embedding is looked up between two of them, as in a router of experts, or most of the steps differ.
Steps sampled_steps(const std::vector<Marked>& marks, const CostTable& costs, const std::vector<uint32_t>& work) {
  Steps steps = from_marks(marks, FoundBy::kRepetition, costs, work);
  std::map<uint64_t, size_t> counts;
  for (const Step& step : steps.steps) ++counts[step.signature];
  const auto usual =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (counts.empty() || usual->second * 2 <= steps.steps.size()) return {};
  std::erase_if(steps.steps, [&](const Step& step) { return step.signature != usual->first; });
  const auto looks_up = [&](uint32_t event) {
    return costs.of_event[event] != kNone && costs.costs[costs.of_event[event]].work.family == Family::kEmbedding;
  };
  for (uint32_t event = steps.steps[0].begin; event < steps.steps[0].end; ++event)
    if (looks_up(event)) return steps;
  return {};
}

std::vector<Token> tokens_of(const CostTable& costs, const std::vector<uint32_t>& work, bool exact) {
  std::vector<Token> tokens;
  tokens.reserve(work.size());
  for (const uint32_t event : work) {
    const OperationCost& cost = costs.costs[costs.of_event[event]];
    tokens.push_back({exact ? cost.identity : cost.kind, cost.kind, cost.work.family == Family::kOptimizer});
  }
  return tokens;
}

bool computes(const trace::LoadedTrace& trace, const std::vector<uint32_t>& work, const Unit& unit) {
  return std::any_of(work.begin() + static_cast<std::ptrdiff_t>(unit.begin),
                     work.begin() + static_cast<std::ptrdiff_t>(unit.end), [&](uint32_t event) {
                       return trace.events[event].kind == EventKind::kLaunch ||
                              trace.events[event].kind == EventKind::kOperation;
                     });
}

Repetition repetition_of_whole(const CostTable& costs, const std::vector<uint32_t>& work) {
  Repetition found = find_repetition(tokens_of(costs, work, true));
  // Shapes that change from step to step leave only the names in common.
  Repetition by_name = find_repetition(tokens_of(costs, work, false));
  return by_name.covered > found.covered + found.covered * 3 / 10 ? by_name : found;
}

bool updates(const CostTable& costs, const std::vector<uint32_t>& work, size_t begin, size_t end) {
  return std::any_of(
      work.begin() + static_cast<std::ptrdiff_t>(begin), work.begin() + static_cast<std::ptrdiff_t>(end),
      [&](uint32_t event) { return costs.costs[costs.of_event[event]].work.family == Family::kOptimizer; });
}

Steps from_repetition(const trace::LoadedTrace& trace, const CostTable& costs, const std::vector<uint32_t>& work,
                      Repetition found) {
  Steps steps;
  // Copies alone, however regular, are no step.
  std::erase_if(found.units, [&](const Unit& unit) { return !computes(trace, work, unit); });
  // An optimizer that ran before the first unit ended a step, too: one that compiled or tuned its kernels.
  if (!found.units.empty() && updates(costs, work, 0, found.units.front().begin) &&
      updates(costs, work, found.units.front().begin, found.units.front().end))
    found.units.insert(found.units.begin(), {0, found.units.front().begin});
  for (size_t i = 0; i < found.units.size(); ++i) {
    const auto [begin, end] = found.units[i];
    // Calls between the last work of a step and the first of the next belong to the earlier one.
    const bool next_follows = i + 1 < found.units.size() && found.units[i + 1].begin == end;
    add_step(costs, work, begin, end, work[begin], next_follows ? work[end] : work[end - 1] + 1, &steps);
  }
  steps.found_by = FoundBy::kRepetition;
  return steps;
}

// One step from the first kernel or library call on: what comes before are the copies that bring the model to the
// device.
Steps whole_run(const trace::LoadedTrace& trace, const CostTable& costs, const std::vector<uint32_t>& work) {
  Steps steps;
  size_t begin = 0;
  while (begin + 1 < work.size() && trace.events[work[begin]].kind != EventKind::kLaunch &&
         trace.events[work[begin]].kind != EventKind::kOperation)
    ++begin;
  add_step(costs, work, begin, work.size(), work[begin], work.back() + 1, &steps);
  return steps;
}

}  // namespace

const char* found_by_name(FoundBy found_by) {
  switch (found_by) {
    case FoundBy::kRepetition:
      return "repetition";
    case FoundBy::kNvtx:
      return "nvtx";
    case FoundBy::kNone:
      break;
  }
  return "none";
}

Steps find_steps(const trace::LoadedTrace& trace, const CostTable& costs) {
  std::vector<Marked> marks = marked_steps(trace);
  FoundBy found_by = FoundBy::kNvtx;
  const bool unmarked = marks.size() < 2;  // one marked step tells nothing about others
  if (unmarked) {
    marks.clear();
    found_by = FoundBy::kRepetition;
  }
  const auto none = [&](auto&& of) { return std::none_of(costs.costs.begin(), costs.costs.end(), of); };
  if (unmarked && none(updates_weights)) marks = steps_that_end(trace, costs, ends_engine_step);
  const bool engine = unmarked && !marks.empty();
  std::vector<Marked> samplings;
  if (marks.empty() && none(trains)) samplings = steps_that_end(trace, costs, samples);
  const std::vector<uint32_t> work = main_stream_work(trace, costs, marks);
  if (work.empty()) return {};
  Steps steps;
  if (!marks.empty()) steps = from_marks(marks, found_by, costs, work);
  if (!samplings.empty()) steps = sampled_steps(samplings, costs, work);
  if (steps.steps.size() < 2) steps = from_repetition(trace, costs, work, repetition_of_whole(costs, work));
  if (steps.steps.size() < 2)
    steps = from_repetition(trace, costs, work, closing_repetition(tokens_of(costs, work, true)));
  if (steps.steps.size() < 2) steps = whole_run(trace, costs, work);
  steps.warm_up = count_warm_up(steps.steps, engine);
  return steps;
}

}  // namespace maya::predictor
