// What PyTorch's reductions compute: the `ops` argument of ReduceOp (public
// headers ATen/native/SharedReduceOps.h and ATen/native/cuda/Reduce.cuh) and
// its place in the kernel's argument.
#pragma once

#include <cstdint>
#include <string_view>

#include "virtual_device/values/number.h"

namespace maya::device {

enum class Reduction : uint8_t {
  kUnknown,
  kSum,
  kNanSum,
  kProduct,  // of integers
  kMean,
  kMaximum,
  kMinimum,
  kAny,
  kAll,
  kIndexOfMaximum,
  kIndexOfMinimum,
  kMaximumAndIndex,
  kMinimumAndIndex,
  kMinimumAndMaximum,
  kNorm,  // of any order
  kNormZero,
  kNormOne,
  kNormTwo,
  kAbsoluteMaximum,
  kAbsoluteMinimum,
  kVarianceAndMean,
};

struct ReductionOperation {
  Reduction reduction = Reduction::kUnknown;
  ElementType accumulator = ElementType::kNone;
  bool applies_root = true;    // norms
  uint32_t config_offset = 0;  // of what follows the operation and its identity
};

// `input`: type of the elements.
ReductionOperation parse_reduction(std::string_view ops, ElementType input);

// Takes elements one after the other. `parameters`: the kernel's argument,
// which begins with the operation's own constants.
class Reducer {
 public:
  Reducer(const ReductionOperation& operation, const uint8_t* parameters);
  void add(Number value, int64_t index);
  // The first and, where there is one, the second result. At least one element
  // was added.
  Number first() const;
  Number second() const;

 private:
  ReductionOperation operation_;
  double constant_ = 0;  // factor of a mean, order of a norm, correction of a variance
  bool takes_root_ = false;
  int64_t count_ = 0;
  Number best_, other_;
  int64_t best_index_ = 0;
  double sum_ = 0, mean_ = 0;
  uint64_t integer_sum_ = 0, integer_product_ = 1;
};

}  // namespace maya::device
