// SimuMax's measured efficiencies (configs/system/*.json): keys are shapes, values the share of a stated peak, so a
// time is operations / (peak * share). Products come in the layouts of training: TN forward, NN gradient of the data,
// NT gradient of the weights, added to float32 gradients. Attention is causal; its operations are counted without the
// mask, 2 b s^2 h (d_qk + d_v) forward and 2.5 times that backward (simu_tools/efficency_test/test_fa_efficiency.py of
// the project). Heads whose query and value sizes differ are left out, and grouped products for the weights' gradient.
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "predictor/training/sources/source.h"

namespace maya::training {
namespace {

constexpr char kName[] = "simumax";

std::string_view device_of(std::string_view name) {
  if (name.starts_with("a100_pcie")) return "a100-pcie-80";
  if (name.starts_with("b200")) return "b200-sxm";
  return {};
}

bool recognises(const InputFile& file) {
  return file.name.ends_with(".json") && file.path.find("/configs/system/") != std::string::npos &&
         !device_of(file.name).empty();
}

// "b=1, m=4096, layout=TN" as a map.
class Shape {
 public:
  explicit Shape(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find(','), text.size());
      std::string_view part = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      while (part.starts_with(' ')) part.remove_prefix(1);
      if (const size_t equals = part.find('='); equals != std::string_view::npos)
        values_[std::string(part.substr(0, equals))] = part.substr(equals + 1);
    }
  }

  std::string text(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::string() : found->second;
  }
  // 0 when missing or not a whole positive number.
  int64_t number(const std::string& name) const {
    double value = 0;
    if (!parse_number(text(name), &value) || value < 1 || value > 1e15 || std::floor(value) != value) return 0;
    return static_cast<int64_t>(value);
  }

 private:
  std::map<std::string, std::string> values_;
};

struct Parsed {
  OperationRecord record;
  double flops = 0;  // 0: the shape was not understood
  const char* left_out = nullptr;
};

Parsed product(const Shape& shape) {
  Parsed parsed;
  const int64_t batch = shape.number("b"), m = shape.number("m"), n = shape.number("n"), k = shape.number("k");
  const std::string layout = shape.text("layout"), type = shape.text("out_dtype");
  if (batch == 0 || m == 0 || n == 0 || k == 0 || (layout != "TN" && layout != "NN" && layout != "NT")) return parsed;
  parsed.record = gemm_record(m, n, k, DataType::kBfloat16, layout[0] == 'T', layout[1] == 'T', batch);
  if (type == "fp32") {
    const auto float32 = static_cast<int64_t>(DataType::kFloat32);
    parsed.record.set(Key::kTypeC, float32).set(Key::kTypeD, float32);
  }
  if (shape.text("accumulate") == "True") parsed.record.set(Key::kBeta, 1);
  parsed.flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) * static_cast<double>(batch);
  return parsed;
}

Parsed grouped_product(const Shape& shape) {
  Parsed parsed;
  const int64_t groups = shape.number("ng"), m = shape.number("M"), n = shape.number("N"), k = shape.number("K");
  const std::string stage = shape.text("stage");
  if (groups == 0 || m == 0 || n == 0 || k == 0 || stage.empty()) return parsed;
  parsed.flops = 2.0 * static_cast<double>(groups * m) * static_cast<double>(n) * static_cast<double>(k);
  if (stage == "bwd_grad_w") parsed.left_out = "grouped products for the gradient of the weights";
  const bool forward = stage == "fwd";
  parsed.record = grouped_gemm_record(groups, groups * m, forward ? n : k, forward ? k : n, DataType::kBfloat16);
  return parsed;
}

Parsed attention(const Shape& shape, bool backward) {
  Parsed parsed;
  const int64_t batch = shape.number("batch"), length = shape.number("seq_len"), heads = shape.number("head_num");
  const int64_t kv_heads = shape.number("kv_head_num"), query_dim = shape.number("qk_head_dim");
  const int64_t value_dim = shape.number("v_head_dim");
  if (batch == 0 || length == 0 || heads == 0 || kv_heads == 0 || query_dim == 0 || value_dim == 0) return parsed;
  parsed.flops = (backward ? 5.0 : 2.0) * static_cast<double>(batch * heads) * static_cast<double>(length) *
                 static_cast<double>(length) * static_cast<double>(query_dim + value_dim);
  if (query_dim != value_dim) parsed.left_out = "attention with unequal sizes of query and value heads";
  parsed.record = OperationRecord(Family::kAttention, "");
  parsed.record.set(Key::kBatch, batch)
      .set(Key::kSeqQ, length)
      .set(Key::kSeqKv, length)
      .set(Key::kHeads, heads)
      .set(Key::kKvHeads, kv_heads)
      .set(Key::kHeadDim, query_dim)
      .set(Key::kDataType, static_cast<int64_t>(DataType::kBfloat16))
      .set(Key::kCausal, 1)
      .set(Key::kDirection, backward ? 1 : 0);
  return parsed;
}

Parsed parse(const std::string& operation, const Shape& shape) {
  if (operation == "matmul") return product(shape);
  if (operation == "group_matmul") return grouped_product(shape);
  return attention(shape, operation == "sdp_bwd");
}

bool read(const InputFile& file, Collector* collector, std::string* error) {
  if (device_of(file.name) != collector->device) return true;
  std::ifstream in(file.path);
  const nlohmann::json document = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  const nlohmann::json::json_pointer operations_at("/accelerator/op");
  if (document.is_discarded() || !document.contains(operations_at)) {
    *error = file.path + ": is not a SimuMax system: expected JSON with accelerator.op";
    return false;
  }
  uint64_t rows = 0, used = 0;
  for (const std::string operation : {"matmul", "group_matmul", "sdp_fwd", "sdp_bwd"}) {
    const nlohmann::json entry = document.at(operations_at).value(operation, nlohmann::json::object());
    const nlohmann::json shares = entry.value("accurate_efficient_factor", nlohmann::json::object());
    const nlohmann::json peak = entry.value("tflops", nlohmann::json());
    if (!shares.is_object() || shares.empty() || !peak.is_number()) continue;
    for (const auto& [key, share] : shares.items()) {
      ++rows;
      const Parsed parsed = parse(operation, Shape(key));
      if (parsed.flops == 0 || !share.is_number()) {
        collector->report->refuse(file.path, "a shape or share that is not understood", "`" + key + "`");
        continue;
      }
      if (parsed.left_out != nullptr) {
        collector->report->leave_out(kName, parsed.left_out);
        continue;
      }
      const double time_ns = parsed.flops / (share.get<double>() * peak.get<double>() * 1e12) * 1e9;
      used += collector->take(file, measurement_of(collector->device, parsed.record, kName), time_ns) ? 1 : 0;
    }
  }
  collector->report->read(kName, file.path, rows, used);
  return true;
}

}  // namespace

const Source kSimumax = {kName, recognises, read};

}  // namespace maya::training
