// Conditional nodes of graphs: which bodies run, as cuda.h documents CUDA_CONDITIONAL_NODE_PARAMS, and its
// restrictions.
#include <fstream>

#include "test/cuda/graph_helpers.h"

using namespace driver_test;

namespace {

// A graph with one conditional node whose bodies fill a word each: body i writes i + 1 into word i.
class Conditional {
 public:
  Conditional(CUgraphConditionalNodeType type, unsigned int size, unsigned int value, unsigned int flags,
              CUdeviceptr words) {
    REQUIRE(cuGraphCreate(&graph, 0) == CUDA_SUCCESS);
    REQUIRE(cuGraphConditionalHandleCreate(&handle, graph, nullptr, value, flags) == CUDA_SUCCESS);
    parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    parameters.conditional.handle = handle;
    parameters.conditional.type = type;
    parameters.conditional.size = size;
    REQUIRE(cuGraphAddNode(&node, graph, nullptr, 0, &parameters) == CUDA_SUCCESS);
    CUcontext context = nullptr;
    cuCtxGetCurrent(&context);
    for (unsigned int i = 0; i < size; ++i) {
      const CUDA_MEMSET_NODE_PARAMS fill = fill_words(words + 4 * i, i + 1, 1);
      CUgraphNode made = nullptr;
      REQUIRE(cuGraphAddMemsetNode(&made, body(i), nullptr, 0, &fill, context) == CUDA_SUCCESS);
    }
  }
  ~Conditional() { cuGraphDestroy(graph); }
  Conditional(const Conditional&) = delete;
  Conditional& operator=(const Conditional&) = delete;
  CUgraph body(unsigned int i) const { return parameters.conditional.phGraph_out[i]; }

  // A kernel ahead of the node that gets the handle, and so may set it.
  void add_kernel(CUfunction function, CUgraphConditionalHandle argument) {
    unsigned int count = 0;
    void* arguments[] = {&argument, &count};
    CUDA_KERNEL_NODE_PARAMS p{};
    p.func = function;
    p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
    p.kernelParams = arguments;
    CUgraphNode kernel = nullptr;
    REQUIRE(cuGraphAddKernelNode_v2(&kernel, graph, nullptr, 0, &p) == CUDA_SUCCESS);
    REQUIRE(cuGraphAddDependencies(graph, &kernel, &node, 1) == CUDA_SUCCESS);
  }

