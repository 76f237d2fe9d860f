#include <algorithm>

#include "predictor/json_writer.h"
#include "predictor/report.h"
#include "predictor/report_world.h"
#include "predictor/warnings.h"

namespace maya::predictor {
namespace {

constexpr int kFormat = 1;
constexpr double kNanosecondsPerMillisecond = 1e6;
constexpr int kMillisecondDigits = 6;  // to the nanosecond
constexpr int kShareDigits = 6;

void milliseconds(JsonWriter* json, const char* key, uint64_t ns) {
  json->key(key).number(static_cast<double>(ns) / kNanosecondsPerMillisecond, kMillisecondDigits);
}

void steps(JsonWriter* json, const Steps& steps) {
  json->key("steps").begin_object();
  json->key("count").integer(steps.steps.size()).key("warm_up").integer(steps.warm_up);
  json->key("found_by").text(found_by_name(steps.found_by)).end_object();
}

void step_time(JsonWriter* json, const RankPrediction& rank) {
  json->key("step_time_ms").begin_object();
  milliseconds(json, "median", rank.median_ns);
  milliseconds(json, "low", rank.low_ns);
  milliseconds(json, "high", rank.high_ns);
  json->end_object();
}

void breakdown(JsonWriter* json, const Breakdown& parts) {
  json->key("breakdown_ms").begin_object();
  milliseconds(json, "compute", parts.compute);
  milliseconds(json, "communication", parts.communication);
  milliseconds(json, "exposed_communication", parts.exposed_communication);
  milliseconds(json, "copies", parts.copies);
  milliseconds(json, "host_bound", parts.host_bound);
  milliseconds(json, "idle", parts.idle);
  milliseconds(json, "pipeline_bubble", parts.pipeline_bubble);
  milliseconds(json, "waiting_for_ranks", parts.waiting_for_ranks);
  json->key("exposed_by_kind").begin_object();
  for (size_t kind = 0; kind < kExposedKinds; ++kind)
    if (parts.exposed[kind] != 0) milliseconds(json, exposed_kind_name(kind), parts.exposed[kind]);
  json->end_object().end_object();
}

// Model FLOP utilisation: matrix products, attention and convolutions of the step at the dense peak of the device for
// their types, over the step time. Recomputed ones count.
void utilisation(JsonWriter* json, const RankPrediction& rank) {
  json->key("mfu").number(rank.mfu, kShareDigits);
  json->key("model_flops_per_step").number(rank.model_flops, 0);
}

void layers(JsonWriter* json, const LayerBytes& bytes) {
  json->begin_object();
  json->key("context").integer(bytes[proto::LAYER_CONTEXT]);
  json->key("modules").integer(bytes[proto::LAYER_MODULES]);
  json->key("workspaces").integer(bytes[proto::LAYER_WORKSPACES]);
  json->key("communication").integer(bytes[proto::LAYER_COMMUNICATION]);
  json->key("allocations").integer(bytes[proto::LAYER_ALLOCATIONS]);
  json->end_object();
}

void failure(JsonWriter* json, const MemoryFailure& failure) {
  json->begin_object();
  json->key("call").text(failure.call);
  json->key("requested_bytes").integer(failure.requested_bytes);
  json->key("free_bytes").integer(failure.free_bytes);
  if (failure.operation.empty()) {
    json->key("operation").null();
  } else {
    json->key("operation").text(failure.operation);
  }
  json->key("device").integer(failure.device);
  json->key("capacity_bytes").integer(failure.capacity_bytes);
  json->key("held_by_layer");
  layers(json, failure.layers);
  json->key("largest_holders_bytes").begin_array();
  for (const uint64_t bytes : failure.largest_holders) json->integer(bytes);
  json->end_array();
  json->key("in_traced_run").boolean(!failure.replayed);
  json->end_object();
}

void memory(JsonWriter* json, const RankPrediction& rank) {
  const MemoryReplay& memory = rank.memory;
  json->key("memory").begin_object();
  json->key("rank").signed_integer(rank.rank);
  json->key("capacity_bytes").integer(memory.capacity_bytes);
  json->key("peak_bytes").integer(memory.peak_bytes);
  json->key("peak_by_layer");
  layers(json, memory.peak_by_layer);
  json->key("driver_reserve_bytes").integer(memory.driver_reserve_bytes);
  json->key("needed_bytes").integer(memory.needed_bytes);
  json->key("verdict").text(memory.out_of_memory ? "out_of_memory" : "fits");
  json->key("first_failure");
  if (memory.first_failure) {
    failure(json, *memory.first_failure);
  } else {
    json->null();
  }
  json->key("fits_on").begin_array();
  for (const std::string& device : memory.fits_on) json->text(device);
  json->end_array().end_object();
}

void provenance(JsonWriter* json, const RankPrediction& rank) {
  json->key("provenance").begin_object();
  for (size_t i = 0; i < kProvenances; ++i)
    json->key(provenance_name(static_cast<Provenance>(i))).number(rank.provenance[i], kShareDigits);
  json->end_object();
}

void operations(JsonWriter* json, const RankPrediction& rank) {
  json->key("operations").begin_array();
  for (const OperationSummary& operation : rank.operations) {
    json->begin_object();
    json->key("name").text(operation.name);
    json->key("family").text(family_name(operation.family));
    json->key("count").integer(operation.count);
    milliseconds(json, "total_ms", operation.total_ns);
    json->key("share").number(operation.share, kShareDigits);
    json->key("provenance").text(provenance_name(operation.provenance));
    json->end_object();
  }
  json->end_array();
}

void explanations(JsonWriter* json, const RankPrediction& rank) {
  if (rank.explanations.empty()) return;
  json->key("explain").begin_array();
  for (const Explanation& e : rank.explanations) {
    json->begin_object();
    json->key("name").text(e.name).key("family").text(family_name(e.family)).key("count").integer(e.count);
    json->key("shape").begin_object();
    for (const auto& [name, value] : e.shape) json->key(name).signed_integer(value);
    json->end_object();
    json->key("dtype").text(data_type_name(e.type));
    json->key("flops").number(e.flops, 0);
    json->key("read_bytes").number(e.read_bytes, 0);
    json->key("written_bytes").number(e.written_bytes, 0);
    json->key("bound").text(e.bound);
    json->key("compute_bound_us").number(e.compute_ns / 1e3, 3);
    json->key("memory_bound_us").number(e.memory_ns / 1e3, 3);
    json->key("launch_floor_us").number(e.floor_ns / 1e3, 3);
    json->key("median_us").number(e.estimate.median_ns / 1e3, 3);
    json->key("low_us").number(e.estimate.low_ns / 1e3, 3);
    json->key("high_us").number(e.estimate.high_ns / 1e3, 3);
    json->key("provenance").text(provenance_name(e.estimate.provenance));
    if (e.scale != 1) json->key("kernel_scale").number(e.scale, 4);
    if (e.slowest_device != 1) json->key("slowest_device").number(e.slowest_device, 4);
    if (!e.model.empty()) {
      json->key("model").text(e.model).key("sustained_factor").number(e.sustained_factor, 4);
      json->key("nearest").begin_array();
      for (const NearMeasurement& near : e.nearest)
        json->begin_object().key("what").text(near.what).key("time_us").number(near.time_ns / 1e3, 3).end_object();
      json->end_array();
    }
    json->end_object();
  }
  json->end_array();
}

}  // namespace

const RankPrediction& memory_rank(const Prediction& prediction) {
  const RankPrediction* worst = &prediction.ranks.front();
  for (const RankPrediction& rank : prediction.ranks) {
    if (rank.memory.out_of_memory != worst->memory.out_of_memory) {
      if (rank.memory.out_of_memory) worst = &rank;
    } else if (rank.memory.peak_bytes > worst->memory.peak_bytes) {
      worst = &rank;
    }
  }
  return *worst;
}

std::string report_json(const Prediction& prediction) {
  const RankPrediction& rank = prediction.ranks[prediction.slowest];
  bool complete = true;
  for (const RankPrediction& each : prediction.ranks) complete = complete && each.complete;
  JsonWriter json(2);
  json.begin_object();
  json.key("format").integer(kFormat);
  json.key("device").text(rank.device);
  json.key("ranks").integer(ranks_covered(prediction));
  json.key("complete").boolean(complete);
  if (!prediction.cluster.empty()) json.key("cluster").text(prediction.cluster);
  steps(&json, rank.steps);
  step_time(&json, rank);
  breakdown(&json, rank.breakdown);
  utilisation(&json, rank);
  memory(&json, memory_rank(prediction));
  provenance(&json, rank);
  operations(&json, rank);
  explanations(&json, rank);
  world_json(&json, prediction);
  if (prediction.ranks.size() > 1 || ranks_covered(prediction) > 1) {
    json.key("per_rank").begin_array();
    for (const RankPrediction& each : prediction.ranks) {
      json.begin_object();
      json.key("rank").integer(static_cast<uint64_t>(each.rank));
      json.key("stands_for").begin_object().key("count").integer(std::max<size_t>(each.ranks.size(), 1));
      json.key("ranks").text(rank_ranges(each.ranks, each.ranks.size())).end_object();
      json.key("trace").text(each.trace->path);
      json.key("complete").boolean(each.complete);
      steps(&json, each.steps);
      step_time(&json, each);
      breakdown(&json, each.breakdown);
      utilisation(&json, each);
      memory(&json, each);
      json.end_object();
    }
    json.end_array();
  }
  json.key("warnings").begin_array();
  for (const std::string& warning : prediction.warnings) json.text(warning);
  json.end_array().end_object();
  return json.str() + "\n";
}

}  // namespace maya::predictor
