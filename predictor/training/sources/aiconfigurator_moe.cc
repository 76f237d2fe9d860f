// aiconfigurator's expert layers and the narrow batched products of multi-head latent attention.
//
// moe_bf16_*: one whole layer of gated experts (both products and the activation) for `num_tokens` tokens of `topk`
// experts each, microseconds. A device of `moe_ep_size` holds num_experts / moe_ep_size experts and a moe_tp_size-th of
// each one's inner size. Only evenly loaded experts are kept, and of the kernels the Triton ones, which all three
// frameworks have on every device.
//
// mla_bmm_*: for each head, mla_gen_pre is [tokens, 128] times [128, 512], mla_gen_post [tokens, 512] times [512, 128]
// (the head and latent sizes of DeepSeek's models), milliseconds.
#include <algorithm>

#include "predictor/training/device_name.h"
#include "predictor/training/sources/source.h"

namespace maya::training {
namespace {

constexpr char kName[] = "aiconfigurator";
constexpr std::string_view kExpertPrefix = "moe_bf16_", kLatentPrefix = "mla_bmm_";

std::string_view device_part(std::string_view name, std::string_view prefix) {
  name.remove_prefix(prefix.size());
  return name.substr(0, name.find('.'));
}

bool is_expert_table(const InputFile& file) {
  return file.csv != nullptr && file.name.starts_with(kExpertPrefix) &&
         file.csv->has_columns({"kernel_source", "num_tokens", "hidden_size", "inter_size", "topk", "num_experts",
                                "moe_tp_size", "moe_ep_size", "distribution", "time_us"});
}

bool is_latent_table(const InputFile& file) {
  return file.csv != nullptr && file.name.starts_with(kLatentPrefix) &&
         file.csv->has_columns({"device", "op_name", "bmm_dtype", "num_tokens", "num_heads", "latency"});
}

bool read_experts(const InputFile& file, Collector* collector, std::string* error) {
  if (profile_of(device_part(file.name, kExpertPrefix)) != collector->device) return true;
  CsvReader& csv = *file.csv;
  uint64_t rows = 0, used = 0;
  while (csv.next(error)) {
    ++rows;
    if (csv.value_of("distribution") != "balanced") {
      collector->report->leave_out(kName, "expert layers with uneven load");
      continue;
    }
    if (csv.value_of("kernel_source").find("triton") == std::string_view::npos) {
      collector->report->leave_out(kName, "expert layers of other kernels than Triton's");
      continue;
    }
    int64_t tokens = 0, hidden = 0, inner = 0, top = 0, experts = 0, tensor_parallel = 0, expert_parallel = 0;
    double time_us = 0;
    if (!csv.whole(csv.column("num_tokens"), &tokens) || !csv.whole(csv.column("hidden_size"), &hidden) ||
        !csv.whole(csv.column("inter_size"), &inner) || !csv.whole(csv.column("topk"), &top) ||
        !csv.whole(csv.column("num_experts"), &experts) || !csv.whole(csv.column("moe_tp_size"), &tensor_parallel) ||
        !csv.whole(csv.column("moe_ep_size"), &expert_parallel) || !csv.number(csv.column("time_us"), &time_us) ||
        tensor_parallel < 1 || expert_parallel < 1) {
      collector->report->refuse(file.path, "a size or the time is not a number",
                                csv.at("a size or the time is not a number"));
      continue;
    }
    const int64_t local = std::max<int64_t>(experts / expert_parallel, 1);
    const int64_t local_rows = std::max<int64_t>(tokens * top / expert_parallel, 1);
    used += collector->take(file,
                            measurement_of(collector->device,
                                           grouped_gemm_record(local, local_rows, inner / tensor_parallel, hidden,
                                                               DataType::kBfloat16, Operator::kMixtureOfExperts),
                                           kName),
                            time_us * kNsPerUs)
                ? 1
                : 0;
  }
  collector->report->read(kName, file.path, rows, used);
  return error->empty();
}

bool read_latent(const InputFile& file, Collector* collector, std::string* error) {
  constexpr int64_t kHeadDim = 128, kLatentDim = 512;
  CsvReader& csv = *file.csv;
  uint64_t rows = 0, used = 0;
  while (csv.next(error)) {
    if (profile_of(csv.value_of("device")) != collector->device) continue;
    ++rows;
    const std::string_view operation = csv.value_of("op_name");
    const bool before = operation == "mla_gen_pre";
    if ((!before && operation != "mla_gen_post") || csv.value_of("bmm_dtype") != "bfloat16") {
      collector->report->leave_out(kName, "latent-attention products of other kinds");
      continue;
    }
    int64_t tokens = 0, heads = 0;
    double time_ms = 0;
    if (!csv.whole(csv.column("num_tokens"), &tokens) || !csv.whole(csv.column("num_heads"), &heads) ||
        !csv.number(csv.column("latency"), &time_ms)) {
      collector->report->refuse(file.path, "a size or the time is not a number",
                                csv.at("a size or the time is not a number"));
      continue;
    }
    const OperationRecord record =
        gemm_record(tokens, before ? kLatentDim : kHeadDim, before ? kHeadDim : kLatentDim, DataType::kBfloat16,
                    /*transpose_a=*/false, /*transpose_b=*/false, heads);
    used += collector->take(file, measurement_of(collector->device, record, kName), time_ms * kNsPerMs) ? 1 : 0;
  }
  collector->report->read(kName, file.path, rows, used);
  return error->empty();
}

}  // namespace

const Source kAiconfiguratorExperts = {kName, is_expert_table, read_experts};
const Source kAiconfiguratorLatent = {kName, is_latent_table, read_latent};

}  // namespace maya::training
