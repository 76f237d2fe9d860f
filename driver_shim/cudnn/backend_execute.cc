// A plan meets its tensors.
#include <algorithm>

#include "driver_shim/common/recording.h"
#include "driver_shim/cudnn/backend_engine.h"
#include "driver_shim/cudnn/graph_operation.h"
#include "driver_shim/cudnn/handle.h"

namespace maya::cudnn {

cudnnStatus_t execute(cudnnHandle_t handle, const BackendNode& plan, const BackendNode& variants) {
  const BackendNodePtr engine = engine_of_plan(plan);
  if (engine == nullptr) return bad_parameter("the plan has no operation graph");
  const BackendNodePtr graph = engine->child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  const std::vector<int64_t> ids = variants.integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  void* const* addresses =
      reinterpret_cast<void* const*>(variants.find(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)->bytes.data());
  shim::WriteList writes;
  for (const GraphTensor& tensor : tensors_of(*graph)) {
    if (!tensor.in_memory || !tensor.output) continue;
    const auto found = std::find(ids.begin(), ids.end(), tensor.id);
    if (found == ids.end()) return bad_parameter("the variant pack lacks a tensor that the graph writes");
    writes.add(addresses[found - ids.begin()], tensor.span_bytes());
  }
  const int64_t workspace_bytes = plan.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  if (workspace_bytes > 0) {
    const BackendAttribute* workspace = variants.find(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
    void* address = workspace == nullptr ? nullptr : *reinterpret_cast<void* const*>(workspace->bytes.data());
    if (address == nullptr) return bad_parameter("the plan needs a workspace, and the variant pack has none");
    writes.add(address, static_cast<uint64_t>(workspace_bytes));
  }
  const EngineKind kind = engine_kind(*graph, engine->integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  return status_of(shim::record(handle->cu_stream(), record_of(*graph, kind.method, kind.tensor_cores), writes));
}

}  // namespace maya::cudnn
