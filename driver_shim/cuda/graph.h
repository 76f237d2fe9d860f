// Graphs of work as the driver keeps them: nodes, what each does, edges. Handles (CUgraph, CUgraphNode) are addresses
// of these objects.
//
// NVIDIA documents that graph objects are not internally synchronised; here one lock, held by every entry point of
// graphs and captures but not while a graph runs, keeps also wrong programs from breaking the process.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "driver_shim/common/maya_table.h"
#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/graph_memory.h"
#include "driver_shim/cuda/kernel.h"
#include "driver_shim/cuda/volume.h"
#include "predictor/core/operation.h"
#include "virtual_device/handle_pool.h"

namespace maya::cuda {

struct Graph;
struct GraphNode;

std::recursive_mutex& graph_mutex();

// Argument bytes of a launch, copied out of the program's memory, in the form that launches take.
class ArgumentCopy {
 public:
  ArgumentCopy(const device::KernelInfo& kernel, void* const* arguments);
  ArgumentCopy(const ArgumentCopy&) = delete;
  ArgumentCopy& operator=(const ArgumentCopy&) = delete;
  void** pointers() const { return const_cast<void**>(pointers_.data()); }

 private:
  std::vector<std::byte> bytes_;
  std::vector<void*> pointers_;
};

// A library's own effects of a captured operation, run at each launch of the graph: MayaTable::capture_operation.
struct ReplayedOperation {
  ReplayedOperation(void (*at_launch)(void*, CUstream), void (*at_end)(void*), void* data)
      : replay(at_launch), release(at_end), argument(data) {}
  ~ReplayedOperation() {
    if (release != nullptr) release(argument);
  }
  ReplayedOperation(const ReplayedOperation&) = delete;
  ReplayedOperation& operator=(const ReplayedOperation&) = delete;
  void (*const replay)(void* argument, CUstream stream);
  void (*const release)(void* argument);
  void* const argument;
};

// What nodes do, one structure a kind. A node that does nothing only orders others.
struct EmptyNode {};
struct KernelNode {
  const void* handle = nullptr;  // CUfunction or CUkernel
  device::Launch launch;         // its arguments are those of `arguments`
  std::shared_ptr<const ArgumentCopy> arguments;
  std::vector<CUlaunchAttribute> attributes;
};
// A library operation, which a real library would have captured as one kernel or more.
struct OperationNode {
  OperationRecord record;
  uint32_t group = 0;  // of collective calls, as captured; 0: none
  std::vector<MemoryRange> writes;
  std::shared_ptr<const ReplayedOperation> replayed;  // null: nothing but `writes` becoming unknown
};
struct CopyNode {
  CUDA_MEMCPY3D parameters{};  // as given, or as a captured copy would have been given
  VolumeSide to, from;
  Extent extent;
};
struct FillNode {
  CUDA_MEMSET_NODE_PARAMS parameters{};
};
struct HostNode {
  CUDA_HOST_NODE_PARAMS parameters{};
};
struct ChildNode {
  Graph* graph = nullptr;  // owned by the node
};
// What a conditional handle stands for.
struct Conditional {
  uint32_t graph;    // id of the graph that it was made for
  Context* context;  // of it, its node and its bodies
  unsigned int default_value;
  bool assign_default;  // at every launch
};
struct ConditionalNode {
  CUgraphConditionalHandle handle = 0;
  std::shared_ptr<const Conditional> conditional;
  CUgraphConditionalNodeType type = CU_GRAPH_COND_TYPE_IF;
  std::vector<Graph*> bodies;                         // owned by the node
  std::shared_ptr<const std::vector<CUgraph>> array;  // of their handles, for the program
};
struct EventRecordNode {
  CUevent event = nullptr;
};
struct EventWaitNode {
  CUevent event = nullptr;
};
struct AllocationNode {
  CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
  std::shared_ptr<const std::vector<CUmemAccessDesc>> access;
  std::shared_ptr<GraphMemory> memory;  // behind parameters.dptr
};
struct FreeNode {
  CUdeviceptr address = 0;
  std::shared_ptr<GraphMemory> memory;
};
struct MemoryOperationNode {
  std::vector<CUstreamBatchMemOpParams> operations;
  CUcontext context = nullptr;
  unsigned int flags = 0;
};
using NodeWork =
    std::variant<EmptyNode, KernelNode, OperationNode, CopyNode, FillNode, HostNode, ChildNode, ConditionalNode,
                 EventRecordNode, EventWaitNode, AllocationNode, FreeNode, MemoryOperationNode>;

// Graphs that belong to a node: the child of a child graph node, the bodies of a conditional one.
std::span<Graph* const> owned_graphs(const NodeWork& work);

struct GraphEdge {
  GraphNode* from;
  CUgraphEdgeData data;
};

struct GraphNode {
  GraphNode(Graph* owner, uint32_t index, NodeWork does, Context* where);
  Graph* const graph;
  const uint32_t local_id;  // in order of creation in its graph
  const uint64_t id;        // never used twice in the process
  uint64_t original;        // in a clone: id of the node that it was made from; else its own
  NodeWork work;
  Context* context;        // where it runs; null for nodes that run nowhere
  uint64_t lane_hint = 0;  // stream that a captured node was put on, 0: none
  bool enabled = true;     // of executable graphs
  std::vector<GraphEdge> dependencies;
  std::vector<GraphNode*> dependents;
};

struct Graph {
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const uint32_t id;
  std::vector<GraphNode*> nodes;  // in order of creation; owned
  uint32_t next_local_id = 0;
  uint64_t original = 0;                                        // id of the graph that this is a clone of, 0: none
  GraphNode* parent = nullptr;                                  // node that owns this graph
  uint32_t captures = 0;                                        // capture sequences that put nodes here
  bool has_memory_nodes = false;                                // of its own
  uint32_t executables = 0;                                     // living executable graphs made from it
  std::vector<std::pair<CUuserObject, uint32_t>> user_objects;  // and references held
};

device::HandlePool<Graph>& graphs();
device::HandlePool<GraphNode>& graph_nodes();

inline CUgraph handle_of(Graph* graph) { return reinterpret_cast<CUgraph>(graph); }
inline CUgraphNode handle_of(GraphNode* node) { return reinterpret_cast<CUgraphNode>(node); }

CUgraphNodeType type_of(const NodeWork& work);
inline bool is_default(const CUgraphEdgeData& data) {
  return data.from_port == 0 && data.to_port == 0 && data.type == 0;
}
// CUDA_ERROR_INVALID_VALUE for edge data that the node it comes from cannot have.
CUresult check_edge(const GraphNode& from, const CUgraphEdgeData& data);

// Adds a node behind `dependencies`, which must be nodes of the graph, each once. Takes what `work` owns,
// also when it fails.
CUresult add_node(Graph& graph, std::vector<GraphEdge> dependencies, NodeWork work, Context* context, GraphNode** out);
// The same, from handles, with the checks of the Add...Node calls.
CUresult add_node(CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* data, size_t count,
                  NodeWork work, Context* context, CUgraphNode* out);
// Handles to edges: INVALID_VALUE when one is not a node of the graph, or comes twice.
CUresult read_dependencies(const Graph& graph, const CUgraphNode* dependencies, const CUgraphEdgeData* data,
                           size_t count, std::vector<GraphEdge>* out);
void remove_node(GraphNode& node);
void add_edge(GraphNode& from, GraphNode& to, const CUgraphEdgeData& data);

// A copy with new nodes, `original` of each telling where it came from; child graphs are copied along. Null when there
// are too many graphs or nodes.
Graph* clone_graph(const Graph& graph);
void destroy_graph(Graph& graph);
// The first node of the graph or of a graph in it for which `wanted` is true, a node before what it owns; null: none.
template <typename Wanted>
GraphNode* find_node(const Graph& graph, const Wanted& wanted) {
  for (GraphNode* node : graph.nodes) {
    if (wanted(*node)) return node;
    for (const Graph* owned : owned_graphs(node->work))
      if (GraphNode* found = find_node(*owned, wanted); found != nullptr) return found;
  }
  return nullptr;
}

struct GraphDeleter {
  void operator()(Graph* graph) const { destroy_graph(*graph); }
};
using OwnedGraph = std::unique_ptr<Graph, GraphDeleter>;
bool has_memory_nodes(const Graph& graph);  // graphs in it included
// Graphs with memory or conditional nodes cannot be cloned or copied into others, and have one executable graph at
// most.
bool is_exclusive(const Graph& graph);

// User objects (user_object.cc): references that graphs hold.
CUresult retain_user_object(CUuserObject object, uint32_t count);
CUresult release_user_object(CUuserObject object, uint32_t count);

// A body on the graph or node behind a handle, under the lock. `valid` covers the other arguments.
template <typename Body>
CUresult with_graph(CUgraph handle, bool valid, Body&& body) noexcept {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    std::lock_guard<std::recursive_mutex> lock(graph_mutex());
    Graph* graph = graphs().get(handle);
    if (graph == nullptr || !valid) return CUDA_ERROR_INVALID_VALUE;
    return body(call, *graph);
  });
}
template <typename Body>
CUresult with_node(CUgraphNode handle, bool valid, Body&& body) noexcept {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    std::lock_guard<std::recursive_mutex> lock(graph_mutex());
    GraphNode* node = graph_nodes().get(handle);
    if (node == nullptr || !valid) return CUDA_ERROR_INVALID_VALUE;
    return body(call, *node);
  });
}
// The same, where the node must be of a kind.
template <typename Work, typename Body>
CUresult with_node_of(CUgraphNode handle, bool valid, Body&& body) noexcept {
  return with_node(handle, valid, [&](Call& call, GraphNode& node) -> CUresult {
    Work* work = std::get_if<Work>(&node.work);
    if (work == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return body(call, node, *work);
  });
}

}  // namespace maya::cuda
