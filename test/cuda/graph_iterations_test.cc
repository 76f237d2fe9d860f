// Loops in graphs, in a process with its own environment.
#include "test/cuda/graph_helpers.h"

using namespace driver_test;

TEST_CASE("A loop in a graph takes MAYA_GRAPH_ITERATIONS times the time of its body") {
  const auto body_ns = [](const char* iterations) {
    int pipe_ends[2];
    REQUIRE(pipe(pipe_ends) == 0);
    in_child([&] {
      setenv("MAYA_GRAPH_ITERATIONS", iterations, 1);
      setenv("MAYA_TRACE", "0", 1);
      CUcontext context;
      CUdeviceptr large;
      CUstream stream;
      CUevent begin, end;
      if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
          cuCtxSetCurrent(context) != CUDA_SUCCESS || cuMemAlloc_v2(&large, 1 << 30) != CUDA_SUCCESS ||
          cuStreamCreate(&stream, 0) != CUDA_SUCCESS || cuEventCreate(&begin, 0) != CUDA_SUCCESS ||
          cuEventCreate(&end, 0) != CUDA_SUCCESS)
        return 1;
      CUgraph graph;
      cuGraphCreate(&graph, 0);
      CUgraphNodeParams p{};
      p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
      cuGraphConditionalHandleCreate(&p.conditional.handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
      p.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
      p.conditional.size = 1;
      CUgraphNode node;
      if (cuGraphAddNode(&node, graph, nullptr, 0, &p) != CUDA_SUCCESS) return 2;
      const CUDA_MEMSET_NODE_PARAMS fill = fill_words(large, 1, 1 << 28);
      cuGraphAddMemsetNode(&node, p.conditional.phGraph_out[0], nullptr, 0, &fill, context);
      CUgraphExec executable;
      if (cuGraphInstantiateWithFlags(&executable, graph, 0) != CUDA_SUCCESS) return 3;
      float milliseconds = 0;
      cuEventRecord(begin, stream);
      cuGraphLaunch(executable, stream);
      cuEventRecord(end, stream);
      cuEventSynchronize(end);
      cuEventElapsedTime_v2(&milliseconds, begin, end);
      return write(pipe_ends[1], &milliseconds, sizeof milliseconds) == sizeof milliseconds ? 0 : 4;
    });
    close(pipe_ends[1]);
    float milliseconds = 0;
    REQUIRE(read(pipe_ends[0], &milliseconds, sizeof milliseconds) == sizeof milliseconds);
    close(pipe_ends[0]);
    return milliseconds;
  };
  // A fill of 1 GiB takes at least 0.32 ms at 3.35 TB/s; launch and gaps are microseconds.
  const float one = body_ns("1"), ten = body_ns("10");
  CHECK(one > 0.32f);
  CHECK(ten > 9 * one);
  CHECK(ten < 11 * one);
}
