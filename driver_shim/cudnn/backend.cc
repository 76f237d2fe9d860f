// Entry points of the backend (graph) API: descriptors with attributes. What graphs, engines and plans answer is in
// backend_engine.cc; what an executed plan does, in graph_operation.cc.
#include <algorithm>
#include <cstring>
#include <new>

#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/backend_descriptor.h"
#include "driver_shim/cudnn/backend_engine.h"
#include "driver_shim/cudnn/backend_rules.h"
#include "driver_shim/cudnn/handle.h"

namespace maya::cudnn {
namespace {

BackendDescriptor* ours(cudnnBackendDescriptor_t descriptor) { return static_cast<BackendDescriptor*>(descriptor); }

bool is_ours(cudnnBackendDescriptor_t descriptor) { return descriptor != nullptr && ours(descriptor)->alive(); }

cudnnStatus_t check_plan(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t variants) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (!is_ours(plan) || !is_ours(variants)) return bad_parameter("not a backend descriptor");
  if (!ours(plan)->finalized() || !ours(variants)->finalized())
    return fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "the plan or the variant pack is not finalized");
  if (ours(plan)->type() != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      ours(variants)->type() != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    return fail(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "not a plan and a variant pack");
  return CUDNN_STATUS_SUCCESS;
}

// No engine carries CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API: plans get into graphs by stream capture.
cudnnStatus_t no_native_graph(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t variants,
                              cudaGraph_t graph) {
  if (const cudnnStatus_t status = check_plan(handle, plan, variants); status != CUDNN_STATUS_SUCCESS) return status;
  if (graph == nullptr) return null_pointer();
  return fail(CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API, "the plan's engine has no native CUDA graph form");
}

}  // namespace
}  // namespace maya::cudnn

using namespace maya::cudnn;

MAYA_API cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                                    cudnnBackendDescriptor_t* descriptor) {
  if (descriptor == nullptr) return null_pointer();
  if (rules_of(type) == nullptr) return fail(CUDNN_STATUS_NOT_SUPPORTED, "no such descriptor type");
  *descriptor = new (std::nothrow) BackendDescriptor(type);
  return *descriptor != nullptr
             ? CUDNN_STATUS_SUCCESS
             : fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no host memory for a descriptor");
}

MAYA_API cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  if (descriptor == nullptr) return CUDNN_STATUS_SUCCESS;
  if (!is_ours(descriptor)) return bad_parameter("not a backend descriptor");
  ours(descriptor)->kill();
  delete ours(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

// Deprecated: descriptors come initialised from cudnnBackendCreateDescriptor.
MAYA_API cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor) {
  return is_ours(descriptor) ? CUDNN_STATUS_SUCCESS : bad_parameter("not a backend descriptor");
}

MAYA_API cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                                cudnnBackendAttributeType_t type, int64_t count, const void* elements) {
  if (!is_ours(descriptor)) return bad_parameter("not a backend descriptor");
  if (ours(descriptor)->finalized())
    return fail(CUDNN_STATUS_NOT_INITIALIZED, "the descriptor is finalized: its attributes are fixed");
  if (count < 0 || count > kAnyNumber) return bad_parameter("number of elements");
  if (element_bytes(type) == 0) return fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "no such attribute type");
  if (count > 0 && elements == nullptr) return null_pointer();
  try {
    BackendAttribute attribute{name, type, count, {}, {}};
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
      for (int64_t i = 0; i < count; ++i) {
        const auto child = static_cast<const cudnnBackendDescriptor_t*>(elements)[i];
        if (!is_ours(child)) return bad_parameter("an element is not a backend descriptor");
        if (!ours(child)->finalized()) return fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "an element is not finalized");
        attribute.children.push_back(ours(child)->node());
      }
    } else {
      attribute.bytes.resize(static_cast<size_t>(count) * element_bytes(type));
      if (count > 0) std::memcpy(attribute.bytes.data(), elements, attribute.bytes.size());
    }
    if (const cudnnStatus_t status = check_attribute(ours(descriptor)->type(), attribute);
        status != CUDNN_STATUS_SUCCESS)
      return status;
    ours(descriptor)->set(std::move(attribute));
  } catch (const std::bad_alloc&) {
    return fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no host memory for an attribute");
  }
  return CUDNN_STATUS_SUCCESS;
}

