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
// strides of query, head, batch and split in elements; behind it, further where the heads of a group are packed, the
// parts of the result that splits make, the log-sum-exp (strides of head, batch and split) and its parts. All other
// pointers are read: lengths, page tables, queries, keys and values. FlashAttnFwdCombine (flash_fwd_combine_kernel.h),
// which puts the parts together: 8 parts, 16 queries, head size, splits, heads, batch, 72 their log-sum-exp, 80 sizes,
// 120 result, 128 strides of query, head and batch, 152 log-sum-exp, 160 strides of head and batch, 232 a counter.
#include <algorithm>
#include <optional>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/product.h"

namespace maya::device {

namespace {

constexpr uint32_t kFusedForward_bytes = 280, kFlashForward_bytes = 472, kCombine_bytes = 288;

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

// Elements from a tensor's first to behind its last, by sizes and strides; the innermost dimension has stride 1.
struct Dimension {
  int32_t size;
  int64_t stride;
};
uint64_t extent(int32_t innermost, std::initializer_list<Dimension> dimensions) {
  auto elements = static_cast<uint64_t>(std::max(innermost, 0));
  for (const auto& [size, stride] : dimensions) elements += Product().times(size - 1).times(stride).value();
  return elements;
}

constexpr int32_t kMostHead = 512, kMostSplits = 256;

class PackedFlashAttentionEffect : public ComputedEffect {
 public:
  PackedFlashAttentionEffect(uint32_t bytes, bool packed, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), bytes_(bytes), layout_(packed ? kPacked : kPlain) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    const auto result = find_result(launch, memory);
    if (!result) return false;
    const auto size = [&](uint32_t i) { return argument<int32_t>(launch, 0, *result + 8 + 4 * i); };
    const int32_t queries = size(0), head = size(1), heads = size(2), batch = size(3), splits = size(4);
    const auto step = [&](uint32_t of, uint32_t i) { return stride(launch, *result + of, i); };
    forget(memory, argument<Address>(launch, 0, *result),
           extent(head, {{queries, step(kStrides, 0)}, {heads, step(kStrides, 1)}, {batch, step(kStrides, 2)}}) *
               sizeof(uint16_t));
    forget(memory, argument<Address>(launch, 0, *result + layout_.log_sums),
           extent(queries, {{heads, step(layout_.log_sums + 8, 0)}, {batch, step(layout_.log_sums + 8, 1)}}) *
               sizeof(float));
    if (splits == 1) return true;
    const uint32_t parts = layout_.parts + 8, log_sums = layout_.part_log_sums + 8;
    forget(
        memory, argument<Address>(launch, 0, *result + layout_.parts),
        extent(
            head,
            {{queries, step(parts, 0)}, {heads, step(parts, 1)}, {batch, step(parts, 2)}, {splits, step(parts, 3)}}) *
            sizeof(float));
    forget(memory, argument<Address>(launch, 0, *result + layout_.part_log_sums),
           extent(queries, {{heads, step(log_sums, 0)}, {batch, step(log_sums, 1)}, {splits, step(log_sums, 2)}}) *
               sizeof(float));
    return true;
  }

 private:
  // Where pointers are behind the one to the result, each before its strides.
  struct Layout {
    uint32_t parts, log_sums, part_log_sums, end;
  };
  static constexpr Layout kPlain{120, 192, 264, 320}, kPacked{128, 208, 296, 360};
  static constexpr uint32_t kStrides = 32;

  static int64_t stride(const Launch& launch, uint32_t at, uint32_t i) {
    return argument<int64_t>(launch, 0, at + 8 * i);
  }

  std::optional<uint32_t> find_result(const Launch& launch, const Memory& memory) const {
    for (uint32_t at = 0; at + layout_.end <= bytes_; at += 8) {
      if (!memory.in_device_range(argument<Address>(launch, 0, at))) continue;
      int32_t sizes[5];
      std::memcpy(sizes, argument_bytes(launch, 0, at + 8), sizeof sizes);
      const auto [queries, head, heads, batch, splits] = sizes;
      if (queries <= 0 || head <= 0 || head > kMostHead || head % 8 != 0 || heads <= 0 || batch <= 0 || splits <= 0 ||
          splits > kMostSplits)
        continue;
      const int64_t row = stride(launch, at + kStrides, 0), step = stride(launch, at + kStrides, 1);
      if (step < head || row < head || (row < heads * step && step < queries * row)) continue;
      // Sums follow each other query by query, and head by head.
      if (memory.in_device_range(argument<Address>(launch, 0, at + layout_.log_sums)) &&
          stride(launch, at + layout_.log_sums + 8, 0) == queries &&
          (splits == 1 || memory.in_device_range(argument<Address>(launch, 0, at + layout_.parts))))
        return at;
    }
    return std::nullopt;
  }

  const uint32_t bytes_;
  const Layout layout_;
};

class FlashCombineEffect : public ComputedEffect {
 public:
  FlashCombineEffect(uint32_t element, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), element_(element) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    int32_t sizes[5], sums[4];
    std::memcpy(sizes, argument_bytes(launch, 0, 16), sizeof sizes);
    std::memcpy(sums, argument_bytes(launch, 0, 80), sizeof sums);
    const auto [queries, head, splits, heads, batch] = sizes;
    if (queries <= 0 || head <= 0 || head > kMostHead || splits <= 0 || splits > kMostSplits || heads <= 0 ||
        batch <= 0 || sums[0] != queries || sums[1] != splits || sums[2] != heads || sums[3] != batch)
      return false;
    const auto number = [&](uint32_t offset) { return argument<int64_t>(launch, 0, offset); };
    forget(memory, argument<Address>(launch, 0, 120),
           extent(head, {{queries, number(128)}, {heads, number(136)}, {batch, number(144)}}) * element_);
    forget(memory, argument<Address>(launch, 0, 152),
           extent(queries, {{heads, number(160)}, {batch, number(168)}}) * sizeof(float));
    forget(memory, argument<Address>(launch, 0, kCounter), sizeof(int32_t));
    return true;
  }

 private:
  static constexpr uint32_t kCounter = 232;
  const uint32_t element_;
};

std::unique_ptr<Effect> make_flash3_effect(const KernelInfo& kernel, const KernelName& name,
                                           std::vector<ScalarSlot>* scalars) {
  const std::string_view body = name.template_arguments[0];
  const uint32_t bytes = kernel.parameters[0].size;
  // <tile, cluster, element, architecture, threads, variable lengths, packed, ...>
  constexpr size_t kPacked = 6;
  const auto epilogue = nested_arguments(body, "flash::CollectiveEpilogueFwd");
  if (body.find("flash::FlashAttnFwdSm90<") != std::string_view::npos && epilogue.size() > kPacked)
    return std::make_unique<PackedFlashAttentionEffect>(bytes, epilogue[kPacked] == "true",
                                                        make_pointer_effect(kernel, name, scalars));
  // <tile, log2 of the parts, threads, alignment, even, variable lengths, element, ...>
  constexpr size_t kElement = 6;
  const auto combine = nested_arguments(body, "flash::FlashAttnFwdCombine");
  if (bytes == kCombine_bytes && combine.size() > kElement)
    return std::make_unique<FlashCombineEffect>(combine[kElement] == "float" ? 4u : 2u,
                                                make_pointer_effect(kernel, name, scalars));
  return nullptr;
}

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
  if (name.function == "cutlass::device_kernel" && !name.template_arguments.empty())
    return make_flash3_effect(kernel, name, scalars);
  return nullptr;
}

}  // namespace maya::device
