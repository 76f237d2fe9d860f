#include "predictor/warnings.h"

#include <algorithm>

namespace maya::predictor {
namespace {

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
    warnings->add(std::to_string(memory.failures_survived) +
                  " allocations failed in the run and were met after memory had been given back: the device was nearly "
                  "full; what "
                  "freeing and mapping takes on a device is only partly in the times");
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

constexpr size_t kRangesShown = 8;

}  // namespace

std::string rank_ranges(std::vector<int32_t> ranks, size_t most) {
  std::sort(ranks.begin(), ranks.end());
  std::string text;
  size_t ranges = 0, shown = 0;
  for (size_t i = 0; i < ranks.size() && ranges < most; ++ranges) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]);
    if (end > i + 1) text += "-" + std::to_string(ranks[end - 1]);
    shown = i = end;
  }
  if (shown < ranks.size()) text += " and " + std::to_string(ranks.size() - shown) + " more";
  return text;
}

void warn_of_rank(const RankPrediction& rank, Warnings* warnings) {
  warn_of_trace(*rank.trace, warnings);
  warn_of_steps(rank.steps, warnings);
  warn_of_model(rank, warnings);
  warn_of_memory(rank.memory, rank.device, warnings);
}

void warn_of_world(const WorldPrediction& world, Warnings* warnings) {
  if (!world.missing_ranks.empty() && !world.world.communicators.empty())
    warnings->add("no trace of rank " + rank_ranges(world.missing_ranks, kRangesShown) + " of " +
                  std::to_string(world.world.layout.world_size) +
                  ": nobody waits for them; give the traces of all ranks");
  if (!world.mismatches.empty())
    warnings->add(std::to_string(world.mismatches.size()) +
                  " communicators on which ranks do not do the same: see the mismatches; a real run may hang there");
  if (world.deadlocks != 0)
    warnings->add("ranks wait for each other for ever: see the deadlock; the times are as if " +
                  std::to_string(world.deadlocks) + " of these waits had ended at once");
}

}  // namespace maya::predictor