// The count of elements is always given, also where none are asked for; of descriptors, how many were filled.
MAYA_API cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                                cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                                int64_t requested, int64_t* count, void* elements) {
  if (!is_ours(descriptor)) return bad_parameter("not a backend descriptor");
  if (!ours(descriptor)->finalized())
    return fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "the descriptor is not finalized");
  if (requested < 0) return bad_parameter("number of elements asked for");
  const AttributeRule* rule = rules_of(ours(descriptor)->type())->find(name);
  if (rule == nullptr) return bad_parameter("the descriptor has no such attribute");
  if (!rule->form.accepts(type)) return fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "the attribute has another type");
  // The documented exception: the engine configuration asked about comes in through `elements`. Nothing is compiled
  // here, so nothing is cached.
  if (name == CUDNN_ATTR_KERNEL_CACHE_IS_ENGINECFG_KERNEL_CACHED) {
    if (elements == nullptr || requested < 1) return null_pointer();
    if (!is_ours(*static_cast<const cudnnBackendDescriptor_t*>(elements)))
      return bad_parameter("not a backend descriptor");
    give(count, 0);
    return CUDNN_STATUS_SUCCESS;
  }
  const BackendAttribute* attribute = ours(descriptor)->node()->find(name);
  give(count, attribute == nullptr ? 0 : attribute->count);
  if (attribute == nullptr) return CUDNN_STATUS_SUCCESS;  // optional, and not set
  if (attribute->type != type) return fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "the attribute has another type");
  if (elements == nullptr) return CUDNN_STATUS_SUCCESS;  // documented: only the count is asked for
  const int64_t copied = std::min(requested, attribute->count);
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (int64_t i = 0; i < copied; ++i) {
      const auto filled = static_cast<cudnnBackendDescriptor_t*>(elements)[i];
      if (!is_ours(filled)) return bad_parameter("an element to be filled is not a backend descriptor");
      const BackendNodePtr& child = attribute->children[static_cast<size_t>(i)];
      if (ours(filled)->type() != child->type)
        return fail(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "an element to be filled has another descriptor type");
      ours(filled)->adopt(child);
    }
    // cudnn-frontend takes the count for that of the descriptors which were filled.
    give(count, copied);
  } else if (copied > 0) {
    std::memcpy(elements, attribute->bytes.data(), static_cast<size_t>(copied) * element_bytes(type));
  }
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  if (!is_ours(descriptor)) return bad_parameter("not a backend descriptor");
  if (ours(descriptor)->finalized()) return CUDNN_STATUS_SUCCESS;
  try {
    if (const cudnnStatus_t status = complete(ours(descriptor)->building()); status != CUDNN_STATUS_SUCCESS)
      return status;
    ours(descriptor)->finalize();
  } catch (const std::bad_alloc&) {
    return fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no host memory for a descriptor");
  }
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                           cudnnBackendDescriptor_t variants) {
  if (const cudnnStatus_t status = check_plan(handle, plan, variants); status != CUDNN_STATUS_SUCCESS) return status;
  try {
    return execute(handle, *ours(plan)->node(), *ours(variants)->node());
  } catch (const std::bad_alloc&) {
    return fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no host memory to execute a plan");
  }
}

MAYA_API cudnnStatus_t cudnnBackendPopulateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                                     cudnnBackendDescriptor_t variants, cudaGraph_t graph) {
  return no_native_graph(handle, plan, variants, graph);
}

MAYA_API cudnnStatus_t cudnnBackendUpdateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                                   cudnnBackendDescriptor_t variants, cudaGraph_t graph) {
  return no_native_graph(handle, plan, variants, graph);
}

MAYA_API cudnnStatus_t cudnnGetExecutionPlanWorkspaceSize(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                                          cudnnBackendDescriptor_t variants, size_t* bytes) {
  if (const cudnnStatus_t status = check_plan(handle, plan, variants); status != CUDNN_STATUS_SUCCESS) return status;
  if (bytes == nullptr) return null_pointer();
  *bytes = static_cast<size_t>(ours(plan)->node()->integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  return CUDNN_STATUS_SUCCESS;
}
