#include "predictor/predict.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "predictor/host_gaps.h"
#include "predictor/input.h"
#include "predictor/numbers.h"
#include "predictor/program_builder.h"
#include "predictor/text.h"

namespace maya::predictor {
namespace {

using trace::EventKind;

constexpr double kLowQuantile = 0.1, kHighQuantile = 0.9;  // of an 80 % interval

struct CostNames : OperationNames {
  explicit CostNames(const CostTable& table) : costs(table) {}
  std::string name_of(uint32_t event) const override {
    return costs.of_event[event] == kNone ? std::string() : costs.costs[costs.of_event[event]].name;
  }
  const CostTable& costs;
};

// A step lasts from the end of the device work of the step before it to the end of its own. Where something else lies
// between them, and for the first, it begins with its first call.
std::vector<Interval> step_intervals(const Steps& steps, const Simulation& simulation) {
  std::vector<Interval> intervals;
  for (size_t k = 0; k < steps.steps.size(); ++k) {
    const bool follows = k > 0 && steps.steps[k - 1].end == steps.steps[k].begin;
    const uint64_t earliest = k == 0 ? 0 : intervals[k - 1].end_ns;
    const uint64_t begin = follows ? earliest : std::max(earliest, simulation.call_start_ns[steps.steps[k].begin]);
    intervals.push_back({begin, std::max(begin, simulation.work_end_ns[steps.steps[k].last_work])});
  }
  return intervals;
}

std::vector<uint64_t> lengths_of(const std::vector<Interval>& intervals) {
  std::vector<uint64_t> lengths;
  for (const Interval& interval : intervals) lengths.push_back(interval.end_ns - interval.begin_ns);
  return lengths;
}

std::vector<uint64_t> counted(const Steps& steps, const std::vector<uint64_t>& lengths) {
  return {lengths.begin() + steps.warm_up, lengths.end()};
}

// Calls `visit(event, cost)` for every piece of device work in the steps that count.
template <typename Visit>
void for_each_counted(const Steps& steps, const CostTable& costs, Visit&& visit) {
  for (size_t k = steps.warm_up; k < steps.steps.size(); ++k)
    for (uint32_t i = steps.steps[k].begin; i < steps.steps[k].end; ++i)
      if (costs.of_event[i] != kNone) visit(i, costs.costs[costs.of_event[i]]);
}

// Errors of estimates are alike within a family of operations and independent between families. Of the width that fully
// dependent errors would give, this part remains: the root of the sum of squares over the families' sum.
double remaining_width(const Steps& steps, const CostTable& costs) {
  std::map<Family, double> widths;
  for_each_counted(steps, costs, [&](uint32_t event, const OperationCost& cost) {
    if (costs.measured_ns[event] != 0) return;
    widths[cost.work.family] += std::max(0.0, cost.estimate.high_ns - cost.estimate.low_ns);
  });
  double total = 0, squares = 0;
  for (const auto& [family, width] : widths) {
    total += width;
    squares += width * width;
  }
  return total > 0 ? std::sqrt(squares) / total : 0;
}

// Median step time when every piece of device work takes the given end of its interval.
uint64_t median_step_with(const RankPrediction& rank, double Estimate::*end) {
  std::vector<uint64_t> durations(rank.program.calls.size());
  for (size_t i = 0; i < durations.size(); ++i) {
    durations[i] = rank.program.calls[i].duration_ns;
    if (rank.costs.of_event[i] != kNone && rank.costs.measured_ns[i] == 0)
      durations[i] = whole_ns(rank.costs.costs[rank.costs.of_event[i]].estimate.*end);
  }
  const Simulation simulation = simulate(rank.program, durations);
  return median(counted(rank.steps, lengths_of(step_intervals(rank.steps, simulation))));
}

// Error of a step that its kernels' intervals do not hold: clocks, caches, libraries' choices, as a share of device
// time. Four of five published steps that bench/accuracy/steps reproduces lie within it.
constexpr double kStepError_share = 0.07;

// The 80 % interval: estimates' errors, the error of the whole and the spread over the steps, which are independent of
// each other.
void find_interval(RankPrediction* rank) {
  const std::vector<uint64_t> steps = counted(rank->steps, rank->step_ns);
  const double part = remaining_width(rank->steps, rank->costs);
  const double whole = part > 0 ? kStepError_share * static_cast<double>(rank->breakdown.compute) : 0;
  const auto combined = [&](uint64_t by_estimates, uint64_t by_spread) {
    return static_cast<uint64_t>(
        std::hypot(static_cast<double>(by_estimates) * part, static_cast<double>(by_spread), whole));
  };
  const uint64_t least = median_step_with(*rank, &Estimate::low_ns);
  const uint64_t most = median_step_with(*rank, &Estimate::high_ns);
  const uint64_t middle = rank->median_ns;
  rank->low_ns = saturating_subtract(
      middle, combined(saturating_subtract(middle, least), saturating_subtract(middle, quantile(steps, kLowQuantile))));
  rank->high_ns = saturating_add(
      middle, combined(saturating_subtract(most, middle), saturating_subtract(quantile(steps, kHighQuantile), middle)));
}

void summarize_operations(RankPrediction* rank) {
  struct Sum {
    OperationSummary summary;
    std::array<uint64_t, kProvenances> by_provenance{};
  };
  std::map<std::pair<std::string, Family>, Sum> sums;
  std::vector<Sum*> of_cost(rank->costs.costs.size(), nullptr);
  std::array<uint64_t, kProvenances> by_provenance{};
  uint64_t total = 0;
  for_each_counted(rank->steps, rank->costs, [&](uint32_t event, const OperationCost& cost) {
    Sum*& sum = of_cost[rank->costs.of_event[event]];
    if (sum == nullptr) sum = &sums[{cost.name, cost.work.family}];
    const uint64_t ns = rank->program.calls[event].duration_ns;
    const Provenance of = rank->costs.measured_ns[event] != 0 ? Provenance::kMeasured : cost.estimate.provenance;
    const auto provenance = std::min(static_cast<size_t>(of), kProvenances - 1);
    ++sum->summary.count;
    sum->summary.total_ns += ns;
    sum->by_provenance[provenance] += ns;
    by_provenance[provenance] += ns;
    total += ns;
  });
  for (size_t i = 0; i < kProvenances; ++i)
    rank->provenance[i] = total == 0 ? 0 : static_cast<double>(by_provenance[i]) / static_cast<double>(total);
  for (auto& [key, sum] : sums) {
    sum.summary.name = key.first;
    sum.summary.family = key.second;
    sum.summary.share = total == 0 ? 0 : static_cast<double>(sum.summary.total_ns) / static_cast<double>(total);
    const auto most = std::max_element(sum.by_provenance.begin(), sum.by_provenance.end());
    sum.summary.provenance = static_cast<Provenance>(most - sum.by_provenance.begin());
    rank->operations.push_back(std::move(sum.summary));
  }
  std::stable_sort(rank->operations.begin(), rank->operations.end(),
                   [](const OperationSummary& a, const OperationSummary& b) { return a.total_ns > b.total_ns; });
}

void explain_matching(const std::string& pattern, const Estimator& target, RankPrediction* rank) {
  std::vector<uint64_t> counts(rank->costs.costs.size(), 0);
  for_each_counted(rank->steps, rank->costs,
                   [&](uint32_t event, const OperationCost&) { ++counts[rank->costs.of_event[event]]; });
  for (size_t i = 0; i < counts.size(); ++i) {
    const OperationCost& cost = rank->costs.costs[i];
    if (!matches(cost.name, pattern) && !matches(family_name(cost.work.family), pattern)) continue;
    rank->explanations.push_back(explain(cost, target));
    rank->explanations.back().count = counts[i];
  }
  std::stable_sort(rank->explanations.begin(), rank->explanations.end(),
                   [](const Explanation& a, const Explanation& b) {
                     return a.estimate.median_ns * static_cast<double>(a.count) >
                            b.estimate.median_ns * static_cast<double>(b.count);
                   });
}

class Warnings {
 public:
  explicit Warnings(std::vector<std::string>* list) : list_(list), seen_(list->begin(), list->end()) {}
  void add(std::string text) {
    if (seen_.insert(text).second) list_->push_back(std::move(text));
  }

