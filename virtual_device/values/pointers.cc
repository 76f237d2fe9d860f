// Kernels about which nothing is known: whatever their pointers reach may have been written.
#include <algorithm>

#include "virtual_device/ptx/written.h"
#include "virtual_device/values/effect.h"
#include "virtual_device/values/structure_sizes.h"
#include "virtual_device/values/tensor_argument.h"

namespace maya::device {

namespace {

constexpr uint32_t kMaximumScalars = 8;
constexpr uint64_t kSmallAllocation_bytes = 2ull << 20;
// Frameworks keep many unrelated small tensors, such as a loss scale, in one small block. There a kernel is taken to
// write no more than this for each of its threads, rounded up to the block's granule.
constexpr uint64_t kWrittenPerThread_bytes = 64;
constexpr uint64_t kGranule_bytes = 512;

struct Accessor {
  uint32_t parameter;
  AccessorLayout layout;
};

class PointerEffect : public Effect {
 public:
  PointerEffect(const KernelInfo& kernel, std::vector<PointerSlot> words, std::vector<Accessor> accessors)
      : words_(std::move(words)),
        accessors_(std::move(accessors)),
        ptx_(kernel.ptx),
        parameters_(static_cast<uint32_t>(kernel.parameters.size())) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const Memory::KnownProbe probe(memory);
    void* const* const arguments = launch.arguments;
    for (const PointerSlot& word : words_) {
      Address address;
      std::memcpy(&address, static_cast<const uint8_t*>(arguments[word.parameter]) + word.offset_in_parameter,
                  sizeof address);
      if (!probe.maybe_known(address)) [[likely]]
        continue;
      if (ptx_ != nullptr && !writes(word.parameter)) continue;
      forget_reach(launch, memory, address);
    }
    for (const Accessor& accessor : accessors_) {
      const auto address = argument<Address>(launch, accessor.parameter);
      const auto bytes = reach_bytes(accessor.layout, argument_bytes(launch, accessor.parameter));
      if (bytes) {
        forget(memory, address, *bytes);
      } else {
        forget_reach(launch, memory, address);
      }
    }
  }

  bool watch(std::vector<PointerSlot>* pointers) const override {
    pointers->insert(pointers->end(), words_.begin(), words_.end());
    for (const Accessor& accessor : accessors_) pointers->push_back({accessor.parameter, 0});
    return true;
  }

 private:
  // Where the image shows the kernel's instructions, they tell.
  bool writes(uint32_t parameter) const {
    read_.run([this] {
      const ptx::Program* const program = ptx_->program();
      written_ =
          program == nullptr ? std::vector<bool>(parameters_, true) : ptx::written_parameters(*program, parameters_);
    });
    return written_[parameter];
  }

  std::vector<PointerSlot> words_;
  std::vector<Accessor> accessors_;  // written within their sizes
  const std::shared_ptr<const ptx::Source> ptx_;
  const uint32_t parameters_;
  mutable Once read_;
  mutable std::vector<bool> written_;  // by parameter
};

bool is_integer_type(std::string_view type) {
  return type == "int" || type == "unsigned int" || type == "long" || type == "unsigned long" || type == "long long" ||
         type == "unsigned long long";
}

// Whether a parameter may be a size, which decides how much work the launch is. Without types, as in Triton's kernels,
// 8 bytes are a pointer. Factors have other types, structures of one pointer too, and some kernels take seeds.
bool is_size(const KernelName& name, const KernelParameter& parameter, std::string_view type) {
  if (parameter.size != 4 && parameter.size != 8) return false;
  if (type.empty()) return parameter.size == 4;
  const auto named = [&](std::string_view part) { return name.function.find(part) != std::string::npos; };
  return is_integer_type(type) && !named("philox") && !named("seed");
}

// Structs that hold inputs only, in kernels of PyTorch whose output is another parameter: concatenation, and norms over
// lists of tensors. The text of an assertion is one too: behind its end are old bytes of the caller's stack, which may
// look like pointers.
bool holds_inputs(const KernelName& name, std::string_view type) {
  if (type == "at::native::Msg") return true;
  if (type.find("CatArrInputTensorMetadata<") != std::string_view::npos) return true;
  if (type.find("TensorListMetadata<") == std::string_view::npos || name.template_arguments.size() < 2) return false;
  const std::string_view functor = name.template_arguments[1];
  return functor.starts_with("at::native::LpNormFunctor<") || functor.starts_with("at::native::LpMaxFunctor<");
}

// Where sequences begin, which Transformer Engine's kernels of context parallelism only read, but not say so (public
// source fused_attn/context_parallel.cu). Only their first parameter is a list of integers that they write.
bool holds_lengths(const KernelName& name, std::string_view type, uint32_t parameter) {
  return parameter > 0 && type == "int*" && name.function.starts_with("transformer_engine::context_parallel::");
}

}  // namespace

[[gnu::noinline]] void forget_reach(const Launch& launch, Memory& memory, Address address) {
  Allocation allocation;
  if (!memory.in_device_range(address) || !memory.find(address, &allocation)) return;
  const uint64_t left = memory.bytes_to_end(address);
  if (allocation.bytes > kSmallAllocation_bytes) {
    memory.make_unknown(address, left);
  } else {
    const uint64_t threads = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2] * launch.block[0] *
                             launch.block[1] * launch.block[2];
    const uint64_t bytes = std::min(threads, kSmallAllocation_bytes) * kWrittenPerThread_bytes;
    const uint64_t reach =
        std::min(left, std::max(kGranule_bytes, (bytes + kGranule_bytes - 1) / kGranule_bytes * kGranule_bytes));
    memory.make_unknown_around_values(address, reach);
  }
  count_made_unknown();
}

std::unique_ptr<Effect> make_pointer_effect(const KernelInfo& kernel, const KernelName& name,
                                            std::vector<ScalarSlot>* scalars) {
  std::vector<PointerSlot> words;
  std::vector<Accessor> accessors;
  const bool typed = name.parameters.size() == kernel.parameters.size();
  for (uint32_t i = 0; i < kernel.parameters.size(); ++i) {
    const KernelParameter& parameter = kernel.parameters[i];
    const std::string_view type = typed ? std::string_view(name.parameters[i]) : std::string_view();
    if (scalars->size() < kMaximumScalars && is_size(name, parameter, type))
      scalars->push_back({static_cast<uint16_t>(i), 0, static_cast<uint16_t>(parameter.offset),
                          static_cast<uint16_t>(parameter.size)});
    if (is_pointer_to_const(type) || is_tensor_of_const(type) || holds_inputs(name, type) ||
        holds_lengths(name, type, i))
      continue;
    if (const auto layout = accessor_layout(parameter, type)) {
      accessors.push_back({i, *layout});
      continue;
    }
    // Pointers are aligned, also inside structs: only words at multiples of 8 of the parameter block can be one.
    const uint32_t first = (8 - parameter.offset % 8) % 8;
    for (uint32_t offset = first; offset + 8 <= parameter.size; offset += 8) words.push_back({i, offset});
  }
  add_structure_sizes(kernel, name, kMaximumScalars, scalars);
  return std::make_unique<PointerEffect>(kernel, std::move(words), std::move(accessors));
}

}  // namespace maya::device
