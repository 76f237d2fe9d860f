// FlashAttention's published charts (fa_tflops.csv): microseconds derived from bar labels of three digits, float16.
//
// Kept are FlashAttention 2, FlashAttention 3 and cuDNN; on Hopper the second is Implementation::kFlashAttention2, the
// other two are the best of the device. Where only forward and backward together were charted, the backward time is
// what is left after the forward time: the charted one where there is one (H100: within -7 % and +2 % of the charted
// backward times), else, for the A100, one in which forward runs faster than both together by the factor that
// FlashAttention 2 shows on the H100 for the same head size, mask and length (1.02 to 1.31).
#include <map>
#include <tuple>

#include "predictor/training/device_name.h"
#include "predictor/training/sources/source.h"

namespace maya::training {
namespace {

constexpr char kName[] = "flash-attention";

bool recognises(const InputFile& file) {
  return file.csv != nullptr && file.csv->has_columns({"gpu", "mode", "causal", "head_dim", "heads", "batch", "seqlen",
                                                       "impl", "tflops", "time_us"});
}

struct Bar {
  std::string device, mode, implementation;
  int64_t causal = 0, head_dim = 0, heads = 0, batch = 0, length = 0;
  double time_ns = 0;
};

bool read_bar(const CsvReader& csv, Bar* bar) {
  const auto whole = [&](std::string_view column, int64_t* value) { return csv.whole(csv.column(column), value); };
  bar->device = profile_of(csv.value_of("gpu"));
  bar->mode = csv.value_of("mode");
  bar->implementation = csv.value_of("impl");
  double time_us = 0;
  if (!whole("causal", &bar->causal) || !whole("head_dim", &bar->head_dim) || !whole("heads", &bar->heads) ||
      !whole("batch", &bar->batch) || !whole("seqlen", &bar->length) || !csv.number(csv.column("time_us"), &time_us))
    return false;
  bar->time_ns = time_us * kNsPerUs;
  return bar->head_dim > 0 && bar->heads > 0 && bar->batch > 0 && bar->length > 0 && bar->time_ns > 0;
}

using ShapeKey = std::tuple<int64_t, int64_t, int64_t>;
ShapeKey shape_of(const Bar& bar) { return {bar.causal, bar.head_dim, bar.length}; }

// What FlashAttention 2 was charted at, by device and mode.
class Charted {
 public:
  void add(const Bar& bar) { times_[{bar.device, bar.mode}][shape_of(bar)] = bar.time_ns; }
  // 0 when not charted.
  double time(const std::string& device, const std::string& mode, const ShapeKey& shape) const {
    const auto chart = times_.find({device, mode});
    if (chart == times_.end()) return 0;
    const auto found = chart->second.find(shape);
    return found == chart->second.end() ? 0 : found->second;
  }

 private:
  std::map<std::pair<std::string, std::string>, std::map<ShapeKey, double>> times_;
};

// Backward time of a bar that shows forward and backward together; 0 when it cannot be told.
double backward_ns(const Charted& charted, const Bar& bar) {
  if (const double forward = charted.time(bar.device, "fwd", shape_of(bar)); forward > 0) return bar.time_ns - forward;
  const double forward = charted.time("h100-sxm", "fwd", shape_of(bar));
  const double both = charted.time("h100-sxm", "fwd+bwd", shape_of(bar));
  if (forward == 0 || both == 0) return 0;
  return bar.time_ns * (1 - forward / both);
}

Measurement measurement_of_bar(const Bar& bar, bool backward) {
  OperationRecord record(Family::kAttention, "");
  record.set(Key::kBatch, bar.batch)
      .set(Key::kSeqQ, bar.length)
      .set(Key::kSeqKv, bar.length)
      .set(Key::kHeads, bar.heads)
      .set(Key::kKvHeads, bar.heads)
      .set(Key::kHeadDim, bar.head_dim)
      .set(Key::kDataType, static_cast<int64_t>(DataType::kFloat16))
      .set(Key::kCausal, bar.causal)
      .set(Key::kDirection, backward ? 1 : 0);
  if (bar.implementation == "FA2" && bar.device == "h100-sxm")
    record.set(Key::kImplementation, static_cast<int64_t>(Implementation::kFlashAttention2));
  return measurement_of(bar.device, record, kName);
}

bool read(const InputFile& file, Collector* collector, std::string* error) {
  CsvReader& csv = *file.csv;
  std::vector<Bar> bars;
  Charted charted;
  uint64_t rows = 0, used = 0;
  while (csv.next(error)) {
    Bar bar;
    if (!read_bar(csv, &bar)) {
      collector->report->refuse(file.path, "a size or the time is not a positive number",
                                csv.at("a size or the time is not a positive number"));
      continue;
    }
    if (bar.implementation == "FA2") charted.add(bar);
    if (bar.device == collector->device) bars.push_back(bar);
  }
  for (const Bar& bar : bars) {
    ++rows;
    if (bar.implementation != "FA2" && bar.implementation != "FA3" && bar.implementation != "cuDNN") {
      collector->report->leave_out(kName, "implementations that no program of today runs");
      continue;
    }
    const bool both = bar.mode == "fwd+bwd";
    if (both && charted.time(bar.device, "bwd", shape_of(bar)) > 0) {
      collector->report->leave_out(kName, "forward and backward together where backward is charted");
      continue;
    }
    const double time_ns = both ? backward_ns(charted, bar) : bar.time_ns;
    if (time_ns <= 0) {
      collector->report->leave_out(kName, "forward and backward together without a forward time");
      continue;
    }
    used += collector->take(file, measurement_of_bar(bar, bar.mode != "fwd"), time_ns) ? 1 : 0;
  }
  collector->report->read(kName, file.path, rows, used);
  return error->empty();
}

}  // namespace

const Source kFlashAttention = {kName, recognises, read};

}  // namespace maya::training
