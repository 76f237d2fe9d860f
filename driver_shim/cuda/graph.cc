#include "driver_shim/cuda/graph.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <unordered_map>

#include "driver_shim/cuda/graph_conditional.h"
#include "driver_shim/cuda/graph_memory.h"

namespace maya::cuda {
namespace {

constexpr size_t kMostGraphs = 1 << 18;
constexpr size_t kMostNodes = 1 << 22;

std::atomic<uint64_t> next_node_id{1};
std::atomic<uint32_t> next_graph_id{1};

}  // namespace

std::recursive_mutex& graph_mutex() {
  static auto& made = *new std::recursive_mutex;
  return made;
}

device::HandlePool<Graph>& graphs() {
  static auto& made = *new device::HandlePool<Graph>(kMostGraphs);
  return made;
}

device::HandlePool<GraphNode>& graph_nodes() {
  static auto& made = *new device::HandlePool<GraphNode>(kMostNodes);
  return made;
}

ArgumentCopy::ArgumentCopy(const device::KernelInfo& kernel, void* const* arguments) {
  size_t bytes = 0;
  for (const device::KernelParameter& parameter : kernel.parameters)
    bytes = std::max<size_t>(bytes, size_t{parameter.offset} + parameter.size);
  bytes_.resize(bytes);
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    std::byte* at = bytes_.data() + kernel.parameters[i].offset;
    memcpy(at, arguments[i], kernel.parameters[i].size);
    pointers_.push_back(at);
  }
}

GraphNode::GraphNode(Graph* owner, uint32_t index, NodeWork does, Context* where)
    : graph(owner),
      local_id(index),
      id(next_node_id.fetch_add(1, std::memory_order_relaxed)),
      original(id),
      work(std::move(does)),
      context(where) {}

Graph::Graph() : id(next_graph_id.fetch_add(1, std::memory_order_relaxed)) {}

Graph::~Graph() {
  for (GraphNode* node : nodes) {
    for (Graph* owned : owned_graphs(node->work)) destroy_graph(*owned);
    graph_nodes().destroy(node);
  }
  forget_conditionals(*this);
  for (const auto& [object, count] : user_objects) release_user_object(object, count);
}

std::span<Graph* const> owned_graphs(const NodeWork& work) {
  if (const auto* child = std::get_if<ChildNode>(&work); child != nullptr) return {&child->graph, 1};
  if (const auto* conditional = std::get_if<ConditionalNode>(&work); conditional != nullptr) return conditional->bodies;
  return {};
}

