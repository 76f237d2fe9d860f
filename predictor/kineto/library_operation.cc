#include "predictor/kineto/library_operation.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "predictor/core/operation_columns.h"
#include "predictor/kineto/collective_name.h"

namespace maya::predictor::kineto {
namespace {

enum class Kind : uint8_t { kProduct, kAttention, kConvolution, kConvolutionBackward };

constexpr int kNone = -1;

// Where the arguments stand.
struct Signature {
  std::string_view name;
  Kind kind;
  int first;   // product: the left matrix; attention: the query; convolution: the input. The next one is the other
               // operand
  int causal;  // attention: is_causal; convolution: stride, after which padding and dilation stand in this order
  int groups = kNone;  // convolution
  bool backward = false;
  Implementation implementation = Implementation::kBest;
};

constexpr std::array<Signature, 14> kSignatures = {{
    {"aten::mm", Kind::kProduct, 0, kNone},
    {"aten::addmm", Kind::kProduct, 1, kNone},
    {"aten::_addmm_activation", Kind::kProduct, 1, kNone},
    {"aten::bmm", Kind::kProduct, 0, kNone},
    {"aten::baddbmm", Kind::kProduct, 1, kNone},
    {"aten::_scaled_mm", Kind::kProduct, 0, kNone},
    {"aten::_scaled_dot_product_flash_attention", Kind::kAttention, 0, 4, kNone, false,
     Implementation::kFlashAttention2},
    {"aten::_scaled_dot_product_flash_attention_backward", Kind::kAttention, 1, 11, kNone, true,
     Implementation::kFlashAttention2},
    {"aten::_scaled_dot_product_efficient_attention", Kind::kAttention, 0, 6, kNone, false,
     Implementation::kMemoryEfficient},
    {"aten::_scaled_dot_product_efficient_attention_backward", Kind::kAttention, 1, 11, kNone, true,
     Implementation::kMemoryEfficient},
    {"aten::_scaled_dot_product_cudnn_attention", Kind::kAttention, 0, 6},
    {"aten::_scaled_dot_product_cudnn_attention_backward", Kind::kAttention, 1, 14, kNone, true},
    {"aten::convolution", Kind::kConvolution, 0, 3, 8},
    {"aten::convolution_backward", Kind::kConvolutionBackward, 1, 4, 9, true},
}};

const Signature* signature_of(std::string_view name) {
  const auto found =
      std::find_if(kSignatures.begin(), kSignatures.end(), [&](const Signature& s) { return s.name == name; });
  return found == kSignatures.end() ? nullptr : found;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

using Shape = std::vector<int64_t>;

// The shape of an argument; empty when it is no tensor, or none of usable size.
const Shape& shape_of(const CpuOperator& op, int argument) {
  static const Shape kEmpty;
  constexpr int64_t kMost = int64_t{1} << 40;
  if (argument < 0 || static_cast<size_t>(argument) >= op.shapes.size()) return kEmpty;
  const Shape& shape = op.shapes[static_cast<size_t>(argument)];
  return std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size > 0 && size < kMost; }) ? shape
                                                                                                        : kEmpty;
}

std::string_view value_of(const KinetoTrace& trace, const CpuOperator& op, int argument) {
  if (argument < 0 || static_cast<size_t>(argument) >= op.values.size()) return {};
  return trace.names[op.values[static_cast<size_t>(argument)]];
}

// The first number of "[1, 1]" or "2"; -1 when there is none.
int64_t number_in(std::string_view text) {
  const size_t at = text.find_first_of("0123456789");
  int64_t number = -1;
  if (at != std::string_view::npos) std::from_chars(text.data() + at, text.data() + text.size(), number);
  return number;
}

DataType type_of(const KinetoTrace& trace, const CpuOperator& op, int argument) {
  if (argument < 0 || static_cast<size_t>(argument) >= op.types.size()) return DataType::kNone;
  const std::string& name = trace.names[op.types[static_cast<size_t>(argument)]];
  if (contains(name, "Float8_e4m3")) return DataType::kFloat8E4m3;
  if (contains(name, "Float8_e5m2")) return DataType::kFloat8E5m2;
  return element_type_of(name);
}

bool uses_tf32(std::string_view kernel) { return contains(kernel, "tf32") || contains(kernel, "s1688"); }

// cuBLAS' letters for the two operands: "_tn_", "_nn_align4", "..._coopA_NTT" (the third is the result's).
bool layout_in(std::string_view kernel, bool* transpose_a, bool* transpose_b) {
  const std::string_view name = kernel.substr(0, kernel.find_first_of("(<"));
  const std::string_view text = contains(name, "gemm") || kernel.starts_with("nvjet") ? name : kernel;
  for (size_t at = text.find('_'); at != std::string_view::npos; at = text.find('_', at + 1)) {
    const std::string_view word = text.substr(at + 1, text.find_first_of("_(<>, ", at + 1) - at - 1);
    const bool lower = word == "nn" || word == "nt" || word == "tn" || word == "tt";
    const bool upper = word.size() == 3 && word.find_first_not_of("NT") == std::string_view::npos;
    if (!lower && !upper) continue;
    *transpose_a = word[0] == 't' || word[0] == 'T';
    *transpose_b = word[1] == 't' || word[1] == 'T';
    return true;
  }
  return false;
}

std::optional<OperationRecord> product(const KinetoTrace& trace, const CpuOperator& op, const Signature& signature,
                                       std::string_view kernel) {
  const Shape &a = shape_of(op, signature.first), &b = shape_of(op, signature.first + 1);
  if (a.size() < 2 || a.size() > 3 || a.size() != b.size() || a.back() != b[b.size() - 2]) return std::nullopt;
  DataType type = type_of(trace, op, signature.first);
  if (type == DataType::kNone) return std::nullopt;
  if (type == DataType::kFloat32 && uses_tf32(kernel)) type = DataType::kTf32;
  bool transpose_a = true, transpose_b = false;
  layout_in(kernel, &transpose_a, &transpose_b);
  return gemm_record(a[a.size() - 2], b.back(), a.back(), type, transpose_a, transpose_b, a.size() == 3 ? a[0] : 1);
}

std::optional<OperationRecord> attention(const KinetoTrace& trace, const CpuOperator& op, const Signature& signature) {
  const Shape &query = shape_of(op, signature.first), &key = shape_of(op, signature.first + 1);
  const DataType type = type_of(trace, op, signature.first);
  if (query.size() != 4 || key.size() != 4 || type == DataType::kNone)
    return std::nullopt;  // batch, heads, length, size
  OperationRecord record(Family::kAttention, "");
  record.set(Key::kBatch, query[0])
      .set(Key::kHeads, query[1])
      .set(Key::kKvHeads, key[1] == query[1] ? 0 : key[1])
      .set(Key::kSeqQ, query[2])
      .set(Key::kSeqKv, key[2])
      .set(Key::kHeadDim, query[3])
      .set(Key::kDataType, static_cast<int64_t>(type))
      .set(Key::kCausal, value_of(trace, op, signature.causal) == "True" ? 1 : 0)
      .set(Key::kDirection, signature.backward ? 1 : 0)
      .set(Key::kImplementation, static_cast<int64_t>(signature.implementation));
  return record;
}

std::optional<OperationRecord> convolution(const KinetoTrace& trace, const CpuOperator& op, const Signature& signature,
                                           std::string_view kernel) {
  const Shape &input = shape_of(op, signature.first), &filter = shape_of(op, signature.first + 1);
  const int64_t stride = number_in(value_of(trace, op, signature.causal));
  const int64_t pad = number_in(value_of(trace, op, signature.causal + 1));
  const int64_t dilation = number_in(value_of(trace, op, signature.causal + 2));
  const DataType type = type_of(trace, op, signature.first);
  if (input.size() != 4 || filter.size() != 4 || type == DataType::kNone || stride < 1 || pad < 0) return std::nullopt;
  int64_t direction = 0;  // 0 forward, 1 data, 2 filter
  if (signature.backward) {
    const bool data = contains(kernel, "dgrad"), weights = contains(kernel, "wgrad");
    if (data == weights) return std::nullopt;
    direction = data ? 1 : 2;
  }
  OperationRecord record(Family::kConvolution, "");
  record.set(Key::kBatch, input[0])
      .set(Key::kChannels, input[1])
      .set(Key::kHeight, input[2])
      .set(Key::kWidth, input[3])
      .set(Key::kFilters, filter[0])
      .set(Key::kFilterHeight, filter[2])
      .set(Key::kFilterWidth, filter[3])
      .set(Key::kStride, stride)
      .set(Key::kPad, pad)
      .set(Key::kDilation, dilation > 1 ? dilation : 0)
      .set(Key::kConvGroups, std::max<int64_t>(1, number_in(value_of(trace, op, signature.groups))))
      .set(Key::kConvDirection, direction)
      .set(Key::kDataType, static_cast<int64_t>(type))
      .set(
          Key::kComputeType,
          static_cast<int64_t>(type == DataType::kFloat32 && uses_tf32(kernel) ? DataType::kTf32 : DataType::kFloat32));
  return record;
}

}  // namespace

