// Conditional nodes: IF, WHILE and SWITCH over a value that kernels of the graph may set on the device.
//
// Kernels do not run, so a value is known only where nothing can have set it: it is then the handle's default (with
// CU_GRAPH_COND_ASSIGN_DEFAULT) or zero. A kernel that gets the handle as an argument may set it. Where the value is
// not known, the work that a training step needs to be representative is taken to run: the first body of IF and SWITCH
// once, the body of WHILE as many times as MAYA_GRAPH_ITERATIONS says (1). A WHILE whose known value starts it also
// runs that often. One line says so, once a process.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "driver_shim/cuda/graph.h"

namespace maya::cuda {

// Makes the bodies, which are empty. The handle must be of `graph` or a graph around it, and of no other node.
CUresult make_conditional_node(Call& call, const Graph& graph, CUDA_CONDITIONAL_NODE_PARAMS* parameters,
                               ConditionalNode* out, Context** context);

// Which bodies of a node a launch runs, in order: indices into ConditionalNode::bodies. `root`: the whole graph that is
// launched.
std::vector<uint32_t> bodies_to_run(const Graph& root, const ConditionalNode& node);

// INVALID_VALUE and the reason when a graph with conditional nodes cannot be instantiated: work that bodies may not
// hold, or a handle made for the graph that no node uses.
CUresult check_conditionals(const Graph& graph, CUgraphInstantiateResult* result, const GraphNode** failed);

// The graph ends: handles made for it are no longer known. Nodes keep what they need.
void forget_conditionals(const Graph& graph);

}  // namespace maya::cuda
