// Counting and listing elements that are not zero, as torch.nonzero and boolean indexing do, by CUB's kernels (public
// headers cub/device/dispatch/kernels/kernel_reduce.cuh and kernel_select_if.cuh) and PyTorch's write_indices (public
// source ATen/native/cuda/Nonzero.cu):
//
//   DeviceReduceSingleTileKernel<policy, transform_iterator<NonZeroOp<T>, const T*>, int*, ...>({const T*, op}, int*
//   result, u64 count, plus, int start, identity)
//   DeviceReduceKernel<policy, the same iterator, ...>({const T*, op}, int* parts, u64 count, shares, plus, identity),
//   whose parts, one a block, DeviceReduceSingleTileKernel<policy, int*, int*, int, ...>(int* parts, int* result, int
//   count, plus, int start, identity) then sums up
//   DeviceScanInitKernel<state>(state, int tiles), DeviceCompactInitKernel<state, N*>(state, int tiles, N* selected):
//   16 bytes at most for each tile and 32 more at the addresses of the state; selected = 0
//   DeviceSelectSweepKernel<policy, counting_iterator<long>, transform_iterator<NonZeroOp<T>, const T*>, long*, int*,
//   ...>(i64 first, {const T*, op}, long* result, int* selected, state, 1, 1, int count, int tiles, context, storage)
//   write_indices<I>(long* result, I sizes[25], int dimensions, I count, long* total, long fill), I being long; PyTorch
//   2.4 has int, and neither total nor fill
//
// In CUDA 12 the kernels stand right in cub::, iterators are called TransformInputIterator<bool, NonZeroOp<T>, ...>,
// CountingInputIterator; the last sweep has no context. Up to CUDA 12.4 there is no identity, in
// CUDA 12.1 counts have 32 bits.
#include <algorithm>

#include "virtual_device/values/elements.h"
#include "virtual_device/values/number.h"

namespace maya::device {

namespace {

constexpr std::string_view kNonZero = "NonZeroOp<";

// The elements that an iterator tests.
struct Tested {
  ElementType type = ElementType::kNone;  // kNone: another iterator
  uint32_t address = 0;                   // where their address stands in the iterator
};

// "...transform_iterator<...::NonZeroOp<T>, T const*, ...>", which begins with the address, or
// "...TransformInputIterator<bool, ...::NonZeroOp<T>, T const*, ...>", which ends in it.
Tested tested(std::string_view iterator) {
  const auto arguments = template_arguments(iterator);
  const bool older = template_base(iterator).ends_with("::TransformInputIterator");
  const size_t function = older ? 1 : 0;
  if (!older && !template_base(iterator).ends_with("::transform_iterator")) return {};
  if (arguments.size() < function + 2 || arguments[function].find(kNonZero) == std::string_view::npos) return {};
  const auto type = template_arguments(arguments[function]);
  if (type.size() != 1 || !is_computable(element_type(type[0]))) return {};
  return {element_type(type[0]), older ? 8u : 0u};
}

bool has_sizes(const KernelInfo& kernel, size_t count, std::initializer_list<uint32_t> first) {
  if (kernel.parameters.size() != count) return false;
  size_t i = 0;
  for (const uint32_t size : first) {
    if (size != 0 && kernel.parameters[i].size != size) return false;
    ++i;
  }
  return true;
}

// The whole goes to the first of the results, one a block.
class CountEffect : public Effect {
 public:
  // count_bytes: of the number of elements, an argument.
  CountEffect(const Tested& elements, uint32_t count_bytes)
      : type_(elements.type), address_(elements.address), count_bytes_(count_bytes) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const auto source = argument<Address>(launch, 0, address_), result = argument<Address>(launch, 1);
    const uint64_t count = count_bytes_ == 8 ? argument<uint64_t>(launch, 2) : argument<uint32_t>(launch, 2);
    const uint64_t blocks = std::max(launch.grid[0], 1u);
    std::vector<uint8_t> bytes;
    if (!memory.in_device_range(result)) return;
    if (blocks > kMaximumComputed_bytes / sizeof(int32_t) || !read_elements(memory, source, count, type_, &bytes))
      return forget(memory, result, blocks * sizeof(int32_t));
    std::vector<int32_t> totals(blocks, 0);
    for (uint64_t i = 0; i < count; ++i)
      totals[0] += load_number(bytes.data() + i * element_bytes(type_), type_).as_bool() ? 1 : 0;
    write_result(memory, result, totals.data(), blocks * sizeof(int32_t));
    count_computed();
  }

