// Memory that graphs allocate (CUDA programming guide, "Graph Memory Nodes").
#include "test/cuda/graph_helpers.h"

using namespace driver_test;

namespace {

constexpr uint64_t kMebibyte = 1 << 20;

CUDA_MEM_ALLOC_NODE_PARAMS allocation(size_t bytes) {
  CUDA_MEM_ALLOC_NODE_PARAMS p{};
  p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  p.bytesize = bytes;
  return p;
}

uint64_t attribute(CUgraphMem_attribute which) {
  cuuint64_t value = 0;
  REQUIRE(cuDeviceGetGraphMemAttribute(0, which, &value) == CUDA_SUCCESS);
  return value;
}

uint64_t free_memory() {
  size_t free = 0, total = 0;
  REQUIRE(cuMemGetInfo_v2(&free, &total) == CUDA_SUCCESS);
  return free;
}

}  // namespace

TEST_CASE("A graph's memory is taken at its first launch, and used while it is allocated") {
  CurrentContext current;
  TestStream stream;
  Words out;
  CUgraph graph = nullptr;
  CUgraphNode allocated = nullptr, filled = nullptr, copied = nullptr, freed = nullptr;
  REQUIRE(cuGraphCreate(&graph, 0) == CUDA_SUCCESS);
  CUDA_MEM_ALLOC_NODE_PARAMS p = allocation(4 * kMebibyte);
  REQUIRE(cuGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &p) == CUDA_SUCCESS);
  CHECK(p.dptr != 0);
  const CUDA_MEMSET_NODE_PARAMS fill = fill_words(p.dptr, 6);
  REQUIRE(cuGraphAddMemsetNode(&filled, graph, &allocated, 1, &fill, current.get()) == CUDA_SUCCESS);
  const CUDA_MEMCPY3D copy = copy_bytes(out, p.dptr, Words::kCount * 4);
  REQUIRE(cuGraphAddMemcpyNode(&copied, graph, &filled, 1, &copy, current.get()) == CUDA_SUCCESS);
  REQUIRE(cuGraphAddMemFreeNode(&freed, graph, &copied, 1, p.dptr) == CUDA_SUCCESS);
  CHECK(cuGraphAddMemFreeNode(&freed, graph, &copied, 1, p.dptr) == CUDA_ERROR_INVALID_VALUE);  // twice
  CHECK(cuGraphAddMemFreeNode(&freed, graph, nullptr, 0, out) == CUDA_ERROR_INVALID_VALUE);     // not a graph's
  // What cuda.h forbids of such graphs.
  CUgraph clone = nullptr;
  CHECK(cuGraphClone(&clone, graph) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphDestroyNode(filled) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphRemoveDependencies(graph, &allocated, &filled, 1) == CUDA_ERROR_INVALID_VALUE);

  const uint64_t before = free_memory();
  const CUgraphExec executable = instantiate(graph);
  CUgraphExec second = nullptr;  // "at most one executable graph in existence for that graph at a time"
  CHECK(cuGraphInstantiateWithFlags(&second, graph, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(free_memory() == before);
  CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
  CHECK(out.first() == 6);
  CHECK(before - free_memory() == 4 * kMebibyte);
  CHECK(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 4 * kMebibyte);
  CHECK(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == 0);  // freed in the graph
  CHECK(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == 4 * kMebibyte);
  CHECK(cuDeviceGraphMemTrim(0) == CUDA_SUCCESS);
  CHECK(free_memory() == before);
  CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);  // takes it again
  CHECK(before - free_memory() == 4 * kMebibyte);
  CHECK(cuGraphExecDestroy(executable) == CUDA_SUCCESS);
  CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
  CHECK(free_memory() == before);
  CHECK(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 0);
  cuuint64_t value = 1;
  CHECK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value) == CUDA_ERROR_INVALID_VALUE);
  value = 0;
  CHECK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value) == CUDA_SUCCESS);
  CHECK(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == 0);
  CHECK(cuDeviceGraphMemTrim(1000) == CUDA_ERROR_INVALID_DEVICE);
}

TEST_CASE("Memory that a launch leaves must be freed before the next one") {
  CurrentContext current;
  TestStream stream;
  for (const bool automatic : {false, true}) {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    REQUIRE(cuGraphCreate(&graph, 0) == CUDA_SUCCESS);
    CUDA_MEM_ALLOC_NODE_PARAMS p = allocation(100);
    REQUIRE(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &p) == CUDA_SUCCESS);
    const CUgraphExec executable = instantiate(graph, automatic ? CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH : 0);
    CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
    CHECK(cuMemsetD32Async(p.dptr, 1, 25, stream) == CUDA_SUCCESS);  // used by later work of the stream
    // "If any allocations created by hGraphExec remain unfreed ..., the launch will fail with INVALID_VALUE."
    CHECK(cuGraphLaunch(executable, stream) == (automatic ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE));
    CHECK(cuMemFreeAsync(p.dptr, stream) == CUDA_SUCCESS);
    CHECK(cuMemFreeAsync(p.dptr, stream) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
    CHECK(cuMemFree_v2(p.dptr) == CUDA_SUCCESS);
    cuGraphExecDestroy(executable);
    cuGraphDestroy(graph);
  }
}

TEST_CASE("Stream-ordered allocations of a captured stream become nodes and share addresses") {
  CurrentContext current;
  TestStream stream;
  CUdeviceptr first = 0, second = 0, third = 0;
  REQUIRE(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  CHECK(cuMemAllocAsync(&first, kMebibyte, stream) == CUDA_SUCCESS);
  CHECK(cuMemsetD32Async(first, 1, 4, stream) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(first, stream) == CUDA_SUCCESS);
  CHECK(cuMemAllocAsync(&second, kMebibyte, stream) == CUDA_SUCCESS);
  CHECK(cuMemAllocAsync(&third, kMebibyte, stream) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(second, stream) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(third, stream) == CUDA_SUCCESS);
  CUgraph graph = nullptr;
  REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CHECK(node_count(graph) == 7);
  CHECK(second == first);  // its life begins after the other's end
  CHECK(third != second);
  const CUgraphExec executable = instantiate(graph);
  for (int i = 0; i < 3; ++i) CHECK(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
  // Two allocations at a time, in 2 MiB granules.
  CHECK(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 4 * kMebibyte);
  cuGraphExecDestroy(executable);
  cuGraphDestroy(graph);
}

TEST_CASE("Bad allocation nodes") {
  CurrentContext current;
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  REQUIRE(cuGraphCreate(&graph, 0) == CUDA_SUCCESS);
  CUDA_MEM_ALLOC_NODE_PARAMS p = allocation(0);
  CHECK(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &p) == CUDA_ERROR_INVALID_VALUE);
  p = allocation(1);
  p.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;  // "must be CU_MEM_HANDLE_TYPE_NONE"
  CHECK(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &p) == CUDA_ERROR_INVALID_VALUE);
  p = allocation(1);
  p.poolProps.location.id = 1000;
  CHECK(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &p) == CUDA_ERROR_INVALID_VALUE);
  cuGraphDestroy(graph);
}
