// Graphs made by hand: nodes, edges, instantiation, updates. Errors as cuda.h documents them.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "test/cuda/graph_helpers.h"

using namespace driver_test;

namespace {

// A graph, destroyed at the end.
class TestGraph {
 public:
  TestGraph() { REQUIRE(cuGraphCreate(&graph_, 0) == CUDA_SUCCESS); }
  ~TestGraph() { cuGraphDestroy(graph_); }
  TestGraph(const TestGraph&) = delete;
  TestGraph& operator=(const TestGraph&) = delete;
  operator CUgraph() const { return graph_; }

  CUgraphNode empty(const std::vector<CUgraphNode>& behind = {}) {
    CUgraphNode made = nullptr;
    REQUIRE(cuGraphAddEmptyNode(&made, graph_, behind.data(), behind.size()) == CUDA_SUCCESS);
    return made;
  }
  CUgraphNode fill(CUdeviceptr to, unsigned int value, const std::vector<CUgraphNode>& behind = {}) {
    CUgraphNode made = nullptr;
    const CUDA_MEMSET_NODE_PARAMS p = fill_words(to, value);
    CUcontext context = nullptr;
    cuCtxGetCurrent(&context);
    REQUIRE(cuGraphAddMemsetNode(&made, graph_, behind.data(), behind.size(), &p, context) == CUDA_SUCCESS);
    return made;
  }

 private:
  CUgraph graph_ = nullptr;
};

}  // namespace

