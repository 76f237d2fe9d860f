// PyTorch's kernels behind torch.amp.GradScaler.
//
//   amp_update_scale_cuda_kernel(float* scale, int* growth_tracker, const float* found_inf, double growth, double
//   backoff, int interval): found_inf set: scale *= backoff, tracker = 0; else tracker + 1, and when that is the
//   interval: scale *= growth where finite, tracker = 0.
//
//   The check of gradients sets found_inf when one is not finite. Gradients that kernels would have computed are
//   unknown and read as zero, which is finite, so found_inf stays what it was: it is no output here unless the
//   gradients are known.
#include <cmath>

#include "virtual_device/values/effect.h"

namespace maya::device {

namespace {

class UpdateScaleEffect : public Effect {
 public:
  void apply(const Launch& launch, Memory& memory) const override {
    const auto scale_address = argument<Address>(launch, 0);
    const auto tracker_address = argument<Address>(launch, 1);
    const auto found_address = argument<Address>(launch, 2);
    float scale = 0, found = 0;
    int32_t tracker = 0;
    if (!all_known(memory, scale_address, sizeof(scale)) || !all_known(memory, tracker_address, sizeof(tracker)) ||
        memory.read(&scale, scale_address, sizeof(scale)) != MemoryStatus::kOk ||
        memory.read(&tracker, tracker_address, sizeof(tracker)) != MemoryStatus::kOk) {
      forget(memory, scale_address, sizeof(scale));
      forget(memory, tracker_address, sizeof(tracker));
      return;
    }
    if (memory.in_device_range(found_address)) memory.read(&found, found_address, sizeof(found));
    const auto growth = argument<double>(launch, 3), backoff = argument<double>(launch, 4);
    const auto interval = argument<int32_t>(launch, 5);
    if (found != 0) {
      scale = static_cast<float>(scale * backoff);
      tracker = 0;
    } else if (tracker + 1 == interval) {
      const auto grown = static_cast<float>(scale * growth);
      if (std::isfinite(grown)) scale = grown;
      tracker = 0;
    } else {
      ++tracker;
    }
    write_result(memory, scale_address, &scale, sizeof(scale));
    write_result(memory, tracker_address, &tracker, sizeof(tracker));
    count_computed();
  }
};

}  // namespace

std::unique_ptr<Effect> make_loss_scale_effect(const KernelInfo& kernel, const KernelName& name,
                                               std::vector<ScalarSlot>*) {
  if (name.function != "at::native::amp_update_scale_cuda_kernel" || kernel.parameters.size() != 6) return nullptr;
  static constexpr uint32_t kSizes[] = {8, 8, 8, 8, 8, 4};
  for (size_t i = 0; i < std::size(kSizes); ++i)
    if (kernel.parameters[i].size != kSizes[i]) return nullptr;
  return std::make_unique<UpdateScaleEffect>();
}

}  // namespace maya::device
