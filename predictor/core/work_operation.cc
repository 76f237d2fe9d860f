// Work of recorded library operations: operations and bytes from shapes, by the textbook formulas stated at each.
#include <algorithm>
#include <cmath>

#include "predictor/core/estimate.h"
#include "predictor/core/limits.h"
#include "predictor/core/work_passes.h"

namespace maya {
namespace {

double value(const OperationRecord& operation, Key key) { return static_cast<double>(operation.get(key)); }
double at_least_one(const OperationRecord& operation, Key key) { return std::max(value(operation, key), 1.0); }

DataType type_at(const OperationRecord& operation, Key key, DataType otherwise) {
  int64_t type = operation.get(key);
  return type == 0 ? otherwise : static_cast<DataType>(type);
}

double bytes_per_element(DataType type) { return data_type_bits(type) / 8.0; }

bool has_tensor_core_path(DataType type) {
  switch (type) {
    case DataType::kFloat64:
    case DataType::kTf32:
    case DataType::kFloat16:
    case DataType::kBfloat16:
    case DataType::kFloat8E4m3:
    case DataType::kFloat8E5m2:
    case DataType::kFloat4E2m1:
    case DataType::kInt8:
      return true;
    default:
      return false;
  }
}

// 2 m n k multiply-adds a matrix, four times that for complex numbers; A, B read, C read if beta is not zero, D
// written.
void gemm_work(const OperationRecord& operation, Work* work) {
  const DataType a = type_at(operation, Key::kTypeA, type_at(operation, Key::kDataType, DataType::kFloat32));
  const DataType b = type_at(operation, Key::kTypeB, a);
  const DataType c = type_at(operation, Key::kTypeC, a);
  const DataType d = type_at(operation, Key::kTypeD, c);
  const auto compute = static_cast<DataType>(operation.get(Key::kComputeType));
  const bool fast_float32 = a == DataType::kFloat32 && (compute == DataType::kTf32 || compute == DataType::kBfloat16 ||
                                                        compute == DataType::kFloat16);
  const double m = value(operation, Key::kM), n = value(operation, Key::kN), k = value(operation, Key::kK);
  const double batch = std::max({value(operation, Key::kBatch), value(operation, Key::kGroups), 1.0});
  const bool complex = a == DataType::kComplex64 || a == DataType::kComplex128;
  work->type = fast_float32 ? DataType::kTf32 : a;
  work->tensor_cores = has_tensor_core_path(work->type);
  work->flops = 2 * m * n * k * batch * (complex ? 4 : 1);
  work->read_bytes = batch * (m * k * bytes_per_element(a) + k * n * bytes_per_element(b));
  if (operation.get(Key::kBeta) != 0) work->read_bytes += batch * m * n * bytes_per_element(c);
  work->written_bytes = batch * m * n * bytes_per_element(d);
}

// Forward: two products of 2 queries keys head_dim each for each head; a causal mask leaves the lower triangle, of
// queries that are the last ones of the keys. Backward: five such products instead of two.
void attention_work(const OperationRecord& operation, Work* work) {
  const DataType type = type_at(operation, Key::kDataType, DataType::kBfloat16);
  const bool backward = operation.get(Key::kDirection) == 1;
  const double batch = at_least_one(operation, Key::kBatch), heads = at_least_one(operation, Key::kHeads);
  const double kv_heads = operation.get(Key::kKvHeads) > 0 ? value(operation, Key::kKvHeads) : heads;
  const double queries = value(operation, Key::kSeqQ);
  const double keys = operation.get(Key::kSeqKv) > 0 ? value(operation, Key::kSeqKv) : queries;
  const double head_dim = value(operation, Key::kHeadDim);
  double pairs = queries * keys;
  if (operation.get(Key::kCausal) != 0)
    pairs = keys >= queries ? queries * (keys - queries) + queries * queries / 2 : keys * keys / 2;
  work->type = type == DataType::kFloat32 ? DataType::kTf32 : type;
  work->tensor_cores = true;
  work->flops = (backward ? 10 : 4) * batch * heads * pairs * head_dim;
  const double query_bytes = batch * heads * queries * head_dim * bytes_per_element(type);
  const double key_bytes = 2 * batch * kv_heads * keys * head_dim * bytes_per_element(type);
  // Forward reads q, k, v and writes o. Backward reads q, k, v, o, do and writes dq, dk, dv.
  work->read_bytes = backward ? 3 * query_bytes + key_bytes : query_bytes + key_bytes;
  work->written_bytes = backward ? query_bytes + key_bytes : query_bytes;
  work->shape.set(Key::kSeqKv, operation.get(Key::kSeqKv) > 0 ? 0 : operation.get(Key::kSeqQ));
}

double output_size(double input, double filter, double stride, double pad, double dilation) {
  return std::max(std::floor((input + 2 * pad - dilation * (filter - 1) - 1) / std::max(stride, 1.0)) + 1, 1.0);
}

// 2 N P Q K (C / groups) R S multiply-adds in each of the three directions; as a GEMM of N P Q by K / groups by (C /
// groups) R S.
void convolution_work(const OperationRecord& operation, Work* work) {
  const DataType type = type_at(operation, Key::kDataType, DataType::kFloat32);
  const double batch = at_least_one(operation, Key::kBatch), channels = at_least_one(operation, Key::kChannels);
  const double height = at_least_one(operation, Key::kHeight), width = at_least_one(operation, Key::kWidth);
  const double filters = at_least_one(operation, Key::kFilters), groups = at_least_one(operation, Key::kConvGroups);
  const double filter_height = at_least_one(operation, Key::kFilterHeight);
  const double filter_width = at_least_one(operation, Key::kFilterWidth);
  const double stride = at_least_one(operation, Key::kStride), pad = value(operation, Key::kPad);
  const double dilation = at_least_one(operation, Key::kDilation);
  const double pixels = batch * output_size(height, filter_height, stride, pad, dilation) *
                        output_size(width, filter_width, stride, pad, dilation);
  const double depth = channels / groups * filter_height * filter_width;
  const bool tensor_float =
      type == DataType::kFloat32 && static_cast<DataType>(operation.get(Key::kComputeType)) != DataType::kFloat32;
  // Methods without tensor cores sum up in 32-bit floats.
  const auto method = static_cast<Implementation>(operation.get(Key::kImplementation));
  const bool plain = method == Implementation::kDirectProduct || method == Implementation::kFourierTransform;
  work->type = tensor_float && !plain ? DataType::kTf32 : type;
  work->tensor_cores = !plain && has_tensor_core_path(work->type);
  work->flops = 2 * pixels * filters * depth;
  const double element = bytes_per_element(type);
  work->read_bytes = (batch * channels * height * width + filters * depth) * element;
  work->written_bytes = pixels * filters * element;
  work->shape.set(Key::kM, model::whole(pixels))
      .set(Key::kN, model::whole(filters / groups))
      .set(Key::kK, model::whole(depth))
      .set(Key::kGroups, groups > 1 ? model::whole(groups) : 0);
}

// Tensor cores want the channels of a pixel side by side: a convolution of 16-bit NCHW tensors is cuDNN's
// nchwToNhwcKernel and nhwcToNchwKernel around one of NHWC, which read and write both images once more; TF32 kernels
// write NCHW themselves, so that one of the two is left.
void layout_conversion(const OperationRecord& operation, Work* work) {
  if (operation.get(Key::kChannelsFirst) != 1 || !work->tensor_cores || operation.get(Key::kImplementation) != 0)
    return;
  const double image = at_least_one(operation, Key::kBatch) * at_least_one(operation, Key::kChannels) *
                       at_least_one(operation, Key::kHeight) * at_least_one(operation, Key::kWidth);
  const double result = value(work->shape, Key::kM) * at_least_one(operation, Key::kFilters);
  // A transposition of 16-bit elements reaches four fifths of the bandwidth of one of 32-bit ones: fitted on Lambda's
  // published ResNet-50 steps of A100, H100 and H200 in mixed precision.
  constexpr double kHalfTransposition = 1.25;
  const double share = work->type == DataType::kTf32 ? 0.5 : kHalfTransposition;
  const double moved = (image + result) * bytes_per_element(work->type) * share;
  work->read_bytes += moved;
  work->written_bytes += moved;
}

void streaming_work(const OperationRecord& operation, Work* work) {
  const DataType type = type_at(operation, Key::kDataType, DataType::kFloat32);
  work->type = type;
  // Rows and columns where they are known, as norms need them; otherwise one long row.
  double rows = at_least_one(operation, Key::kRows), columns = value(operation, Key::kColumns);
  const double elements = operation.get(Key::kElements) != 0 ? value(operation, Key::kElements) : rows * columns;
  if (rows * columns != elements) {
    rows = 1;
    columns = elements;
  }
  // Payloads given in bytes count as elements of one byte.
  const bool in_bytes = elements == 0;
  if (in_bytes) columns = value(operation, Key::kBytes);
  const model::Traffic traffic =
      model::traffic_of(operation.family, static_cast<Operator>(operation.get(Key::kOperator)),
                        in_bytes ? DataType::kUint8 : type, rows, columns, operation.get(Key::kDirection) == 1);
  work->read_bytes = traffic.read_bytes;
  work->written_bytes = traffic.written_bytes;
  work->flops = elements;
  if (operation.family == Family::kVector && operation.get(Key::kM) > 0) {
    // Matrix times vector: the matrix is read once.
    const double m = value(operation, Key::kM), n = at_least_one(operation, Key::kN);
    const double batch = at_least_one(operation, Key::kBatch);
    work->flops = 2 * m * n * batch;
    work->read_bytes = (m * n + n) * batch * bytes_per_element(type);
    work->written_bytes = m * batch * bytes_per_element(type);
  }
}

}  // namespace

Work work_of(const OperationRecord& operation) {
  Work work;
  work.family = operation.family;
  work.shape = operation;
  switch (operation.family) {
    case Family::kGemm:
    case Family::kGroupedGemm:
      gemm_work(operation, &work);
      break;
    case Family::kAttention:
      attention_work(operation, &work);
      break;
    case Family::kConvolution:
      convolution_work(operation, &work);
      break;
    case Family::kCollective:
    case Family::kPointToPoint:
      work.type = type_at(operation, Key::kDataType, DataType::kFloat32);
      break;
    default:
      streaming_work(operation, &work);
      break;
  }
  // What the recorder knew better than a formula.
  if (operation.get(Key::kFlops) != 0) work.flops = value(operation, Key::kFlops);
  if (operation.get(Key::kReadBytes) != 0) work.read_bytes = value(operation, Key::kReadBytes);
  if (operation.get(Key::kWrittenBytes) != 0) work.written_bytes = value(operation, Key::kWrittenBytes);
  if (operation.family == Family::kConvolution) layout_conversion(operation, &work);
  return work;
}

}  // namespace maya
