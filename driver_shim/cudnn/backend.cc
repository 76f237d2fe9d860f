// Entry points of the backend (graph) API. Descriptors of tensors and operations are kept in full; operation graphs,
// and what is built from them (engines, heuristics, plans), are refused with CUDNN_STATUS_NOT_SUPPORTED when they are
// finalized, so that a program can fall back.
#include <algorithm>
#include <cstring>
#include <new>

#include "driver_shim/common/api.h"
#include "driver_shim/common/driver_access.h"
#include "driver_shim/cudnn/backend_descriptor.h"
#include "driver_shim/cudnn/handle.h"

namespace maya::cudnn {
namespace {

constexpr int64_t kMostElements = 1 << 20;  // of one attribute; beyond it the count is garbage

BackendDescriptor* ours(cudnnBackendDescriptor_t descriptor) { return static_cast<BackendDescriptor*>(descriptor); }

bool usable(cudnnBackendDescriptor_t descriptor) { return descriptor != nullptr && ours(descriptor)->alive(); }

// What needs an engine to run.
bool needs_engine(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return true;
    default:
      return false;
  }
}

cudnnStatus_t not_supported(const char* entry_point, const char* text) {
  shim::report_unsupported("libcudnn.so.9", entry_point, "CUDNN_STATUS_NOT_SUPPORTED");
  return fail(CUDNN_STATUS_NOT_SUPPORTED, text);
}

}  // namespace
}  // namespace maya::cudnn

using namespace maya::cudnn;

MAYA_API cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                                    cudnnBackendDescriptor_t* descriptor) {
  if (descriptor == nullptr) return null_pointer();
  if (type < CUDNN_BACKEND_POINTWISE_DESCRIPTOR || type > CUDNN_BACKEND_OPERATION_ROPE_BWD_DESCRIPTOR)
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "no such descriptor type");
  *descriptor = new (std::nothrow) BackendDescriptor(type);
  return *descriptor != nullptr
             ? CUDNN_STATUS_SUCCESS
             : fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no host memory for a descriptor");
}

MAYA_API cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  if (descriptor == nullptr) return CUDNN_STATUS_SUCCESS;
  if (!usable(descriptor)) return bad_parameter("not a backend descriptor");
  ours(descriptor)->kill();
  delete ours(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

// Deprecated: descriptors come initialised from cudnnBackendCreateDescriptor.
MAYA_API cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor) {
  return usable(descriptor) ? CUDNN_STATUS_SUCCESS : bad_parameter("not a backend descriptor");
}

MAYA_API cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                                cudnnBackendAttributeType_t type, int64_t count, const void* elements) {
  if (!usable(descriptor)) return bad_parameter("not a backend descriptor");
  if (ours(descriptor)->finalized()) return bad_parameter("the descriptor is finalized: its attributes are fixed");
  if (count < 0 || count > kMostElements) return bad_parameter("number of elements");
  if (element_bytes(type) == 0) return fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "no such attribute type");
  if (count > 0 && elements == nullptr) return null_pointer();
  try {
    ours(descriptor)->set(name, type, count, elements);
  } catch (const std::bad_alloc&) {
    return fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no host memory for an attribute");
  }
  return CUDNN_STATUS_SUCCESS;
}

// The count of elements is always given, also where fewer or none are asked for.
MAYA_API cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                                cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                                int64_t requested, int64_t* count, void* elements) {
  if (!usable(descriptor)) return bad_parameter("not a backend descriptor");
  if (!ours(descriptor)->finalized())
    return fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "the descriptor is not finalized");
  if (requested < 0) return bad_parameter("number of elements asked for");
  const BackendDescriptor::Attribute* attribute = ours(descriptor)->find(name);
  give(count, attribute == nullptr ? 0 : attribute->count);
  if (attribute == nullptr) return fail(CUDNN_STATUS_NOT_SUPPORTED, "the attribute was not set");
  if (attribute->type != type) return fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "the attribute has another type");
  const int64_t copied = std::min(requested, attribute->count);
  if (copied > 0 && elements == nullptr) return null_pointer();
  if (copied > 0) std::memcpy(elements, attribute->bytes.data(), static_cast<size_t>(copied) * element_bytes(type));
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  if (!usable(descriptor)) return bad_parameter("not a backend descriptor");
  if (needs_engine(ours(descriptor)->type()))
    return not_supported("cudnnBackendFinalize", "Maya has no cuDNN engine for operation graphs yet");
  ours(descriptor)->finalize();
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                           cudnnBackendDescriptor_t variants) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (!usable(plan) || !usable(variants)) return bad_parameter("not a backend descriptor");
  return not_supported("cudnnBackendExecute", "Maya has no cuDNN engine for operation graphs yet");
}