 private:
  std::vector<std::string>* list_;
  std::set<std::string> seen_;
};

void warn_of_trace(const trace::LoadedTrace& trace, Warnings* warnings) {
  const std::string file = trace.path.empty() ? "the trace" : trace.path;
  if (!trace.complete)
    warnings->add(file +
                  " is incomplete: the program was ended or the file was cut; the prediction covers what was recorded");
  if (!trace.damage.empty())
    warnings->add(file + " is damaged at offset " + std::to_string(trace.damage.front().offset) + ": " +
                  trace.damage.front().reason);
  if (trace.packets_lost != 0)
    warnings->add(file + ": " + std::to_string(trace.packets_lost) + " records could not be written");
  for (const proto::CallCount& call : trace.end.unsupported())
    warnings->add("not supported and called " + std::to_string(call.count()) + " times: " + call.name());
  size_t notices = 0;
  for (const proto::Notice& notice : trace.notices) {
    if (notice.severity() == proto::Notice::INFO) continue;
    if (++notices > 20) break;
    warnings->add(notice.text());
  }
}

void warn_of_model(const RankPrediction& rank, Warnings* warnings) {
  const std::string& measured_on = rank.trace->process.device_name();
  const bool uses_measured =
      std::any_of(rank.costs.measured_ns.begin(), rank.costs.measured_ns.end(), [](uint64_t ns) { return ns != 0; });
  if (uses_measured && measured_on != rank.device)
    warnings->add("durations measured on " + measured_on + " are used unchanged for " + rank.device);
  if (rank.costs.without_definition != 0)
    warnings->add(
        std::to_string(rank.costs.without_definition) +
        " operations lost their description with a damaged part of the trace; each counts as the shortest kernel");
  const auto& graphs = rank.trace->graph_launches;
  const auto opaque = std::count_if(graphs.begin(), graphs.end(), [](const auto& g) { return !g.nodes_follow(); });
  if (opaque != 0)
    warnings->add(std::to_string(opaque) + " CUDA graph launches: their kernels are not in the prediction");
  if (rank.trace->communicators.empty()) return;
  if (rank.trace->process.world_size() > 1)
    warnings->add("collectives are estimated by size alone: waiting for other ranks is not simulated");
}

void warn_of_steps(const Steps& steps, Warnings* warnings) {
  if (steps.steps.empty()) {
    warnings->add("no device work in the trace: there is no step to predict");
  } else if (steps.found_by == FoundBy::kNone) {
    warnings->add(
        "no repeating step was found: the time is that of everything from the first kernel on; run at least three "
        "steps, or mark them "
        "with NVTX ranges named step");
  }
}

void warn_of_memory(const MemoryReplay& memory, const std::string& device, Warnings* warnings) {
  if (memory.failures_survived != 0)
    warnings->add(
        std::to_string(memory.failures_survived) +
        " allocations failed in the run and were met after memory had been given back: the device was nearly full");
  if (memory.peak_is_lower_bound)
    warnings->add(
        "the run ended with device memory used up, so the peak is a lower bound and the devices listed hold what was "
        "asked "
        "for until then: run it again with maya-run --memory unlimited to find the true peak");
  if (memory.out_of_memory && memory.first_failure->replayed)
    warnings->add(
        "the traced run had more memory than this device: a memory manager that meets the limit may give back what it "
        "caches and go on; run "
        "the program with maya-run --device " +
        device + " to know");
}

Failure predict_rank(const trace::LoadedTrace& trace, const Options& options, RankPrediction* rank,
                     Warnings* warnings) {
  Target target;
  if (Failure failure = resolve_target(options.device, trace, options.table, &target)) return failure;
  rank->trace = &trace;
  rank->rank = trace.process.rank();
  rank->device = target.profile.name;
  rank->complete = trace.complete;
  if (options.durations == Durations::kMeasured && !has_measured_durations(trace))
    return {FailureKind::kInput,
            "no measured durations: " + (trace.path.empty() ? std::string("the trace") : trace.path) +
                "; maya-trace import makes traces that have them, leave out --durations"};
  const Estimator estimator(target.profile, target.learned(), Clock::kSustained);
  rank->costs = estimate_trace(trace, estimator, options.durations);
  rank->steps = find_steps(trace, rank->costs);
  HostGaps gaps = recorded_gaps(trace);
  // The noise of a machine that emulates is taken out; what was measured on a real one is kept.
  if (!has_measured_calls(trace)) use_median_gaps(trace, rank->costs, rank->steps, &gaps);
  const double recorded_scale = trace.process.cpu_scale();
  const double host_scale = options.host_scale > 0 ? options.host_scale : recorded_scale > 0 ? recorded_scale : 1;
  rank->program = build_program(trace, rank->costs, gaps, target.profile, host_scale);
  rank->simulation = simulate(rank->program);
  rank->simulated_events = rank->simulation.events;
  if (!rank->simulation.error.empty())
    return {FailureKind::kInput, trace.path + ": simulation: " + rank->simulation.error};
  if (!rank->steps.steps.empty()) {
    const std::vector<Interval> intervals = step_intervals(rank->steps, rank->simulation);
    rank->step_ns = lengths_of(intervals);
    for (const Interval& interval : intervals) rank->step_begin_ns.push_back(interval.begin_ns);
    rank->median_ns = median(counted(rank->steps, rank->step_ns));
    const auto typical = std::find(rank->step_ns.begin() + rank->steps.warm_up, rank->step_ns.end(), rank->median_ns);
    rank->breakdown =
        break_down(rank->program, rank->simulation, intervals)[static_cast<size_t>(typical - rank->step_ns.begin())];
    find_interval(rank);
  }
  summarize_operations(rank);
  if (!options.explain.empty()) explain_matching(options.explain, estimator, rank);
  rank->memory = replay_memory(trace, {&target.profile, target.is_traced_device}, CostNames(rank->costs));
  warn_of_trace(trace, warnings);
  warn_of_steps(rank->steps, warnings);
  warn_of_model(*rank, warnings);
  warn_of_memory(rank->memory, rank->device, warnings);
  return {};
}

}  // namespace

Failure predict(const std::vector<trace::LoadedTrace>& traces, const Options& options, Prediction* prediction) {
  Warnings warnings(&prediction->warnings);
  prediction->cluster = options.cluster;
  if (!options.cluster.empty())
    warnings.add("the network of cluster " + options.cluster +
                 " is recorded but not used: one process is simulated at a time");
  for (const trace::LoadedTrace& trace : traces) {
    if (!has_device_work(trace) && (&trace != &traces.front() || !prediction->ranks.empty())) continue;
    RankPrediction& rank = prediction->ranks.emplace_back();
    if (Failure failure = predict_rank(trace, options, &rank, &warnings)) return failure;
    if (rank.rank < 0 || !trace.has_process) rank.rank = static_cast<int>(prediction->ranks.size()) - 1;
  }
  for (size_t i = 1; i < prediction->ranks.size(); ++i)
    if (prediction->ranks[i].median_ns > prediction->ranks[prediction->slowest].median_ns) prediction->slowest = i;
  if (prediction->ranks.empty())
    return {FailureKind::kInput, "no trace was given; name a trace (*.pb) or a folder of traces"};
  return {};
}

}  // namespace maya::predictor