  void run() const {
    const CUgraphExec executable = instantiate(graph);
    TestStream stream;
    REQUIRE(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
    REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
    cuGraphExecDestroy(executable);
  }

  CUgraph graph = nullptr;
  CUgraphConditionalHandle handle = 0;
  CUgraphNode node = nullptr;
  CUgraphNodeParams parameters{};
};

std::vector<unsigned int> words_after(CUgraphConditionalNodeType type, unsigned int size, unsigned int value,
                                      unsigned int flags = CU_GRAPH_COND_ASSIGN_DEFAULT) {
  Words words;
  words.set(0);
  Conditional(type, size, value, flags, words).run();
  const auto all = words.read();
  return {all.begin(), all.begin() + size};
}

using Values = std::vector<unsigned int>;

}  // namespace

TEST_CASE("IF runs its body when the value is not zero, and the second one when it is") {
  CurrentContext current;
  CHECK(words_after(CU_GRAPH_COND_TYPE_IF, 1, 1) == Values{1});
  CHECK(words_after(CU_GRAPH_COND_TYPE_IF, 1, 0) == Values{0});
  CHECK(words_after(CU_GRAPH_COND_TYPE_IF, 2, 7) == Values{1, 0});
  CHECK(words_after(CU_GRAPH_COND_TYPE_IF, 2, 0) == Values{0, 2});
  CHECK(words_after(CU_GRAPH_COND_TYPE_IF, 1, 1, 0) == Values{0});  // the default is only assigned with the flag
}

TEST_CASE("SWITCH runs the body of the value, none beyond its size") {
  CurrentContext current;
  CHECK(words_after(CU_GRAPH_COND_TYPE_SWITCH, 3, 0) == Values{1, 0, 0});
  CHECK(words_after(CU_GRAPH_COND_TYPE_SWITCH, 3, 2) == Values{0, 0, 3});
  CHECK(words_after(CU_GRAPH_COND_TYPE_SWITCH, 3, 3) == Values{0, 0, 0});
}

TEST_CASE("WHILE does not run when its value starts as zero") {
  CurrentContext current;
  CHECK(words_after(CU_GRAPH_COND_TYPE_WHILE, 1, 0) == Values{0});
  CHECK(words_after(CU_GRAPH_COND_TYPE_WHILE, 1, 1) == Values{1});
}

TEST_CASE("Where a kernel may have set the value, the work runs") {
  CurrentContext current;
  Module module;
  Words words;
  for (const CUgraphConditionalNodeType type :
       {CU_GRAPH_COND_TYPE_IF, CU_GRAPH_COND_TYPE_WHILE, CU_GRAPH_COND_TYPE_SWITCH}) {
    words.set(0);
    Conditional told(type, 1, 0, CU_GRAPH_COND_ASSIGN_DEFAULT, words);
    told.add_kernel(module.function("scale"), told.handle);
    told.run();
    CHECK(words.first() == 1);
    words.set(0);
    Conditional other(type, 1, 5, CU_GRAPH_COND_ASSIGN_DEFAULT, words);
    other.add_kernel(module.function("scale"), 12345);  // another value: the default holds
    other.run();
    CHECK(words.first() == (type == CU_GRAPH_COND_TYPE_SWITCH ? 0 : 1));
  }
}

TEST_CASE("Bad arguments of conditional nodes and handles") {
  CurrentContext current;
  Words words;
  CUgraph graph = nullptr;
  REQUIRE(cuGraphCreate(&graph, 0) == CUDA_SUCCESS);
  CUgraphConditionalHandle handle = 0;
  CHECK(cuGraphConditionalHandleCreate(nullptr, graph, nullptr, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphConditionalHandleCreate(&handle, nullptr, nullptr, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphConditionalHandleCreate(&handle, graph, nullptr, 0, 2) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuGraphConditionalHandleCreate(&handle, graph, nullptr, 0, 0) == CUDA_SUCCESS);
  CUgraphNode node = nullptr;
  const auto add = [&](CUgraph where, CUgraphConditionalHandle which, int type, unsigned int size) {
    CUgraphNodeParams p{};
    p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    p.conditional.handle = which;
    p.conditional.type = static_cast<CUgraphConditionalNodeType>(type);
    p.conditional.size = size;
    return cuGraphAddNode(&node, where, nullptr, 0, &p);
  };
  CHECK(add(graph, 0, CU_GRAPH_COND_TYPE_IF, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(add(graph, handle, CU_GRAPH_COND_TYPE_IF, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(add(graph, handle, CU_GRAPH_COND_TYPE_IF, 3) == CUDA_ERROR_INVALID_VALUE);
  CHECK(add(graph, handle, CU_GRAPH_COND_TYPE_WHILE, 2) == CUDA_ERROR_INVALID_VALUE);
  CHECK(add(graph, handle, CU_GRAPH_COND_TYPE_SWITCH, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(add(graph, handle, 3, 1) == CUDA_ERROR_INVALID_VALUE);
  CUgraph other = nullptr;
  REQUIRE(cuGraphCreate(&other, 0) == CUDA_SUCCESS);
  CHECK(add(other, handle, CU_GRAPH_COND_TYPE_IF, 1) == CUDA_ERROR_INVALID_VALUE);  // "in this graph or its children"
  cuGraphDestroy(other);

  CUDA_GRAPH_INSTANTIATE_PARAMS how{};
  CUgraphExec executable = nullptr;
  CHECK(cuGraphInstantiateWithParams(&executable, graph, &how) != CUDA_SUCCESS);  // the handle has no node
  CHECK(how.result_out == CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
  REQUIRE(add(graph, handle, CU_GRAPH_COND_TYPE_IF, 1) == CUDA_SUCCESS);
  CHECK(add(graph, handle, CU_GRAPH_COND_TYPE_IF, 1) == CUDA_ERROR_INVALID_VALUE);  // one node a handle
  CUgraphNodeParams described{};
  REQUIRE(cuGraphNodeGetParams(node, &described) == CUDA_SUCCESS);
  CHECK((described.conditional.handle == handle && described.conditional.size == 1));

  // Restrictions: no clone, no child, one executable graph, and only some kinds of work in bodies.
  CUgraph copy = nullptr;
  CHECK(cuGraphClone(&copy, graph) != CUDA_SUCCESS);
  REQUIRE(cuGraphCreate(&other, 0) == CUDA_SUCCESS);
  CUgraphNode child = nullptr;
  CHECK(cuGraphAddChildGraphNode(&child, other, nullptr, 0, graph) == CUDA_ERROR_INVALID_VALUE);
  cuGraphDestroy(other);
  executable = instantiate(graph);
  CUgraphExec second = nullptr;
  CHECK(cuGraphInstantiateWithFlags(&second, graph, 0) == CUDA_ERROR_INVALID_VALUE);
  cuGraphExecDestroy(executable);
  const CUDA_HOST_NODE_PARAMS host{[](void*) {}, nullptr};
  CUgraphNode forbidden = nullptr;
  REQUIRE(cuGraphAddHostNode(&forbidden, described.conditional.phGraph_out[0], nullptr, 0, &host) == CUDA_SUCCESS);
  CHECK(cuGraphInstantiateWithParams(&executable, graph, &how) != CUDA_SUCCESS);
  CHECK(how.hErrNode_out == forbidden);
  cuGraphDestroy(graph);
}

TEST_CASE("Conditional nodes nest, and are drawn") {
  CurrentContext current;
  Words words;
  words.set(0);
  Conditional outer(CU_GRAPH_COND_TYPE_IF, 1, 1, CU_GRAPH_COND_ASSIGN_DEFAULT, words);
  CUgraphNodeParams inner{};
  inner.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  inner.conditional.type = CU_GRAPH_COND_TYPE_SWITCH;
  inner.conditional.size = 2;
  REQUIRE(cuGraphConditionalHandleCreate(&inner.conditional.handle, outer.graph, nullptr, 1,
                                         CU_GRAPH_COND_ASSIGN_DEFAULT) == CUDA_SUCCESS);
  CUgraphNode node = nullptr;
  REQUIRE(cuGraphAddNode(&node, outer.body(0), nullptr, 0, &inner) == CUDA_SUCCESS);
  CUcontext context = nullptr;
  cuCtxGetCurrent(&context);
  const CUDA_MEMSET_NODE_PARAMS fill = fill_words(words + 8, 9, 1);
  REQUIRE(cuGraphAddMemsetNode(&node, inner.conditional.phGraph_out[1], nullptr, 0, &fill, context) == CUDA_SUCCESS);
  outer.run();
  CHECK(words.read()[0] == 1);
  CHECK(words.read()[2] == 9);
  const std::string path = "conditional_test.dot";
  REQUIRE(cuGraphDebugDotPrint(outer.graph, path.c_str(), CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS) ==
          CUDA_SUCCESS);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  remove(path.c_str());
  CHECK(text.str().find("CONDITIONAL\\nIF") != std::string::npos);
  CHECK(text.str().find("CONDITIONAL\\nSWITCH") != std::string::npos);
}
