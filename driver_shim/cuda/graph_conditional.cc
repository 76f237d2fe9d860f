#include "driver_shim/cuda/graph_conditional.h"

#include <atomic>
#include <cstring>
#include <unordered_map>

#include "driver_shim/cuda/configuration.h"
#include "driver_shim/cuda/driver.h"

namespace maya::cuda {
namespace {

// Under the lock of graphs. Values that no program makes up by chance, so that arguments of kernels can be searched for
// them.
constexpr CUgraphConditionalHandle kFirst = 0x6d61796100000001;
struct Conditionals {
  std::unordered_map<CUgraphConditionalHandle, std::shared_ptr<const Conditional>> made;
  CUgraphConditionalHandle next = kFirst;
};
Conditionals& conditionals() {
  static auto& all = *new Conditionals;
  return all;
}

const Graph& outermost(const Graph& graph) {
  const Graph* outer = &graph;
  while (outer->parent != nullptr) outer = outer->parent->graph;
  return *outer;
}

bool gets_handle(const KernelNode& node, CUgraphConditionalHandle handle) {
  if (node.launch.kernel == nullptr) return false;
  const std::vector<device::KernelParameter>& parameters = node.launch.kernel->parameters;
  for (size_t i = 0; i < parameters.size(); ++i)
    for (size_t at = 0; at + sizeof handle <= parameters[i].size; at += sizeof handle)
      if (memcmp(static_cast<const char*>(node.launch.arguments[i]) + at, &handle, sizeof handle) == 0) return true;
  return false;
}

bool may_be_set(const Graph& root, CUgraphConditionalHandle handle) {
  return find_node(root, [&](const GraphNode& node) {
           const auto* kernel = std::get_if<KernelNode>(&node.work);
           return kernel != nullptr && gets_handle(*kernel, handle);
         }) != nullptr;
}

bool is_used(const Graph& root, CUgraphConditionalHandle handle) {
  return find_node(root, [&](const GraphNode& node) {
           const auto* conditional = std::get_if<ConditionalNode>(&node.work);
           return conditional != nullptr && conditional->handle == handle;
         }) != nullptr;
}

void say_once(const char* what, uint32_t times) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true))
    print_line(std::string("a graph's ") + what +
               " node has a value that a kernel decides, and kernels do not run: taken to run " +
               std::to_string(times) + " time(s); MAYA_GRAPH_ITERATIONS says how often loops run");
}

bool may_be_in_body(const NodeWork& work) {
  switch (type_of(work)) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return true;
    default:
      return false;
  }
}

// The first node that no body may hold, in any body of the graph's conditional nodes; null: none.
const GraphNode* forbidden_in_bodies(const Graph& graph) {
  const GraphNode* forbidden = nullptr;
  find_node(graph, [&](const GraphNode& node) {
    const auto* conditional = std::get_if<ConditionalNode>(&node.work);
    if (conditional == nullptr) return false;
    for (const Graph* body : conditional->bodies)
      if (forbidden == nullptr)
        forbidden = find_node(*body, [](const GraphNode& inner) { return !may_be_in_body(inner.work); });
    return forbidden != nullptr;
  });
  return forbidden;
}

CUresult create_handle(CUgraphConditionalHandle* out, CUgraph graph_handle, CUcontext where, unsigned int value,
                       unsigned int flags) {
  const bool valid = out != nullptr && (flags & ~uint32_t{CU_GRAPH_COND_ASSIGN_DEFAULT}) == 0;
  return with_graph(graph_handle, valid, [&](Call& call, const Graph& graph) -> CUresult {
    Context* context = call.thread().current();
    if (where != nullptr)
      if (const CUresult status = call.driver().live_context(where, &context); status != CUDA_SUCCESS) return status;
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    Conditionals& all = conditionals();
    all.made.emplace(all.next, std::make_shared<const Conditional>(
                                   Conditional{graph.id, context, value, (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0}));
    *out = all.next++;
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult make_conditional_node(Call& call, const Graph& graph, CUDA_CONDITIONAL_NODE_PARAMS* p, ConditionalNode* out,
                               Context** context) {
  const auto known = conditionals().made.find(p->handle);
  if (known == conditionals().made.end()) return CUDA_ERROR_INVALID_VALUE;
  const bool size_fits = p->type == CU_GRAPH_COND_TYPE_IF      ? p->size == 1 || p->size == 2
                         : p->type == CU_GRAPH_COND_TYPE_WHILE ? p->size == 1
                                                               : p->type == CU_GRAPH_COND_TYPE_SWITCH && p->size > 0;
  if (!size_fits) return CUDA_ERROR_INVALID_VALUE;
  bool in_scope = false;
  for (const Graph* around = &graph; around != nullptr; around = around->parent ? around->parent->graph : nullptr)
    in_scope = in_scope || around->id == known->second->graph;
  if (!in_scope || is_used(outermost(graph), p->handle)) return CUDA_ERROR_INVALID_VALUE;
  *context = known->second->context;
  if (p->ctx != nullptr) {
    Context* given = nullptr;
    if (const CUresult status = call.driver().live_context(p->ctx, &given); status != CUDA_SUCCESS) return status;
    if (given != *context) return CUDA_ERROR_INVALID_VALUE;
  }
  auto array = std::make_shared<std::vector<CUgraph>>();
  out->handle = p->handle;
  out->conditional = known->second;
  out->type = p->type;
  for (unsigned int i = 0; i < p->size; ++i) {
    Graph* body = graphs().create();
    if (body == nullptr) {
      for (Graph* made : out->bodies) destroy_graph(*made);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    out->bodies.push_back(body);
    array->push_back(handle_of(body));
  }
  p->phGraph_out = array->data();
  out->array = std::move(array);
  return CUDA_SUCCESS;
}

std::vector<uint32_t> bodies_to_run(const Graph& root, const ConditionalNode& node) {
  const uint32_t iterations = configuration().graph_iterations;
  const bool set = may_be_set(root, node.handle);
  const unsigned int value = !set && node.conditional->assign_default ? node.conditional->default_value : 0;
  switch (node.type) {
    case CU_GRAPH_COND_TYPE_WHILE:
      if (!set && value == 0) return {};
      say_once("WHILE", iterations);
      return std::vector<uint32_t>(iterations, 0);
    case CU_GRAPH_COND_TYPE_SWITCH:
      if (set) say_once("SWITCH", 1);
      return value < node.bodies.size() ? std::vector<uint32_t>{value} : std::vector<uint32_t>{};
    default:
      if (set) say_once("IF", 1);
      if (set || value != 0) return {0};
      return node.bodies.size() == 2 ? std::vector<uint32_t>{1} : std::vector<uint32_t>{};
  }
}

CUresult check_conditionals(const Graph& graph, CUgraphInstantiateResult* result, const GraphNode** failed) {
  const GraphNode* const forbidden = forbidden_in_bodies(graph);
  if (forbidden != nullptr) {
    *result = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
    *failed = forbidden;
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (const auto& [handle, made] : conditionals().made)
    if (made->graph == graph.id && !is_used(graph, handle)) {
      *result = CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
      return CUDA_ERROR_INVALID_VALUE;
    }
  return CUDA_SUCCESS;
}

void forget_conditionals(const Graph& graph) {
  std::erase_if(conditionals().made, [&](const auto& entry) { return entry.second->graph == graph.id; });
}

}  // namespace maya::cuda

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* out, CUgraph graph, CUcontext context,
                                        unsigned int default_value, unsigned int flags) {
  return maya::cuda::create_handle(out, graph, context, default_value, flags);
}
