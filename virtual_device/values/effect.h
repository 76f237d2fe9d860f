// What one kernel does to memory when it is launched: one class a kernel
// family. Immutable, shared between threads.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "virtual_device/kernel.h"
#include "virtual_device/launch_effects.h"
#include "virtual_device/memory.h"
#include "virtual_device/once.h"
#include "virtual_device/values/kernel_name.h"
#include "virtual_device/values/number.h"

namespace maya::device {

// Results are computed for at most so many bytes of inputs and outputs.
inline constexpr uint64_t kMaximumComputed_bytes = 64 << 10;
// Where all of them are integers or truth values, for so many: masks, positions and lengths decide what programs do,
// and a mask of 4 x 8,192 positions has 256 KiB.
inline constexpr uint64_t kMaximumIntegers_bytes = 1 << 20;
// Larger ones only as long as all of them together stay below a bound: a mask of blocks for sparse attention is made
// once, of a truth value for each of 4,096 x 4,096 pairs of positions.
inline constexpr uint64_t kMaximumLarge_bytes = 320 << 20;
inline constexpr uint64_t kMaximumLargeSum_bytes = 4ull << 30;
// With balanced routing more: the user wants values of the choice of experts followed, for every layer of every step.
inline constexpr uint64_t kMaximumBalancedSum_bytes = 256ull << 30;
// Whether integers or truth values of so many bytes are computed. Counts them when they are large: ask once all inputs
// are known.
bool may_compute_integers(uint64_t bytes);
// The longest range of a type that is worked on, may_compute_integers() willing.
inline uint64_t most_bytes(ElementType type) {
  return is_floating(type) ? kMaximumComputed_bytes : kMaximumLarge_bytes;
}
// Whether results of that type and size are computed.
inline bool may_compute(ElementType type, uint64_t bytes) {
  return bytes <= kMaximumComputed_bytes || (!is_floating(type) && may_compute_integers(bytes));
}
// What follows may take milliseconds: the launch notes it as time of our own.
void count_long();

class Effect {
 public:
  virtual ~Effect() = default;
  virtual void apply(const Launch& launch, Memory& memory) const = 0;
  // watched_pointers(): true when all that it works on lies behind the pointers that are added. Where that shows only
  // at the first launch, watches() is true from then on.
  virtual bool watch(std::vector<PointerSlot>*) const { return false; }
  virtual bool watches() const { return true; }
};

// An effect that is known for some launches of a kernel, and that another one stands in for otherwise.
class ComputedEffect : public Effect {
 public:
  explicit ComputedEffect(std::unique_ptr<Effect> otherwise) : otherwise_(std::move(otherwise)) {}
  // Never inlined: the call through the base would carry it along.
  [[gnu::noinline]] void apply(const Launch& launch, Memory& memory) const final {
    if (!carry_out(launch, memory)) otherwise_->apply(launch, memory);
  }

 protected:
  // False when memory was left as it was. Must be quick when nothing is known around the kernel's inputs and outputs.
  virtual bool carry_out(const Launch& launch, Memory& memory) const = 0;
  bool watch_otherwise(std::vector<PointerSlot>* pointers) const { return otherwise_->watch(pointers); }

