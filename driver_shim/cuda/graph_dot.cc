// cuGraphDebugDotPrint: the graph in the language of Graphviz.
#include <cuda.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "driver_shim/cuda/graph.h"

using namespace maya::cuda;

namespace {

const char* name_of(const GraphNode& node) {
  switch (type_of(node.work)) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return "KERNEL";
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return "MEMCPY";
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return "MEMSET";
    case CU_GRAPH_NODE_TYPE_HOST:
      return "HOST";
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return "GRAPH";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return "WAIT_EVENT";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return "EVENT_RECORD";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return "MEM_ALLOC";
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return "MEM_FREE";
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return "CONDITIONAL";
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return "BATCH_MEM_OP";
    default:
      return "EMPTY";
  }
}

// What tells nodes of a type apart: kernel and operation names, the direction of copies.
std::string detail_of(const GraphNode& node) {
  if (const auto* kernel = std::get_if<KernelNode>(&node.work); kernel != nullptr) return kernel->launch.kernel->name;
  if (const auto* operation = std::get_if<OperationNode>(&node.work); operation != nullptr)
    return std::string(operation->record.api);
  if (const auto* copy = std::get_if<CopyNode>(&node.work); copy != nullptr)
    return std::string(copy->from.start.on_device ? "Device" : "Host") + " to " +
           (copy->to.start.on_device ? "Device" : "Host") + ", " + std::to_string(copy->extent.width_bytes) + " bytes";
  if (const auto* conditional = std::get_if<ConditionalNode>(&node.work); conditional != nullptr)
    return conditional->type == CU_GRAPH_COND_TYPE_IF      ? "IF"
           : conditional->type == CU_GRAPH_COND_TYPE_WHILE ? "WHILE"
                                                           : "SWITCH";
  return "";
}

std::string dot_name(const GraphNode& node) {
  return "\"graph_" + std::to_string(node.graph->id) + "_node_" + std::to_string(node.local_id) + "\"";
}

void print(const Graph& graph, bool handles, std::string* out) {
  *out += "subgraph cluster_" + std::to_string(graph.id) + " {\nlabel=\"graph_" + std::to_string(graph.id) + "\"\n";
  for (const GraphNode* node : graph.nodes) {
    *out += dot_name(*node) + "[label=\"" + std::to_string(node->local_id) + "\\n" + name_of(*node);
    if (const std::string detail = detail_of(*node); !detail.empty()) *out += "\\n" + detail;
    if (handles) *out += "\\n" + std::to_string(reinterpret_cast<uintptr_t>(node));
    *out += "\" shape=\"box\"];\n";
    for (const Graph* owned : owned_graphs(node->work)) print(*owned, handles, out);
  }
  for (const GraphNode* node : graph.nodes)
    for (const GraphEdge& edge : node->dependencies) *out += dot_name(*edge.from) + " -> " + dot_name(*node) + ";\n";
  *out += "}\n";
}

bool write_file(const char* path, const std::string& text) {
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return false;
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0) break;
    done += static_cast<size_t>(written);
  }
  return close(file) == 0 && done == text.size();
}

}  // namespace

CUresult cuGraphDebugDotPrint(CUgraph handle, const char* path, unsigned int flags) {
  constexpr unsigned int kFlags = CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS * 2 - 1;
  return with_graph(handle, path != nullptr && flags <= kFlags, [&](Call&, const Graph& graph) {
    constexpr unsigned int kHandles = CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES;
    std::string text = "digraph dot {\n";
    print(graph, (flags & kHandles) != 0, &text);
    text += "}\n";
    return write_file(path, text) ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
  });
}
