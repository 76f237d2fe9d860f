// Graphs: made, walked, instantiated, launched, updated. Nodes of each kind are in graph_nodes.cc.
#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

namespace {

cudaError_t instantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long flags) {
  return with_context(MAYA_DRIVER(cuGraphInstantiateWithFlags), out, graph, flags);
}

// The two structures have the same members in the same order.
cudaError_t instantiate_with(cudaGraphExec_t* out, cudaGraph_t graph, cudaGraphInstantiateParams* parameters,
                             bool per_thread) {
  if (parameters == nullptr) return fail(cudaErrorInvalidValue);
  cudaGraphInstantiateParams wanted = *parameters;
  if (per_thread) wanted.uploadStream = own_stream(wanted.uploadStream);
  const cudaError_t status = with_context(MAYA_DRIVER(cuGraphInstantiateWithParams), out, graph,
                                          as_driver<CUDA_GRAPH_INSTANTIATE_PARAMS>(&wanted));
  parameters->errNode_out = wanted.errNode_out;
  parameters->result_out = wanted.result_out;
  return status;
}

}  // namespace

MAYA_API cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return with_driver(MAYA_DRIVER(cuGraphCreate), graph, flags);
}
MAYA_API cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return with_driver(MAYA_DRIVER(cuGraphDestroy), graph); }
MAYA_API cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  return with_driver(MAYA_DRIVER(cuGraphClone), clone, graph);
}
MAYA_API cudaError_t cudaGraphGetId(cudaGraph_t graph, unsigned* id) {
  return with_driver(MAYA_DRIVER(cuGraphGetId), graph, id);
}
MAYA_API cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned flags) {
  return with_driver(MAYA_DRIVER(cuGraphDebugDotPrint), graph, path, flags);
}

MAYA_API cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* node, cudaGraphNode_t original, cudaGraph_t clone) {
  return with_driver(MAYA_DRIVER(cuGraphNodeFindInClone), node, original, clone);
}
MAYA_API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return with_driver(MAYA_DRIVER(cuGraphNodeGetType), node, as_driver<CUgraphNodeType>(type));
}
MAYA_API cudaError_t cudaGraphNodeGetContainingGraph(cudaGraphNode_t node, cudaGraph_t* graph) {
  return with_driver(MAYA_DRIVER(cuGraphNodeGetContainingGraph), node, graph);
}
MAYA_API cudaError_t cudaGraphNodeGetLocalId(cudaGraphNode_t node, unsigned* id) {
  return with_driver(MAYA_DRIVER(cuGraphNodeGetLocalId), node, id);
}
MAYA_API cudaError_t cudaGraphNodeGetToolsId(cudaGraphNode_t node, unsigned long long* id) {
  return with_driver(MAYA_DRIVER(cuGraphNodeGetToolsId), node, id);
}
MAYA_API cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  return with_driver(MAYA_DRIVER(cuGraphDestroyNode), node);
}

MAYA_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return with_driver(MAYA_DRIVER(cuGraphGetNodes), graph, nodes, count);
}
MAYA_API cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return with_driver(MAYA_DRIVER(cuGraphGetRootNodes), graph, nodes, count);
}
MAYA_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long flags) {
  return instantiate(out, graph, flags);
}
MAYA_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long flags) {
  return instantiate(out, graph, flags);
}
MAYA_API cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* out, cudaGraph_t graph,
                                                    cudaGraphInstantiateParams* parameters) {
  return instantiate_with(out, graph, parameters, false);
}
MAYA_API cudaError_t cudaGraphInstantiateWithParams_ptsz(cudaGraphExec_t* out, cudaGraph_t graph,
                                                         cudaGraphInstantiateParams* parameters) {
  return instantiate_with(out, graph, parameters, true);
}
MAYA_API cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t graph, unsigned long long* flags) {
  return with_driver(MAYA_DRIVER(cuGraphExecGetFlags), graph, reinterpret_cast<cuuint64_t*>(flags));
}
MAYA_API cudaError_t cudaGraphExecGetId(cudaGraphExec_t graph, unsigned* id) {
  return with_driver(MAYA_DRIVER(cuGraphExecGetId), graph, id);
}
MAYA_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return with_driver(MAYA_DRIVER(cuGraphExecDestroy), graph);
}

MAYA_API cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuGraphUpload), graph, stream);
}
MAYA_API cudaError_t cudaGraphUpload_ptsz(cudaGraphExec_t graph, cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuGraphUpload), graph, own_stream(stream));
}
MAYA_API cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuGraphLaunch), graph, stream);
}
MAYA_API cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t graph, cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuGraphLaunch), graph, own_stream(stream));
}

MAYA_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t graph, cudaGraph_t from, cudaGraphExecUpdateResultInfo* info) {
  return with_context(MAYA_DRIVER(cuGraphExecUpdate_v2), graph, from, as_driver<CUgraphExecUpdateResultInfo>(info));
}
MAYA_API cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t graph, cudaGraphNode_t node, unsigned enabled) {
  return with_driver(MAYA_DRIVER(cuGraphNodeSetEnabled), graph, node, enabled);
}
MAYA_API cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t graph, cudaGraphNode_t node, unsigned* enabled) {
  return with_driver(MAYA_DRIVER(cuGraphNodeGetEnabled), graph, node, enabled);
}

MAYA_API cudaError_t cudaDeviceGraphMemTrim(int device) {
  return with_driver(MAYA_DRIVER(cuDeviceGraphMemTrim), device);
}
MAYA_API cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  return with_driver(MAYA_DRIVER(cuDeviceGetGraphMemAttribute), device, static_cast<CUgraphMem_attribute>(attribute),
                     value);
}
MAYA_API cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  return with_driver(MAYA_DRIVER(cuDeviceSetGraphMemAttribute), device, static_cast<CUgraphMem_attribute>(attribute),
                     value);
}

MAYA_API cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* data, cudaHostFn_t destroy, unsigned count,
                                          unsigned flags) {
  return with_driver(MAYA_DRIVER(cuUserObjectCreate), object, data, destroy, count, flags);
}
MAYA_API cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
  return with_driver(MAYA_DRIVER(cuUserObjectRetain), object, count);
}
MAYA_API cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
  return with_driver(MAYA_DRIVER(cuUserObjectRelease), object, count);
}
MAYA_API cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count,
                                               unsigned flags) {
  return with_driver(MAYA_DRIVER(cuGraphRetainUserObject), graph, object, count, flags);
}
MAYA_API cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count) {
  return with_driver(MAYA_DRIVER(cuGraphReleaseUserObject), graph, object, count);
}