CUgraphNodeType type_of(const NodeWork& work) {
  constexpr CUgraphNodeType kTypes[] = {
      CU_GRAPH_NODE_TYPE_EMPTY,       CU_GRAPH_NODE_TYPE_KERNEL,      CU_GRAPH_NODE_TYPE_KERNEL,
      CU_GRAPH_NODE_TYPE_MEMCPY,      CU_GRAPH_NODE_TYPE_MEMSET,      CU_GRAPH_NODE_TYPE_HOST,
      CU_GRAPH_NODE_TYPE_GRAPH,       CU_GRAPH_NODE_TYPE_CONDITIONAL, CU_GRAPH_NODE_TYPE_EVENT_RECORD,
      CU_GRAPH_NODE_TYPE_WAIT_EVENT,  CU_GRAPH_NODE_TYPE_MEM_ALLOC,   CU_GRAPH_NODE_TYPE_MEM_FREE,
      CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
  static_assert(std::size(kTypes) == std::variant_size_v<NodeWork>);
  return kTypes[work.index()];
}

CUresult check_edge(const GraphNode& from, const CUgraphEdgeData& data) {
  for (const unsigned char byte : data.reserved)
    if (byte != 0) return CUDA_ERROR_INVALID_VALUE;
  if (data.to_port != 0 || data.type > CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC) return CUDA_ERROR_INVALID_VALUE;
  if (data.from_port > CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER) return CUDA_ERROR_INVALID_VALUE;
  const bool from_kernel = type_of(from.work) == CU_GRAPH_NODE_TYPE_KERNEL;
  return is_default(data) || from_kernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void add_edge(GraphNode& from, GraphNode& to, const CUgraphEdgeData& data) {
  to.dependencies.push_back({&from, data});
  from.dependents.push_back(&to);
}

CUresult add_node(Graph& graph, std::vector<GraphEdge> dependencies, NodeWork work, Context* context, GraphNode** out) {
  const bool memory = std::holds_alternative<AllocationNode>(work) || std::holds_alternative<FreeNode>(work);
  const std::span<Graph* const> given = owned_graphs(work);
  const std::vector<Graph*> owned(given.begin(), given.end());
  GraphNode* made = nullptr;
  try {
    made = graph_nodes().create(&graph, graph.next_local_id, std::move(work), context);
    if (made != nullptr) {
      graph.nodes.push_back(made);
      for (const GraphEdge& edge : dependencies) add_edge(*edge.from, *made, edge.data);
    }
  } catch (const std::bad_alloc&) {
    if (made != nullptr) {
      remove_node(*made);  // with what it owns
      throw;
    }
  }
  if (made == nullptr) {
    for (Graph* graph_of_node : owned) destroy_graph(*graph_of_node);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  ++graph.next_local_id;
  for (Graph* graph_of_node : owned) graph_of_node->parent = made;
  if (memory) graph.has_memory_nodes = true;
  *out = made;
  return CUDA_SUCCESS;
}

CUresult read_dependencies(const Graph& graph, const CUgraphNode* dependencies, const CUgraphEdgeData* data,
                           size_t count, std::vector<GraphEdge>* out) {
  if (count != 0 && dependencies == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    GraphNode* from = graph_nodes().get(dependencies[i]);
    if (from == nullptr || from->graph != &graph) return CUDA_ERROR_INVALID_VALUE;
    const CUgraphEdgeData edge = data != nullptr ? data[i] : CUgraphEdgeData{};
    if (const CUresult status = check_edge(*from, edge); status != CUDA_SUCCESS) return status;
    for (const GraphEdge& known : *out)
      if (known.from == from) return CUDA_ERROR_INVALID_VALUE;
    out->push_back({from, edge});
  }
  return CUDA_SUCCESS;
}

CUresult add_node(CUgraph handle, const CUgraphNode* dependencies, const CUgraphEdgeData* data, size_t count,
                  NodeWork work, Context* context, CUgraphNode* out) {
  Graph* graph = graphs().get(handle);
  if (graph == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphEdge> edges;
  if (const CUresult status = read_dependencies(*graph, dependencies, data, count, &edges); status != CUDA_SUCCESS)
    return status;
  GraphNode* made = nullptr;
  if (const CUresult status = add_node(*graph, std::move(edges), std::move(work), context, &made);
      status != CUDA_SUCCESS)
    return status;
  *out = handle_of(made);
  return CUDA_SUCCESS;
}

void remove_node(GraphNode& node) {
  for (const GraphEdge& edge : node.dependencies) std::erase(edge.from->dependents, &node);
  for (GraphNode* to : node.dependents)
    std::erase_if(to->dependencies, [&](const GraphEdge& edge) { return edge.from == &node; });
  std::erase(node.graph->nodes, &node);
  for (Graph* owned : owned_graphs(node.work)) destroy_graph(*owned);
  graph_nodes().destroy(&node);
}

namespace {

// The node's own copies in place of the bodies that it was copied with. False, and none: too many graphs.
bool clone_bodies(ConditionalNode& node) {
  std::vector<Graph*> copies;
  auto array = std::make_shared<std::vector<CUgraph>>();
  for (const Graph* body : node.bodies) {
    Graph* copy = clone_graph(*body);
    if (copy == nullptr) {
      for (Graph* made : copies) destroy_graph(*made);
      return false;
    }
    copies.push_back(copy);
    array->push_back(handle_of(copy));
  }
  node.bodies = std::move(copies);
  node.array = std::move(array);
  return true;
}

}  // namespace

Graph* clone_graph(const Graph& graph) {
  OwnedGraph made(graphs().create());
  if (made == nullptr) return nullptr;
  made->original = graph.id;
  made->has_memory_nodes = graph.has_memory_nodes;
  std::unordered_map<const GraphNode*, GraphNode*> copies;
  for (const GraphNode* node : graph.nodes) {
    NodeWork work = node->work;
    if (ChildNode* child = std::get_if<ChildNode>(&work); child != nullptr) {
      child->graph = clone_graph(*child->graph);
      if (child->graph == nullptr) return nullptr;
    }
    if (ConditionalNode* conditional = std::get_if<ConditionalNode>(&work); conditional != nullptr)
      if (!clone_bodies(*conditional)) return nullptr;
    GraphNode* copy = nullptr;
    if (add_node(*made, {}, std::move(work), node->context, &copy) != CUDA_SUCCESS) return nullptr;
    copy->original = node->id;
    copy->lane_hint = node->lane_hint;
    copy->enabled = node->enabled;
    copies.emplace(node, copy);
  }
  for (const GraphNode* node : graph.nodes)
    for (const GraphEdge& edge : node->dependencies) add_edge(*copies.at(edge.from), *copies.at(node), edge.data);
  for (const auto& [object, count] : graph.user_objects)
    if (retain_user_object(object, count) == CUDA_SUCCESS) made->user_objects.emplace_back(object, count);
  return made.release();
}

void destroy_graph(Graph& graph) { graphs().destroy(&graph); }

bool has_memory_nodes(const Graph& graph) {
  if (graph.has_memory_nodes) return true;
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const GraphNode* node) {
    const std::span<Graph* const> owned = owned_graphs(node->work);
    return std::any_of(owned.begin(), owned.end(), [](const Graph* inner) { return has_memory_nodes(*inner); });
  });
}

bool is_exclusive(const Graph& graph) {
  const auto is_conditional = [](const GraphNode& node) { return std::holds_alternative<ConditionalNode>(node.work); };
  return has_memory_nodes(graph) || find_node(graph, is_conditional) != nullptr;
}

}  // namespace maya::cuda
