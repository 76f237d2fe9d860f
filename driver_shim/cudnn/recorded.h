// One operation of cuDNN's operation API on its way to the driver.
#pragma once

#include <cudnn.h>

#include <initializer_list>

#include "driver_shim/common/recording.h"
#include "driver_shim/cudnn/descriptors.h"
#include "driver_shim/cudnn/handle.h"
#include "driver_shim/cudnn/types.h"

namespace maya::cudnn {

// A tensor in device memory. Null addresses stand for optional operands that are not there.
struct Operand {
  const cudnnTensorStruct* tensor;
  const void* address;
};

// Adds kReadBytes and kWrittenBytes of the operands to `record` and hands it to the driver; what `also` holds (null:
// nothing) is written too, and not counted as payload.
cudnnStatus_t run(cudnnHandle_t handle, OperationRecord record, std::initializer_list<Operand> reads,
                  std::initializer_list<Operand> written, const shim::WriteList* also = nullptr);

}  // namespace maya::cudnn