 private:
  std::unique_ptr<Effect> otherwise_;
};

// Reads a value at an offset of a parameter. The caller has checked the layout.
template <typename T>
T argument(const Launch& launch, uint32_t parameter, uint32_t offset = 0) {
  T value;
  std::memcpy(&value, static_cast<const uint8_t*>(launch.arguments[parameter]) + offset, sizeof(value));
  return value;
}

inline const uint8_t* argument_bytes(const Launch& launch, uint32_t parameter, uint32_t offset = 0) {
  return static_cast<const uint8_t*>(launch.arguments[parameter]) + offset;
}

// True when every byte of the range is known; cheap when nothing near is.
inline bool all_known(const Memory& memory, Address address, uint64_t bytes) {
  return bytes == 0 || (memory.in_device_range(address) && memory.maybe_known(address) && memory.known(address, bytes));
}

// Whether the kernel has parameters of exactly these sizes, in bytes.
inline bool has_sizes(const KernelInfo& kernel, std::initializer_list<uint32_t> sizes) {
  if (kernel.parameters.size() != sizes.size()) return false;
  size_t i = 0;
  for (const uint32_t size : sizes)
    if (kernel.parameters[i++].size != size) return false;
  return true;
}

// The same, but the last parameter may be missing: kernels of older libraries do not have it yet.
inline bool has_sizes_but_last(const KernelInfo& kernel, std::initializer_list<uint32_t> sizes) {
  const size_t count = kernel.parameters.size();
  if (count != sizes.size() && count + 1 != sizes.size()) return false;
  for (size_t i = 0; i < count; ++i)
    if (kernel.parameters[i].size != sizes.begin()[i]) return false;
  return true;
}

// Reads a range of which every byte is known into *out. False otherwise, and for more than `most` bytes.
inline bool read_known(const Memory& memory, Address address, uint64_t bytes, std::vector<uint8_t>* out,
                       uint64_t most = kMaximumComputed_bytes) {
  if (bytes > most || !all_known(memory, address, bytes)) return false;
  out->resize(bytes);
  return bytes == 0 || memory.read(out->data(), address, bytes) == MemoryStatus::kOk;
}

// Reads one number of device memory, of which every byte is known.
inline bool read_number(const Memory& memory, Address address, ElementType type, Number* number) {
  std::vector<uint8_t> bytes;
  if (!memory.in_device_range(address) || !read_known(memory, address, element_bytes(type), &bytes)) return false;
  *number = load_number(bytes.data(), type);
  return true;
}

// Writes a computed result. A single one goes in as a fill, which keeps it
// apart from known bytes behind it that are left over from an earlier use of
// the memory (see Memory::make_unknown_around_values).
inline MemoryStatus write_result(Memory& memory, Address address, const void* bytes, uint64_t count) {
  if (count == 0) return MemoryStatus::kOk;
  if (count > 4 || (count & (count - 1)) != 0) {
    if (count != 8) return memory.write(address, bytes, count);
    const MemoryStatus status = write_result(memory, address, bytes, 4);
    return status != MemoryStatus::kOk ? status
                                       : write_result(memory, address + 4, static_cast<const uint8_t*>(bytes) + 4, 4);
  }
  uint32_t value = 0;
  std::memcpy(&value, bytes, count);
  return memory.fill(address, value, static_cast<uint32_t>(count), 1);
}

// What set_routing() chose.
bool routing_is_balanced();
void report_unknown_routing(const RoutingCall& call);

// What set_checks() chose.
bool checks_pass();

// Counted for the report.
void count_computed();
void count_made_unknown();

// Makes the range unknown unless nothing near it is known.
inline void forget(Memory& memory, Address address, uint64_t bytes) {
  if (!memory.in_device_range(address) || !memory.maybe_known(address)) return;
  memory.make_unknown(address, bytes);
  count_made_unknown();
}

// What a kernel may have written behind an address that it got.
void forget_reach(const Launch& launch, Memory& memory, Address address);

// The families. Each returns null when the kernel is none of its own or its
// parameters are not laid out as expected; *scalars then is left alone.
std::unique_ptr<Effect> make_elementwise_effect(const KernelInfo& kernel, const KernelName& name,
                                                std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_index_effect(const KernelInfo& kernel, const KernelName& name,
                                          std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_reduction_effect(const KernelInfo& kernel, const KernelName& name,
                                              std::vector<ScalarSlot>* scalars);
// The next ones compute where they can, and otherwise are as make_pointer_effect(), from which their scalars come.
std::unique_ptr<Effect> make_concatenation_effect(const KernelInfo& kernel, const KernelName& name,
                                                  std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_gather_effect(const KernelInfo& kernel, const KernelName& name,
                                           std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_row_selection_effect(const KernelInfo& kernel, const KernelName& name,
                                                  std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_scan_effect(const KernelInfo& kernel, const KernelName& name,
                                         std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_nonzero_effect(const KernelInfo& kernel, const KernelName& name,
                                            std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_attention_effect(const KernelInfo& kernel, const KernelName& name,
                                              std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_random_effect(const KernelInfo& kernel, const KernelName& name,
                                           std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_unique_effect(const KernelInfo& kernel, const KernelName& name,
                                           std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_sorting_effect(const KernelInfo& kernel, const KernelName& name,
                                            std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_router_effect(const KernelInfo& kernel, const KernelName& name,
                                           std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_radix_sort_effect(const KernelInfo& kernel, const KernelName& name,
                                               std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_index_add_effect(const KernelInfo& kernel, const KernelName& name,
                                              std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_triangle_effect(const KernelInfo& kernel, const KernelName& name,
                                             std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_histogram_effect(const KernelInfo& kernel, const KernelName& name,
                                              std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_list_norm_effect(const KernelInfo& kernel, const KernelName& name,
                                              std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_tensor_list_effect(const KernelInfo& kernel, const KernelName& name,
                                                std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_loss_scale_effect(const KernelInfo& kernel, const KernelName& name,
                                               std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_row_effect(const KernelInfo& kernel, const KernelName& name,
                                        std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_engine_norm_effect(const KernelInfo& kernel, const KernelName& name,
                                                std::vector<ScalarSlot>* scalars);
std::unique_ptr<Effect> make_program_effect(const KernelInfo& kernel, const KernelName& name,
                                            std::vector<ScalarSlot>* scalars);
// Any kernel: what its pointers may reach.
std::unique_ptr<Effect> make_pointer_effect(const KernelInfo& kernel, const KernelName& name,
                                            std::vector<ScalarSlot>* scalars);

}  // namespace maya::device
