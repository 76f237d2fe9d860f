// PyTorch's random kernels: their results are unknown, but where these end is known, so that what lies behind stays.
// Public sources ATen/native/cuda/DistributionTemplates.h and Dropout.cu:
//
//   distribution_elementwise_grid_stride_kernel<A, n, F, lambda>(i64 count, PhiloxCudaState, F, lambda), the lambda of
//   a result with one stride being {char* result, int stride in bytes, constants} fused_dropout_kernel_vec<T, A, u32,
//   dimensions, n, M>(TensorInfo<const T> source, TensorInfo<T> result, TensorInfo<M> mask, u32 count, A probability,
//   PhiloxCudaState)
#include <algorithm>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/number.h"
#include "virtual_device/values/tensor_info.h"

namespace maya::device {

namespace {

class DistributionEffect : public Effect {
 public:
  void apply(const Launch& launch, Memory& memory) const override {
    const auto count = argument<int64_t>(launch, 0);
    const auto result = argument<Address>(launch, 3);
    const auto stride = argument<int32_t>(launch, 3, 8);
    if (!memory.in_device_range(result) || !memory.maybe_known(result)) return;
    if (count <= 0 || stride <= 0 || count > INT64_MAX / stride)
      return forget(memory, result, memory.bytes_to_end(result));
    forget(memory, result, static_cast<uint64_t>(count) * static_cast<uint64_t>(stride));
  }
  bool watch(std::vector<PointerSlot>* pointers) const override {
    pointers->push_back({3, 0});
    return true;
  }
};

class DropoutEffect : public Effect {
 public:
  DropoutEffect(uint32_t element, uint32_t mask) : element_(element), mask_(mask) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const uint64_t count = argument<uint32_t>(launch, 3);
    forget(memory, argument<Address>(launch, 1), count * element_);
    forget(memory, argument<Address>(launch, 2), count * mask_);
  }
  bool watch(std::vector<PointerSlot>* pointers) const override {
    pointers->insert(pointers->end(), {{1, 0}, {2, 0}});
    return true;
  }

 private:
  uint32_t element_, mask_;
};

}  // namespace

std::unique_ptr<Effect> make_random_effect(const KernelInfo& kernel, const KernelName& name,
                                           std::vector<ScalarSlot>* scalars) {
  const auto& parameters = kernel.parameters;
  const auto& arguments = name.template_arguments;
  // A lambda with an OffsetCalculator in it is larger.
  constexpr uint32_t kLargestPlain_bytes = 64, kPlainStart_bytes = 12;
  std::unique_ptr<Effect> made;
  if (name.function.ends_with("::distribution_elementwise_grid_stride_kernel") && parameters.size() == 4 &&
      parameters[0].size == 8 && parameters[3].size >= kPlainStart_bytes && parameters[3].size <= kLargestPlain_bytes) {
    made = std::make_unique<DistributionEffect>();
  } else if (name.function.ends_with("::fused_dropout_kernel_vec") && arguments.size() == 6 && parameters.size() == 6) {
    const uint32_t element = element_bytes(element_type(arguments[0])),
                   mask = element_bytes(element_type(arguments[5]));
    constexpr uint32_t kInfo = TensorInfoView::bytes(4);
    if (element != 0 && mask != 0 && parameters[0].size == kInfo && parameters[1].size == kInfo &&
        parameters[2].size == kInfo && parameters[3].size == 4)
      made = std::make_unique<DropoutEffect>(element, mask);
  }
  if (made != nullptr) make_pointer_effect(kernel, name, scalars);
  return made;
}

}  // namespace maya::device