 private:
  ElementType type_;
  uint32_t address_, count_bytes_;
};

class SumPartsEffect : public Effect {
 public:
  void apply(const Launch& launch, Memory& memory) const override {
    const auto source = argument<Address>(launch, 0), result = argument<Address>(launch, 1);
    const auto count = static_cast<uint64_t>(std::max(argument<int32_t>(launch, 2), 0));
    std::vector<uint8_t> bytes;
    if (!memory.in_device_range(result)) return;
    if (!read_elements(memory, source, count, ElementType::kInt32, &bytes))
      return forget(memory, result, sizeof(int32_t));
    auto total = argument<uint32_t>(launch, 4);
    for (uint64_t i = 0; i < count; ++i)
      total += static_cast<uint32_t>(load_number(bytes.data() + 4 * i, ElementType::kInt32).integer);
    write_result(memory, result, &total, sizeof(total));
    count_computed();
  }
};

// States of tiles, and a count that starts from zero.
class TileStateEffect : public Effect {
 public:
  TileStateEffect(uint32_t state_bytes, uint32_t count_bytes) : state_bytes_(state_bytes), count_bytes_(count_bytes) {}

  void apply(const Launch& launch, Memory& memory) const override {
    constexpr uint64_t kTile_bytes = 16, kMoreTiles = 32;
    const auto tiles = static_cast<uint64_t>(std::max(argument<int32_t>(launch, 1), 0));
    for (uint32_t offset = 0; offset < state_bytes_; offset += 8)
      forget(memory, argument<Address>(launch, 0, offset), (tiles + kMoreTiles) * kTile_bytes);
    if (count_bytes_ == 0) return;
    const auto selected = argument<Address>(launch, 2);
    const int64_t zero = 0;
    if (memory.in_device_range(selected)) write_result(memory, selected, &zero, count_bytes_);
  }

 private:
  uint32_t state_bytes_, count_bytes_;
};

class ListEffect : public Effect {
 public:
  // has_context: the argument that says whether this launch begins and ends the list; without it, it does.
  ListEffect(const Tested& elements, bool has_context)
      : type_(elements.type), address_(elements.address), has_context_(has_context) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const auto first = argument<int64_t>(launch, 0);
    const auto source = argument<Address>(launch, 1, address_), result = argument<Address>(launch, 2),
               selected = argument<Address>(launch, 3);
    const auto count = static_cast<uint64_t>(std::max(argument<int32_t>(launch, 7), 0));
    const bool whole = !has_context_ || (argument<uint8_t>(launch, 9) == 1 && argument<uint8_t>(launch, 9, 1) == 1);
    std::vector<uint8_t> bytes;
    if (!whole || !read_elements(memory, source, count, type_, &bytes)) {
      forget(memory, selected, 4);
      // How many there are is not known: at most all, within what is allocated.
      if (memory.in_device_range(result) && memory.maybe_known(result)) forget(memory, result, 8 * count);
      return;
    }
    std::vector<int64_t> places;
    for (uint64_t i = 0; i < count; ++i)
      if (load_number(bytes.data() + i * element_bytes(type_), type_).as_bool())
        places.push_back(first + static_cast<int64_t>(i));
    const auto total = static_cast<int32_t>(places.size());
    if (memory.in_device_range(selected)) write_result(memory, selected, &total, sizeof(total));
    if (!places.empty() && memory.in_device_range(result))
      write_result(memory, result, places.data(), 8 * places.size());
    count_computed();
  }

 private:
  ElementType type_;
  uint32_t address_;
  bool has_context_;
};

// From linear indices to those of each dimension, in place: row d of `count` holds dimension d.
class WriteIndicesEffect : public ComputedEffect {
 public:
  // index: of sizes and count.
  WriteIndicesEffect(ElementType index, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), index_(index) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    constexpr int32_t kMostDimensions = 25;
    const auto data = argument<Address>(launch, 0);
    if (!memory.in_device_range(data) || !memory.maybe_known(data)) return memory.in_device_range(data);
    const auto dimensions = argument<int32_t>(launch, 2);
    const int64_t count = load_number(argument_bytes(launch, 3), index_).integer;
    const bool has_total = launch.kernel->parameters.size() > 4 && argument<Address>(launch, 4) != 0;
    if (has_total || dimensions < 1 || dimensions > kMostDimensions || count <= 0 ||
        count > static_cast<int64_t>(kMaximumLarge_bytes / 8) / dimensions)
      return false;
    std::vector<uint8_t> bytes;
    const auto elements = static_cast<uint64_t>(count);
    if (!read_known(memory, data, 8 * elements, &bytes, kMaximumLarge_bytes) ||
        !may_compute_integers(8 * elements * static_cast<uint64_t>(dimensions))) {
      forget(memory, data, 8 * elements * static_cast<uint64_t>(dimensions));
      return true;
    }
    std::vector<int64_t> results(elements * static_cast<uint64_t>(dimensions));
    for (uint64_t i = 0; i < elements; ++i) {
      int64_t index;
      std::memcpy(&index, bytes.data() + 8 * i, sizeof(index));
      for (int32_t d = dimensions - 1; d >= 0; --d) {
        const int64_t size =
            load_number(argument_bytes(launch, 1, element_bytes(index_) * static_cast<uint32_t>(d)), index_).integer;
        if (size <= 0) return false;
        results[static_cast<uint64_t>(d) * elements + i] = index % size;
        index /= size;
      }
    }
    if (write_result(memory, data, results.data(), 8 * results.size()) != MemoryStatus::kOk) return false;
    count_computed();
    return true;
  }

 private:
  ElementType index_;
};

}  // namespace

