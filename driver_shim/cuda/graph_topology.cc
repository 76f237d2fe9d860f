// Graphs as a program sees them: made, copied, ended; their nodes and edges.
#include <cuda.h>

#include <algorithm>
#include <functional>

#include "driver_shim/cuda/graph.h"

using namespace maya::cuda;

namespace {

// The documented way lists are handed out: `out` null asks for the number; where there is room for more than there are,
// the rest is null.
CUresult give_nodes(const std::vector<GraphNode*>& nodes, CUgraphNode* out, size_t* count) {
  if (out != nullptr)
    for (size_t i = 0; i < *count; ++i) out[i] = i < nodes.size() ? handle_of(nodes[i]) : nullptr;
  *count = out == nullptr ? nodes.size() : std::min(*count, nodes.size());
  return CUDA_SUCCESS;
}

struct Edge {
  GraphNode *from, *to;
  CUgraphEdgeData data;
};

// Without room for edge data, edges that have some cannot be given.
CUresult check_lossless(const std::vector<Edge>& edges, const CUgraphEdgeData* data) {
  const bool lossy = data == nullptr &&
                     std::any_of(edges.begin(), edges.end(), [](const Edge& edge) { return !is_default(edge.data); });
  return lossy ? CUDA_ERROR_LOSSY_QUERY : CUDA_SUCCESS;
}

CUresult give_edges(const std::vector<Edge>& edges, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                    size_t* count) {
  const bool wanted = from != nullptr || to != nullptr;
  if (wanted)
    if (const CUresult status = check_lossless(edges, data); status != CUDA_SUCCESS) return status;
  for (size_t i = 0; wanted && i < *count; ++i) {
    const bool there = i < edges.size();
    if (from != nullptr) from[i] = there ? handle_of(edges[i].from) : nullptr;
    if (to != nullptr) to[i] = there ? handle_of(edges[i].to) : nullptr;
    if (data != nullptr) data[i] = there ? edges[i].data : CUgraphEdgeData{};
  }
  *count = wanted ? std::min(*count, edges.size()) : edges.size();
  return CUDA_SUCCESS;
}

CUresult get_edges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
  const bool valid = count != nullptr && (from == nullptr) == (to == nullptr) && (data == nullptr || from != nullptr);
  return with_graph(handle, valid, [&](Call&, const Graph& graph) {
    std::vector<Edge> edges;
    for (GraphNode* node : graph.nodes)
      for (const GraphEdge& edge : node->dependencies) edges.push_back({edge.from, node, edge.data});
    return give_edges(edges, from, to, data, count);
  });
}

CUresult get_dependencies(CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* data, size_t* count) {
  return with_node(handle, count != nullptr && (data == nullptr || out != nullptr), [&](Call&, GraphNode& node) {
    std::vector<Edge> edges;
    for (const GraphEdge& edge : node.dependencies) edges.push_back({edge.from, &node, edge.data});
    return give_edges(edges, out, nullptr, data, count);
  });
}

CUresult get_dependents(CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* data, size_t* count) {
  return with_node(handle, count != nullptr && (data == nullptr || out != nullptr), [&](Call&, GraphNode& node) {
    std::vector<Edge> edges;
    for (GraphNode* to : node.dependents)
      for (const GraphEdge& edge : to->dependencies)
        if (edge.from == &node) edges.push_back({&node, to, edge.data});
    return give_edges(edges, nullptr, out, data, count);
  });
}

using EdgeChange = std::function<CUresult(GraphNode& from, GraphNode& to, const CUgraphEdgeData& data)>;

// Every edge is checked before the first one changes.
CUresult change_edges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data,
                      size_t count, const EdgeChange& check, const EdgeChange& change) {
  const bool valid = count == 0 || (from != nullptr && to != nullptr);
  return with_graph(handle, valid, [&](Call&, const Graph& graph) -> CUresult {
    for (const EdgeChange* step : {&check, &change}) {
      for (size_t i = 0; i < count; ++i) {
        GraphNode* first = graph_nodes().get(from[i]);
        GraphNode* second = graph_nodes().get(to[i]);
        if (first == nullptr || second == nullptr || first->graph != &graph || second->graph != &graph)
          return CUDA_ERROR_INVALID_VALUE;
        const CUgraphEdgeData edge = data != nullptr ? data[i] : CUgraphEdgeData{};
        if (const CUresult status = (*step)(*first, *second, edge); status != CUDA_SUCCESS) return status;
      }
    }
    return CUDA_SUCCESS;
  });
}

bool same(const CUgraphEdgeData& a, const CUgraphEdgeData& b) {
  return a.from_port == b.from_port && a.to_port == b.to_port && a.type == b.type;
}

auto find_edge(GraphNode& from, GraphNode& to) {
  return std::find_if(to.dependencies.begin(), to.dependencies.end(),
                      [&](const GraphEdge& edge) { return edge.from == &from; });
}

