// PyTorch's foreach and fused optimizer kernels: multi_tensor_apply_kernel<Metadata, F, args...>(Metadata, F, args...).
// Blocks go through the tensors in order, so the last block's tensor is the last one. A block takes 65,536 elements; a
// tensor that is small enough to be computed is one block's.
#include <algorithm>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/tensor_list_layout.h"
#include "virtual_device/values/tensor_list_operation.h"

namespace maya::device {

namespace {

constexpr uint32_t kUnknownElement_bytes = 8;

// What of the lists is written.
struct Written {
  uint32_t lists = 0;  // one bit each
  uint32_t element_bytes = kUnknownElement_bytes;
};

// One tensor of every list.
struct Row {
  Address addresses[kMaximumTensorLists];
  uint64_t elements;
};

class TensorListEffect : public Effect {
 public:
  TensorListEffect(const TensorListLayout& layout, const Written& written, std::optional<TensorListOperation> operation)
      : layout_(layout), written_(written), operation_(operation) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const uint32_t last_block = std::clamp(launch.grid[0], 1u, layout_.blocks) - 1;
    const uint32_t tensors = std::min(layout_.tensor_of(launch, last_block) + 1, layout_.tensors);
    for (uint32_t i = 0; i < tensors; ++i) {
      Row row;
      for (uint32_t list = 0; list < layout_.lists; ++list) row.addresses[list] = layout_.address_of(launch, list, i);
      row.elements = static_cast<uint64_t>(std::max<int64_t>(layout_.elements_of(launch, i), 0));
      if (operation_ && may_compute(row, memory) && compute(launch, memory, row, i)) {
        count_computed();
        continue;
      }
      for (uint32_t list = 0; list < layout_.lists; ++list)
        if ((written_.lists >> list & 1) != 0)
          forget(memory, row.addresses[list], row.elements * written_.element_bytes);
    }
  }

 private:
  bool may_compute(const Row& row, const Memory& memory) const {
    if (row.elements == 0 || row.elements > kMaximumComputed_bytes / written_.element_bytes) return false;
    for (uint32_t list = 0; list < operation_->inputs; ++list)
      if (!memory.in_device_range(row.addresses[list]) || !memory.maybe_known(row.addresses[list])) return false;
    return memory.in_device_range(row.addresses[operation_->result]);
  }

  // The constant of tensor `index`; false when it is unknown.
  bool constant(const Launch& launch, const Memory& memory, uint32_t index, Number* value) const {
    const ElementType type = operation_->functor.compute_type, element = operation_->functor.input_types[0];
    switch (operation_->constant) {
      case TensorListOperation::Constant::kNone:
        return true;
      case TensorListOperation::Constant::kArgument:
        *value = load_number(argument_bytes(launch, 3), type);
        return true;
      case TensorListOperation::Constant::kPerTensor:
        *value = load_number(argument_bytes(launch, 0, layout_.scalars + element_bytes(type) * index), type);
        return true;
      case TensorListOperation::Constant::kDeviceArgument: {
        std::vector<uint8_t> bytes;
        if (!read_known(memory, argument<Address>(launch, 3), element_bytes(element), &bytes)) return false;
        const Number scalar = load_number(bytes.data(), element), factor = load_number(argument_bytes(launch, 4), type);
        *value = scalar.floating ? Number::of(scalar.real * factor.real)
                                 : Number::of(static_cast<int64_t>(static_cast<uint64_t>(scalar.integer) *
                                                                   static_cast<uint64_t>(factor.integer)));
        *value = convert_number(*value, type);
        return true;
      }
    }
    return false;
  }

  bool compute(const Launch& launch, Memory& memory, const Row& row, uint32_t index) const {
    const TensorListOperation& operation = *operation_;
    const ElementType input = operation.functor.input_types[0], result = operation.functor.result_type;
    std::vector<uint8_t> values[kMaximumInputs];
    for (uint32_t list = 0; list < operation.inputs; ++list) {
      const uint64_t count = operation.second_is_scalar && list == 1 ? 1 : row.elements;
      if (!read_known(memory, row.addresses[list], count * element_bytes(input), &values[list])) return false;
    }
    Number fixed;
    if (!constant(launch, memory, index, &fixed)) return false;
    std::vector<uint8_t> results(row.elements * element_bytes(result));
    if (operation.checks_finite) {
      if (!unscale(launch, memory, values[0], &results)) return false;
    } else if (operation.inputs != 0) {
      if (!evaluate(values, fixed, row.elements, &results)) return false;
    }
    return write_result(memory, row.addresses[operation.result], results.data(), results.size()) == MemoryStatus::kOk;
  }

