// The function objects that PyTorch's elementwise kernels apply, as far as they are known: what they compute and where
// their constants stand. Layouts are those of PyTorch 2.15's public headers (ATen/native/cuda/Loops.cuh,
// BinaryInternal.h) and are checked against parameter sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "virtual_device/values/number.h"

namespace maya::device {

enum class ElementOperation : uint8_t {
  kFill,
  kCopy,
  kAddScaled,
  kMultiply,
  kDivide,
  kMaximum,
  kMinimum,
  kCompare,
  kCompareEqual,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kBitAnd,
  kBitOr,
  kBitXor,
  kNegate,
  kReciprocal,
  kAbsolute,
  kSquareRoot,
  kLogicalNot,
  kBitNot,
  kWhere,
  kMaskedFill,
  kIsPositiveInfinity,
  kIsNegativeInfinity,
  kFloor,
  kCeil,
};

inline constexpr int kMaximumInputs = 3;

struct Functor {
  // A constant inside the function object.
  struct Constant {
    uint16_t offset = 0;
    ElementType type = ElementType::kNone;  // kNone: there is none
  };

  ElementOperation operation = ElementOperation::kCopy;
  uint8_t inputs = 0;  // tensors that it reads for one element
  ElementType input_types[kMaximumInputs] = {};
  ElementType result_type = ElementType::kNone;
  ElementType compute_type = ElementType::kNone;
  Constant operand;               // an operand that is not a tensor
  bool operand_is_first = false;  // it is the left one
  Constant scale;                 // kAddScaled: factor of the second operand
  Constant selector;              // kCompare, kCompareEqual: which comparison
  uint32_t bytes = 1;             // size of the object
};

// From the demangled type of the function object. Nothing when it is not known or a type is not computable.
std::optional<Functor> parse_functor(std::string_view text);

// One element. `object` is the function object's bytes; `values` the inputs, loaded as input_types. The result is not
// yet converted to result_type. False when it has no defined value here (integer division by zero).
bool apply_functor(const Functor& functor, const uint8_t* object, const Number* values, Number* result);

}  // namespace maya::device
