// Stream capture: what becomes of work, of events, of calls that a capture forbids. Error codes as cuda.h describes
// them at CUresult, and the CUDA programming guide under "Prohibited and Unhandled Operations".
#include <thread>

#include "test/cuda/graph_helpers.h"

using namespace driver_test;

namespace {

constexpr CUstreamCaptureMode kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
constexpr CUstreamCaptureMode kThreadLocal = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
constexpr CUstreamCaptureMode kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

// Ends a capture that something has made invalid.
void end_invalidated(CUstream stream) {
  CHECK(capture_status(stream) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  CUgraph graph = reinterpret_cast<CUgraph>(1);
  CHECK(cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(graph == nullptr);  // "a NULL graph will be returned"
  CHECK(capture_status(stream) == CU_STREAM_CAPTURE_STATUS_NONE);
}

}  // namespace

TEST_CASE("Captured work runs when the graph is launched, not before") {
  CurrentContext current;
  Module module;
  TestStream stream;
  Words a, b;
  a.set(1), b.set(2);
  REQUIRE(cuStreamBeginCapture_v2(stream, kGlobal) == CUDA_SUCCESS);
  CHECK(capture_status(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(cuMemsetD32Async(a, 7, Words::kCount, stream) == CUDA_SUCCESS);
  CHECK(cuMemcpyDtoDAsync_v2(b, a, Words::kCount * 4, stream) == CUDA_SUCCESS);
  CHECK(cuLaunchKernel(module.function("nothing"), 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr) == CUDA_SUCCESS);
  CUgraph graph = nullptr;
  REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CHECK(a.first() == 1);
  CHECK(b.first() == 2);
  CHECK(node_count(graph) == 3);
  size_t edges = 0;
  CHECK(cuGraphGetEdges(graph, nullptr, nullptr, &edges) == CUDA_SUCCESS);
  CHECK(edges == 2);  // a chain

  const CUgraphExec executable = instantiate(graph);
  CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
  CHECK(b.first() == 7);
  b.set(3);
  CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);  // again
  CHECK(b.first() == 7);
  CHECK(cuGraphExecDestroy(executable) == CUDA_SUCCESS);
  CHECK(cuGraphExecDestroy(executable) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
  CHECK(cuGraphDestroy(graph) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("Arguments of a captured kernel are those of the call") {
  CurrentContext current;
  Module module;
  TestStream stream;
  Words data;
  CUdeviceptr pointer = data;
  unsigned int count = 16;
  void* arguments[] = {&pointer, &count};
  REQUIRE(cuStreamBeginCapture_v2(stream, kGlobal) == CUDA_SUCCESS);
  REQUIRE(cuLaunchKernel(module.function("scale"), 2, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr) == CUDA_SUCCESS);
  pointer = 0, count = 0;  // copied during the call
  CUgraph graph = nullptr;
  REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CUgraphNode node = nullptr;
  size_t nodes = 1;
  REQUIRE(cuGraphGetNodes(graph, &node, &nodes) == CUDA_SUCCESS);
  CUDA_KERNEL_NODE_PARAMS parameters{};
  REQUIRE(cuGraphKernelNodeGetParams_v2(node, &parameters) == CUDA_SUCCESS);
  CHECK(parameters.gridDimX == 2);
  CHECK(parameters.blockDimX == 32);
  CHECK(*static_cast<CUdeviceptr*>(parameters.kernelParams[0]) == data);
  CHECK(*static_cast<unsigned int*>(parameters.kernelParams[1]) == 16);
  // A kernel that nobody computes makes what it may write unknown, which reads as zero.
  data.set(5);
  const CUgraphExec executable = instantiate(graph);
  CHECK(data.first() == 5);
  CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
  CHECK(data.first() == 0);
  cuGraphExecDestroy(executable);
  cuGraphDestroy(graph);
}

TEST_CASE("A capture spreads by events and must be joined again") {
  CurrentContext current;
  TestStream first, second;
  TestEvent fork, join;
  Words a, b;
  CUgraph graph = nullptr;
  REQUIRE(cuStreamBeginCapture_v2(first, kGlobal) == CUDA_SUCCESS);
  CHECK(cuMemsetD32Async(a, 1, 4, first) == CUDA_SUCCESS);
  CHECK(cuEventRecord(fork, first) == CUDA_SUCCESS);
  CHECK(cuStreamWaitEvent(second, fork, 0) == CUDA_SUCCESS);
  CHECK(capture_status(second) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  cuuint64_t ids[2] = {0, 1};
  CUstreamCaptureStatus status{};
  CHECK(cuStreamGetCaptureInfo(first, &status, &ids[0]) == CUDA_SUCCESS);
  CHECK(cuStreamGetCaptureInfo(second, &status, &ids[1]) == CUDA_SUCCESS);
  CHECK(ids[0] == ids[1]);
  CHECK(cuMemsetD32Async(b, 2, 4, second) == CUDA_SUCCESS);
  CHECK(cuMemsetD32Async(a, 3, 4, first) == CUDA_SUCCESS);

  SECTION("joined") {
    CHECK(cuEventRecord(join, second) == CUDA_SUCCESS);
    CHECK(cuStreamWaitEvent(first, join, 0) == CUDA_SUCCESS);
    const CUgraphNode* dependencies = nullptr;
    size_t count = 0;
    CHECK(cuStreamGetCaptureInfo_v3(first, &status, nullptr, &graph, &dependencies, nullptr, &count) == CUDA_SUCCESS);
    CHECK(count == 2);  // its own last node and the other stream's
    CHECK(node_count(graph) == 3);
    // Ended only where it began.
    CHECK(cuStreamEndCapture(second, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    CHECK(cuStreamEndCapture(first, &graph) == CUDA_SUCCESS);
    size_t roots = 0, edges = 0;
    CHECK(cuGraphGetRootNodes(graph, nullptr, &roots) == CUDA_SUCCESS);
    CHECK(roots == 1);
    CHECK(cuGraphGetEdges(graph, nullptr, nullptr, &edges) == CUDA_SUCCESS);
    CHECK(edges == 2);
    cuGraphDestroy(graph);
  }
  SECTION("not joined") {
    CHECK(cuStreamEndCapture(first, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    CHECK(graph == nullptr);
  }
  SECTION("what the program took out of the set need not be joined") {
    CHECK(cuStreamUpdateCaptureDependencies(second, nullptr, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES) == CUDA_SUCCESS);
    CHECK(cuStreamEndCapture(first, &graph) == CUDA_SUCCESS);
    CHECK(node_count(graph) == 3);
    cuGraphDestroy(graph);
  }
  CHECK(capture_status(second) == CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_CASE("A stream that was joined into a capture may be destroyed before the capture ends") {
  CurrentContext current;
  TestStream first;
  TestEvent fork, join;
  Words a, b;
  CUstream second = nullptr;
  CUgraph graph = nullptr;
  REQUIRE(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  REQUIRE(cuStreamBeginCapture_v2(first, kGlobal) == CUDA_SUCCESS);
  REQUIRE(cuEventRecord(fork, first) == CUDA_SUCCESS);
  REQUIRE(cuStreamWaitEvent(second, fork, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD32Async(b, 2, 4, second) == CUDA_SUCCESS);

  SECTION("its work was joined again") {
    REQUIRE(cuEventRecord(join, second) == CUDA_SUCCESS);
    REQUIRE(cuStreamWaitEvent(first, join, 0) == CUDA_SUCCESS);
    REQUIRE(cuStreamDestroy_v2(second) == CUDA_SUCCESS);
    CHECK(capture_status(first) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK(cuMemsetD32Async(a, 3, 4, first) == CUDA_SUCCESS);
    REQUIRE(cuStreamEndCapture(first, &graph) == CUDA_SUCCESS);
    size_t edges = 0;
    CHECK(cuGraphGetEdges(graph, nullptr, nullptr, &edges) == CUDA_SUCCESS);
    CHECK(edges == 1);  // the second fill behind the first
    cuGraphDestroy(graph);
  }
  SECTION("its work was not joined") {
    REQUIRE(cuStreamDestroy_v2(second) == CUDA_SUCCESS);
    CHECK(cuMemsetD32Async(a, 3, 4, first) == CUDA_SUCCESS);
    CHECK(cuStreamEndCapture(first, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    CHECK(graph == nullptr);
  }
}

TEST_CASE("Waiting for and asking about what is being captured") {
  CurrentContext current;
  TestStream stream;
  TestEvent event;
  Words words;
  REQUIRE(cuStreamBeginCapture_v2(stream, kRelaxed) == CUDA_SUCCESS);
  REQUIRE(cuEventRecord(event, stream) == CUDA_SUCCESS);
  SECTION("the stream") { CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED); }
  SECTION("a query of the stream") { CHECK(cuStreamQuery(stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED); }
  SECTION("the context") { CHECK(cuCtxSynchronize() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED); }
  SECTION("a captured event") { CHECK(cuEventQuery(event) == CUDA_ERROR_CAPTURED_EVENT); }
  SECTION("a captured event's end") { CHECK(cuEventSynchronize(event) == CUDA_ERROR_CAPTURED_EVENT); }
  SECTION("a callback") {
    CHECK(cuStreamAddCallback(
              stream, [](CUstream, CUresult, void*) {}, nullptr, 0) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  // Everything after it is refused, too.
  CHECK(cuMemsetD32Async(words, 0, 1, stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  end_invalidated(stream);
}

TEST_CASE("Calls that no capture sees are refused by the thread's mode") {
  CurrentContext current;
  TestStream stream;
  CUdeviceptr address = 0;
  SECTION("global: in every thread") {
    REQUIRE(cuStreamBeginCapture_v2(stream, kGlobal) == CUDA_SUCCESS);
    CUresult other = CUDA_SUCCESS, relaxed = CUDA_ERROR_UNKNOWN;
    std::thread([&] {
      cuCtxSetCurrent(current.get());
      CUstreamCaptureMode mode = kRelaxed;
      cuThreadExchangeStreamCaptureMode(&mode);
      relaxed = cuMemAlloc_v2(&address, 4);
      if (relaxed == CUDA_SUCCESS) cuMemFree_v2(address);
      cuThreadExchangeStreamCaptureMode(&mode);
      other = cuMemAlloc_v2(&address, 4);
    }).join();
    CHECK(relaxed == CUDA_SUCCESS);
    CHECK(other == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalidated(stream);
  }
  SECTION("thread local: in this thread only") {
    REQUIRE(cuStreamBeginCapture_v2(stream, kThreadLocal) == CUDA_SUCCESS);
    CUresult other = CUDA_ERROR_UNKNOWN;
    std::thread([&] {
      cuCtxSetCurrent(current.get());
      other = cuMemAlloc_v2(&address, 4);
      if (other == CUDA_SUCCESS) cuMemFree_v2(address);
    }).join();
    CHECK(other == CUDA_SUCCESS);
    CHECK(capture_status(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK(cuMemAlloc_v2(&address, 4) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalidated(stream);
  }
  SECTION("relaxed: nowhere") {
    REQUIRE(cuStreamBeginCapture_v2(stream, kRelaxed) == CUDA_SUCCESS);
    CHECK(cuMemAlloc_v2(&address, 4) == CUDA_SUCCESS);
    CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
    CUgraph graph = nullptr;
    CHECK(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    CHECK(node_count(graph) == 0);
    cuGraphDestroy(graph);
  }
}

TEST_CASE("A capture ends in the thread where it began, unless it is relaxed") {
  CurrentContext current;
  for (const CUstreamCaptureMode mode : {kGlobal, kThreadLocal, kRelaxed}) {
    TestStream stream;
    REQUIRE(cuStreamBeginCapture_v2(stream, mode) == CUDA_SUCCESS);
    CHECK(cuStreamBeginCapture_v2(stream, mode) == CUDA_ERROR_ILLEGAL_STATE);
    CUgraph graph = nullptr;
    CUresult elsewhere = CUDA_SUCCESS;
    std::thread([&] { elsewhere = cuStreamEndCapture(stream, &graph); }).join();
    CHECK(elsewhere == (mode == kRelaxed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD));
    if (mode != kRelaxed) CHECK(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
    CHECK(cuStreamEndCapture(stream, &graph) == CUDA_ERROR_ILLEGAL_STATE);
  }
}

TEST_CASE("The legacy stream while a stream that orders with it is captured") {
  CurrentContext current;
  TestStream stream(CU_STREAM_DEFAULT);
  Words words;
  REQUIRE(cuStreamBeginCapture_v2(stream, kRelaxed) == CUDA_SUCCESS);
  CUstreamCaptureStatus status{};
  CHECK(cuStreamIsCapturing(nullptr, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CHECK(capture_status(stream) ==
        CU_STREAM_CAPTURE_STATUS_ACTIVE);  // "The blocking stream capture is not invalidated."
  CHECK(cuMemsetD32Async(words, 1, 1, nullptr) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  end_invalidated(stream);
  CHECK(cuStreamIsCapturing(nullptr, &status) == CUDA_SUCCESS);
  // Streams that do not order with it leave it alone.
  TestStream free_stream;
  REQUIRE(cuStreamBeginCapture_v2(free_stream, kRelaxed) == CUDA_SUCCESS);
  CHECK(cuMemsetD32Async(words, 1, 1, nullptr) == CUDA_SUCCESS);
  CUgraph graph = nullptr;
  CHECK(cuStreamEndCapture(free_stream, &graph) == CUDA_SUCCESS);
  cuGraphDestroy(graph);
}

TEST_CASE("Events do not cross the borders of a capture") {
  CurrentContext current;
  TestStream first, second, third;
  TestEvent event, outside;
  SECTION("two captures do not merge") {
    REQUIRE(cuStreamBeginCapture_v2(first, kRelaxed) == CUDA_SUCCESS);
    REQUIRE(cuStreamBeginCapture_v2(second, kRelaxed) == CUDA_SUCCESS);
    REQUIRE(cuEventRecord(event, first) == CUDA_SUCCESS);
    CHECK(cuStreamWaitEvent(second, event, 0) == CUDA_ERROR_STREAM_CAPTURE_MERGE);
    end_invalidated(first);
    end_invalidated(second);
  }
  SECTION("an event from outside") {
    REQUIRE(cuEventRecord(outside, third) == CUDA_SUCCESS);
    REQUIRE(cuStreamBeginCapture_v2(first, kRelaxed) == CUDA_SUCCESS);
    CHECK(cuStreamWaitEvent(first, outside, 0) == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    end_invalidated(first);
  }
  SECTION("an event from outside as a node") {
    REQUIRE(cuEventRecord(outside, third) == CUDA_SUCCESS);
    REQUIRE(cuStreamBeginCapture_v2(first, kRelaxed) == CUDA_SUCCESS);
    CHECK(cuStreamWaitEvent(first, outside, CU_EVENT_WAIT_EXTERNAL) == CUDA_SUCCESS);
    CHECK(cuEventRecordWithFlags(event, first, CU_EVENT_RECORD_EXTERNAL) == CUDA_SUCCESS);
    CUgraph graph = nullptr;
    REQUIRE(cuStreamEndCapture(first, &graph) == CUDA_SUCCESS);
    CUgraphNode nodes[2];
    size_t count = 2;
    REQUIRE(cuGraphGetNodes(graph, nodes, &count) == CUDA_SUCCESS);
    CUgraphNodeType type{};
    CHECK(cuGraphNodeGetType(nodes[0], &type) == CUDA_SUCCESS);
    CHECK(type == CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    CHECK(cuGraphNodeGetType(nodes[1], &type) == CUDA_SUCCESS);
    CHECK(type == CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    const CUgraphExec executable = instantiate(graph);
    CHECK(cuGraphLaunch(executable, first) == CUDA_SUCCESS);
    CHECK(cuEventSynchronize(event) == CUDA_SUCCESS);
    cuGraphExecDestroy(executable);
    cuGraphDestroy(graph);
  }
}

TEST_CASE("Capture into a graph that is there already") {
  CurrentContext current;
  TestStream stream;
  Words words;
  CUgraph graph = nullptr, same = nullptr;
  CUgraphNode root = nullptr;
  REQUIRE(cuGraphCreate(&graph, 0) == CUDA_SUCCESS);
  REQUIRE(cuGraphAddEmptyNode(&root, graph, nullptr, 0) == CUDA_SUCCESS);
  CHECK(cuStreamBeginCaptureToGraph(stream, nullptr, nullptr, nullptr, 0, kGlobal) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuStreamBeginCaptureToGraph(stream, graph, &root, nullptr, 1, kGlobal) == CUDA_SUCCESS);
  CHECK(cuMemsetD32Async(words, 9, 1, stream) == CUDA_SUCCESS);
  // "The graph will not be instantiable until the user calls cuStreamEndCapture."
  CUgraphExec executable = nullptr;
  CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphDestroy(graph) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamEndCapture(stream, &same) == CUDA_SUCCESS);
  CHECK(same == graph);
  CHECK(node_count(graph) == 2);
  size_t dependents = 0;
  CHECK(cuGraphNodeGetDependentNodes(root, nullptr, &dependents) == CUDA_SUCCESS);
  CHECK(dependents == 1);
  CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
}

TEST_CASE("A graph launched into a capture becomes a child") {
  CurrentContext current;
  TestStream stream;
  Words words;
  CUgraph inner = nullptr, outer = nullptr;
  REQUIRE(cuStreamBeginCapture_v2(stream, kGlobal) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD32Async(words, 4, 1, stream) == CUDA_SUCCESS);
  REQUIRE(cuStreamEndCapture(stream, &inner) == CUDA_SUCCESS);
  const CUgraphExec small = instantiate(inner);
  REQUIRE(cuStreamBeginCapture_v2(stream, kGlobal) == CUDA_SUCCESS);
  CHECK(cuGraphLaunch(small, stream) == CUDA_SUCCESS);
  REQUIRE(cuStreamEndCapture(stream, &outer) == CUDA_SUCCESS);
  cuGraphExecDestroy(small);
  cuGraphDestroy(inner);
  words.set(0);
  const CUgraphExec whole = instantiate(outer);
  CHECK(words.first() == 0);
  CHECK(cuGraphLaunch(whole, stream) == CUDA_SUCCESS);
  CHECK(words.first() == 4);
  cuGraphExecDestroy(whole);
  cuGraphDestroy(outer);
}

TEST_CASE("Memory is checked when work is captured") {
  CurrentContext current;
  TestStream stream;
  Words words;
  unsigned int host[4] = {};
  CUgraph graph = nullptr;
  REQUIRE(cuStreamBeginCapture_v2(stream, kGlobal) == CUDA_SUCCESS);
  CHECK(cuMemsetD32Async(0, 1, 1, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemsetD32Async(words, 1, Words::kCount * 1000, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyHtoDAsync_v2(words, nullptr, 4, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoHAsync_v2(host, words, Words::kCount * 4000, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoHAsync_v2(host, words, sizeof host, stream) == CUDA_SUCCESS);
  REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CHECK(node_count(graph) == 1);
  words.set(11);
  const CUgraphExec executable = instantiate(graph);
  CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
  CHECK(host[3] == 11);
  cuGraphExecDestroy(executable);
  cuGraphDestroy(graph);
}

TEST_CASE("A stream that ends takes its capture along") {
  CurrentContext current;
  CUstream stream = nullptr;
  REQUIRE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  REQUIRE(cuStreamBeginCapture_v2(stream, kGlobal) == CUDA_SUCCESS);
  CHECK(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc_v2(&address, 4) == CUDA_SUCCESS);  // nothing is being captured any more
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
}

TEST_CASE("Host functions and memory operations of a captured stream happen at each launch") {
  CurrentContext current;
  TestStream stream;
  Words words;
  words.set(0);
  int calls = 0;
  REQUIRE(cuStreamBeginCapture_v2(stream, kGlobal) == CUDA_SUCCESS);
  CHECK(cuStreamWriteValue32_v2(stream, words, 42, 0) == CUDA_SUCCESS);
  CHECK(cuLaunchHostFunc(
            stream, [](void* count) { ++*static_cast<int*>(count); }, &calls) == CUDA_SUCCESS);
  CUgraph graph = nullptr;
  REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CHECK(calls == 0);
  CHECK(words.first() == 0);
  const CUgraphExec executable = instantiate(graph);
  CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
  CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
  CHECK(calls == 2);
  CHECK(words.first() == 42);
  cuGraphExecDestroy(executable);
  cuGraphDestroy(graph);
}
