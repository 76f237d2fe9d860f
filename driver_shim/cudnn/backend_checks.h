// What cudnnBackendFinalize checks beyond required attributes: whether values and tensors belong together, as
// cudnn_graph.h documents beside each descriptor type.
#pragma once

#include <cudnn.h>

#include "driver_shim/cudnn/backend_descriptor.h"

namespace maya::cudnn {

// Required attributes are set. Throws std::bad_alloc.
cudnnStatus_t check_parameters(const BackendNode& node);  // descriptors that are no operations, and no engines or plans
cudnnStatus_t check_operation(const BackendNode& node);

}  // namespace maya::cudnn