TEST_CASE("Nodes and edges are what was added") {
  CurrentContext current;
  TestGraph graph;
  const CUgraphNode a = graph.empty(), b = graph.empty({a}), c = graph.empty({a, b});
  size_t count = 0;
  CHECK(cuGraphGetNodes(graph, nullptr, &count) == CUDA_SUCCESS);
  CHECK(count == 3);
  CUgraphNode nodes[5];
  count = 5;
  CHECK(cuGraphGetNodes(graph, nodes, &count) == CUDA_SUCCESS);
  CHECK(count == 3);
  CHECK((nodes[0] == a && nodes[1] == b && nodes[2] == c && nodes[3] == nullptr && nodes[4] == nullptr));
  CUgraphNode from[3], to[3];
  count = 3;
  CHECK(cuGraphGetEdges(graph, from, to, &count) == CUDA_SUCCESS);
  CHECK(count == 3);
  count = 2;
  CHECK(cuGraphNodeGetDependencies(c, from, &count) == CUDA_SUCCESS);
  CHECK((count == 2 && from[0] == a && from[1] == b));
  count = 2;
  CHECK(cuGraphNodeGetDependentNodes(a, to, &count) == CUDA_SUCCESS);
  CHECK((count == 2 && to[0] == b && to[1] == c));
  CHECK(cuGraphRemoveDependencies(graph, &a, &c, 1) == CUDA_SUCCESS);
  CHECK(cuGraphRemoveDependencies(graph, &a, &c, 1) == CUDA_ERROR_INVALID_VALUE);  // "does not exist"
  CHECK(cuGraphAddDependencies(graph, &a, &c, 1) == CUDA_SUCCESS);
  CHECK(cuGraphAddDependencies(graph, &a, &c, 1) == CUDA_ERROR_INVALID_VALUE);  // "an existing dependency"
  CHECK(cuGraphAddDependencies(graph, &a, &a, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphDestroyNode(b) == CUDA_SUCCESS);
  CHECK(cuGraphDestroyNode(b) == CUDA_ERROR_INVALID_VALUE);
  CHECK(node_count(graph) == 2);
  count = 0;
  CHECK(cuGraphNodeGetDependencies(c, nullptr, &count) == CUDA_SUCCESS);
  CHECK(count == 1);
}

TEST_CASE("Bad arguments of graph calls") {
  CurrentContext current;
  TestGraph graph, other;
  const CUgraphNode node = graph.empty(), foreign = other.empty();
  CUgraph made = nullptr;
  CUgraphNode out = nullptr;
  CHECK(cuGraphCreate(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphCreate(&made, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphDestroy(nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddEmptyNode(&out, nullptr, nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddEmptyNode(nullptr, graph, nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddEmptyNode(&out, graph, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddEmptyNode(&out, graph, &foreign, 1) == CUDA_ERROR_INVALID_VALUE);
  const CUgraphNode twice[] = {node, node};  // "may not have any duplicate entries"
  CHECK(cuGraphAddEmptyNode(&out, graph, twice, 2) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddDependencies(graph, &node, &foreign, 1) == CUDA_ERROR_INVALID_VALUE);
  CUgraphNodeType type{};
  CHECK(cuGraphNodeGetType(node, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphNodeGetType(nullptr, &type) == CUDA_ERROR_INVALID_VALUE);
  CUDA_HOST_NODE_PARAMS host{};
  CHECK(cuGraphAddHostNode(&out, graph, nullptr, 0, &host) == CUDA_ERROR_INVALID_VALUE);  // no function
  CHECK(cuGraphHostNodeGetParams(node, &host) == CUDA_ERROR_INVALID_VALUE);               // another kind of node
  CUDA_MEMSET_NODE_PARAMS fill{0x1000, 0, 0, 3, 1, 1};                                    // "Must be 1, 2, or 4"
  CHECK(cuGraphAddMemsetNode(&out, graph, nullptr, 0, &fill, current.get()) == CUDA_ERROR_INVALID_VALUE);
  CUgraphExec executable = nullptr;
  CHECK(cuGraphInstantiateWithFlags(&executable, graph, 16) == CUDA_ERROR_INVALID_VALUE);
  // "This flag cannot be used in conjunction with CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH."
  CHECK(cuGraphInstantiateWithFlags(&executable, graph,
                                    CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                                        CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphLaunch(nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphLaunch(reinterpret_cast<CUgraphExec>(0x1234), nullptr) == CUDA_ERROR_INVALID_VALUE);
  CUgraphNodeParams semaphore{};
  semaphore.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
  CHECK(cuGraphAddNode(&out, graph, nullptr, 0, &semaphore) == CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("Edges carry data, and are not told without it") {
  CurrentContext current;
  TestGraph graph;
  Module module;
  CUDA_KERNEL_NODE_PARAMS kernel{};
  kernel.func = module.function("nothing");
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
  CUgraphNode first = nullptr;
  REQUIRE(cuGraphAddKernelNode_v2(&first, graph, nullptr, 0, &kernel) == CUDA_SUCCESS);
  const CUgraphNode second = graph.empty();
  CUgraphEdgeData data{};
  data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  CHECK(cuGraphAddDependencies_v2(graph, &second, &first, &data, 1) == CUDA_ERROR_INVALID_VALUE);  // no kernel
  CHECK(cuGraphAddDependencies_v2(graph, &first, &second, &data, 1) == CUDA_SUCCESS);
  CUgraphNode from = nullptr, to = nullptr;
  size_t count = 1;
  CHECK(cuGraphGetEdges(graph, &from, &to, &count) == CUDA_ERROR_LOSSY_QUERY);
  CUgraphEdgeData found{};
  CHECK(cuGraphGetEdges_v2(graph, &from, &to, &found, &count) == CUDA_SUCCESS);
  CHECK((from == first && to == second && found.from_port == data.from_port && found.type == data.type));
}

TEST_CASE("Work runs in the order of the edges, not of its making") {
  CurrentContext current;
  TestGraph graph;
  TestStream stream;
  Words a, b;
  a.set(1), b.set(2);
  // b = a is made first, a = 7 comes before it.
  const CUDA_MEMCPY3D p = copy_bytes(b, a, Words::kCount * 4);
  CUgraphNode copy = nullptr;
  REQUIRE(cuGraphAddMemcpyNode(&copy, graph, nullptr, 0, &p, current.get()) == CUDA_SUCCESS);
  const CUgraphNode fill = graph.fill(a, 7);
  REQUIRE(cuGraphAddDependencies(graph, &fill, &copy, 1) == CUDA_SUCCESS);
  const CUgraphExec executable = instantiate(graph);
  CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
  CHECK(b.first() == 7);

  SECTION("a circle cannot run") {
    REQUIRE(cuGraphAddDependencies(graph, &copy, &fill, 1) == CUDA_SUCCESS);
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
    CUgraphExec none = nullptr;
    CHECK(cuGraphInstantiateWithParams(&none, graph, &parameters) == CUDA_ERROR_INVALID_VALUE);
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    CHECK((parameters.hErrNode_out == copy || parameters.hErrNode_out == fill));
  }
  SECTION("the executable graph does not change with the graph") {
    const CUDA_MEMSET_NODE_PARAMS other = fill_words(a, 8);
    CHECK(cuGraphMemsetNodeSetParams(fill, &other) == CUDA_SUCCESS);
    CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
    CHECK(b.first() == 7);
    CHECK(cuGraphExecMemsetNodeSetParams(executable, fill, &other, current.get()) == CUDA_SUCCESS);
    CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
    CHECK(b.first() == 8);
  }
  SECTION("a node that is switched off is passed by") {
    CHECK(cuGraphNodeSetEnabled(executable, fill, 0) == CUDA_SUCCESS);
    unsigned int enabled = 1;
    CHECK(cuGraphNodeGetEnabled(executable, fill, &enabled) == CUDA_SUCCESS);
    CHECK(enabled == 0);
    a.set(3);
    CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
    CHECK(b.first() == 3);
  }
  SECTION("memory of another kind is no update") {
    CUDA_MEMCPY3D changed = p;
    unsigned int host[Words::kCount] = {};
    changed.srcMemoryType = CU_MEMORYTYPE_HOST;
    changed.srcHost = host;
    CHECK(cuGraphExecMemcpyNodeSetParams(executable, copy, &changed, current.get()) == CUDA_ERROR_INVALID_VALUE);
    changed = copy_bytes(a, b, Words::kCount * 4);  // "Addresses for 1-dimensional copies"
    CHECK(cuGraphExecMemcpyNodeSetParams(executable, copy, &changed, current.get()) == CUDA_SUCCESS);
    changed.Height = 2;
    changed.WidthInBytes = 4;
    CHECK(cuGraphExecMemcpyNodeSetParams(executable, copy, &changed, current.get()) == CUDA_ERROR_INVALID_VALUE);
  }
  cuGraphExecDestroy(executable);
}

TEST_CASE("An executable graph takes over the parameters of a graph of the same shape") {
  CurrentContext current;
  TestStream stream;
  Words a;
  TestGraph first, second, longer, other_kind;
  first.fill(a, 1, {first.empty()});
  second.fill(a, 2, {second.empty()});
  longer.fill(a, 3, {longer.empty({longer.empty()})});
  const CUgraphNode odd = other_kind.empty({other_kind.empty()});
  const CUgraphExec executable = instantiate(first);
  CUgraphExecUpdateResultInfo info{};
  CHECK(cuGraphExecUpdate_v2(executable, second, &info) == CUDA_SUCCESS);
  CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
  CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
  CHECK(a.first() == 2);
  CHECK(cuGraphExecUpdate_v2(executable, longer, &info) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  CHECK(info.errorNode == nullptr);  // "the count of nodes ... differ"
  CHECK(cuGraphExecUpdate_v2(executable, other_kind, &info) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  CHECK(info.errorNode == odd);
  CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
  CHECK(a.first() == 2);
  cuGraphExecDestroy(executable);
}

TEST_CASE("Clones and children are graphs of their own") {
  CurrentContext current;
  TestStream stream;
  Words a;
  TestGraph inner, outer;
  const CUgraphNode fill = inner.fill(a, 1);
  CUgraph clone = nullptr, embedded = nullptr;
  CUgraphNode in_clone = nullptr, child = nullptr;
  REQUIRE(cuGraphClone(&clone, inner) == CUDA_SUCCESS);
  CHECK(cuGraphNodeFindInClone(&in_clone, fill, clone) == CUDA_SUCCESS);
  CHECK(in_clone != fill);
  CHECK(cuGraphNodeFindInClone(&in_clone, fill, outer) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuGraphAddChildGraphNode(&child, outer, nullptr, 0, inner) == CUDA_SUCCESS);
  CHECK(cuGraphChildGraphNodeGetGraph(child, &embedded) == CUDA_SUCCESS);
  CHECK(node_count(embedded) == 1);
  CHECK(cuGraphDestroy(embedded) == CUDA_ERROR_INVALID_VALUE);  // its node owns it
  const CUDA_MEMSET_NODE_PARAMS other = fill_words(a, 2);
  CHECK(cuGraphMemsetNodeSetParams(fill, &other) == CUDA_SUCCESS);
  for (const CUgraph graph : {clone, static_cast<CUgraph>(outer)}) {
    a.set(0);
    const CUgraphExec executable = instantiate(graph);
    CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
    CHECK(a.first() == 1);  // as it was when it was copied
    cuGraphExecDestroy(executable);
  }
  CHECK(cuGraphDestroy(clone) == CUDA_SUCCESS);
}

TEST_CASE("Kernel nodes: parameters, attributes, checks") {
  CurrentContext current;
  TestGraph graph;
  Module module;
  Words data;
  CUdeviceptr pointer = data;
  unsigned int count = 4;
  void* arguments[] = {&pointer, &count};
  CUDA_KERNEL_NODE_PARAMS p{};
  p.func = module.function("scale");
  p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
  CUgraphNode node = nullptr;
  CHECK(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &p) == CUDA_ERROR_INVALID_VALUE);  // no arguments
  p.kernelParams = arguments;
  p.blockDimX = 1025;
  CHECK(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &p) == CUDA_ERROR_INVALID_VALUE);
  p.blockDimX = 64;
  void* extra[] = {CU_LAUNCH_PARAM_END};
  p.extra = extra;  // "if kernel parameters are specified with both kernelParams and extra"
  CHECK(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &p) == CUDA_ERROR_INVALID_VALUE);
  p.extra = nullptr;
  REQUIRE(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &p) == CUDA_SUCCESS);
  CUDA_KERNEL_NODE_PARAMS found{};
  CHECK(cuGraphKernelNodeGetParams_v2(node, &found) == CUDA_SUCCESS);
  CHECK(found.func == p.func);
  CHECK(found.blockDimX == 64);
  CHECK(*static_cast<CUdeviceptr*>(found.kernelParams[0]) == data);
  CUkernelNodeAttrValue value{};
  value.priority = -3;
  CHECK(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value) == CUDA_SUCCESS);
  value.priority = 0;
  CHECK(cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value) == CUDA_SUCCESS);
  CHECK(value.priority == -3);
  CHECK(cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CUgraphNodeParams any{};
  CHECK(cuGraphNodeGetParams(node, &any) == CUDA_SUCCESS);
  CHECK(any.type == CU_GRAPH_NODE_TYPE_KERNEL);
  CHECK(any.kernel.blockDimX == 64);
}

TEST_CASE("User objects live as long as the graphs that hold them") {
  CurrentContext current;
  int destroyed = 0;
  CUuserObject object = nullptr;
  CUgraph graph = nullptr;
  REQUIRE(cuGraphCreate(&graph, 0) == CUDA_SUCCESS);
  REQUIRE(cuUserObjectCreate(
              &object, &destroyed, [](void* count) { ++*static_cast<int*>(count); }, 1,
              CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) == CUDA_SUCCESS);
  CHECK(cuGraphRetainUserObject(graph, object, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphRetainUserObject(graph, object, 1, 2) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE) == CUDA_SUCCESS);
  const CUgraphExec executable = instantiate(graph);
  CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
  CHECK(destroyed == 0);  // the executable graph holds it, too
  CHECK(cuGraphExecDestroy(executable) == CUDA_SUCCESS);
  CHECK(destroyed == 1);
}

// CUDA programming guide, "CUDA User Objects": "If an executable graph or child graph is updated with
// cudaGraphExecUpdate or cudaGraphExecChildGraphNodeSetParams, the references in the new source graph are cloned and
// replace the references in the target graph."
TEST_CASE("An updated executable graph holds the user objects of the graph that it was updated from") {
  CurrentContext current;
  int destroyed[2] = {0, 0};
  CUgraph graphs[2] = {nullptr, nullptr};
  for (int i = 0; i < 2; ++i) {
    CUuserObject object = nullptr;
    REQUIRE(cuGraphCreate(&graphs[i], 0) == CUDA_SUCCESS);
    CUgraphNode node = nullptr;
    REQUIRE(cuGraphAddEmptyNode(&node, graphs[i], nullptr, 0) == CUDA_SUCCESS);
    REQUIRE(cuUserObjectCreate(
                &object, &destroyed[i], [](void* count) { ++*static_cast<int*>(count); }, 1,
                CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) == CUDA_SUCCESS);
    REQUIRE(cuGraphRetainUserObject(graphs[i], object, 1, CU_GRAPH_USER_OBJECT_MOVE) == CUDA_SUCCESS);
  }
  CUgraph inner[2] = {graphs[0], graphs[1]};
  CUgraph outer[2] = {nullptr, nullptr};
  CUgraphNode child[2] = {nullptr, nullptr};
  CUgraphExec executable = nullptr;
  SECTION("the whole graph") {
    executable = instantiate(graphs[0]);
    CUgraphExecUpdateResultInfo info{};
    REQUIRE(cuGraphExecUpdate_v2(executable, graphs[1], &info) == CUDA_SUCCESS);
  }
  SECTION("a child") {
    for (int i = 0; i < 2; ++i) {
      REQUIRE(cuGraphCreate(&outer[i], 0) == CUDA_SUCCESS);
      REQUIRE(cuGraphAddChildGraphNode(&child[i], outer[i], nullptr, 0, inner[i]) == CUDA_SUCCESS);
    }
    executable = instantiate(outer[0]);
    REQUIRE(cuGraphExecChildGraphNodeSetParams(executable, child[0], inner[1]) == CUDA_SUCCESS);
    CHECK(cuGraphDestroy(outer[0]) == CUDA_SUCCESS);
    CHECK(cuGraphDestroy(outer[1]) == CUDA_SUCCESS);
  }
  CHECK(cuGraphDestroy(graphs[0]) == CUDA_SUCCESS);
  CHECK(destroyed[0] == 1);
  CHECK(cuGraphDestroy(graphs[1]) == CUDA_SUCCESS);
  CHECK(destroyed[1] == 0);  // the executable graph holds it
  CHECK(cuGraphExecDestroy(executable) == CUDA_SUCCESS);
  CHECK(destroyed[1] == 1);
}

TEST_CASE("A graph is written as Graphviz reads it") {
  CurrentContext current;
  TestGraph graph;
  Words a;
  graph.fill(a, 1, {graph.empty()});
  char path[] = "/tmp/maya-graph-XXXXXX";
  const int file = mkstemp(path);
  REQUIRE(file >= 0);
  close(file);
  CHECK(cuGraphDebugDotPrint(graph, path, 0) == CUDA_SUCCESS);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  remove(path);
  CHECK(text.str().find("digraph dot {") == 0);
  CHECK(text.str().find("MEMSET") != std::string::npos);
  CHECK(text.str().find(" -> ") != std::string::npos);
  CHECK(cuGraphDebugDotPrint(graph, "/no/such/folder/graph.dot", 0) == CUDA_ERROR_OPERATING_SYSTEM);
  CHECK(cuGraphDebugDotPrint(graph, nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("Graphs for launch by the device hold device work only") {
  CurrentContext current;
  TestGraph graph;
  Words a;
  CUDA_GRAPH_INSTANTIATE_PARAMS p{};
  p.flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
  CUgraphExec executable = nullptr;
  const CUgraphNode node = graph.empty();
  CHECK(cuGraphInstantiateWithParams(&executable, graph, &p) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(p.result_out == CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
  CHECK(p.hErrNode_out == node);
  CHECK(cuGraphDestroyNode(node) == CUDA_SUCCESS);
  CHECK(cuGraphInstantiateWithParams(&executable, graph, &p) == CUDA_ERROR_INVALID_VALUE);  // "cannot be empty"
  graph.fill(a, 1);
  CHECK(cuGraphInstantiateWithParams(&executable, graph, &p) == CUDA_SUCCESS);
  cuuint64_t flags = 0;
  CHECK(cuGraphExecGetFlags(executable, &flags) == CUDA_SUCCESS);
  CHECK(flags == CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
  cuGraphExecDestroy(executable);
}
