// What a kernel launch does to the bytes of device memory: nothing computes on the device, so a launch makes what it
// may write unknown, except for small, well-known kernels (fill, arange, copy and cast, arithmetic, comparison...)
// whose inputs are all known: those are computed on the host (design.md section 3). Recognition is by demangled name
// and checked parameter layout; on any doubt: unknown.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "virtual_device/kernel.h"
#include "virtual_device/memory.h"

namespace maya::device {

// What is known of a kernel before any launch; built once per kernel, immutable.
struct KernelBehavior;
struct KernelBehaviorDeleter {
  void operator()(const KernelBehavior*) const;
};
using KernelBehaviorPtr = std::unique_ptr<const KernelBehavior, KernelBehaviorDeleter>;
KernelBehaviorPtr classify(const KernelInfo& kernel);

// Applies the launch's effects on `memory`. Thread safe.
void apply_effects(const KernelBehavior& behavior, const Launch& launch, Memory& memory);

// Where a word of the arguments stands that may be a pointer.
struct PointerSlot {
  uint32_t parameter;
  uint32_t offset_in_parameter;
};
// Whether a launch has no effect as long as nothing is known around certain pointers, and these. Of some kernels that
// shows at the first launch: ask again after that.
bool watches_pointers(const KernelBehavior& behavior);
const std::vector<PointerSlot>& watched_pointers(const KernelBehavior& behavior);
// Whether a launch may have effects. A few instructions a pointer: nearly all launches of a training step have none.
inline bool may_have_effects(const PointerSlot* slots, size_t count, void* const* arguments, const Memory& memory) {
  const Memory::KnownProbe probe(memory);
  for (size_t i = 0; i < count; ++i) {
    Address address;
    std::memcpy(&address, static_cast<const char*>(arguments[slots[i].parameter]) + slots[i].offset_in_parameter,
                sizeof address);
    if (probe.maybe_readable(address)) [[unlikely]]
      return true;
  }
  return false;
}

// The scalar arguments that decide how much work the launch is (element counts, sizes; never pointers, seeds or
// learning rates), as parameter slots found once by classify(): at most 8. They become part of the interned launch
// configuration.
struct ScalarSlot {
  uint16_t parameter;
  uint16_t offset_in_parameter;
  uint16_t absolute_offset;
  uint16_t size;
};
const std::vector<ScalarSlot>& shape_scalars(const KernelBehavior& behavior);

// Routing of tokens to experts: a choice of the k largest of at most kMostExperts unknown numbers in each row. Nothing
// is known of the result, and what programs count from it (tokens of each expert) is then nothing like a real step.
inline constexpr uint64_t kMostExperts = 512;
struct RoutingCall {
  std::string_view kernel;  // demangled, without arguments
  uint64_t tokens = 0;
  uint64_t experts = 0;
  uint64_t chosen = 0;  // experts a token
};
enum class Routing : uint8_t {
  kUnknown,   // results stay unknown
  kBalanced,  // token t is given the experts (t * chosen + j) mod experts, j < chosen; their weights stay unknown
};
// For the whole process, before the first launch. `observe` may be null; it is told the first routing call whose result
// stays unknown: there is no option for it, or the result has more than 320 MiB.
void set_routing(Routing routing, void (*observe)(const RoutingCall&));

// Programs check values by torch.all(): that parameters of a distribution are in their range, that boxes are none.
enum class Checks : uint8_t {
  kUnknown,  // the answer is unknown where a value is, and reads as false
  kPass,     // true where no value that is known says otherwise
};
// For the whole process, before the first launch.
void set_checks(Checks checks);

// Tells once that values of integers are no longer followed: those above 1 MiB have come to the most that are, in all.
// `observe` is given that sum; may be null.
void observe_large_limit(void (*observe)(uint64_t bytes));

// Counters for the report.
struct EffectCounters {
  uint64_t computed = 0;
  uint64_t made_unknown = 0;
  uint64_t large = 0;  // that may have taken milliseconds
};
EffectCounters effect_counters();
// The last of them alone. Inline, since every launch reads it.
extern std::atomic<uint64_t> large_computation_count;
inline uint64_t large_computations() { return large_computation_count.load(std::memory_order_relaxed); }

}  // namespace maya::device
