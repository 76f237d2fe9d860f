// Liger-Kernel's benchmarks (all_benchmark_data.csv): milliseconds by Triton's do_bench, which clears the L2 cache and
// times events around each call; short kernels show 4 to 5 us of that, so times below 20 us are left out.
//
// Kept are operations that are one kernel: Liger's Triton kernels (source "liger") and PyTorch's own (source
// "liger-torch"). Left out: whole layers with matrix products in them (swiglu, geglu, fused linear losses, expert
// layers), eager formulas of several kernels (Hugging Face's RMS norm and rotary embedding), `full` (forward and
// backward together), backward passes that launch several kernels, other losses, and attention.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "predictor/training/device_name.h"
#include "predictor/training/sources/source.h"

namespace maya::training {
namespace {

constexpr char kLiger[] = "liger", kTorch[] = "liger-torch";
constexpr double kLeast_us = 20;

bool recognises(const InputFile& file) {
  return file.csv != nullptr &&
         file.csv->has_columns({"kernel_name", "kernel_provider", "kernel_operation_mode", "metric_name", "metric_unit",
                                "x_name", "x_value", "y_value_50", "extra_benchmark_config_str", "gpu_name"});
}

// The benchmark's settings and the one that its row varies.
class Settings {
 public:
  Settings(std::string_view json, std::string_view varied, double value)
      : json_(nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false)) {
    if (json_.is_object()) json_[std::string(varied)] = value;
  }

  // 0 when missing.
  int64_t number(const char* name) const {
    if (!json_.is_object() || !json_.contains(name) || !json_.at(name).is_number()) return 0;
    return static_cast<int64_t>(json_.at(name).get<double>());
  }
  DataType type(DataType otherwise) const {
    if (!json_.is_object() || !json_.contains("dtype") || !json_.at("dtype").is_string()) return otherwise;
    return data_type_from_name(json_.at("dtype").get<std::string>());
  }

