#include <algorithm>

#include "predictor/columns.h"
#include "predictor/report.h"
#include "predictor/report_world.h"
#include "predictor/text.h"

namespace maya::predictor {
namespace {

constexpr size_t kOperationsShown = 15;
constexpr size_t kNameColumns = 60;           // in lines of their own
constexpr size_t kOperationNameColumns = 40;  // in the table of operations, which is kReportColumns wide

std::string heading(const Prediction& prediction, const RankPrediction& rank) {
  const size_t count = rank.steps.steps.size();
  std::string out = "Prediction for " + rank.device;
  if (const uint64_t ranks = ranks_covered(prediction); ranks > 1)
    out += ", " + std::to_string(ranks) + " ranks, the slowest is rank " + std::to_string(rank.rank);
  out += "\n";
  const WorldPrediction& world = prediction.world;
  if (world.ranks_inferred != 0 || world.ranks_checked != 0)
    out += std::to_string(world.ranks_run) + " ranks were run, " + std::to_string(world.ranks_checked) +
           " of them to check others; " + std::to_string(world.ranks_inferred) + " are inferred\n";
  if (world.slowest_device.median > 1)
    out += "kernels take " + fixed(world.slowest_device.median, 3) + " times their estimates: the slowest of " +
           std::to_string(world.slowest_device.devices) + " devices (--device-spread " +
           fixed(world.slowest_device.spread, 3) + ")\n";
  out += std::to_string(count) + (count == 1 ? " step" : " steps");
  if (rank.steps.found_by == FoundBy::kNone) {
    out += " (no repetition found)";
  } else {
    out += " found by " + std::string(found_by_name(rank.steps.found_by)) + ", " + std::to_string(rank.steps.warm_up) +
           " of them warm-up";
  }
  return out + "; trace " + (rank.complete ? "complete" : "incomplete") + "\n";
}

std::string step_time(const RankPrediction& rank) {
  std::string out = "\nStep time  " + ms(rank.median_ns) + " ms   (80 % interval " + ms(rank.low_ns) + " to " +
                    ms(rank.high_ns) + " ms)\n";
  const Breakdown& b = rank.breakdown;
  const auto row = [&](const char* name, uint64_t ns, const char* note) {
    const double share = rank.median_ns == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(rank.median_ns);
    out += "  " + left(name, 24) + right(ms(ns), 12) + " ms" + right(percent(share), 9) + note + "\n";
  };
  row("compute", b.compute, "");
  row("exposed communication", b.exposed_communication,
      b.communication == b.exposed_communication ? "" : "   more is hidden behind compute");
  for (size_t kind = 0; kind < kExposedKinds; ++kind)
    if (b.exposed[kind] != 0) row(("  " + std::string(exposed_kind_name(kind))).c_str(), b.exposed[kind], "");
  row("copies", b.copies, "");
  if (b.pipeline_bubble != 0) row("pipeline bubble", b.pipeline_bubble, "");
  if (b.waiting_for_ranks != 0) row("waiting for other ranks", b.waiting_for_ranks, "");
  row("waiting for the host", b.host_bound, "");
  row("idle", b.idle, "");
  if (rank.mfu > 0)
    out += "  " + left("MFU", 24) + right(percent(rank.mfu), 24) + "   at the dense peak, recomputation included\n";
  return out;
}

void layer_rows(const LayerBytes& layers, std::string* out) {
  const std::pair<const char*, int> rows[] = {{"allocations", proto::LAYER_ALLOCATIONS},
                                              {"workspaces", proto::LAYER_WORKSPACES},
                                              {"communication", proto::LAYER_COMMUNICATION},
                                              {"modules", proto::LAYER_MODULES},
                                              {"context", proto::LAYER_CONTEXT}};
  for (const auto& [name, layer] : rows)
    *out += "  " + left(name, 24) + right(bytes_for_people(layers[static_cast<size_t>(layer)]), 15) + "\n";
}

std::string failure_text(const MemoryReplay& memory) {
  const MemoryFailure& failure = *memory.first_failure;
  std::string out =
      "\nOut of memory" + std::string(failure.replayed ? " (by replay: the traced run had more memory)" : "") + "\n";
  const auto row = [&](const char* name, uint64_t bytes) {
    out += "  " + left(name, 24) + right(bytes_for_people(bytes), 15) + right(std::to_string(bytes), 17) + " bytes\n";
  };
  out += "  call                    " + failure.call + " on device " + std::to_string(failure.device) + "\n";
  if (!failure.operation.empty()) out += "  after                   " + shorten(failure.operation, kNameColumns) + "\n";
  row("requested", failure.requested_bytes);
  row("free", failure.free_bytes);
  row("capacity", failure.capacity_bytes);
  row("needed at least", memory.needed_bytes);
  out += "  held at that moment, by layer\n";
  std::string layers;
  layer_rows(failure.layers, &layers);
  out += layers;
  for (size_t i = 0; i < failure.largest_holders.size(); ++i)
    out += left(i == 0 ? "  largest allocations" : "", 26) + right(bytes_for_people(failure.largest_holders[i]), 15) +
           "\n";
  return out;
}

std::string memory_text(const Prediction& prediction) {
  const RankPrediction& rank = memory_rank(prediction);
  const MemoryReplay& memory = rank.memory;
  std::string out = "\nMemory  " + bytes_for_people(memory.peak_bytes) + " at its peak, " +
                    bytes_for_people(memory.capacity_bytes) +
                    " capacity: " + (memory.out_of_memory ? "OUT OF MEMORY" : "fits") + "\n";
  if (prediction.ranks.size() > 1) out += "  of rank " + std::to_string(rank.rank) + ", which needs most\n";
  layer_rows(memory.peak_by_layer, &out);
  std::string devices = memory.peak_is_lower_bound ? "so far fits on          " : "fits on                 ";
  if (memory.fits_on.empty()) devices += "none of the known devices";
  for (size_t i = 0; i < memory.fits_on.size(); ++i) devices += (i == 0 ? "" : " ") + memory.fits_on[i];
  out += wrapped(devices, 2, 26);
  if (memory.first_failure) out += failure_text(memory);
  return out;
}

std::string operations_text(const RankPrediction& rank) {
  if (rank.operations.empty()) return {};
  const auto steps = static_cast<double>(rank.steps.steps.size() - rank.steps.warm_up);
  std::string out = "\nDevice time by provenance:";
  for (size_t i = 0; i < kProvenances; ++i)
    if (rank.provenance[i] > 0)
      out += " " + std::string(provenance_name(static_cast<Provenance>(i))) + " " + percent(rank.provenance[i]);
  out += "\n\nOperations, per step\n" + right("ms", 12) + right("share", 9) + right("count", 9) + "  " +
         left("family", 15) + left("provenance", 13) + "name\n";
  for (size_t i = 0; i < std::min(rank.operations.size(), kOperationsShown); ++i) {
    const OperationSummary& operation = rank.operations[i];
    out += right(fixed(static_cast<double>(operation.total_ns) / 1e6 / steps, 3), 12) +
           right(percent(operation.share), 9) + right(fixed(static_cast<double>(operation.count) / steps, 1), 9) +
           "  " + left(family_name(operation.family), 15) + left(provenance_name(operation.provenance), 13) +
           shorten(operation.name, kOperationNameColumns) + "\n";
  }
  if (rank.operations.size() > kOperationsShown)
    out += "  and " + std::to_string(rank.operations.size() - kOperationsShown) + " more; --json lists all\n";
  return out;
}

std::string explanations_text(const RankPrediction& rank) {
  std::string out;
  for (const Explanation& e : rank.explanations) {
    out += "\n" + e.name + "\n  family " + std::string(family_name(e.family)) + ", " + std::to_string(e.count) +
           " times in the steps that count\n";
    if (!e.shape.empty()) {
      out += "  shape";
      for (const auto& [name, value] : e.shape) out += " " + name + "=" + std::to_string(value);
      out += "\n";
    }
    out += "  work  " + grouped(e.flops) + "FLOP (" + std::string(data_type_name(e.type)) + "), reads " +
           grouped(e.read_bytes) + "B, writes " + grouped(e.written_bytes) + "B\n";
    if (e.floor_ns > 0)
      out += "  bounds  compute " + fixed(e.compute_ns / 1e3, 2) + " us, memory " + fixed(e.memory_ns / 1e3, 2) +
             " us, launch floor " + fixed(e.floor_ns / 1e3, 2) + " us\n";
    out += "  bound by " + std::string(e.bound) + "\n  estimate  " + fixed(e.estimate.median_ns / 1e3, 2) +
           " us (80 % interval " + fixed(e.estimate.low_ns / 1e3, 2) + " to " + fixed(e.estimate.high_ns / 1e3, 2) +
           " us), " + std::string(provenance_name(e.estimate.provenance)) + "\n";
    if (e.scale != 1) out += "  what if  " + fixed(e.scale, 3) + " times the estimate (--kernel-scale)\n";
    if (e.slowest_device > 1)
      out += "  slowest device  " + fixed(e.slowest_device, 3) + " times the estimate (--device-spread)\n";
    if (!e.model.empty()) out += "  model  " + e.model + "\n";
    if (e.sustained_factor > 1) out += "  power limit  " + fixed(e.sustained_factor, 3) + " times a short burst\n";
    for (const NearMeasurement& near : e.nearest)
      out += "  nearest  " + near.what + ": " + fixed(near.time_ns / 1e3, 2) + " us\n";
  }
  return out.empty() ? out : "\nExplanations\n" + out;
}

}  // namespace

std::string report_text(const Prediction& prediction) {
  const RankPrediction& rank = prediction.ranks[prediction.slowest];
  std::string out = heading(prediction, rank) + step_time(rank) + critical_path_text(prediction) +
                    memory_text(prediction) + operations_text(rank) + explanations_text(rank) + ranks_text(prediction) +
                    mismatches_text(prediction) + deadlock_text(prediction);
  if (!prediction.warnings.empty()) out += "\nWarnings\n";
  for (const std::string& warning : prediction.warnings) out += wrapped(warning, 2, 4);
  return out;
}

}  // namespace maya::predictor
