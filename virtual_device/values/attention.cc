// Where the results of PyTorch's attention kernels end; they are unknown, but what lies behind them stays. Parameter
// structures of the public headers mem_eff_attention/kernel_forward.h (Params of fmha_cutlassF_*) and flash.h
// (Flash_fwd_params of flash_fwd_*), of PyTorch 2.15:
//
//   fmha_cutlassF_*: 64 result, 72 its accumulation, 80 log-sum-exp, 100 head size of values, 104 queries, 192 batch,
//   204 heads; the result is dense, rows of the log-sum-exp are padded to 32
//   flash_fwd_*: 96 heads, 112 result, 120 its parts, 128, 136, 144 strides of batch, row and head in elements, 152
//   probabilities, 160 log-sum-exp, 168 its parts, 176 batch, 180 queries, 192 head size, 204 head size of parts, 444
//   splits
//
// FlashAttention 3 (cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<...>>>, public header
// hopper/epilogue_fwd.hpp) packs what its parts need; where the epilogue begins depends on the template. It is found by
// what it holds: the result, then five 32-bit sizes (queries, head size, heads, batch, splits) and from 32 on the
// strides of query, head, batch and split in elements; behind it the log-sum-exp, followed by the number of queries.
// All other pointers are read: lengths, page tables, queries, keys and values.
#include <algorithm>
#include <optional>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/product.h"

namespace maya::device {

namespace {

constexpr uint32_t kFusedForward_bytes = 280, kFlashForward_bytes = 472;

class FusedAttentionEffect : public Effect {
 public:
  explicit FusedAttentionEffect(uint32_t element) : element_(element) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const auto head = argument<int32_t>(launch, 0, 100), queries = argument<int32_t>(launch, 0, 104),
               batch = argument<int32_t>(launch, 0, 192), heads = argument<int32_t>(launch, 0, 204);
    const uint64_t elements = Product().times(batch).times(queries).times(heads).times(head).value();
    constexpr int64_t kRowUnit = 32;
    const int64_t padded = (int64_t{queries} + kRowUnit - 1) / kRowUnit * kRowUnit;
    forget(memory, argument<Address>(launch, 0, 64), elements * element_);
    forget(memory, argument<Address>(launch, 0, 72), elements * sizeof(float));
    forget(memory, argument<Address>(launch, 0, 80),
           Product().times(batch).times(heads).times(padded).times(sizeof(float)).value());
  }

 private:
  uint32_t element_;
};

class FlashAttentionEffect : public ComputedEffect {
 public:
  using ComputedEffect::ComputedEffect;

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    const auto heads = argument<int32_t>(launch, 0, 96), batch = argument<int32_t>(launch, 0, 176),
               queries = argument<int32_t>(launch, 0, 180), head = argument<int32_t>(launch, 0, 192),
               part_head = argument<int32_t>(launch, 0, 204), splits = argument<int32_t>(launch, 0, 444);
    const auto batch_step = argument<int64_t>(launch, 0, 128), row_step = argument<int64_t>(launch, 0, 136),
               head_step = argument<int64_t>(launch, 0, 144);
    const bool packed = batch_step == 0 && batch > 1;  // sequences of different lengths, one behind the other
    if (packed || argument<Address>(launch, 0, 152) != 0 || heads <= 0 || batch <= 0 || queries <= 0 || head <= 0)
      return false;
    constexpr uint32_t kElement_bytes = 2;
    const uint64_t elements = Product().times(batch - 1).times(batch_step).value() +
                              Product().times(queries - 1).times(row_step).value() +
                              Product().times(heads - 1).times(head_step).value() + static_cast<uint64_t>(head);
    const uint64_t rows = Product().times(batch).times(heads).times(queries).times(sizeof(float)).value();
    const int64_t parts = std::max(splits, 1);
    forget(memory, argument<Address>(launch, 0, 112), elements * kElement_bytes);
    forget(memory, argument<Address>(launch, 0, 160), rows);
    const uint64_t row_parts = Product().times(static_cast<int64_t>(rows)).times(parts).value();
    forget(memory, argument<Address>(launch, 0, 168), row_parts);
    forget(memory, argument<Address>(launch, 0, 120),
           Product().times(static_cast<int64_t>(row_parts)).times(part_head).value());
    return true;
  }
};

