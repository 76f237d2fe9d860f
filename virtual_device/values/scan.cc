// Cumulative sums, products, maxima and minima. PyTorch's own kernels (public header ATen/native/cuda/ScanUtils.cuh):
//
//   tensor_kernel_scan_innermost_dim<T, F>(T* result, const T* source, u32 rows, row size, log2 of threads, T start, F)
//   tensor_kernel_scan_outer_dim<T, I, F>(T* result, const T* source, u32 outer, inner, row size, T start, F)
//   tensor_kernel_scan_innermost_dim_with_indices<T, F>(const T* source, T* result, i64* indices, int rows, row size,
//   u32 threads, log2 of threads, T start, F)
//   tensor_kernel_scan_outer_dim_with_indices<T, F>(const T* source, T* result, i64* indices, u32 outer, inner, row
//   size, T start, F)
//
// and CUB's (public header cub/device/dispatch/kernels/kernel_scan.cuh) for one row: DeviceScanKernel<policy, source,
// result, state, F, start, offset, T, ...>(source, result, state, int first tile, F, start, u32 count), in tiles that
// one launch goes through. A start of type NullType makes it inclusive. CountMaskOp counts true bytes, exclusively from
// zero. In CUDA 12 the kernel stands right in cub::, sums are made by its Sum, and its iterator is a
// TransformInputIterator.
#include <algorithm>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/number.h"

namespace maya::device {

namespace {

enum class Combine : uint8_t { kNone, kSum, kProduct, kMaximum, kMinimum };

Combine combine_of(std::string_view function) {
  const std::string_view base = template_base(function);
  if (base == "std::plus" || base.ends_with("::plus") || base.ends_with("::SumOp") || base.ends_with("::Sum"))
    return Combine::kSum;
  if (base == "std::multiplies" || base.ends_with("::multiplies")) return Combine::kProduct;
  if (base == "std::greater_equal") return Combine::kMaximum;
  if (base == "std::less_equal") return Combine::kMinimum;
  return Combine::kNone;
}

// Rows of `size` elements, `step` elements apart from each other within one.
struct Rows {
  uint64_t outer = 0, inner = 1, size = 0;
  uint64_t elements() const { return outer * inner * size; }
};

struct Scan {
  Combine combine = Combine::kNone;
  ElementType source = ElementType::kNone, result = ElementType::kNone;
  bool exclusive = false;
  uint32_t address = 0;  // where the address of the source stands in its parameter
};

class Accumulator {
 public:
  Accumulator(Combine combine, ElementType type) : combine_(combine), type_(type) {
    const bool product = combine == Combine::kProduct;
    value_ = is_floating(type) ? Number::of(product ? 1.0 : 0.0) : Number::of(int64_t{product ? 1 : 0});
  }
  void add(Number next, int64_t index) {
    const auto bits = [](Number n) { return static_cast<uint64_t>(n.integer); };
    switch (combine_) {
      case Combine::kSum:
        value_ = value_.floating ? Number::of(value_.real + next.as_real())
                                 : Number::of(static_cast<int64_t>(bits(value_) + bits(next)));
        break;
      case Combine::kProduct:
        value_ = value_.floating ? Number::of(value_.real * next.as_real())
                                 : Number::of(static_cast<int64_t>(bits(value_) * bits(next)));
        break;
      default:
        if (started_ && !replaces(next)) return;
        value_ = next;
        index_ = index;
        break;
    }
    started_ = true;
    // Integers wrap as their type does; real numbers are rounded when stored.
    if (!value_.floating) value_ = convert_number(value_, type_);
  }
  Number value() const { return value_; }
  int64_t index() const { return index_; }

 private:
  // Of equal ones the last; not a number stays.
  bool replaces(Number next) const {
    if (next.is_nan() || value_.is_nan()) return next.is_nan();
    if (combine_ == Combine::kMaximum) return next.floating ? next.real >= value_.real : next.integer >= value_.integer;
    return next.floating ? next.real <= value_.real : next.integer <= value_.integer;
  }

