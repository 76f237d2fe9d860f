// The fused router of Transformer Engine (public source fused_router/fused_topk_with_score_function.cu): scores of each
// token's experts, the k largest of them, and a map of who was chosen.
//
//   fused_topk_with_score_function_forward_kernel, fused_topk_forward_simple_kernel<T, bias, [NVTERoutingMapFormat],
//   ..., [index], ...>(T const* logits, int tokens, int experts, int k, ..., T* probabilities, uint8_t* or bool* map,
//   ..., [index* chosen], ...)
//
// The map has a truth value for each token and expert, or, as format 1, a bit in rows of whole bytes. What it chooses
// among unknown scores is unknown, but for balanced routing (launch_effects.h).
#include <array>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/number.h"

namespace maya::device {

namespace {

constexpr std::string_view kRouter = "transformer_engine::fused_router::fused_topk_";
constexpr uint32_t kTokens = 1, kExperts = 2, kChosen = 3;  // places of parameters
constexpr uint32_t kNone = UINT32_MAX;

struct RouterLayout {
  uint32_t probabilities, map, indices = kNone;  // places of parameters
  uint32_t index_bytes = 0, probability_bytes = 0;
  bool bits = false;
};

class RouterEffect : public ComputedEffect {
 public:
  RouterEffect(const RouterLayout& layout, std::string name, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), layout_(layout), name_(std::move(name)) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    RoutingCall call;
    call.kernel = name_;
    call.tokens = static_cast<uint32_t>(argument<int32_t>(launch, kTokens));
    call.experts = static_cast<uint32_t>(argument<int32_t>(launch, kExperts));
    call.chosen = static_cast<uint32_t>(argument<int32_t>(launch, kChosen));
    if (call.chosen == 0 || call.chosen > call.experts || call.experts > kMostExperts) return false;
    if (routing_is_balanced() && balance(launch, memory, call)) return true;
    report_unknown_routing(call);
    return false;
  }

 private:
  bool balance(const Launch& launch, Memory& memory, const RoutingCall& call) const {
    const uint64_t row_bytes = layout_.bits ? (call.experts + 7) / 8 : call.experts;
    const uint64_t choices = uint64_t{call.tokens} * call.chosen, map_bytes = call.tokens * row_bytes;
    if (choices > kMaximumLarge_bytes / 8 || map_bytes > kMaximumLarge_bytes ||
        !may_compute_integers(std::max(8 * choices, map_bytes)))
      return false;
    std::vector<uint8_t> map(call.tokens * row_bytes), indices(call.tokens * call.chosen * layout_.index_bytes);
    for (uint64_t choice = 0; choice < call.tokens * call.chosen; ++choice) {
      const uint64_t expert = choice % call.experts;
      uint8_t* const row = map.data() + choice / call.chosen * row_bytes;
      if (layout_.bits)
        row[expert / 8] = static_cast<uint8_t>(row[expert / 8] | 1u << expert % 8);
      else
        row[expert] = 1;
      if (layout_.index_bytes != 0)
        std::memcpy(indices.data() + choice * layout_.index_bytes, &expert, layout_.index_bytes);
    }
    forget(memory, argument<Address>(launch, layout_.probabilities),
           call.tokens * call.experts * layout_.probability_bytes);
    // Either may be left out.
    bool written = false;
    const auto write = [&](uint32_t parameter, const std::vector<uint8_t>& bytes) {
      const Address address = parameter == kNone ? 0 : argument<Address>(launch, parameter);
      if (address == 0 || bytes.empty()) return true;
      written = true;
      return memory.in_device_range(address) &&
             write_result(memory, address, bytes.data(), bytes.size()) == MemoryStatus::kOk;
    };
    if (!write(layout_.map, map) || !write(layout_.indices, indices) || !written) return false;
    count_computed();
    return true;
  }

  RouterLayout layout_;
  std::string name_;
};

// The first parameter of one of these types, from `first` on.
template <size_t n>
uint32_t parameter_of(const KernelName& name, uint32_t first, const std::array<std::string_view, n>& types) {
  for (uint32_t i = first; i < name.parameters.size(); ++i)
    for (const std::string_view type : types)
      if (name.parameters[i] == type) return i;
  return kNone;
}

}  // namespace

std::unique_ptr<Effect> make_router_effect(const KernelInfo& kernel, const KernelName& name,
                                           std::vector<ScalarSlot>* scalars) {
  if (!name.function.starts_with(kRouter) || name.function.find("_forward_") == std::string::npos ||
      name.parameters.size() != kernel.parameters.size() || name.template_arguments.empty())
    return nullptr;
  for (const uint32_t i : {kTokens, kExperts, kChosen})
    if (i >= name.parameters.size() || name.parameters[i] != "int") return nullptr;
  RouterLayout layout;
  layout.map = parameter_of(name, kChosen, std::array<std::string_view, 2>{"unsigned char*", "bool*"});
  if (layout.map == kNone || layout.map == 0) return nullptr;
  layout.probabilities = layout.map - 1;
  layout.probability_bytes = element_bytes(element_type(name.template_arguments[0]));
  if (layout.probability_bytes == 0) return nullptr;
  for (const std::string& one : name.template_arguments) layout.bits = layout.bits || one == "(NVTERoutingMapFormat)1";
  // The scores go between the map and the indices, where there are any.
  const uint32_t behind = layout.map + 2;
  const std::string_view index = behind < name.parameters.size() ? name.parameters[behind] : std::string_view();
  layout.index_bytes = index == "short*" ? 2 : index == "int*" ? 4 : index == "long*" ? 8 : 0;
  if (layout.index_bytes != 0) layout.indices = behind;
  return std::make_unique<RouterEffect>(layout, name.function, make_pointer_effect(kernel, name, scalars));
}

}  // namespace maya::device