class PackedFlashAttentionEffect : public ComputedEffect {
 public:
  PackedFlashAttentionEffect(uint32_t bytes, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), bytes_(bytes) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    const auto result = find_result(launch, memory);
    if (!result) return false;
    const auto size = [&](uint32_t i) { return argument<int32_t>(launch, 0, *result + 8 + 4 * i); };
    const int32_t queries = size(0), head = size(1), heads = size(2), batch = size(3);
    const auto log_sums = find_log_sums(launch, memory, *result, queries);
    if (!log_sums) return false;
    const uint64_t elements = reach(queries, stride(launch, *result, 0)) + reach(heads, stride(launch, *result, 1)) +
                              reach(batch, stride(launch, *result, 2)) + static_cast<uint64_t>(head);
    forget(memory, argument<Address>(launch, 0, *result), elements * sizeof(uint16_t));
    forget(memory, argument<Address>(launch, 0, *log_sums),
           Product().times(queries).times(heads).times(batch).times(sizeof(float)).value());
    return true;
  }

 private:
  static constexpr uint32_t kSizes_bytes = 64;
  static constexpr int32_t kMostHead = 512;

  static int64_t stride(const Launch& launch, uint32_t at, uint32_t i) {
    return argument<int64_t>(launch, 0, at + 32 + 8 * i);
  }
  static uint64_t reach(int32_t count, int64_t step) { return Product().times(count - 1).times(step).value(); }

  std::optional<uint32_t> find_result(const Launch& launch, const Memory& memory) const {
    for (uint32_t at = 0; at + kSizes_bytes <= bytes_; at += 8) {
      if (!memory.in_device_range(argument<Address>(launch, 0, at))) continue;
      int32_t sizes[5];
      std::memcpy(sizes, argument_bytes(launch, 0, at + 8), sizeof sizes);
      const auto [queries, head, heads, batch, splits] = sizes;
      // Parts of several splits are added up by another kernel.
      if (queries <= 0 || head <= 0 || head > kMostHead || head % 8 != 0 || heads <= 0 || batch <= 0 || splits != 1)
        continue;
      const int64_t row = stride(launch, at, 0), step = stride(launch, at, 1);
      if (step >= head && row >= head && (row >= heads * step || step >= queries * row)) return at;
    }
    return std::nullopt;
  }

  std::optional<uint32_t> find_log_sums(const Launch& launch, const Memory& memory, uint32_t result,
                                        int32_t queries) const {
    for (uint32_t at = result + kSizes_bytes; at + 16 <= bytes_; at += 8)
      if (memory.in_device_range(argument<Address>(launch, 0, at)) && argument<int32_t>(launch, 0, at + 8) == queries)
        return at;
    return std::nullopt;
  }

  const uint32_t bytes_;
};

}  // namespace

std::unique_ptr<Effect> make_attention_effect(const KernelInfo& kernel, const KernelName& name,
                                              std::vector<ScalarSlot>* scalars) {
  if (kernel.parameters.size() != 1) return nullptr;
  const uint32_t bytes = kernel.parameters[0].size;
  if (name.function.starts_with("fmha_cutlassF_") && bytes == kFusedForward_bytes) {
    make_pointer_effect(kernel, name, scalars);
    return std::make_unique<FusedAttentionEffect>(name.function.starts_with("fmha_cutlassF_f32_") ? 4u : 2u);
  }
  if (name.function.starts_with("pytorch_flash::flash_fwd_") && bytes == kFlashForward_bytes)
    return std::make_unique<FlashAttentionEffect>(make_pointer_effect(kernel, name, scalars));
  if (name.function == "cutlass::device_kernel" && !name.template_arguments.empty() &&
      name.template_arguments[0].find("flash::FlashAttnFwdSm90<") != std::string::npos)
    return std::make_unique<PackedFlashAttentionEffect>(bytes, make_pointer_effect(kernel, name, scalars));
  return nullptr;
}

}  // namespace maya::device
