#include "driver_shim/cudnn/backend_engine.h"

#include <utility>

#include "driver_shim/cudnn/graph_operation.h"
#include "driver_shim/cudnn/handle.h"

namespace maya::cudnn {
namespace {

// What a block of the engine's kernels uses: programs that share a multiprocessor can bar engines by it. Fits every
// device of compute capability 8.0 and later (99 KiB a block at least, CUDA programming guide).
constexpr int32_t kSharedMemory_bytes = 96 << 10;

cudnnStatus_t missing() { return fail(CUDNN_STATUS_BAD_PARAM, "a required attribute is not set"); }

BackendNodePtr make_engine(BackendNodePtr graph) {
  BackendNode engine{CUDNN_BACKEND_ENGINE_DESCRIPTOR, {}};
  engine.put_children(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, {std::move(graph)});
  engine.put_integers(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, {0});
  engine.put_enumerator(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  return std::make_shared<const BackendNode>(std::move(engine));
}

BackendNodePtr graph_of_configuration(const BackendNode& configuration) {
  const BackendNodePtr engine = configuration.child(CUDNN_ATTR_ENGINECFG_ENGINE);
  return engine == nullptr ? nullptr : engine->child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
}

cudnnStatus_t complete_configuration(BackendNode& node) {
  const BackendNodePtr graph = graph_of_configuration(node);
  if (graph == nullptr) return missing();
  node.put_integers(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, {workspace_bytes(*graph)});
  node.put_int32(CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED, kSharedMemory_bytes);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t complete_heuristics(BackendNode& node) {
  BackendNodePtr graph = node.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  if (graph == nullptr || node.find(CUDNN_ATTR_ENGINEHEUR_MODE) == nullptr) return missing();
  BackendNode configuration{CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, {}};
  configuration.put_children(CUDNN_ATTR_ENGINECFG_ENGINE, {make_engine(std::move(graph))});
  if (const cudnnStatus_t status = complete_configuration(configuration); status != CUDNN_STATUS_SUCCESS) return status;
  node.put_children(CUDNN_ATTR_ENGINEHEUR_RESULTS, {std::make_shared<const BackendNode>(std::move(configuration))});
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

BackendNodePtr graph_of_plan(const BackendNode& plan) {
  const BackendNodePtr configuration = plan.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  return configuration == nullptr ? nullptr : graph_of_configuration(*configuration);
}

bool answers_empty(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return true;
    default:
      return false;
  }
}

cudnnStatus_t complete(BackendNode& node) {
  switch (node.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      if (node.find(CUDNN_ATTR_TENSOR_DATA_TYPE) == nullptr || node.find(CUDNN_ATTR_TENSOR_DIMENSIONS) == nullptr ||
          node.find(CUDNN_ATTR_TENSOR_UNIQUE_ID) == nullptr)
        return missing();
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      if (node.child(CUDNN_ATTR_OPERATIONGRAPH_OPS) == nullptr) return missing();
      node.put_integers(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, {1});
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      if (node.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH) == nullptr) return missing();
      if (node.integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) != 0)
        return fail(CUDNN_STATUS_NOT_SUPPORTED, "there is one engine: its global index is 0");
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      return complete_configuration(node);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return complete_heuristics(node);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
      const BackendNodePtr graph = graph_of_plan(node);
      if (graph == nullptr) return missing();
      node.put_integers(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, {workspace_bytes(*graph)});
      node.put_text(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, "{}");
      return CUDNN_STATUS_SUCCESS;
    }
    default:
      return CUDNN_STATUS_SUCCESS;
  }
}

}  // namespace maya::cudnn
