// From operation graphs to execution plans: engines, their knobs and notes, heuristics, plans and their text.
// Stateless.
//
// A graph with a convolution has one engine for each method of convolution_algorithm.h, any other graph has two: fused
// at run time, and one without tensor cores that is kept as a fallback. The numbering is ours: cuDNN documents none.
#pragma once

#include <cudnn.h>

#include <string>

#include "driver_shim/cudnn/backend_descriptor.h"
#include "driver_shim/cudnn/convolution_algorithm.h"

namespace maya::cudnn {

// Checks a descriptor that is about to be finalized, and adds the answers that cuDNN computes (engine counts, notes,
// heuristic results, workspace sizes, the text of a plan). Throws std::bad_alloc.
cudnnStatus_t complete(BackendNode& node);

// Records what a finalized plan does with the tensors of a finalized variant pack. Throws std::bad_alloc.
cudnnStatus_t execute(cudnnHandle_t handle, const BackendNode& plan, const BackendNode& variants);

// Engines of a graph, and how the one of a number computes a convolution.
struct EngineKind {
  ConvolutionMethod method = ConvolutionMethod::kImplicitProduct;
  bool tensor_cores = true;
};
int64_t engine_count(const BackendNode& graph);
EngineKind engine_kind(const BackendNode& graph, int64_t index);
// The engine can compute the graph on the current device.
bool engine_supports(const BackendNode& graph, int64_t index);

// Adds an engine's read-only attributes.
cudnnStatus_t complete_engine(BackendNode& engine);
cudnnStatus_t complete_heuristics(BackendNode& heuristics);
// Adds workspace size and shared memory, and checks the choices of knobs.
cudnnStatus_t complete_configuration(BackendNode& configuration);

// The operation graph and the engine of an execution plan; null when there is none.
BackendNodePtr graph_of_configuration(const BackendNode& configuration);
BackendNodePtr engine_of_plan(const BackendNode& plan);

// A plan's configuration as JSON, and back; null for anything else. The text names no pointers and no handles. What
// comes back went through the checks of cudnnBackendSetAttribute and cudnnBackendFinalize.
std::string plan_text(const BackendNode& configuration);
BackendNodePtr configuration_from_text(const std::string& text);

// The checks of cudnnBackendSetAttribute of an attribute of a descriptor that is not finalized.
cudnnStatus_t check_attribute(cudnnBackendDescriptorType_t descriptor, const BackendAttribute& attribute);

}  // namespace maya::cudnn
