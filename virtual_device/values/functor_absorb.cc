// Results of elementwise functions that do not depend on an input that is unknown.
#include <cmath>

#include "virtual_device/values/functor.h"

namespace maya::device {

namespace {

using Operation = ElementOperation;

// The value that decides alone what the operation gives, converted to the computation type.
bool decides(const Functor& functor, Number value) {
  value = convert_number(value, functor.compute_type);
  switch (functor.operation) {
    case Operation::kLogicalAnd:
      return !value.as_bool();
    case Operation::kLogicalOr:
      return value.as_bool();
    case Operation::kBitAnd:
      return !value.floating && value.integer == 0;
    case Operation::kBitOr:
      return functor.compute_type == ElementType::kBool ? value.as_bool() : !value.floating && value.integer == -1;
    case Operation::kMultiply:
      return !value.floating && value.integer == 0;
    default:
      return false;
  }
}

}  // namespace

bool may_absorb(const Functor& functor) {
  switch (functor.operation) {
    case Operation::kLogicalAnd:
    case Operation::kLogicalOr:
    case Operation::kBitAnd:
    case Operation::kBitOr:
    case Operation::kMultiply:
      return functor.inputs == 2;
    case Operation::kWhere:
    case Operation::kMaskedFill:
      return true;
    default:
      return false;
  }
}

bool may_ask_of_finite(const Functor& functor) {
  switch (functor.operation) {
    case Operation::kCompare:
    case Operation::kCompareEqual:
      return functor.inputs == 2 || (functor.inputs == 1 && is_floating(functor.compute_type));
    case Operation::kIsPositiveInfinity:
    case Operation::kIsNegativeInfinity:
      return true;
    default:
      return false;
  }
}

bool asks_of_finite(const Functor& functor, const uint8_t* object, bool same) {
  if (!may_ask_of_finite(functor)) return false;
  if (functor.inputs == 2) return same;
  const Functor::Constant& bound = functor.operands[0];
  return bound.type == ElementType::kNone || std::isinf(load_number(object + bound.offset, bound.type).as_real());
}

bool apply_functor_partly(const Functor& functor, const uint8_t* object, const Number* values, const bool* known,
                          Number* result) {
  bool all = true;
  for (int i = 0; i < functor.inputs; ++i) all = all && known[i];
  if (all) return apply_functor(functor, object, values, result);
  if (!may_absorb(functor)) return false;
  switch (functor.operation) {
    case Operation::kWhere:
      return known[0] && known[values[0].as_bool() ? 1 : 2] && apply_functor(functor, object, values, result);
    case Operation::kMaskedFill:
      return known[1] && (values[1].as_bool() || known[0]) && apply_functor(functor, object, values, result);
    default:
      break;
  }
  // Unknown inputs stand at zero, which changes nothing: the other one decides.
  for (int i = 0; i < functor.inputs; ++i)
    if (known[i] && decides(functor, values[i])) return apply_functor(functor, object, values, result);
  return false;
}

}  // namespace maya::device