std::vector<uint32_t> operators_of_calls(const KinetoTrace& trace, const Launches& launches) {
  std::vector<uint32_t> order;  // supported operators by thread and start, the outer before the inner
  for (uint32_t i = 0; i < trace.operators.size(); ++i)
    if (signature_of(trace.names[trace.operators[i].name]) != nullptr) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const CpuOperator &x = trace.operators[a], &y = trace.operators[b];
    if (x.thread != y.thread) return x.thread < y.thread;
    return x.start_ns != y.start_ns ? x.start_ns < y.start_ns : x.end_ns() > y.end_ns();
  });
  std::vector<std::vector<uint32_t>> calls(trace.threads);
  for (const uint32_t c : launches.calls) calls[trace.calls[c].thread].push_back(c);
  std::vector<uint32_t> result(trace.calls.size(), kNoIndex);
  size_t next = 0;
  for (uint32_t thread = 0; thread < trace.threads; ++thread) {
    std::vector<uint32_t> open;
    for (const uint32_t c : calls[thread]) {
      const uint64_t now_ns = trace.calls[c].start_ns;
      while (next < order.size() &&
             (trace.operators[order[next]].thread < thread ||
              (trace.operators[order[next]].thread == thread && trace.operators[order[next]].start_ns <= now_ns)))
        if (trace.operators[order[next++]].thread == thread) open.push_back(order[next - 1]);
      while (!open.empty() && trace.operators[open.back()].end_ns() <= now_ns) open.pop_back();
      if (!open.empty()) result[c] = open.back();
    }
  }
  return result;
}

bool is_library_kernel(std::string_view name) {
  if (contains(name, "at::native")) return false;
  for (const std::string_view part : {"gemm", "cutlass", "nvjet", "xmma", "cublas", "cudnn", "splitK", "flash", "fmha",
                                      "sm80_", "sm90_", "volta_", "ampere_", "turing_", "wgrad", "dgrad", "conv"})
    if (contains(name, part)) return true;
  return false;
}

std::optional<OperationRecord> library_operation(const KinetoTrace& trace, const CpuOperator& op,
                                                 std::string_view kernel) {
  const Signature* const signature = signature_of(trace.names[op.name]);
  if (signature == nullptr || !is_library_kernel(kernel)) return std::nullopt;
  switch (signature->kind) {
    case Kind::kProduct:
      return product(trace, op, *signature, kernel);
    case Kind::kAttention:
      return attention(trace, op, *signature);
    case Kind::kConvolution:
    case Kind::kConvolutionBackward:
      return convolution(trace, op, *signature, kernel);
  }
  return std::nullopt;
}

}  // namespace maya::predictor::kineto
