// Counting and placing values of PyTorch (public sources ATen/native/cuda/SummaryOps.cu, Bucketization.cu,
// Repeat.cu):
//
//   kernelHistogram1D<A, B, I, ..., memory (0: shared), F>(TensorInfo<A, I> counts, TensorInfo partial counts,
//   TensorInfo<B, I> values, i64 bins, B smallest, B largest, I values, F), F being the second lambda of
//   CUDA_tensor_histogram without weights, which adds ones searchsorted_cuda_kernel<T, R>(R* places, const T* values,
//   const T* boundaries, const i64* order, i64 row of values, i64 row of boundaries, i64 values, bool right, bool one
//   row of boundaries) compute_cuda_kernel<I>(const I* repeats, const i64* their cumulative sum, I* result, i64 count,
//   i64 result size)
#include <algorithm>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/elements.h"
#include "virtual_device/values/number.h"
#include "virtual_device/values/tensor_info.h"

namespace maya::device {

namespace {

// Of the least and the largest value: what PyTorch adds up in.
ElementType bound_type(ElementType values) {
  return is_floating(values) ? operation_type(values) : ElementType::kInt64;
}

class HistogramEffect : public Effect {
 public:
  HistogramEffect(ElementType counts, ElementType values) : counts_(counts), values_(values) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const TensorInfoView counts(argument_bytes(launch, 0), 8);
    const auto bins = argument<int64_t>(launch, 3);
    if (!memory.in_device_range(counts.data()) || bins <= 0 || count(launch, memory)) return;
    forget(memory, counts.data(), static_cast<uint64_t>(bins) * element_bytes(counts_));
  }

 private:
  bool count(const Launch& launch, Memory& memory) const {
    const TensorInfoView counts(argument_bytes(launch, 0), 8), values(argument_bytes(launch, 2), 8);
    const auto bins = argument<int64_t>(launch, 3), total = argument<int64_t>(launch, 6);
    const uint64_t element = element_bytes(values_);
    if (!counts.valid() || !values.valid() || counts.dims() != 1 || counts.stride(0) != 1 || bins <= 0 ||
        counts.size(0) < bins || total < 0 || total > static_cast<int64_t>(most_bytes(values_) / element) ||
        values.elements(most_bytes(values_)) < static_cast<uint64_t>(total))
      return false;
    uint64_t end = 1;
    for (int32_t d = 0; d < values.dims(); ++d) {
      const int64_t size = values.size(d), stride = values.stride(d);
      const auto most = static_cast<int64_t>(most_bytes(values_));
      if (size <= 0 || stride < 0 || stride > most / size) return false;
      end += static_cast<uint64_t>((size - 1) * stride);
    }
    std::vector<uint8_t> in, out;
    if (!read_elements(memory, counts.data(), static_cast<uint64_t>(bins), counts_, &out) ||
        !read_elements(memory, values.data(), end, values_, &in))
      return false;
    const Number least = load_number(argument_bytes(launch, 4), bound_type(values_)),
                 most = load_number(argument_bytes(launch, 5), bound_type(values_));
    for (int64_t i = 0; i < total; ++i) {
      const Number value =
          load_number(in.data() + static_cast<uint64_t>(values.offset(static_cast<uint64_t>(i))) * element, values_);
      const int64_t bin = find_bin(value, least, most, bins);
      if (bin < 0) continue;
      uint8_t* at = out.data() + static_cast<uint64_t>(bin) * element_bytes(counts_);
      const Number count = load_number(at, counts_);
      store_number(count.floating ? Number::of(count.real + 1) : Number::of(count.integer + 1), counts_, at);
    }
    if (write_result(memory, counts.data(), out.data(), out.size()) != MemoryStatus::kOk) return false;
    count_computed();
    return true;
  }

  // -1: in none. The largest value belongs to the last bin.
  int64_t find_bin(Number value, Number least, Number most, int64_t bins) const {
    int64_t bin = -1;
    if (value.floating) {
      if (!(value.real >= least.real && value.real <= most.real)) return -1;
      const auto rounded = [&](double real) { return convert_number(Number::of(real), values_).real; };
      const double scaled = rounded(rounded(value.real - least.real) * static_cast<double>(bins));
      bin = static_cast<int64_t>(rounded(scaled / rounded(most.real - least.real)));
    } else {
      if (value.integer < least.integer || value.integer > most.integer || most.integer == least.integer) return -1;
      bin = (value.integer - least.integer) * bins / (most.integer - least.integer);
    }
    return bin == bins ? bin - 1 : bin > bins ? -1 : bin;
  }

  ElementType counts_, values_;
};

class SearchEffect : public Effect {
 public:
  SearchEffect(ElementType values, ElementType places) : values_(values), places_(places) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const auto result = argument<Address>(launch, 0);
    const auto count = argument<uint64_t>(launch, 6);
    if (!memory.in_device_range(result)) return;
    if (!compute(launch, memory, result, count)) forget(memory, result, count * element_bytes(places_));
  }

