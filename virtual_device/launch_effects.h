// What a kernel launch does to the bytes of device memory: nothing computes on the device, so a launch makes what it
// may write unknown, except for small, well-known kernels (fill, arange, copy and cast, arithmetic, comparison...)
// whose inputs are all known: those are computed on the host (design.md section 3). Recognition is by demangled name
// and checked parameter layout; on any doubt: unknown.
#pragma once

#include <cstdint>
#include <memory>
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

// Applies the launch's effects on `memory`. Steady-state cost must be a few nanoseconds when no byte near its pointers
// is known: scan the pointer slots found by classify(), ask Memory::maybe_known, done. Thread safe.
void apply_effects(const KernelBehavior& behavior, const Launch& launch, Memory& memory);

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

// Counters for the report.
struct EffectCounters {
  uint64_t computed = 0;
  uint64_t made_unknown = 0;
};
EffectCounters effect_counters();

}  // namespace maya::device