std::unique_ptr<Effect> make_nonzero_effect(const KernelInfo& kernel, const KernelName& name,
                                            std::vector<ScalarSlot>* scalars) {
  const auto& arguments = name.template_arguments;
  std::string_view function = name.function;
  std::unique_ptr<Effect> made;
  if (function == "at::native::(anonymous namespace)::write_indices" && arguments.size() == 1) {
    if (arguments[0] == "long" && has_sizes(kernel, 6, {8, 200, 4, 8, 8, 8}))
      return std::make_unique<WriteIndicesEffect>(ElementType::kInt64, make_pointer_effect(kernel, name, scalars));
    if (arguments[0] == "int" && has_sizes(kernel, 4, {8, 100, 4, 4}))
      return std::make_unique<WriteIndicesEffect>(ElementType::kInt32, make_pointer_effect(kernel, name, scalars));
  }
  function = cub_kernel(function);
  if (function.empty()) return nullptr;
  if (function == "DeviceScanInitKernel" || function == "DeviceCompactInitKernel") {
    const bool counts = function == "DeviceCompactInitKernel";
    const uint32_t state = kernel.parameters.empty() ? 0 : kernel.parameters[0].size;
    const uint32_t count = !counts || arguments.size() != 2 ? 0
                           : arguments[1] == "int*"         ? 4
                           : arguments[1] == "long*"        ? 8
                                                            : 0;
    if ((counts && count == 0) || state == 0 || state % 8 != 0 || !has_sizes(kernel, counts ? 3 : 2, {0, 4}))
      return nullptr;
    make_pointer_effect(kernel, name, scalars);
    return std::make_unique<TileStateEffect>(state, count);
  }
  if (arguments.size() < 5) return nullptr;
  const auto is_sum = [](std::string_view type) {
    return type == "cuda::std::__4::plus<void>" || type == "at_cuda_detail::cub::Sum";
  };
  const auto has_identity = [&](std::initializer_list<uint32_t> sizes) { return has_sizes_but_last(kernel, sizes); };
  if (function == "DeviceReduceSingleTileKernel" && arguments[2] == "int*" && is_sum(arguments[4])) {
    const Tested elements = tested(arguments[1]);
    if (elements.type != ElementType::kNone && (has_identity({16, 8, 8, 1, 4, 1}) || has_identity({16, 8, 4, 1, 4, 1})))
      made = std::make_unique<CountEffect>(elements, kernel.parameters[2].size);
    if (arguments[1] == "int*" && has_identity({8, 8, 4, 1, 4, 1})) made = std::make_unique<SumPartsEffect>();
  } else if (function == "DeviceReduceKernel" && is_sum(arguments[3]) && arguments[4] == "int") {
    const Tested elements = tested(arguments[1]);
    if (elements.type != ElementType::kNone &&
        (has_identity({16, 8, 8, 72, 1, 1}) || has_identity({16, 8, 4, 40, 1, 1})))
      made = std::make_unique<CountEffect>(elements, kernel.parameters[2].size);
  } else if (function == "DeviceSelectSweepKernel" &&
             (template_base(arguments[1]).ends_with("::counting_iterator") ||
              template_base(arguments[1]).ends_with("::CountingInputIterator")) &&
             arguments[3] == "long*" && arguments[4] == "int*") {
    const Tested elements = tested(arguments[2]);
    const bool has_context = has_sizes(kernel, 11, {8, 16, 8, 8, 8, 1, 1, 4, 4, 40, 8});
    if (elements.type != ElementType::kNone &&
        (has_context || has_sizes_but_last(kernel, {8, 16, 8, 8, 8, 1, 1, 4, 4, 8})))
      made = std::make_unique<ListEffect>(elements, has_context);
  }
  if (made != nullptr) make_pointer_effect(kernel, name, scalars);
  return made;
}

}  // namespace maya::device
