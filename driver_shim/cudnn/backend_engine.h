// From operation graphs to execution plans: one engine, which runs any graph. Stateless.
#pragma once

#include <cudnn.h>

#include "driver_shim/cudnn/backend_descriptor.h"

namespace maya::cudnn {

// Checks the required attributes of a descriptor that is about to be finalized, and adds the answers that cuDNN
// computes (engine counts, heuristic results, workspace sizes). Throws std::bad_alloc.
cudnnStatus_t complete(BackendNode& node);

// True for descriptors whose unset attributes are empty lists: engines, their configurations, heuristics, plans.
bool answers_empty(cudnnBackendDescriptorType_t type);

// Records what a finalized plan does with the tensors of a finalized variant pack. Throws std::bad_alloc.
cudnnStatus_t execute(cudnnHandle_t handle, const BackendNode& plan, const BackendNode& variants);

// The operation graph of an execution plan; null when there is none.
BackendNodePtr graph_of_plan(const BackendNode& plan);

}  // namespace maya::cudnn
