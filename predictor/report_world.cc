#include "predictor/report_world.h"

#include <algorithm>

#include "predictor/columns.h"
#include "predictor/text.h"
#include "predictor/warnings.h"
#include "predictor/world/collate.h"

namespace maya::predictor {
namespace {

constexpr size_t kRanksShown = 16;
constexpr size_t kPathShown = 8, kPathListed = 50;
constexpr size_t kWaitsShown = 16;
constexpr size_t kMismatchesShown = 8;
constexpr size_t kTraceColumns = 22, kNameColumns = 50;
constexpr size_t kAllRanges = 1 << 20;

const char* kind_name(PathPart::Kind kind) {
  static constexpr const char* kNames[] = {"device", "host", "gap"};
  return kNames[static_cast<size_t>(kind)];
}

// One rank that waits, and whom it waits for.
struct Wait {
  int32_t rank = 0;
  const CommunicatorCall* call = nullptr;
  std::string description;
  std::vector<int32_t> absent;  // ranks of the match that are not there
};

std::vector<Wait> waits_of(const Prediction& prediction) {
  const World& world = prediction.world.world;
  std::vector<Wait> list;
  for (const Deadlock::Waiting& waiting : prediction.world.deadlock.waiting) {
    const uint32_t rank_class = waiting.call.program;
    const std::vector<CommunicatorCall>& calls = world.calls[rank_class];
    const auto call = std::lower_bound(calls.begin(), calls.end(), waiting.call.call,
                                       [](const CommunicatorCall& each, uint32_t event) { return each.event < event; });
    if (call == calls.end() || call->event != waiting.call.call || call->match == kNoMatch) continue;
    Wait& wait = list.emplace_back();
    wait.rank = prediction.ranks[rank_class].rank;
    wait.call = &*call;
    wait.description = describe_call(*prediction.ranks[rank_class].trace, world, *call);
    for (const Participant& participant : world.matches[call->match].participants) {
      const uint32_t event = world.calls[participant.rank_class][participant.call].event;
      const bool there = std::any_of(
          prediction.world.deadlock.waiting.begin(), prediction.world.deadlock.waiting.end(),
          [&](const Deadlock::Waiting& w) { return w.call.program == participant.rank_class && w.call.call == event; });
      if (!there) wait.absent.push_back(prediction.ranks[participant.rank_class].rank);
    }
  }
  return list;
}

void mismatches_json(JsonWriter* json, const Prediction& prediction) {
  const World& world = prediction.world.world;
  json->key("mismatches").begin_array();
  for (const Mismatch& mismatch : prediction.world.mismatches) {
    const WorldCommunicator& communicator = world.communicators[mismatch.communicator];
    json->begin_object();
    json->key("kind").text(mismatch_name(mismatch.kind));
    json->key("communicator").text(communicator.name);
    json->key("communicator_ranks").integer(static_cast<uint64_t>(communicator.size));
    json->key("more").integer(mismatch.more);
    json->key("sides").begin_array();
    for (const Mismatch::Side& side : mismatch.sides) {
      json->begin_object().key("rank").signed_integer(side.rank).key("more_ranks").integer(side.more_ranks);
      json->key("call");
      if (side.has_call) {
        json->integer(side.call).key("operation").text(side.description);
      } else {
        json->null().key("calls").integer(side.call);
      }
      json->key("event").integer(side.event);
      json->key("after_kernel");
      if (side.after.empty()) {
        json->null();
      } else {
        json->text(side.after);
      }
      json->end_object();
    }
    json->end_array().end_object();
  }
  json->end_array();
}

void deadlock_json(JsonWriter* json, const Prediction& prediction) {
  json->key("deadlock");
  if (prediction.world.deadlocks == 0) {
    json->null();
    return;
  }
  json->begin_object();
  json->key("time_ms").number(static_cast<double>(prediction.world.deadlock.time_ns) / 1e6, 6);
  json->key("released").integer(prediction.world.deadlocks);
  json->key("waiting").begin_array();
  for (const Wait& wait : waits_of(prediction)) {
    json->begin_object().key("rank").signed_integer(wait.rank);
    json->key("operation").text(wait.description);
    json->key("call").integer(wait.call->sequence + 1).key("event").integer(wait.call->event);
    json->key("waits_for_ranks").begin_array();
    for (const int32_t rank : wait.absent) json->signed_integer(rank);
    json->end_array().end_object();
  }
  json->end_array().end_object();
}

}  // namespace

uint64_t ranks_covered(const Prediction& prediction) {
  uint64_t count = 0;
  for (const RankPrediction& rank : prediction.ranks) count += std::max<uint64_t>(rank.ranks.size(), 1);
  return count;
}

void world_json(JsonWriter* json, const Prediction& prediction) {
  const WorldPrediction& world = prediction.world;
  const WorldLayout& layout = world.world.layout;
  if (!world.critical_path.empty()) {
    const uint64_t step_ns = std::max<uint64_t>(prediction.ranks[prediction.slowest].median_ns, 1);
    json->key("critical_path").begin_array();
    for (size_t i = 0; i < std::min(world.critical_path.size(), kPathListed); ++i) {
      const PathPart& part = world.critical_path[i];
      json->begin_object().key("name").text(part.name).key("kind").text(kind_name(part.kind));
      json->key("rank").signed_integer(prediction.ranks[part.rank].rank).key("count").integer(part.count);
      json->key("total_ms").number(static_cast<double>(part.total_ns) / 1e6, 6);
      json->key("share").number(static_cast<double>(part.total_ns) / static_cast<double>(step_ns), 6).end_object();
    }
    json->end_array();
  }
  if (layout.world_size < 2) return;
  json->key("world").begin_object();
  json->key("size").integer(static_cast<uint64_t>(layout.world_size));
  json->key("gpus_per_node").integer(layout.gpus_per_node);
  json->key("ranks_run").integer(world.ranks_run);
  json->key("ranks_checked").integer(world.ranks_checked);
  json->key("ranks_inferred").integer(world.ranks_inferred);
  json->key("missing_ranks").text(rank_ranges(world.missing_ranks, kAllRanges));
  json->key("communicators").integer(world.world.communicators.size());
  json->key("matches").integer(world.world.matches.size()).end_object();
  json->key("slowest_device").begin_object().key("devices").integer(world.slowest_device.devices);
  json->key("spread").number(world.slowest_device.spread, 4);
  json->key("kernel_factor").number(world.slowest_device.median, 6).end_object();
  mismatches_json(json, prediction);
  deadlock_json(json, prediction);
}

std::string critical_path_text(const Prediction& prediction) {
  const std::vector<PathPart>& path = prediction.world.critical_path;
  if (path.empty()) return {};
  const uint64_t step_ns = std::max<uint64_t>(prediction.ranks[prediction.slowest].median_ns, 1);
  std::string out = "\nCritical path: what the step waits for\n" + right("ms", 12) + right("share", 9) +
                    right("count", 8) + right("rank", 7) + "  " + left("kind", 8) + "name\n";
  for (size_t i = 0; i < std::min(path.size(), kPathShown); ++i)
    out += right(ms(path[i].total_ns), 12) +
           right(percent(static_cast<double>(path[i].total_ns) / static_cast<double>(step_ns)), 9) +
           right(std::to_string(path[i].count), 8) + right(std::to_string(prediction.ranks[path[i].rank].rank), 7) +
           "  " + left(kind_name(path[i].kind), 8) + shorten(path[i].name, kNameColumns) + "\n";
  if (path.size() > kPathShown) out += "  and " + std::to_string(path.size() - kPathShown) + " more\n";
  return out;
}

std::string ranks_text(const Prediction& prediction) {
  if (prediction.ranks.size() < 2 && ranks_covered(prediction) < 2) return {};
  std::string out = "\nRanks, times in ms\n" + right("rank", 7) + right("like it", 8) + right("step", 11) +
                    right("compute", 10) + right("exposed", 10) + right("bubble", 9) + right("waits", 9) +
                    right("peak", 11) + "  trace\n";
  const auto short_ms = [](uint64_t ns) { return fixed(static_cast<double>(ns) / 1e6, 2); };
  for (size_t i = 0; i < std::min(prediction.ranks.size(), kRanksShown); ++i) {
    const RankPrediction& rank = prediction.ranks[i];
    const Breakdown& b = rank.breakdown;
    const size_t slash = rank.trace->path.rfind('/');
    std::string file = slash == std::string::npos ? rank.trace->path : rank.trace->path.substr(slash + 1);
    if (file.size() > kTraceColumns) file = "..." + file.substr(file.size() - kTraceColumns + 3);
    out += right(std::to_string(rank.rank), 7) + right(std::to_string(std::max<size_t>(rank.ranks.size(), 1) - 1), 8) +
           right(ms(rank.median_ns), 11) + right(short_ms(b.compute), 10) +
           right(short_ms(b.exposed_communication), 10) + right(short_ms(b.pipeline_bubble), 9) +
           right(short_ms(b.waiting_for_ranks), 9) + right(bytes_for_people(rank.memory.peak_bytes), 11) + "  " + file +
           "\n";
  }
  if (prediction.ranks.size() > kRanksShown)
    out += "  and " + std::to_string(prediction.ranks.size() - kRanksShown) + " more; --json lists all\n";
  return out;
}

std::string mismatches_text(const Prediction& prediction) {
  const std::vector<Mismatch>& list = prediction.world.mismatches;
  if (list.empty()) return {};
  std::string out = "\nMismatches: ranks do not do the same\n";
  for (size_t i = 0; i < std::min(list.size(), kMismatchesShown); ++i)
    for (const std::string& line : mismatch_lines(prediction.world.world, list[i])) out += "  " + line + "\n";
  if (list.size() > kMismatchesShown)
    out += "  and " + std::to_string(list.size() - kMismatchesShown) + " more communicators; --json lists all\n";
  return out;
}

std::string deadlock_text(const Prediction& prediction) {
  if (prediction.world.deadlocks == 0) return {};
  std::string out = "\nDeadlock at " + ms(prediction.world.deadlock.time_ns) + " ms: ranks wait for each other\n";
  const std::vector<Wait> waits = waits_of(prediction);
  for (size_t i = 0; i < std::min(waits.size(), kWaitsShown); ++i) {
    const WorldCommunicator& communicator = prediction.world.world.communicators[waits[i].call->communicator];
    out += "  rank " + std::to_string(waits[i].rank) + " in " + waits[i].description + "\n    call " +
           std::to_string(waits[i].call->sequence + 1) + " on a communicator of " + std::to_string(communicator.size) +
           ", waits for rank " + rank_ranges(waits[i].absent, 4) + "\n";
  }
  if (waits.size() > kWaitsShown)
    out += "  and " + std::to_string(waits.size() - kWaitsShown) + " more; --json lists all\n";
  return out;
}

}  // namespace maya::predictor
