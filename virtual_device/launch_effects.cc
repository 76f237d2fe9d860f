#include "virtual_device/launch_effects.h"

#include <atomic>

#include "virtual_device/values/effect.h"

namespace maya::device {

std::atomic<uint64_t> large_computation_count{0};

struct KernelBehavior {
  std::unique_ptr<Effect> effect;  // never null
  std::vector<ScalarSlot> scalars;
  std::vector<PointerSlot> pointers;
  bool watches = false;  // `pointers` is all that it works on
};

namespace {

std::atomic<uint64_t> computed{0};
std::atomic<uint64_t> made_unknown{0};
std::atomic<uint64_t> large_bytes{0};
std::atomic<bool> balanced_routing{false};
std::atomic<bool> passing_checks{false};
std::atomic<void (*)(const RoutingCall&)> routing_observer{nullptr};
std::atomic<void (*)(uint64_t)> large_limit_observer{nullptr};

using EffectMaker = std::unique_ptr<Effect> (*)(const KernelInfo&, const KernelName&, std::vector<ScalarSlot>*);
// In this order; the last takes every kernel.
constexpr EffectMaker kMakers[] = {
    make_elementwise_effect,   make_index_effect,       make_reduction_effect,     make_list_norm_effect,
    make_tensor_list_effect,   make_loss_scale_effect,  make_concatenation_effect, make_gather_effect,
    make_row_selection_effect, make_scan_effect,        make_nonzero_effect,       make_unique_effect,
    make_sorting_effect,       make_radix_sort_effect,  make_index_add_effect,     make_triangle_effect,
    make_histogram_effect,     make_random_effect,      make_router_effect,        make_attention_effect,
    make_row_effect,           make_engine_norm_effect, make_program_effect,       make_pointer_effect};

// Offsets of scalar slots are those of the parameter until here.
void add_absolute_offsets(const KernelInfo& kernel, std::vector<ScalarSlot>* scalars) {
  for (ScalarSlot& slot : *scalars)
    slot.absolute_offset = static_cast<uint16_t>(kernel.parameters[slot.parameter].offset + slot.offset_in_parameter);
}

// Whoever observes is told and gone. A look before the exchange, since this may be asked at every launch.
template <typename Parameter, typename Told>
void tell_once(std::atomic<void (*)(Parameter)>* observer, const Told& what) {
  if (observer->load(std::memory_order_relaxed) == nullptr) return;
  if (const auto observe = observer->exchange(nullptr); observe != nullptr) observe(what);
}

}  // namespace

void count_computed() { computed.fetch_add(1, std::memory_order_relaxed); }
void count_made_unknown() { made_unknown.fetch_add(1, std::memory_order_relaxed); }

bool may_compute_integers(uint64_t bytes) {
  if (bytes <= kMaximumIntegers_bytes) {
    if (bytes > kMaximumComputed_bytes) count_long();
    return true;
  }
  if (bytes > kMaximumLarge_bytes) return false;
  const uint64_t most = routing_is_balanced() ? kMaximumBalancedSum_bytes : kMaximumLargeSum_bytes;
  if (large_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes > most) {
    large_bytes.fetch_sub(bytes, std::memory_order_relaxed);
    tell_once(&large_limit_observer, most);
    return false;
  }
  count_long();
  return true;
}
void count_long() { large_computation_count.fetch_add(1, std::memory_order_relaxed); }

bool routing_is_balanced() { return balanced_routing.load(std::memory_order_relaxed); }
void report_unknown_routing(const RoutingCall& call) { tell_once(&routing_observer, call); }
void set_routing(Routing routing, void (*observe)(const RoutingCall&)) {
  balanced_routing.store(routing == Routing::kBalanced, std::memory_order_relaxed);
  routing_observer.store(observe, std::memory_order_relaxed);
}

void observe_large_limit(void (*observe)(uint64_t)) { large_limit_observer.store(observe, std::memory_order_relaxed); }

bool checks_pass() { return passing_checks.load(std::memory_order_relaxed); }
void set_checks(Checks checks) { passing_checks.store(checks == Checks::kPass, std::memory_order_relaxed); }

void KernelBehaviorDeleter::operator()(const KernelBehavior* behavior) const { delete behavior; }

KernelBehaviorPtr classify(const KernelInfo& kernel) {
  const KernelName name = parse_kernel_name(kernel.name);
  auto behavior = std::make_unique<KernelBehavior>();
  for (const EffectMaker make : kMakers) {
    behavior->scalars.clear();
    behavior->effect = make(kernel, name, &behavior->scalars);
    if (behavior->effect != nullptr) break;
  }
  add_absolute_offsets(kernel, &behavior->scalars);
  behavior->watches = behavior->effect->watch(&behavior->pointers);
  return KernelBehaviorPtr(behavior.release());
}

void apply_effects(const KernelBehavior& behavior, const Launch& launch, Memory& memory) {
  if (launch.arguments != nullptr) behavior.effect->apply(launch, memory);
}

const std::vector<ScalarSlot>& shape_scalars(const KernelBehavior& behavior) { return behavior.scalars; }

bool watches_pointers(const KernelBehavior& behavior) { return behavior.watches && behavior.effect->watches(); }
const std::vector<PointerSlot>& watched_pointers(const KernelBehavior& behavior) { return behavior.pointers; }

EffectCounters effect_counters() {
  return {computed.load(std::memory_order_relaxed), made_unknown.load(std::memory_order_relaxed), large_computations()};
}

}  // namespace maya::device
