#include "predictor/core/work_passes.h"

#include <algorithm>

namespace maya::model {
namespace {

// Whole tensors of `elements` read and written, forward and backward.
struct Passes {
  double reads, writes, backward_reads, backward_writes;
};

// A backward pass reads the incoming gradient beside what its formula needs and writes a gradient for each input.
struct OperatorPasses {
  Operator op;
  Passes passes;
};
constexpr OperatorPasses kOperators[] = {
    {Operator::kAdd, {2, 1, 1, 2}},
    {Operator::kMul, {2, 1, 3, 2}},
    {Operator::kDiv, {2, 1, 3, 2}},
    {Operator::kScalar, {1, 1, 1, 1}},
    {Operator::kCopy, {1, 1, 1, 1}},
    {Operator::kRelu, {1, 1, 2, 1}},
    {Operator::kGelu, {1, 1, 2, 1}},
    {Operator::kSilu, {1, 1, 2, 1}},
    {Operator::kTanh, {1, 1, 2, 1}},
    {Operator::kPow, {1, 1, 2, 1}},
    {Operator::kWhere, {2, 1, 1, 2}},
    {Operator::kDropout, {1, 1, 1, 1}},
    {Operator::kGatedActivation, {2, 1, 3, 2}},
    {Operator::kRotary, {1, 1, 1, 1}},
    {Operator::kConcatenate, {1, 1, 1, 1}},
    {Operator::kLayerNorm, {1, 1, 2, 1}},
    {Operator::kRmsNorm, {1, 1, 2, 1}},
    {Operator::kBatchNorm, {1, 1, 2, 1}},
    {Operator::kGroupNorm, {1, 1, 2, 1}},
    {Operator::kLayerNormParameters, {2, 0, 2, 0}},
    {Operator::kFusedAddRmsNorm, {2, 2, 3, 1}},
    {Operator::kSoftmax, {1, 1, 2, 1}},
    {Operator::kLogSoftmax, {1, 1, 2, 1}},
    {Operator::kCrossEntropy, {1, 0, 1, 1}},
    {Operator::kAdam, {4, 3, 4, 3}},  // gradient, parameter and two moments; all but the gradient written
    {Operator::kSgd, {2, 1, 2, 1}},
    {Operator::kForeach, {2, 1, 2, 1}},
};

Passes passes_of_family(Family family) {
  switch (family) {
    case Family::kNormalization:
    case Family::kSoftmax:
    case Family::kEmbedding:
    case Family::kIndex:
    case Family::kPooling:
      return {1, 1, 2, 1};
    case Family::kReduction:
      return {1, 0, 1, 0};
    case Family::kOptimizer:
      return {4, 3, 4, 3};  // as Adam
    case Family::kFill:
    case Family::kRandom:
      return {0, 1, 0, 1};
    case Family::kVector:
      return {2, 1, 2, 1};
    case Family::kSort:
      return {4, 4, 4, 4};
    default:
      return {1, 1, 1, 1};
  }
}

Passes passes_of(Family family, Operator op) {
  for (const OperatorPasses& entry : kOperators)
    if (entry.op == op) return entry.passes;
  return passes_of_family(family);
}

constexpr double kSector_bytes = 32;  // what a lone value costs
constexpr double kIndex_bytes = 8;
constexpr double kStatistic_bytes = 4;

}  // namespace

Traffic traffic_of(Family family, Operator op, DataType type, double rows, double columns, bool backward) {
  const double each = data_type_bits(type) / 8.0;
  const double tensor = rows * columns * each;
  switch (op) {
    case Operator::kSum:
    case Operator::kMax:
    case Operator::kNorm:
    case Operator::kMean:
      return backward ? Traffic{rows * each, tensor} : Traffic{tensor, rows * each};
    case Operator::kNllLoss:
      return backward ? Traffic{rows * (kIndex_bytes + each), rows * kSector_bytes}
                      : Traffic{rows * (kIndex_bytes + kSector_bytes), rows * each};
    case Operator::kCompare:
      return {2 * tensor, rows * columns};  // truth values of one byte
    default:
      break;
  }
  const Passes passes = passes_of(family, op);
  Traffic traffic = backward ? Traffic{passes.backward_reads * tensor, passes.backward_writes * tensor}
                             : Traffic{passes.reads * tensor, passes.writes * tensor};
  if (family == Family::kEmbedding) traffic.read_bytes += rows * kIndex_bytes;
  switch (op) {
    case Operator::kWhere:
      traffic.read_bytes += rows * columns;  // the condition
      break;
    case Operator::kDropout:  // the mask
      (backward ? traffic.read_bytes : traffic.written_bytes) += rows * columns;
      break;
    case Operator::kLayerNorm:
    case Operator::kRmsNorm:
    case Operator::kFusedAddRmsNorm: {
      const double vectors = op == Operator::kLayerNorm ? 2 : 1;
      const double statistics = vectors * rows * kStatistic_bytes;
      traffic.read_bytes += (backward ? 1 : vectors) * columns * each;
      (backward ? traffic.read_bytes : traffic.written_bytes) += statistics;
      break;
    }
    case Operator::kLayerNormParameters:
      traffic.written_bytes += 2 * columns * each;
      break;
    default:
      break;
  }
  return traffic;
}

}  // namespace maya::model