  Combine combine_;
  ElementType type_;
  Number value_;
  int64_t index_ = 0;
  bool started_ = false;
};

// Results and, for maxima and minima, their indices, of known elements. False when not all are known.
bool run_scan(const Scan& scan, const Rows& rows, Memory& memory, Address source, Address result, Address indices) {
  if (!memory.in_device_range(source) || !memory.maybe_known(source) || !memory.in_device_range(result)) return false;
  const uint64_t in = element_bytes(scan.source), out = element_bytes(scan.result);
  const uint64_t most = std::min(most_bytes(scan.source), most_bytes(scan.result));
  if (rows.size == 0 || rows.inner == 0 || rows.outer == 0 || rows.size > most || rows.inner > most / rows.size ||
      rows.outer > most / (rows.size * rows.inner))
    return false;
  std::vector<uint8_t> bytes;
  if (!read_known(memory, source, rows.elements() * in, &bytes, most)) return false;
  if (rows.elements() * out > kMaximumComputed_bytes && !may_compute_integers(rows.elements() * out)) return false;
  std::vector<uint8_t> results(rows.elements() * out), places(indices == 0 ? 0 : 8 * rows.elements());
  for (uint64_t row = 0; row < rows.outer * rows.inner; ++row) {
    const uint64_t first = row / rows.inner * rows.inner * rows.size + row % rows.inner;
    Accumulator accumulator(scan.combine, scan.result);
    for (uint64_t k = 0; k < rows.size; ++k) {
      const uint64_t at = first + k * rows.inner;
      if (scan.exclusive) store_number(accumulator.value(), scan.result, results.data() + at * out);
      accumulator.add(load_number(bytes.data() + at * in, scan.source), static_cast<int64_t>(k));
      if (!scan.exclusive) store_number(accumulator.value(), scan.result, results.data() + at * out);
      if (indices != 0) store_number(Number::of(accumulator.index()), ElementType::kInt64, places.data() + 8 * at);
    }
  }
  if (write_result(memory, result, results.data(), results.size()) != MemoryStatus::kOk) return false;
  if (indices != 0 && write_result(memory, indices, places.data(), places.size()) != MemoryStatus::kOk) return false;
  count_computed();
  return true;
}

void forget_scan(const Scan& scan, const Rows& rows, Memory& memory, Address result, Address indices) {
  forget(memory, result, rows.elements() * element_bytes(scan.result));
  if (indices != 0) forget(memory, indices, 8 * rows.elements());
}

class ScanEffect : public Effect {
 public:
  enum class Form : uint8_t { kInnermost, kOuter, kInnermostWithIndices, kOuterWithIndices };
  ScanEffect(Form form, const Scan& scan) : form_(form), scan_(scan) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const bool indexed = form_ == Form::kInnermostWithIndices || form_ == Form::kOuterWithIndices;
    const Address first = argument<Address>(launch, 0), second = argument<Address>(launch, 1);
    const Address source = indexed ? first : second, result = indexed ? second : first;
    const Address indices = indexed ? argument<Address>(launch, 2) : 0;
    const uint32_t sizes = indexed ? 3 : 2;
    Rows rows;
    rows.outer = argument<uint32_t>(launch, sizes);
    if (form_ == Form::kOuter || form_ == Form::kOuterWithIndices) {
      rows.inner = argument<uint32_t>(launch, sizes + 1);
      rows.size = argument<uint32_t>(launch, sizes + 2);
    } else {
      rows.size = argument<uint32_t>(launch, sizes + 1);
    }
    if (scan_.combine == Combine::kNone || !run_scan(scan_, rows, memory, source, result, indices))
      forget_scan(scan_, rows, memory, result, indices);
  }

 private:
  Form form_;
  Scan scan_;
};

// CUB's scan of one row.
class RowScanEffect : public Effect {
 public:
  explicit RowScanEffect(const Scan& scan) : scan_(scan) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const Rows rows{1, 1, argument<uint32_t>(launch, 6)};
    const auto source = argument<Address>(launch, 0, scan_.address), result = argument<Address>(launch, 1);
    const bool whole = argument<int32_t>(launch, 3) == 0;
    if (scan_.combine == Combine::kNone || !whole || !run_scan(scan_, rows, memory, source, result, 0))
      forget_scan(scan_, rows, memory, result, 0);
  }

 private:
  Scan scan_;
};

