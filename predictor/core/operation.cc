#include "predictor/core/operation.h"

#include <iterator>

namespace maya {
namespace {

// Indexed by maya::Key.
constexpr const char* kNames[] = {"none",
                                  "m",
                                  "n",
                                  "k",
                                  "batch",
                                  "type_a",
                                  "type_b",
                                  "type_c",
                                  "type_d",
                                  "compute_type",
                                  "trans_a",
                                  "trans_b",
                                  "lda",
                                  "ldb",
                                  "ldc",
                                  "stride_a",
                                  "stride_b",
                                  "stride_c",
                                  "epilogue",
                                  "workspace_bytes",
                                  "groups",
                                  "elements",
                                  "incx",
                                  "incy",
                                  "bytes",
                                  "data_type",
                                  "red_op",
                                  "root",
                                  "peer",
                                  "communicator",
                                  "sequence",
                                  "ranks",
                                  "collective",
                                  "seq_q",
                                  "seq_kv",
                                  "heads",
                                  "kv_heads",
                                  "head_dim",
                                  "causal",
                                  "direction",
                                  "rows",
                                  "columns",
                                  "channels",
                                  "height",
                                  "width",
                                  "filters",
                                  "filter_height",
                                  "filter_width",
                                  "stride",
                                  "pad",
                                  "dilation",
                                  "conv_groups",
                                  "conv_direction",
                                  "flops",
                                  "read_bytes",
                                  "written_bytes",
                                  "alpha",
                                  "beta",
                                  "group_call",
                                  "implementation",
                                  "nodes",
                                  "operator",
                                  "prefix",
                                  "window",
                                  "channels_first",
                                  "steps",
                                  "nonzeros"};
static_assert(std::size(kNames) == static_cast<size_t>(Key::kNonzeros) + 1);

struct NamedOperator {
  std::string_view name;
  Operator op;
};
// The first name of each operator is the one it is printed with; the others are what PyTorch and others call it.
constexpr NamedOperator kOperators[] = {
    {"add", Operator::kAdd},
    {"sub", Operator::kAdd},
    {"mul", Operator::kMul},
    {"div", Operator::kDiv},
    {"scalar", Operator::kScalar},
    {"addu", Operator::kScalar},
    {"add_scalar", Operator::kScalar},
    {"mul_scalar", Operator::kScalar},
    {"mulu", Operator::kScalar},
    {"copy", Operator::kCopy},
    {"cast", Operator::kCopy},
    {"to", Operator::kCopy},
    {"relu", Operator::kRelu},
    {"threshold", Operator::kRelu},
    {"gelu", Operator::kGelu},
    {"silu", Operator::kSilu},
    {"tanh", Operator::kTanh},
    {"sigmoid", Operator::kTanh},
    {"exp", Operator::kTanh},
    {"log", Operator::kTanh},
    {"sqrt", Operator::kTanh},
    {"rsqrt", Operator::kTanh},
    {"pow", Operator::kPow},
    {"compare", Operator::kCompare},
    {"where", Operator::kWhere},
    {"masked_fill", Operator::kWhere},
    {"dropout", Operator::kDropout},
    {"swiglu", Operator::kGatedActivation},
    {"geglu", Operator::kGatedActivation},
    {"silu_mul", Operator::kGatedActivation},
    {"rope", Operator::kRotary},
    {"rotary", Operator::kRotary},
    {"cat", Operator::kConcatenate},
    {"layer_norm", Operator::kLayerNorm},
    {"layernorm", Operator::kLayerNorm},
    {"ln", Operator::kLayerNorm},
    {"rms_norm", Operator::kRmsNorm},
    {"rmsnorm", Operator::kRmsNorm},
    {"batch_norm", Operator::kBatchNorm},
    {"group_norm", Operator::kGroupNorm},
    {"layer_norm_parameters", Operator::kLayerNormParameters},
    {"fused_add_rms_norm", Operator::kFusedAddRmsNorm},
    {"softmax", Operator::kSoftmax},
    {"log_softmax", Operator::kLogSoftmax},
    {"cross_entropy", Operator::kCrossEntropy},
    {"nll_loss", Operator::kNllLoss},
    {"sum", Operator::kSum},
    {"max", Operator::kMax},
    {"min", Operator::kMax},
    {"argmax", Operator::kMax},
    {"norm", Operator::kNorm},
    {"mean", Operator::kMean},
    {"adam", Operator::kAdam},
    {"adamw", Operator::kAdam},
    {"sgd", Operator::kSgd},
    {"foreach", Operator::kForeach},
    {"moe", Operator::kMixtureOfExperts},
    {"factorization", Operator::kFactorization},
    {"triangular_solve", Operator::kTriangularSolve},
    {"eigenvalues", Operator::kEigenvalues},
    {"singular_values", Operator::kSingularValues},
};

}  // namespace

std::string_view family_name(Family family) {
  switch (family) {
    case Family::kUnknown:
      return "unknown";
    case Family::kGemm:
      return "gemm";
    case Family::kGroupedGemm:
      return "grouped_gemm";
    case Family::kAttention:
      return "attention";
    case Family::kNormalization:
      return "normalization";
    case Family::kSoftmax:
      return "softmax";
    case Family::kElementwise:
      return "elementwise";
    case Family::kReduction:
      return "reduction";
    case Family::kEmbedding:
      return "embedding";
    case Family::kIndex:
      return "index";
    case Family::kOptimizer:
      return "optimizer";
    case Family::kCopy:
      return "copy";
    case Family::kFill:
      return "fill";
    case Family::kConvolution:
      return "convolution";
    case Family::kCollective:
      return "collective";
    case Family::kSort:
      return "sort";
    case Family::kRandom:
      return "random";
    case Family::kVector:
      return "vector";
    case Family::kSolver:
      return "solver";
    case Family::kFourier:
      return "fourier";
    case Family::kSparse:
      return "sparse";
    case Family::kRecurrent:
      return "recurrent";
    case Family::kPointToPoint:
      return "point_to_point";
    case Family::kPooling:
      return "pooling";
    case Family::kCustom:
      return "custom";
  }
  return "unknown";
}

std::string_view data_type_name(DataType type) {
  switch (type) {
    case DataType::kNone:
      return "none";
    case DataType::kFloat64:
      return "float64";
    case DataType::kFloat32:
      return "float32";
    case DataType::kTf32:
      return "tf32";
    case DataType::kFloat16:
      return "float16";
    case DataType::kBfloat16:
      return "bfloat16";
    case DataType::kFloat8E4m3:
      return "float8_e4m3";
    case DataType::kFloat8E5m2:
      return "float8_e5m2";
    case DataType::kInt8:
      return "int8";
    case DataType::kInt32:
      return "int32";
    case DataType::kInt64:
      return "int64";
    case DataType::kBool:
      return "bool";
    case DataType::kUint8:
      return "uint8";
    case DataType::kComplex64:
      return "complex64";
    case DataType::kComplex128:
      return "complex128";
    case DataType::kInt16:
      return "int16";
    case DataType::kFloat4E2m1:
      return "float4_e2m1";
  }
  return "none";
}

uint32_t data_type_bits(DataType type) {
  switch (type) {
    case DataType::kNone:
      return 0;
    case DataType::kFloat4E2m1:
      return 4;
    case DataType::kFloat8E4m3:
    case DataType::kFloat8E5m2:
    case DataType::kInt8:
    case DataType::kBool:
    case DataType::kUint8:
      return 8;
    case DataType::kFloat16:
    case DataType::kBfloat16:
    case DataType::kInt16:
      return 16;
    case DataType::kFloat32:
    case DataType::kTf32:
    case DataType::kInt32:
      return 32;
    case DataType::kFloat64:
    case DataType::kInt64:
    case DataType::kComplex64:
      return 64;
    case DataType::kComplex128:
      return 128;
  }
  return 0;
}

std::string key_name(uint32_t key) { return key < std::size(kNames) ? kNames[key] : "key" + std::to_string(key); }

std::string_view operator_name(Operator op) {
  for (const NamedOperator& named : kOperators)
    if (named.op == op) return named.name;
  return "";
}

Operator operator_from_name(std::string_view name) {
  for (const NamedOperator& named : kOperators)
    if (named.name == name) return named.op;
  return Operator::kNone;
}

}  // namespace maya
