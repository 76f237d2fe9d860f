#include "virtual_device/values/reduction_operation.h"

#include <algorithm>
#include <cmath>

#include "virtual_device/values/kernel_name.h"

namespace maya::device {

namespace {

uint32_t align(uint32_t offset, uint32_t unit) { return (offset + unit - 1) / unit * unit; }

// The offset behind a constant of `operation_bytes` (1: none) and an identity
// of `identity_bytes`, both aligned to `unit`.
uint32_t behind(uint32_t operation_bytes, uint32_t identity_bytes, uint32_t unit) {
  return align(align(operation_bytes, unit) + identity_bytes, 4);
}

struct Known {
  std::string_view name;
  Reduction reduction;
};

// Operations with the template arguments <input, accumulator, ...>.
constexpr Known kAccumulating[] = {
    {"at::native::NormOneOps", Reduction::kNormOne},        {"at::native::NormZeroOps", Reduction::kNormZero},
    {"at::native::NormTwoOps", Reduction::kNormTwo},        {"at::native::AbsMaxOps", Reduction::kAbsoluteMaximum},
    {"at::native::AbsMinOps", Reduction::kAbsoluteMinimum},
};

// Operations with the template argument <input>: pairs of a value and a 64-bit
// index.
constexpr Known kIndexing[] = {
    {"at::native::ArgMaxOps", Reduction::kIndexOfMaximum},
    {"at::native::ArgMinOps", Reduction::kIndexOfMinimum},
    {"at::native::MaxOps", Reduction::kMaximumAndIndex},
    {"at::native::MinOps", Reduction::kMinimumAndIndex},
};

Reduction find(const Known* known, size_t count, std::string_view name) {
  for (size_t i = 0; i < count; ++i)
    if (known[i].name == name) return known[i].reduction;
  return Reduction::kUnknown;
}

void parse_wrapped(std::string_view function, ElementType input, ReductionOperation* made) {
  std::vector<std::string_view> types;
  if (lambda_arguments(function, &types) && types.size() == 2) {
    made->accumulator = element_type(types[0]);
    if (function.starts_with("at::native::sum_functor<")) made->reduction = Reduction::kSum;
    if (function.starts_with("at::native::prod_functor<") && !is_floating(made->accumulator))
      made->reduction = Reduction::kProduct;
    if (function.starts_with("at::native::or_kernel_cuda(")) made->reduction = Reduction::kAny;
    if (function.starts_with("at::native::and_kernel_cuda(")) made->reduction = Reduction::kAll;
    return;
  }
  made->accumulator = input;
  if (function.starts_with("at::native::MaxNanFunctor<")) made->reduction = Reduction::kMaximum;
  if (function.starts_with("at::native::MinNanFunctor<")) made->reduction = Reduction::kMinimum;
}

bool before(Number a, Number b, bool larger) {
  if (a.is_nan() || b.is_nan()) return a.is_nan() && !b.is_nan();
  if (a.floating) return larger ? a.real > b.real : a.real < b.real;
  return larger ? a.integer > b.integer : a.integer < b.integer;
}

bool looks_for_larger(Reduction reduction) {
  return reduction == Reduction::kMaximum || reduction == Reduction::kIndexOfMaximum ||
         reduction == Reduction::kMaximumAndIndex || reduction == Reduction::kAbsoluteMaximum;
}

}  // namespace

ReductionOperation parse_reduction(std::string_view ops, ElementType input) {
  ReductionOperation made;
  const std::string_view base = template_base(ops);
  const auto arguments = template_arguments(ops);
  const auto type = [&](size_t index) {
    return index < arguments.size() ? element_type(arguments[index]) : ElementType::kNone;
  };
  constexpr uint32_t kIndex_bytes = 8;
  if (base == "at::native::func_wrapper_t" && arguments.size() == 2) {
    parse_wrapped(arguments[1], input, &made);
    const uint32_t size = std::max(element_bytes(made.accumulator), 1u);
    made.config_offset = behind(1, size, size);
  } else if (const Reduction indexing = find(kIndexing, std::size(kIndexing), base);
             indexing != Reduction::kUnknown && arguments.size() == 1) {
    made.reduction = indexing;
    made.accumulator = type(0);
    made.config_offset = behind(1, 2 * kIndex_bytes, kIndex_bytes);
  } else if (base == "at::native::MinMaxOps" && arguments.size() == 3) {
    made.reduction = Reduction::kMinimumAndMaximum;
    made.accumulator = type(1);
    const uint32_t size = std::max(element_bytes(made.accumulator), 1u);
    made.config_offset = behind(1, 2 * size, size);
  } else if (base == "at::native::NanSumOps" && arguments.size() == 2) {
    made.reduction = Reduction::kNanSum;
    made.accumulator = type(0);
    const uint32_t size = std::max(element_bytes(made.accumulator), 1u);
    made.config_offset = behind(1, size, size);
  } else if (base == "at::native::WelfordOps" && arguments.size() == 4 && arguments[2] == "int") {
    // A correction and a flag; mean, squares, count (32 bits) and count as a
    // real number.
    made.reduction = Reduction::kVarianceAndMean;
    made.accumulator = type(1);
    const uint32_t size = std::max(element_bytes(made.accumulator), 4u);
    made.config_offset = behind(2 * size, 4 * size, size);
  } else if (arguments.size() >= 3) {
    made.accumulator = type(1);
    const uint32_t size = std::max(element_bytes(made.accumulator), 1u);
    made.reduction = find(kAccumulating, std::size(kAccumulating), base);
    uint32_t constant_bytes = 1;
    if (base == "at::native::MeanOps" && arguments.size() == 4 && arguments[1] == arguments[2]) {
      made.reduction = Reduction::kMean;
      constant_bytes = size;
    } else if (base == "at::native::NormOps") {
      made.reduction = Reduction::kNorm;
      constant_bytes = size;
    }
    if (!is_floating(made.accumulator)) made.reduction = Reduction::kUnknown;
    if (arguments.size() == 4 && base != "at::native::MeanOps") made.applies_root = arguments[3] == "true";
    made.config_offset = behind(constant_bytes, size, size);
  }
  return made;
}

Reducer::Reducer(const ReductionOperation& operation, const uint8_t* parameters) : operation_(operation) {
  switch (operation.reduction) {
    case Reduction::kMean:
    case Reduction::kNorm:
      constant_ = load_number(parameters, operation.accumulator).real;
      break;
    case Reduction::kVarianceAndMean:
      constant_ = load_number(parameters, operation.accumulator).real;
      takes_root_ = parameters[element_bytes(operation.accumulator)] != 0;
      break;
    default:
      break;
  }
}

void Reducer::add(Number value, int64_t index) {
  const bool is_first = count_++ == 0;
  switch (operation_.reduction) {
    case Reduction::kNanSum:
      if (!value.is_nan()) sum_ += value.real;
      break;
    case Reduction::kSum:
    case Reduction::kMean:
      sum_ += value.as_real();
      integer_sum_ += static_cast<uint64_t>(value.integer);
      if (is_first) best_ = value;
      break;
    case Reduction::kProduct:
      integer_product_ *= static_cast<uint64_t>(value.integer);
      break;
    case Reduction::kNorm:
      sum_ += std::pow(std::fabs(value.real), constant_);
      break;
    case Reduction::kNormZero:
      sum_ += value.real != 0 ? 1 : 0;
      break;
    case Reduction::kNormOne:
      sum_ += std::fabs(value.real);
      break;
    case Reduction::kNormTwo:
      sum_ += value.real * value.real;
      break;
    case Reduction::kAny:
      best_ = Number::of((!is_first && best_.as_bool()) || value.as_bool());
      break;
    case Reduction::kAll:
      best_ = Number::of((is_first || best_.as_bool()) && value.as_bool());
      break;
    case Reduction::kMinimumAndMaximum:
      if (is_first || before(value, best_, false)) best_ = value;
      if (is_first || before(value, other_, true)) other_ = value;
      break;
    case Reduction::kVarianceAndMean: {
      const double delta = value.real - mean_;
      mean_ += delta / static_cast<double>(count_);
      sum_ += delta * (value.real - mean_);
      break;
    }
    default:
      if (operation_.reduction == Reduction::kAbsoluteMaximum || operation_.reduction == Reduction::kAbsoluteMinimum)
        value = Number::of(std::fabs(value.real));
      // Of equal ones the first.
      if (is_first || before(value, best_, looks_for_larger(operation_.reduction))) {
        best_ = value;
        best_index_ = index;
      }
      break;
  }
}

Number Reducer::first() const {
  switch (operation_.reduction) {
    case Reduction::kSum:
      return best_.floating ? Number::of(sum_) : Number::of(static_cast<int64_t>(integer_sum_));
    case Reduction::kProduct:
      return Number::of(static_cast<int64_t>(integer_product_));
    case Reduction::kMean:
      return Number::of(sum_ * constant_);
    case Reduction::kNorm:
      return Number::of(operation_.applies_root ? std::pow(sum_, 1.0 / constant_) : sum_);
    case Reduction::kNormTwo:
      return Number::of(operation_.applies_root ? std::sqrt(sum_) : sum_);
    case Reduction::kNanSum:
    case Reduction::kNormZero:
    case Reduction::kNormOne:
      return Number::of(sum_);
    case Reduction::kIndexOfMaximum:
    case Reduction::kIndexOfMinimum:
      return Number::of(best_index_);
    case Reduction::kVarianceAndMean: {
      const auto count = static_cast<double>(count_);
      const double variance = sum_ / (count > constant_ ? count - constant_ : 0.0);
      return Number::of(takes_root_ ? std::sqrt(variance) : variance);
    }
    default:
      return best_;
  }
}

Number Reducer::second() const {
  switch (operation_.reduction) {
    case Reduction::kMinimumAndMaximum:
      return other_;
    case Reduction::kVarianceAndMean:
      return Number::of(mean_);
    default:
      return Number::of(best_index_);
  }
}

}  // namespace maya::device