// The type that "float*" or "float const*" points to.
ElementType pointed_to(std::string_view type) {
  for (const std::string_view suffix : {"*", " const"}) {
    if (type.ends_with(suffix)) type.remove_suffix(suffix.size());
  }
  return element_type(type);
}

bool sizes_are(const KernelInfo& kernel, std::initializer_list<uint32_t> sizes) {
  if (kernel.parameters.size() < sizes.size()) return false;
  size_t i = 0;
  for (const uint32_t size : sizes) {
    if (size != 0 && kernel.parameters[i].size != size) return false;
    ++i;
  }
  return true;
}

std::unique_ptr<Effect> make_row_scan(const KernelInfo& kernel, const KernelName& name) {
  const auto& arguments = name.template_arguments;
  if (arguments.size() < 8 || kernel.parameters.size() != 7 || kernel.parameters[1].size != 8 ||
      !sizes_are(kernel, {0, 8, 0, 4, 1, 0, 4}))
    return nullptr;
  Scan scan;
  scan.combine = combine_of(arguments[4]);
  scan.result = pointed_to(arguments[2]);
  const bool inclusive = arguments[5].ends_with("::NullType");
  // In at::cuda::cub or in a namespace without a name there; first or second of the iterator's arguments.
  if (arguments[1].find("::CountMaskOp, unsigned char const*") != std::string::npos) {
    scan.source = ElementType::kBool;
    scan.exclusive = true;
    // The function stands in front of the address.
    if (template_base(arguments[1]).ends_with("::TransformInputIterator")) scan.address = 8;
    if (inclusive || kernel.parameters[0].size != 16 || scan.combine != Combine::kSum) return nullptr;
  } else {
    scan.source = pointed_to(arguments[1]);
    if (!inclusive || kernel.parameters[0].size != 8) return nullptr;
  }
  if (element_bytes(scan.result) == 0) return nullptr;
  if (!is_computable(scan.source) || !is_computable(scan.result)) scan.combine = Combine::kNone;
  if (scan.combine == Combine::kMaximum || scan.combine == Combine::kMinimum) scan.combine = Combine::kNone;
  return std::make_unique<RowScanEffect>(scan);
}

}  // namespace

std::unique_ptr<Effect> make_scan_effect(const KernelInfo& kernel, const KernelName& name,
                                         std::vector<ScalarSlot>* scalars) {
  std::unique_ptr<Effect> made;
  const auto& arguments = name.template_arguments;
  constexpr std::string_view kStart = "at::native::tensor_kernel_scan_";
  if (cub_kernel(name.function) == "DeviceScanKernel") {
    made = make_row_scan(kernel, name);
  } else if (name.function.starts_with(kStart) && arguments.size() >= 2) {
    const std::string_view form = std::string_view(name.function).substr(kStart.size());
    Scan scan;
    scan.source = scan.result = element_type(arguments[0]);
    scan.combine = combine_of(arguments.back());
    const uint32_t element = element_bytes(scan.result);
    const bool indexed = form.ends_with("_with_indices");
    if (element == 0) return nullptr;
    const bool orders = scan.combine == Combine::kMaximum || scan.combine == Combine::kMinimum;
    if (!is_computable(scan.result) || orders != indexed) scan.combine = Combine::kNone;
    using Form = ScanEffect::Form;
    if (form == "innermost_dim" && sizes_are(kernel, {8, 8, 4, 4, 4, element, 1}))
      made = std::make_unique<ScanEffect>(Form::kInnermost, scan);
    if (form == "outer_dim" && sizes_are(kernel, {8, 8, 4, 4, 4, element, 1}))
      made = std::make_unique<ScanEffect>(Form::kOuter, scan);
    if (form == "innermost_dim_with_indices" && sizes_are(kernel, {8, 8, 8, 4, 4, 4, 4, element, 1}))
      made = std::make_unique<ScanEffect>(Form::kInnermostWithIndices, scan);
    if (form == "outer_dim_with_indices" && sizes_are(kernel, {8, 8, 8, 4, 4, 4, element, 1}))
      made = std::make_unique<ScanEffect>(Form::kOuterWithIndices, scan);
  }
  // The scalars of any kernel.
  if (made != nullptr) make_pointer_effect(kernel, name, scalars);
  return made;
}

}  // namespace maya::device
