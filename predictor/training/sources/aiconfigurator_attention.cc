// aiconfigurator's attention tables, forward, bfloat16, microseconds. context_attention_*: causal, `isl` new tokens
// after `step` cached ones, grouped heads, sliding windows. encoder_attention_*: all keys.
//
// Training programs run FlashAttention (2 on Ampere and Ada, 3 on Hopper, 4 on Blackwell), so that is what is kept,
// from every framework. TensorRT-LLM's kernels stand in, shape by shape, where a device has no FlashAttention row: B200
// and L40S. FlashInfer's and Triton's kernels and 8-bit caches are left out.
#include <algorithm>
#include <map>

#include "predictor/training/device_name.h"
#include "predictor/training/sources/source.h"

namespace maya::training {
namespace {

constexpr char kName[] = "aiconfigurator";
constexpr std::string_view kSustained = "_sustained_power";

enum class Kernels : uint8_t { kFlash, kTensorRt, kOther };

Kernels kernels_of(std::string_view source) {
  // Triton's and FlashInfer's names come first: vllm_flashinfer_... holds no FlashAttention.
  if (source == "torch_flow" || source == "trtllm_mha" || source == "vllm_flashinfer_trtllmprefill")
    return Kernels::kTensorRt;
  if (source.starts_with("fa2") || source.starts_with("fa3") || source.starts_with("fa4") ||
      source.starts_with("flash_attention") || source.starts_with("vllm_flash_attn") ||
      source.starts_with("vllm_vit_flash_attn"))
    return Kernels::kFlash;
  return Kernels::kOther;
}

bool tensor_rt_may_stand_in(std::string_view device) { return device == "b200-sxm" || device == "l40s"; }

std::string_view device_part(std::string_view name) {
  name = name.substr(0, name.find('.'));
  constexpr std::string_view kAttention = "_attention_";
  name.remove_prefix(name.find(kAttention) + kAttention.size());
  if (name.ends_with(kSustained)) name.remove_suffix(kSustained.size());
  return name;
}

std::string_view profile_of_file(std::string_view name) {
  const std::string_view device = device_part(name);
  return device == "h200" ? "h200-sxm" : profile_of(device);
}

bool recognises(const InputFile& file) {
  return file.csv != nullptr &&
         (file.name.starts_with("context_attention_") || file.name.starts_with("encoder_attention_")) &&
         file.csv->has_columns({"kernel_source", "batch_size", "isl", "num_heads", "head_dim", "time_us"});
}

// Cell as a whole number; `otherwise` when it is empty or the column is missing. False for anything else.
bool whole_or(const CsvReader& csv, int column, int64_t otherwise, int64_t* value) {
  *value = otherwise;
  return csv.cell(column).empty() || csv.whole(column, value);
}

bool read_shape(const CsvReader& csv, bool causal, OperationRecord* record) {
  int64_t batch = 0, length = 0, heads = 0, kv_heads = 0, head_dim = 0, prefix = 0, window = 0;
  if (!csv.whole(csv.column("batch_size"), &batch) || !csv.whole(csv.column("isl"), &length) ||
      !csv.whole(csv.column("num_heads"), &heads) || !csv.whole(csv.column("head_dim"), &head_dim) ||
      !whole_or(csv, csv.column("num_key_value_heads"), heads, &kv_heads) ||
      !whole_or(csv, csv.column("step"), 0, &prefix) || !whole_or(csv, csv.column("window_size"), 0, &window))
    return false;
  if (batch == 0 || length == 0 || heads == 0 || kv_heads == 0 || head_dim == 0) return false;
  *record = OperationRecord(Family::kAttention, "");
  record->set(Key::kBatch, batch)
      .set(Key::kSeqQ, length)
      .set(Key::kSeqKv, length + prefix)
      .set(Key::kHeads, heads)
      .set(Key::kKvHeads, kv_heads)
      .set(Key::kHeadDim, head_dim)
      .set(Key::kDataType, static_cast<int64_t>(DataType::kBfloat16))
      .set(Key::kCausal, causal ? 1 : 0)
      .set(Key::kPrefix, prefix)
      .set(Key::kWindow, window);
  return true;
}

std::vector<int64_t> shape_key(const OperationRecord& record) {
  std::vector<int64_t> key;
  for (int i = 0; i < record.count; ++i) {
    key.push_back(static_cast<int64_t>(record.fields[i].key));
    key.push_back(record.fields[i].value);
  }
  return key;
}

bool read(const InputFile& file, Collector* collector, std::string* error) {
  if (profile_of_file(file.name) != collector->device) return true;
  CsvReader& csv = *file.csv;
  const bool causal = file.name.starts_with("context_");
  const int source_column = csv.column("kernel_source"), time_column = csv.column("time_us");
  const int cache_column = csv.column("kv_cache_dtype"), type_column = csv.column("attn_dtype");
  const bool sustained = csv.has_columns({"power"});
  std::map<std::vector<int64_t>, bool> has_flash;
  struct StandIn {
    OperationRecord record;
    double time_ns;
  };
  std::vector<StandIn> stand_ins;
  uint64_t rows = 0, used = 0;
  while (csv.next(error)) {
    ++rows;
    const Kernels kernels = kernels_of(csv.cell(source_column));
    const std::string_view cache = csv.cell(cache_column);
    if (csv.cell(type_column) != "bfloat16" || (!cache.empty() && cache != "bfloat16")) {
      collector->report->leave_out(kName, "attention over 8-bit caches");
      continue;
    }
    if (kernels == Kernels::kOther || (kernels == Kernels::kTensorRt && !tensor_rt_may_stand_in(collector->device))) {
      collector->report->leave_out(kName, "attention kernels that training programs do not run");
      continue;
    }
    OperationRecord record;
    double time_us = 0;
    if (!read_shape(csv, causal, &record) || !csv.number(time_column, &time_us)) {
      collector->report->refuse(file.path, "a size or the time is not a number",
                                csv.at("a size or the time is not a number"));
      continue;
    }
    if (kernels == Kernels::kTensorRt) {
      stand_ins.push_back({record, time_us * kNsPerUs});
      continue;
    }
    Measurement measurement = measurement_of(collector->device, record, kName);
    measurement.sustained = sustained;
    if (!collector->take(file, std::move(measurement), time_us * kNsPerUs)) continue;
    ++used;
    has_flash[shape_key(record)] = true;
  }
  for (const StandIn& stand_in : stand_ins) {
    if (has_flash.contains(shape_key(stand_in.record))) {
      collector->report->leave_out(kName, "TensorRT-LLM attention where FlashAttention was measured too");
      continue;
    }
    Measurement measurement = measurement_of(collector->device, stand_in.record, kName);
    measurement.sustained = sustained;
    used += collector->take(file, std::move(measurement), stand_in.time_ns) ? 1 : 0;
  }
  collector->report->read(kName, file.path, rows, used);
  return error->empty();
}

}  // namespace

const Source kAiconfiguratorAttention = {kName, recognises, read};

}  // namespace maya::training
