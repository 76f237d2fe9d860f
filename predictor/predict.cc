#include "predictor/predict.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "predictor/input.h"
#include "predictor/numbers.h"
#include "predictor/rank_stage.h"
#include "predictor/warnings.h"
#include "predictor/world/collate.h"
#include "predictor/world/roles.h"

namespace maya::predictor {
namespace {

// More ranks than any machine has: a header that claims more is wrong.
constexpr int32_t kLargestWorld = 1 << 17;

// Traces with device work; the first where there is none.
std::vector<uint32_t> traces_that_count(const std::vector<trace::LoadedTrace>& traces) {
  std::vector<uint32_t> chosen;
  for (uint32_t i = 0; i < traces.size(); ++i)
    if (has_device_work(traces[i]) || (i == 0 && chosen.empty())) chosen.push_back(i);
  return chosen;
}

// True when the traces are of ranks that ran alone, each of another one of the same world.
bool are_twins(const std::vector<trace::LoadedTrace>& traces) {
  std::set<int32_t> ranks;
  const int32_t size = traces.front().process.world_size();
  if (size < 1 || size > kLargestWorld) return false;
  return std::all_of(traces.begin(), traces.end(), [&](const trace::LoadedTrace& trace) {
    const proto::ProcessHeader& header = trace.process;
    return header.twins() && header.world_size() == size && header.rank() >= 0 && header.rank() < size &&
           ranks.insert(header.rank()).second;
  });
}

// What the program was told of its cluster, or what the options say; nullptr: the usual one of the device.
Failure find_cluster(const std::vector<trace::LoadedTrace>& traces, const Options& options, Cluster* storage,
                     const Cluster** cluster) {
  *cluster = nullptr;
  if (!options.cluster.empty()) {
    if (Failure failure = named_cluster(options.cluster, storage)) return failure;
    *cluster = storage;
    return {};
  }
  for (const trace::LoadedTrace& trace : traces) {
    std::string error;
    const proto::ProcessHeader& header = trace.process;
    if (!header.cluster_profile().empty()) {
      if (!parse_cluster(header.cluster_profile(), storage, &error))
        return {FailureKind::kInput,
                trace.path + ": its cluster description: " + error + "; choose one with --cluster"};
      *cluster = storage;
      return {};
    }
    if (const Cluster* known = find_builtin_cluster(header.cluster())) {
      *cluster = known;
      return {};
    }
  }
  return {};
}

Failure check_size(const WorldLayout& layout, const Cluster* cluster) {
  if (cluster == nullptr || cluster->nodes == 0) return {};
  const uint64_t places = uint64_t{cluster->nodes} * cluster->gpus_per_node;
  if (static_cast<uint64_t>(layout.world_size) <= places) return {};
  return {FailureKind::kUsage, "cluster too small: " + cluster->name + " has " + std::to_string(places) +
                                   " GPUs for a world of " + std::to_string(layout.world_size) +
                                   "; choose another with --cluster"};
}

std::vector<uint32_t> match_sizes_of(const Prediction& prediction) {
  std::vector<uint32_t> sizes(prediction.world.world.matches.size(), 0);
  for (const RankPrediction& rank : prediction.ranks)
    for (const Communication& communication : rank.program.communications)
      if (communication.match != kNone) ++sizes[communication.match];
  return sizes;
}

Failure simulate_all(Prediction* prediction) {
  const std::vector<uint32_t> sizes = match_sizes_of(*prediction);
  std::vector<const Program*> programs;
  for (const RankPrediction& rank : prediction->ranks) programs.push_back(&rank.program);
  const Overlap& overlap = prediction->ranks.front().overlap;
  WorldSimulation simulation = simulate_world(programs, sizes, overlap);
  for (size_t i = 0; i < programs.size(); ++i) {
    RankPrediction& rank = prediction->ranks[i];
    rank.simulation = std::move(simulation.programs[i]);
    if (!rank.simulation.error.empty())
      return {FailureKind::kInput, rank.trace->path + ": simulation: " + rank.simulation.error};
    finish_rank(&rank);
  }
  prediction->world.deadlock = std::move(simulation.first_deadlock);
  prediction->world.deadlocks = simulation.deadlocks;
  prediction->world.last_arrival = std::move(simulation.last_arrival);

  std::vector<std::vector<uint64_t>> medians;  // with the low and the high ends
  for (double Estimate::*end : {&Estimate::low_ns, &Estimate::high_ns}) {
    std::vector<std::vector<uint64_t>> durations;
    for (const RankPrediction& rank : prediction->ranks) durations.push_back(durations_with(rank, end));
    const WorldSimulation other = simulate_world(programs, sizes, overlap, durations);
    std::vector<uint64_t>& list = medians.emplace_back();
    for (size_t i = 0; i < programs.size(); ++i)
      list.push_back(
          prediction->ranks[i].steps.steps.empty() ? 0 : median_step_in(prediction->ranks[i], other.programs[i]));
  }
  for (size_t i = 0; i < programs.size(); ++i)
    if (!prediction->ranks[i].steps.steps.empty()) find_interval(medians[0][i], medians[1][i], &prediction->ranks[i]);
  return {};
}

// The name of the last kernel before an event; empty when there is none.
std::string kernel_before(const RankPrediction& rank, uint32_t event) {
  for (uint32_t i = std::min(event, static_cast<uint32_t>(rank.costs.of_event.size())); i-- > 0;) {
    const uint32_t cost = rank.costs.of_event[i];
    if (cost != kNone && rank.costs.costs[cost].engine == Engine::kCompute) return rank.costs.costs[cost].name;
  }
  return {};
}

void name_kernels_before(Prediction* prediction) {
  for (Mismatch& mismatch : prediction->world.mismatches) {
    for (Mismatch::Side& side : mismatch.sides) {
      const auto rank = std::find_if(prediction->ranks.begin(), prediction->ranks.end(),
                                     [&](const RankPrediction& each) { return each.rank == side.rank; });
      if (rank != prediction->ranks.end()) side.after = kernel_before(*rank, side.event);
    }
  }
}

void count_ranks(WorldPrediction* world) {
  for (const RankClass& each : world->world.layout.classes) {
    ++world->ranks_run;
    world->ranks_checked += each.checked;
    world->ranks_inferred += static_cast<uint32_t>(each.ranks.size()) - 1 - each.checked;
  }
  world->ranks_run += world->ranks_checked;
}

void warn_of_scales(const std::vector<KernelScale>& scales, const Prediction& prediction, Warnings* warnings) {
  for (const KernelScale& scale : scales) {
    const bool any = std::any_of(prediction.ranks.begin(), prediction.ranks.end(), [&](const RankPrediction& rank) {
      return std::any_of(rank.costs.costs.begin(), rank.costs.costs.end(),
                         [&](const OperationCost& cost) { return matches_operation(cost, scale.pattern); });
    });
    warnings->add(any ? "what if: operations that match " + scale.pattern + " take " + fixed(scale.factor, 3) +
                            " times their estimates (--kernel-scale)"
                      : "--kernel-scale: no operation matches " + scale.pattern +
                            "; the report names operations and families");
  }
}

SlowestDevice slowest_of(const World& world, const Options& options) {
  if (options.durations == Durations::kMeasured) return {};
  const uint64_t devices = devices_that_wait(world);
  if (options.device_spread) return slowest_device(devices, *options.device_spread, 0);
  const CollectiveParameter* const spread = builtin_collectives().find_parameter(kDeviceSpread);
  return spread != nullptr ? slowest_device(devices, spread->value, spread->error) : slowest_device(devices, 0, 0);
}

}  // namespace

Failure parse_kernel_scale(const std::string& text, KernelScale* scale) {
  const size_t equals = text.rfind('=');
  const char* end = text.data() + text.size();
  double factor = 0;
  const bool number =
      equals != std::string::npos && equals != 0 && std::from_chars(text.data() + equals + 1, end, factor).ptr == end;
  if (!number || !(factor >= 0.001 && factor <= 1000))
    return {FailureKind::kUsage,
            "--kernel-scale: expected PATTERN=FACTOR with a factor of 0.001 to 1000, such as attention=0.8: " + text};
  *scale = {text.substr(0, equals), factor};
  return {};
}

Failure predict(const std::vector<trace::LoadedTrace>& traces, const Options& options, Prediction* prediction) {
  if (traces.empty()) return {FailureKind::kInput, "no trace was given; name a trace (*.pb) or a folder of traces"};
  Warnings warnings(&prediction->warnings);
  Cluster storage;
  const Cluster* cluster = nullptr;
  if (Failure failure = find_cluster(traces, options, &storage, &cluster)) return failure;
  prediction->cluster = !options.cluster.empty() ? options.cluster : cluster != nullptr ? cluster->name : "";
  WorldLayout layout = are_twins(traces) ? twin_layout(traces) : living_layout(traces, traces_that_count(traces));
  if (cluster != nullptr && (layout.gpus_per_node == 0 || !options.cluster.empty()))
    layout.gpus_per_node = cluster->gpus_per_node;
  if (Failure failure = check_size(layout, cluster)) return failure;

  WorldPrediction& world = prediction->world;
  Collation collation = collate(traces, std::move(layout));
  world.world = std::move(collation.world);
  world.mismatches = std::move(collation.mismatches);
  world.missing_ranks = missing_ranks(world.world.layout);
  count_ranks(&world);
  world.slowest_device = slowest_of(world.world, options);
  const std::vector<RankClass>& classes = world.world.layout.classes;
  prediction->ranks.resize(classes.size());
  std::vector<PreparedRank> prepared(classes.size());
  for (uint32_t i = 0; i < classes.size(); ++i)
    if (Failure failure =
            prepare_rank(traces[classes[i].trace], options, cluster, world, i, &prediction->ranks[i], &prepared[i]))
      return failure;
  even_out_gaps(prediction->ranks, &prepared);
  for (uint32_t i = 0; i < classes.size(); ++i) build_rank(options, world.world, i, prepared[i], &prediction->ranks[i]);
  if (Failure failure = simulate_all(prediction)) return failure;
  for (size_t i = 1; i < prediction->ranks.size(); ++i)
    if (prediction->ranks[i].median_ns > prediction->ranks[prediction->slowest].median_ns) prediction->slowest = i;
  name_kernels_before(prediction);
  world.critical_path = find_critical_path(*prediction);
  for (const RankPrediction& rank : prediction->ranks) warn_of_rank(rank, &warnings);
  warn_of_world(world, &warnings);
  warn_of_scales(options.kernel_scales, *prediction, &warnings);
  return {};
}

}  // namespace maya::predictor