CUresult add_edges(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data,
                   size_t count) {
  return change_edges(
      graph, from, to, data, count,
      [](GraphNode& first, GraphNode& second, const CUgraphEdgeData& edge) -> CUresult {
        if (&first == &second || find_edge(first, second) != second.dependencies.end()) return CUDA_ERROR_INVALID_VALUE;
        return check_edge(first, edge);
      },
      [](GraphNode& first, GraphNode& second, const CUgraphEdgeData& edge) {
        if (find_edge(first, second) != second.dependencies.end()) return CUDA_ERROR_INVALID_VALUE;
        add_edge(first, second, edge);
        return CUDA_SUCCESS;
      });
}

CUresult remove_edges(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data,
                      size_t count) {
  return change_edges(
      graph, from, to, data, count,
      [](GraphNode& first, GraphNode& second, const CUgraphEdgeData& edge) {
        const auto found = find_edge(first, second);
        const bool right = found != second.dependencies.end() && same(found->data, edge);
        return right && !first.graph->has_memory_nodes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
      },
      [](GraphNode& first, GraphNode& second, const CUgraphEdgeData&) {
        const auto found = find_edge(first, second);
        if (found == second.dependencies.end()) return CUDA_ERROR_INVALID_VALUE;
        second.dependencies.erase(found);
        std::erase(first.dependents, &second);
        return CUDA_SUCCESS;
      });
}

}  // namespace

CUresult cuGraphCreate(CUgraph* out, unsigned int flags) {
  return enter(Needs::kInitialized, [&](Call&) {
    if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard<std::recursive_mutex> lock(graph_mutex());
    Graph* made = graphs().create();
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = handle_of(made);
    return CUDA_SUCCESS;
  });
}

// A graph that is captured into is still needed, and a child graph belongs to its parent.
CUresult cuGraphDestroy(CUgraph handle) {
  return with_graph(handle, true, [](Call&, Graph& graph) {
    if (graph.captures != 0 || graph.parent != nullptr) return CUDA_ERROR_INVALID_VALUE;
    destroy_graph(graph);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphClone(CUgraph* out, CUgraph handle) {
  return with_graph(handle, out != nullptr, [&](Call&, const Graph& graph) {
    if (is_exclusive(graph)) return CUDA_ERROR_INVALID_VALUE;
    Graph* made = clone_graph(graph);
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = handle_of(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeFindInClone(CUgraphNode* out, CUgraphNode original, CUgraph clone) {
  return with_graph(clone, out != nullptr, [&](Call&, const Graph& graph) {
    const GraphNode* wanted = graph_nodes().get(original);
    if (wanted == nullptr || graph.original != wanted->graph->id) return CUDA_ERROR_INVALID_VALUE;
    for (GraphNode* node : graph.nodes) {
      if (node->original != wanted->id) continue;
      *out = handle_of(node);
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphGetId(CUgraph handle, unsigned int* id) {
  return with_graph(handle, id != nullptr, [&](Call&, const Graph& graph) {
    *id = graph.id;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  return with_node(handle, type != nullptr, [&](Call&, const GraphNode& node) {
    *type = type_of(node.work);
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphNodeGetContainingGraph(CUgraphNode handle, CUgraph* graph) {
  return with_node(handle, graph != nullptr, [&](Call&, const GraphNode& node) {
    *graph = handle_of(node.graph);
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphNodeGetLocalId(CUgraphNode handle, unsigned int* id) {
  return with_node(handle, id != nullptr, [&](Call&, const GraphNode& node) {
    *id = node.local_id;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphNodeGetToolsId(CUgraphNode handle, unsigned long long* id) {
  return with_node(handle, id != nullptr, [&](Call&, const GraphNode& node) {
    *id = uint64_t{node.graph->id} << 32 | node.local_id;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return with_graph(handle, count != nullptr,
                    [&](Call&, const Graph& graph) { return give_nodes(graph.nodes, nodes, count); });
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return with_graph(handle, count != nullptr, [&](Call&, const Graph& graph) {
    std::vector<GraphNode*> roots;
    for (GraphNode* node : graph.nodes)
      if (node->dependencies.empty()) roots.push_back(node);
    return give_nodes(roots, nodes, count);
  });
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return get_edges(graph, from, to, nullptr, count);
}
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
  return get_edges(graph, from, to, data, count);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* out, size_t* count) {
  return get_dependencies(node, out, nullptr, count);
}
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data, size_t* count) {
  return get_dependencies(node, out, data, count);
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* out, size_t* count) {
  return get_dependents(node, out, nullptr, count);
}
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data, size_t* count) {
  return get_dependents(node, out, data, count);
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return add_edges(graph, from, to, nullptr, count);
}
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* data, size_t count) {
  return add_edges(graph, from, to, data, count);
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return remove_edges(graph, from, to, nullptr, count);
}
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData* data, size_t count) {
  return remove_edges(graph, from, to, data, count);
}

CUresult cuGraphDestroyNode(CUgraphNode handle) {
  return with_node(handle, true, [](Call&, GraphNode& node) {
    if (node.graph->has_memory_nodes || node.graph->captures != 0) return CUDA_ERROR_INVALID_VALUE;
    remove_node(node);
    return CUDA_SUCCESS;
  });
}
