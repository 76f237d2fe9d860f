// Where the results of PyTorch's attention kernels end; they are unknown, but what lies behind them stays. Parameter
// structures of the public headers mem_eff_attention/kernel_forward.h (Params of fmha_cutlassF_*) and flash.h
// (Flash_fwd_params of flash_fwd_*), of PyTorch 2.15:
//
//   fmha_cutlassF_*: 64 result, 72 its accumulation, 80 log-sum-exp, 100 head size of values, 104 queries, 192 batch,
//   204 heads; the result is dense, rows of the log-sum-exp are padded to 32
//   flash_fwd_*: 96 heads, 112 result, 120 its parts, 128, 136, 144 strides of batch, row and head in elements, 152
//   probabilities, 160 log-sum-exp, 168 its parts, 176 batch, 180 queries, 192 head size, 204 head size of parts, 444
//   splits
#include <algorithm>

#include "virtual_device/values/effect.h"

namespace maya::device {

namespace {

constexpr uint32_t kFusedForward_bytes = 280, kFlashForward_bytes = 472;

// Saturates: sizes come from the program.
class Product {
 public:
  Product& times(int64_t factor) {
    const uint64_t positive = static_cast<uint64_t>(std::max<int64_t>(factor, 0));
    value_ = positive != 0 && value_ > kMost / positive ? kMost : value_ * positive;
    return *this;
  }
  uint64_t value() const { return value_; }

 private:
  static constexpr uint64_t kMost = uint64_t{1} << 48;
  uint64_t value_ = 1;
};

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
  return nullptr;
}

}  // namespace maya::device
