// What PyTorch's functors over lists of tensors compute for each element
// (public header ATen/native/cuda/ForeachFunctors.cuh):
// multi_tensor_apply_kernel<Metadata, Functor<T, lists, read, result>, Op,
// args...>(Metadata, Functor, Op, args...).
#pragma once

#include <cstdint>
#include <optional>

#include "virtual_device/kernel.h"
#include "virtual_device/values/functor.h"
#include "virtual_device/values/kernel_name.h"

namespace maya::device {

struct TensorListOperation {
  // Where a constant stands that is the same for all elements of a tensor.
  enum class Constant : uint8_t {
    kNone,
    kArgument,        // behind the operation, in the computation type
    kPerTensor,       // in the metadata
    kDeviceArgument,  // a device pointer to an element behind the operation,
                      // then a factor for it
  };
  enum class Role : uint8_t {
    kOperand,     // last operand of the operation
    kFactor,      // of the last tensor operand
    kTermFactor,  // of the product or quotient
  };
  Functor functor;  // kAddScaled, for plus and minus, has its scale at offset 0
                    // of the object
  bool negates = false;
  uint32_t inputs = 0;            // lists read
  uint32_t result = 0;            // list written
  bool second_is_scalar = false;  // the second list has one element a tensor
  Constant constant = Constant::kNone;
  Role role = Role::kOperand;
  bool checks_finite = false;  // the operation is GradScaler's: {float* found,
                               // const float* factor}
};

// Nothing when the functor is not known or a parameter has another size than
// expected.
std::optional<TensorListOperation> parse_tensor_list_operation(const KernelInfo& kernel, const KernelName& name,
                                                               uint32_t lists);

}  // namespace maya::device