 private:
  bool compute(const Launch& launch, Memory& memory, Address result, uint64_t count) const {
    const auto row = argument<uint64_t>(launch, 4), boundaries = argument<uint64_t>(launch, 5);
    const bool right = argument<uint8_t>(launch, 7) != 0, one_row = argument<uint8_t>(launch, 8) != 0;
    if (argument<Address>(launch, 3) != 0 || count == 0 || (row == 0 && !one_row)) return false;
    const uint64_t widest = most_bytes(values_) / element_bytes(values_);
    if (count > widest || boundaries > widest) return false;
    const uint64_t rows = one_row ? 1 : (count + row - 1) / row;
    if (rows > widest / std::max<uint64_t>(boundaries, 1)) return false;
    std::vector<uint8_t> values, limits;
    if (!read_elements(memory, argument<Address>(launch, 1), count, values_, &values) ||
        !read_elements(memory, argument<Address>(launch, 2), rows * boundaries, values_, &limits))
      return false;
    const uint32_t in = element_bytes(values_), out = element_bytes(places_);
    std::vector<uint8_t> results(count * out);
    for (uint64_t i = 0; i < count; ++i) {
      const Number value = load_number(values.data() + i * in, values_);
      const uint64_t start = one_row ? 0 : i / row * boundaries;
      uint64_t low = start, high = start + boundaries;
      while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const Number limit = load_number(limits.data() + middle * in, values_);
        if (!(right ? greater(limit, value) : !less(limit, value)))
          low = middle + 1;
        else
          high = middle;
      }
      store_number(Number::of(static_cast<int64_t>(low - start)), places_, results.data() + i * out);
    }
    if (write_result(memory, result, results.data(), results.size()) != MemoryStatus::kOk) return false;
    count_computed();
    return true;
  }

  // Comparisons with what is not a number are false on the device: >= and > of the limit.
  static bool less(Number a, Number b) { return a.floating ? !(a.real >= b.real) : a.integer < b.integer; }
  static bool greater(Number a, Number b) { return a.floating ? a.real > b.real : a.integer > b.integer; }

  ElementType values_, places_;
};

class RepeatEffect : public ComputedEffect {
 public:
  RepeatEffect(ElementType type, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), type_(type) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    const auto result = argument<Address>(launch, 2);
    const auto count = argument<uint64_t>(launch, 3), size = argument<uint64_t>(launch, 4);
    const uint64_t element = element_bytes(type_);
    std::vector<uint8_t> repeats, sums;
    if (size == 0 || size > most_bytes(type_) / element || !memory.in_device_range(result) ||
        !read_elements(memory, argument<Address>(launch, 0), count, type_, &repeats) ||
        !read_elements(memory, argument<Address>(launch, 1), count, ElementType::kInt64, &sums))
      return false;
    std::vector<uint8_t> results(size * element);
    for (uint64_t i = 0; i < count; ++i) {
      const int64_t repeat = load_number(repeats.data() + i * element, type_).integer;
      const int64_t end = load_number(sums.data() + 8 * i, ElementType::kInt64).integer;
      if (repeat < 0 || end < repeat || end > static_cast<int64_t>(size)) return false;
      for (int64_t k = end - repeat; k < end; ++k)
        store_number(Number::of(static_cast<int64_t>(i)), type_, results.data() + static_cast<uint64_t>(k) * element);
    }
    if (write_result(memory, result, results.data(), results.size()) != MemoryStatus::kOk) return false;
    count_computed();
    return true;
  }

 private:
  ElementType type_;
};

}  // namespace

std::unique_ptr<Effect> make_histogram_effect(const KernelInfo& kernel, const KernelName& name,
                                              std::vector<ScalarSlot>* scalars) {
  const auto& arguments = name.template_arguments;
  const auto type = [&](size_t index) { return element_type(arguments[index]); };
  if (name.function == "at::cuda::kernelHistogram1D" && arguments.size() == 8 && arguments[2] == "long") {
    const uint32_t info = TensorInfoView::bytes(8), bound = element_bytes(bound_type(type(1)));
    if (!is_computable(type(0)) || !is_computable(type(1)) || !arguments[6].ends_with(")0") ||
        !arguments[7].ends_with("#2}") || arguments[7].find("CUDA_tensor_histogram<") == std::string::npos ||
        !has_sizes(kernel, {info, info, info, 8, bound, bound, 8, 1}))
      return nullptr;
    make_pointer_effect(kernel, name, scalars);
    return std::make_unique<HistogramEffect>(type(0), type(1));
  }
  if (name.function.ends_with("::searchsorted_cuda_kernel") && arguments.size() == 2 &&
      has_sizes(kernel, {8, 8, 8, 8, 8, 8, 8, 1, 1}) && is_computable(type(0)) && is_computable(type(1))) {
    make_pointer_effect(kernel, name, scalars);
    return std::make_unique<SearchEffect>(type(0), type(1));
  }
  if (name.function == "compute_cuda_kernel" && arguments.size() == 1 && has_sizes(kernel, {8, 8, 8, 8, 8}) &&
      is_computable(type(0)) && !is_floating(type(0)))
    return std::make_unique<RepeatEffect>(type(0), make_pointer_effect(kernel, name, scalars));
  return nullptr;
}

}  // namespace maya::device
