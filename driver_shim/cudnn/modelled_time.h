// How long an operation takes on the emulated device: it runs on the handle's stream between two events, as cuDNN's own
// search functions run their candidates.
#pragma once

#include "driver_shim/common/recording.h"
#include "driver_shim/cudnn/handle.h"

namespace maya::cudnn {

// Milliseconds. Errors of the driver as status_of() gives them.
cudnnStatus_t measure(cudnnHandle_t handle, const OperationRecord& record, const shim::WriteList& writes,
                      float* milliseconds);

}  // namespace maya::cudnn