 private:
  nlohmann::json json_;
};

struct Rule {
  std::string_view kernel, provider, mode;
  const char* source;
  OperationRecord (*record)(const Settings& settings, bool backward);
};

OperationRecord layer_norm(const Settings& settings, bool backward) {
  return row_record(Family::kNormalization, "layer_norm", settings.number("M"), settings.number("N"),
                    settings.type(DataType::kFloat32), backward);
}
OperationRecord rms_norm(const Settings& settings, bool backward) {
  return row_record(Family::kNormalization, "rms_norm", settings.number("M"), settings.number("H"),
                    settings.type(DataType::kBfloat16), backward);
}
// Megatron's benchmarks use bfloat16 and do not state it.
OperationRecord megatron_rms_norm(const Settings& settings, bool backward) {
  return row_record(Family::kNormalization, "rms_norm", settings.number("S") * settings.number("B"),
                    settings.number("H"), DataType::kBfloat16, backward);
}
OperationRecord megatron_swiglu(const Settings& settings, bool backward) {
  return row_record(Family::kElementwise, "swiglu", settings.number("S") * settings.number("B"),
                    settings.number("ffn_local"), DataType::kBfloat16, backward);
}
// Reads the input and the residual, writes the sum and the norm.
OperationRecord fused_add_rms_norm(const Settings& settings, bool backward) {
  const int64_t rows = settings.number("M"), columns = settings.number("H");
  const DataType type = settings.type(DataType::kFloat32);
  const int64_t bytes = rows * columns * data_type_bits(type) / 8;
  return row_record(Family::kNormalization, "fused_add_rms_norm", rows, columns, type, backward)
      .set(Key::kReadBytes, 2 * bytes)
      .set(Key::kWrittenBytes, 2 * bytes);
}
// A row is the channels of one group: channels_per_group times H values.
OperationRecord group_norm(const Settings& settings, bool backward) {
  const int64_t per_group = std::max<int64_t>(settings.number("channels_per_group"), 1);
  return row_record(Family::kNormalization, "group_norm", settings.number("M") * settings.number("C") / per_group,
                    per_group * settings.number("H"), settings.type(DataType::kFloat32), backward);
}
OperationRecord softmax(const Settings& settings, bool backward) {
  return row_record(Family::kSoftmax, "softmax", settings.number("M"), settings.number("N"),
                    settings.type(DataType::kFloat32), backward);
}
// The benchmark's logits are float32. PyTorch's loss is a log-softmax and a pick of one value a row, which costs next
// to nothing beside it.
OperationRecord log_softmax(const Settings& settings, bool backward) {
  return row_record(Family::kSoftmax, "log_softmax", settings.number("B") * settings.number("T"), settings.number("V"),
                    DataType::kFloat32, backward);
}
// Liger's kernel computes the gradient in the same pass: it writes over the logits what it reads a second time from the
// L2 cache.
OperationRecord cross_entropy(const Settings& settings, bool) {
  const int64_t rows = settings.number("B") * settings.number("T"), columns = settings.number("V");
  const int64_t bytes = rows * columns * data_type_bits(DataType::kFloat32) / 8;
  OperationRecord record(Family::kSoftmax, "");
  return record.set(Key::kRows, rows)
      .set(Key::kColumns, columns)
      .set(Key::kDataType, static_cast<int64_t>(DataType::kFloat32))
      .set(Key::kOperator, static_cast<int64_t>(Operator::kCrossEntropy))
      .set(Key::kReadBytes, bytes)
      .set(Key::kWrittenBytes, bytes);
}
OperationRecord embedding(const Settings& settings, bool backward) {
  return row_record(Family::kEmbedding, "embedding", settings.number("B") * settings.number("T"), settings.number("D"),
                    settings.type(DataType::kFloat32), backward);
}
OperationRecord relu_squared(const Settings& settings, bool backward) {
  const int64_t rows = settings.number("M"), columns = settings.number("N");
  const DataType type = settings.type(DataType::kBfloat16);
  OperationRecord record = row_record(Family::kElementwise, "relu", rows, columns, type, backward);
  if (backward) record.set(Key::kReadBytes, 2 * rows * columns * data_type_bits(type) / 8);
  return record;
}
// Queries and keys of a token are turned in place. One of the benchmark's settings varies the hidden size at a fixed
// sequence, the other the sequence.
OperationRecord rotary(const Settings& settings, bool backward) {
  const int64_t tokens = std::max(settings.number("seq_len"), settings.number("T"));
  const int64_t hidden = std::max(settings.number("hidden_size"), settings.number("H"));
  const int64_t heads = std::max<int64_t>(settings.number("num_q_heads"), 1),
                kv_heads = settings.number("num_kv_heads");
  return row_record(Family::kElementwise, "rope", tokens, hidden + hidden / heads * kv_heads,
                    settings.type(DataType::kBfloat16), backward);
}

constexpr Rule kRules[] = {
    {"layer_norm", "huggingface", "forward", kTorch, layer_norm},
    {"layer_norm", "liger", "forward", kLiger, layer_norm},
    {"rms_norm", "liger", "forward", kLiger, rms_norm},
    {"megatron_rms_norm", "liger", "forward", kLiger, megatron_rms_norm},
    {"megatron_rms_norm", "torch", "forward", kTorch, megatron_rms_norm},
    {"fused_add_rms_norm", "liger_fused_add_rms_norm", "forward", kLiger, fused_add_rms_norm},
    {"group_norm", "liger", "forward", kLiger, group_norm},
    {"softmax", "liger", "forward", kLiger, softmax},
    {"softmax", "torch", "forward", kTorch, softmax},
    {"cross_entropy", "huggingface", "forward", kTorch, log_softmax},
    {"cross_entropy", "liger", "forward", kLiger, cross_entropy},
    {"embedding", "huggingface", "forward", kTorch, embedding},
    {"embedding", "liger", "forward", kLiger, embedding},
    {"relu_squared", "liger", "forward", kLiger, relu_squared},
    {"relu_squared", "liger", "backward", kLiger, relu_squared},
    {"megatron_swiglu", "liger", "forward", kLiger, megatron_swiglu},
    {"rope", "liger", "forward", kLiger, rotary},
};

bool read(const InputFile& file, Collector* collector, std::string* error) {
  CsvReader& csv = *file.csv;
  uint64_t rows = 0, used = 0;
  while (csv.next(error)) {
    if (csv.value_of("metric_name") != "speed" || profile_of(csv.value_of("gpu_name")) != collector->device) continue;
    ++rows;
    const Rule* rule = std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& candidate) {
      return candidate.kernel == csv.value_of("kernel_name") && candidate.provider == csv.value_of("kernel_provider") &&
             candidate.mode == csv.value_of("kernel_operation_mode");
    });
    if (rule == std::end(kRules)) {
      collector->report->leave_out(kLiger, "benchmarks of more than one kernel");
      continue;
    }
    double varied = 0, time_ms = 0, low_ms = 0, high_ms = 0;
    if (!csv.number(csv.column("x_value"), &varied) || !csv.number(csv.column("y_value_50"), &time_ms) ||
        csv.value_of("metric_unit") != "ms") {
      collector->report->refuse(file.path, "not a time in milliseconds", csv.at("not a time in milliseconds"));
      continue;
    }
    const Settings settings(csv.value_of("extra_benchmark_config_str"), csv.value_of("x_name"), varied);
    const OperationRecord record = rule->record(settings, rule->mode == "backward");
    if (record.get(Key::kRows) <= 0 || record.get(Key::kColumns) <= 0) {
      collector->report->refuse(file.path, "settings without a shape", csv.at("settings without a shape"));
      continue;
    }
    if (time_ms > 0 && time_ms * kNsPerMs < kLeast_us * kNsPerUs) {
      collector->report->leave_out(kLiger, "times below 20 us, which hold the timing's own cost");
      continue;
    }
    Measurement measurement = measurement_of(collector->device, record, rule->source);
    if (csv.number(csv.column("y_value_20"), &low_ms) && csv.number(csv.column("y_value_80"), &high_ms) && low_ms > 0 &&
        high_ms >= low_ms)
      measurement.spread = high_ms / low_ms;
    used += collector->take(file, std::move(measurement), time_ms * kNsPerMs) ? 1 : 0;
  }
  collector->report->read(kLiger, file.path, rows, used);
  return error->empty();
}

}  // namespace

const Source kLigerBenchmarks = {kLiger, recognises, read};

}  // namespace maya::training