  bool evaluate(const std::vector<uint8_t>* values, Number fixed, uint64_t count, std::vector<uint8_t>* results) const {
    const TensorListOperation& operation = *operation_;
    const Functor& functor = operation.functor;
    const uint32_t in = element_bytes(functor.input_types[0]), out = element_bytes(functor.result_type);
    uint8_t object[8] = {};
    const bool is_operand = operation.role == TensorListOperation::Role::kOperand;
    const Number one = fixed.floating || is_floating(functor.compute_type) ? Number::of(1.0) : Number::of(int64_t{1});
    Number scale = operation.role == TensorListOperation::Role::kOperand ? one : fixed;
    if (operation.negates) scale = scale.floating ? Number::of(-scale.real) : Number::of(-scale.integer);
    store_number(scale, functor.compute_type, object);
    for (uint64_t k = 0; k < count; ++k) {
      Number operands[kMaximumInputs], result;
      for (uint32_t list = 0; list < operation.inputs; ++list) {
        const uint64_t at = operation.second_is_scalar && list == 1 ? 0 : k;
        operands[list] = load_number(values[list].data() + at * in, functor.input_types[0]);
      }
      if (operation.constant != TensorListOperation::Constant::kNone && is_operand) operands[operation.inputs] = fixed;
      // An operation other than a sum scales its second operand itself.
      if (operation.role == TensorListOperation::Role::kFactor && functor.operation != ElementOperation::kAddScaled)
        operands[1] = operands[1].floating
                          ? Number::of(operands[1].real * fixed.real)
                          : Number::of(static_cast<int64_t>(static_cast<uint64_t>(operands[1].integer) *
                                                            static_cast<uint64_t>(fixed.integer)));
      if (!apply_functor(functor, object, operands, &result) || !converts_to(result, functor.result_type)) return false;
      store_number(result, functor.result_type, results->data() + k * out);
    }
    return true;
  }

  // GradScaler's check: sets *found when a value is not finite, and multiplies
  // by *factor.
  bool unscale(const Launch& launch, Memory& memory, const std::vector<uint8_t>& values,
               std::vector<uint8_t>* results) const {
    const ElementType type = operation_->functor.input_types[0];
    const auto found = argument<Address>(launch, 2), factor_address = argument<Address>(launch, 2, 8);
    float factor = 0;
    if (!all_known(memory, factor_address, sizeof(factor)) ||
        memory.read(&factor, factor_address, sizeof(factor)) != MemoryStatus::kOk)
      return false;
    const uint32_t size = element_bytes(type);
    bool all_finite = true;
    for (size_t at = 0; at < values.size(); at += size) {
      const double value = convert_number(load_number(values.data() + at, type), operation_->functor.compute_type).real;
      all_finite = all_finite && value - value == 0;
      store_number(convert_number(Number::of(factor == 1 ? value : value * factor), operation_->functor.compute_type),
                   type, results->data() + at);
    }
    if (all_finite) return true;
    const float one = 1;
    return memory.in_device_range(found) && write_result(memory, found, &one, sizeof(one)) == MemoryStatus::kOk;
  }

  TensorListLayout layout_;
  Written written_;
  std::optional<TensorListOperation> operation_;
};

// "Name<..., 3>" -> 3; 0 when it is no small number.
uint32_t small_number(std::string_view text) {
  return text.size() == 1 && text[0] >= '0' && text[0] <= '9' ? static_cast<uint32_t>(text[0] - '0') : 0;
}

}  // namespace

std::unique_ptr<Effect> make_tensor_list_effect(const KernelInfo& kernel, const KernelName& name,
                                                std::vector<ScalarSlot>*) {
  if (name.function != "at::native::(anonymous namespace)::multi_tensor_apply_kernel" &&
      name.function != "at::native::multi_tensor_apply_kernel")
    return nullptr;
  if (name.template_arguments.size() < 2 || kernel.parameters.empty()) return nullptr;
  const auto layout = tensor_list_layout(name.template_arguments[0], kernel.parameters[0].size);
  if (!layout) return nullptr;
  Written written{(1u << layout->lists) - 1, kUnknownElement_bytes};
  const std::string_view function = name.template_arguments[1];
  const auto arguments = template_arguments(function);
  const std::string_view base = template_base(function);
  // Norms read their list and write to an argument.
  if (base.find("LpNorm") != std::string_view::npos || base.find("LpMax") != std::string_view::npos) return nullptr;
  // Functors over lists end in depth, inputs, index of the list with results.
  if (!arguments.empty()) {
    if (const uint32_t bytes = element_bytes(element_type(arguments[0]))) written.element_bytes = bytes;
  }
  const bool has_result_index =
      base.ends_with("Functor") && arguments.size() >= 4 && base.find("Fused") == std::string_view::npos;
  if (has_result_index && arguments.back().size() == 1) written.lists = 1u << small_number(arguments.back());
  auto operation = parse_tensor_list_operation(kernel, name, layout->lists);
  if (operation) {
    const bool scalars_match =
        operation->constant != TensorListOperation::Constant::kPerTensor ||
        element_type(template_arguments(name.template_arguments[0])[0]) == operation->functor.compute_type;
    if (!scalars_match) operation.reset();
  }
  return std::make_unique<TensorListEffect>(*layout, written, operation);
}

}  // namespace maya::device
