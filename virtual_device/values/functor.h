// The function objects that PyTorch's elementwise kernels apply, as far as they
// are known: what they compute and where their constants stand. Layouts are
// those of PyTorch 2.15's public sources (ATen/native/cuda: Loops.cuh,
// BinaryInternal.h and the kernels' own files) and are checked against
// parameter sizes.
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
  kRound,
  kTruncate,
  kFraction,
  kSign,
  kSignBit,
  kSquare,
  kCube,
  kInverseSquare,
  kInverseSquareRoot,
  kExponential,
  kExponentialMinusOne,
  kLogarithm,
  kLogarithm2,
  kLogarithm10,
  kLogarithmOfOnePlus,
  kSine,
  kCosine,
  kTangent,
  kArcSine,
  kArcCosine,
  kArcTangent,
  kHyperbolicSine,
  kHyperbolicCosine,
  kHyperbolicTangent,
  kSigmoid,
  kErrorFunction,
  kSilu,
  kGelu,
  kRelu,
  kLeakyRelu,
  kSoftplus,
  kNanToNumber,
  kClamp,          // to what a selector says
  kClampElements,  // to two tensors
  kPower,
  kReversePower,
  kRemainder,  // sign of the divisor
  kFmod,       // sign of the dividend
  kDivideFloor,
  kDivideTruncate,
  kMultiplyTruncate,
  kShiftLeft,
  kShiftRight,
  kArcTangent2,
  kHypotenuse,
  kCopySign,
  kXLogY,
  kHeaviside,
  kLerp,          // factor is a constant
  kLerpElements,  // factor is a tensor
  kAddProduct,
  kAddQuotient,
};

inline constexpr int kMaximumInputs = 3;
inline constexpr int kMaximumOperands = 3;

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
  Constant operands[kMaximumOperands];  // operands that are no tensors
  bool operand_is_first = false;        // the first of them is the left one
  Constant scale;                       // kAddScaled: factor of the second operand
  Constant selector;                    // kCompare, kCompareEqual, kClamp: which one
  uint32_t bytes = 1;                   // size of the object
};

// From the demangled type of the function object. Nothing when it is not known
// or a type is not computable.
std::optional<Functor> parse_functor(std::string_view text);

// As parse_functor(), for a lambda: its text ends in "{lambda(types)#number}".
std::optional<Functor> parse_lambda_functor(std::string_view text);
// The operation of a lambda of two arguments that BinaryFunctor and its
// relatives wrap, by the function around it.
std::optional<ElementOperation> wrapped_operation(std::string_view function);

// An extended lambda with captures carries one host pointer behind them.
inline constexpr uint32_t kLambdaPointer_bytes = 8;

// One element. `object` is the function object's bytes; `values` the inputs,
// loaded as input_types. The result is not yet converted to result_type. False
// when it has no defined value here (integer division by zero).
bool apply_functor(const Functor& functor, const uint8_t* object, const Number* values, Number* result);

// Whether a result may be known while an input is not: false and x, true or x, a choice that does not take x.
bool may_absorb(const Functor& functor);
// As apply_functor(), with only those inputs known that known[i] says. False when the result depends on another one.
//
// Unknown numbers are taken to be finite, so a question that all finite numbers answer alike has its answer without
// them: whether a number is infinite, or below infinity, or equal to itself. `same`: both inputs are the same element.
bool may_ask_of_finite(const Functor& functor);
bool asks_of_finite(const Functor& functor, const uint8_t* object, bool same);
bool apply_functor_partly(const Functor& functor, const uint8_t* object, const Number* values, const bool* known,
                          Number* result);

}  // namespace maya::device
