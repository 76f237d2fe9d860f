// Attributes of kernel nodes: kept and handed back. Cluster sizes and cooperation change the launch itself.
#include <cuda.h>

#include <algorithm>
#include <cstring>

#include "driver_shim/cuda/graph_parameters.h"
#include "driver_shim/cuda/launch.h"

using namespace maya::cuda;

namespace {

bool is_attribute(CUkernelNodeAttrID id) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return true;
    default:
      return false;
  }
}

void put(KernelNode& node, const CUlaunchAttribute& attribute) {
  const auto known = std::find_if(node.attributes.begin(), node.attributes.end(),
                                  [&](const CUlaunchAttribute& have) { return have.id == attribute.id; });
  if (known != node.attributes.end())
    *known = attribute;
  else
    node.attributes.push_back(attribute);
}

}  // namespace

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  return with_node_of<KernelNode>(to, true, [&](Call&, GraphNode&, KernelNode& work) {
    const GraphNode* source = graph_nodes().get(from);
    const KernelNode* copied = source != nullptr ? std::get_if<KernelNode>(&source->work) : nullptr;
    if (copied == nullptr) return CUDA_ERROR_INVALID_VALUE;
    work.attributes = copied->attributes;
    work.launch.cooperative = copied->launch.cooperative;
    memcpy(work.launch.cluster, copied->launch.cluster, sizeof work.launch.cluster);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID id, CUkernelNodeAttrValue* out) {
  return with_node_of<KernelNode>(handle, out != nullptr && is_attribute(id),
                                  [&](Call&, const GraphNode&, const KernelNode& work) {
                                    memset(out, 0, sizeof *out);
                                    for (const CUlaunchAttribute& attribute : work.attributes)
                                      if (attribute.id == id) *out = attribute.value;
                                    return CUDA_SUCCESS;
                                  });
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID id, const CUkernelNodeAttrValue* value) {
  return with_node_of<KernelNode>(
      handle, value != nullptr && is_attribute(id), [&](Call&, const GraphNode&, KernelNode& work) {
        CUlaunchAttribute attribute{};
        attribute.id = id;
        attribute.value = *value;
        AttributeEvents none;
        if (const CUresult status = read_attributes(&attribute, 1, &work.launch, &none); status != CUDA_SUCCESS)
          return CUDA_ERROR_INVALID_VALUE;
        put(work, attribute);
        return CUDA_SUCCESS;
      });
}
