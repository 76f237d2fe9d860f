// vidur's per-operation profiles of transformer layers: float16, milliseconds, medians of kernel times from a profiler,
// rounded to a microsecond or half. Against aiconfigurator's bfloat16 products of the same shapes they show no offset:
// A100 0.97 to 1.00 of them below 100 us and 1.04 to 1.15 above 300 us, H100 1.03 to 1.15 (clocks were not locked).
// Norms, rotary embedding and the activation are kernels of an inference engine, slower than Triton's or recent
// PyTorch's. The embedding of more than one tensor-parallel worker masks its tokens too, so only one worker's is kept;
// rotary embedding is left out, since its shape is not stated. Times below 4 us say too little.
#include <algorithm>

#include "predictor/training/device_name.h"
#include "predictor/training/sources/source.h"

namespace maya::training {
namespace {

constexpr char kName[] = "vidur";
constexpr double kLeast_us = 4;

bool recognises(const InputFile& file) {
  return file.csv != nullptr && file.csv->has_columns({"time_stats.emb.median", "time_stats.mlp_up_proj.median",
                                                       "n_head", "n_kv_head", "n_embd", "n_expanded_embd",
                                                       "use_gated_mlp", "num_tokens", "num_tensor_parallel_workers"});
}

// The device is the folder below "compute".
std::string_view device_of(const std::string& path) {
  constexpr std::string_view kFolder = "/compute/";
  const size_t found = path.rfind(kFolder);
  if (found == std::string::npos) return {};
  const std::string_view rest = std::string_view(path).substr(found + kFolder.size());
  return rest.substr(0, rest.find('/'));
}

struct Layer {
  int64_t tokens = 0, hidden = 0, heads = 0, kv_heads = 0, inner = 0, workers = 0;
  bool gated = false;

  bool read(const CsvReader& csv) {
    const auto whole = [&](std::string_view column, int64_t* value) {
      return csv.whole(csv.column(column), value) && *value > 0;
    };
    gated = csv.value_of("use_gated_mlp") == "True";
    return whole("num_tokens", &tokens) && whole("n_embd", &hidden) && whole("n_head", &heads) &&
           whole("n_kv_head", &kv_heads) && whole("n_expanded_embd", &inner) &&
           whole("num_tensor_parallel_workers", &workers);
  }
};

struct Operation {
  std::string_view column;
  OperationRecord record;
};

std::vector<Operation> operations_of(const Layer& layer) {
  constexpr DataType kType = DataType::kFloat16;
  const int64_t head_dim = layer.hidden / layer.heads;
  const int64_t heads = layer.heads / layer.workers;
  const int64_t kv_heads = std::max<int64_t>(layer.kv_heads / layer.workers, 1);
  const int64_t inner = layer.inner / layer.workers;
  // Gated layers are Llama's, with RMS norms; the other model (phi-2) has layer norms and GELU.
  const std::string_view norm = layer.gated ? "rms_norm" : "layer_norm";
  std::vector<Operation> operations = {
      {"input_layernorm", row_record(Family::kNormalization, norm, layer.tokens, layer.hidden, kType)},
      {"post_attention_layernorm", row_record(Family::kNormalization, norm, layer.tokens, layer.hidden, kType)},
      {"attn_pre_proj", gemm_record(layer.tokens, (heads + 2 * kv_heads) * head_dim, layer.hidden, kType)},
      {"attn_post_proj", gemm_record(layer.tokens, layer.hidden, heads * head_dim, kType)},
      {"mlp_up_proj", gemm_record(layer.tokens, (layer.gated ? 2 : 1) * inner, layer.hidden, kType)},
      {"mlp_down_proj", gemm_record(layer.tokens, layer.hidden, inner, kType)},
      {"mlp_act", row_record(Family::kElementwise, layer.gated ? "swiglu" : "gelu", layer.tokens, inner, kType)},
  };
  // The other model adds attention, MLP and residual: two kernels under one name.
  if (layer.gated)
    operations.push_back({"add", row_record(Family::kElementwise, "add", layer.tokens, layer.hidden, kType)});
  if (layer.workers == 1)
    operations.push_back({"emb", row_record(Family::kEmbedding, "embedding", layer.tokens, layer.hidden, kType)});
  return operations;
}

bool read(const InputFile& file, Collector* collector, std::string* error) {
  if (profile_of(device_of(file.path)) != collector->device) return true;
  CsvReader& csv = *file.csv;
  uint64_t rows = 0, used = 0;
  while (csv.next(error)) {
    Layer layer;
    if (!layer.read(csv)) {
      collector->report->refuse(file.path, "a size is not a whole number", csv.at("a size is not a whole number"));
      continue;
    }
    if (layer.heads % layer.workers != 0 || layer.inner % layer.workers != 0) continue;
    for (const Operation& operation : operations_of(layer)) {
      const auto column = [&](std::string_view statistic) {
        return csv.column("time_stats." + std::string(operation.column) + "." + std::string(statistic));
      };
      double median_ms = 0, least_ms = 0, most_ms = 0;
      if (csv.cell(column("median")).empty()) continue;
      ++rows;
      if (!csv.number(column("median"), &median_ms)) {
        collector->report->refuse(file.path, "a time is not a number", csv.at("a time is not a number"));
        continue;
      }
      if (median_ms > 0 && median_ms * kNsPerMs < kLeast_us * kNsPerUs) {
        collector->report->leave_out(kName, "times of a few units of their rounding");
        continue;
      }
      Measurement measurement = measurement_of(collector->device, operation.record, kName);
      if (csv.number(column("min"), &least_ms) && csv.number(column("max"), &most_ms) && least_ms > 0 &&
          most_ms >= least_ms)
        measurement.spread = most_ms / least_ms;
      used += collector->take(file, std::move(measurement), median_ms * kNsPerMs) ? 1 : 0;
    }
  }
  collector->report->read(kName, file.path, rows, used);
  return error->empty();
}

}  // namespace

const Source kVidur = {kName, recognises, read};

}  // namespace maya::training
