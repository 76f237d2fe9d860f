// Memory that graphs allocate. An allocation node has an address from its creation on; memory is put behind it at the
// first upload or launch of an executable graph, and stays there until nothing refers to the address any more, or
// cuDeviceGraphMemTrim finds it unused (CUDA programming guide, "Graph Memory Nodes").
//
// Within a graph, an allocation node takes over the address of an allocation that was freed before it.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>

#include "driver_shim/cuda/driver.h"

namespace maya::cuda {

struct AllocationNode;
struct ExecutableGraph;
struct Graph;
struct GraphEdge;
struct FreeNode;

// A range of addresses, and the memory behind it. Shared by the nodes that allocate there.
class GraphMemory {
 public:
  // `managed`: memory of the host, at its address there. Throws std::bad_alloc when there are no addresses left.
  GraphMemory(Driver& driver, int device, uint64_t bytes, bool managed);
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  CUdeviceptr base() const { return base_; }
  uint64_t bytes() const { return bytes_; }
  int device() const { return device_; }
  bool is_managed() const { return managed_; }
  bool in_use() const { return in_use_; }
  CUresult attach();  // OUT_OF_MEMORY is recorded
  void detach();
  void set_in_use(bool in_use);

 private:
  CUresult attach_physical();

  Driver& driver_;
  const int device_;
  const bool managed_;
  uint64_t bytes_;  // whole granules
  CUdeviceptr base_ = 0;
  uint64_t physical_ = 0;  // of device memory
  bool attached_ = false;  // false: nothing behind it
  bool in_use_ = false;    // a launch allocated it and nothing freed it since
};

// An allocation node for `parameters`; sets their dptr. `dependencies` tell what was freed before.
CUresult make_allocation_node(Driver& driver, const std::vector<GraphEdge>& dependencies,
                              const CUDA_MEM_ALLOC_NODE_PARAMS& parameters, AllocationNode* out);
// CUDA_ERROR_INVALID_VALUE when the address is no allocation of a graph, or the graph frees it already.
CUresult make_free_node(const Graph& graph, CUdeviceptr address, FreeNode* out);

// Puts memory behind the allocations of an executable graph. `for_launch`: and checks that none of them is still in
// use from an earlier launch, or frees them where the graph was instantiated to do so.
CUresult prepare_graph_memory(ExecutableGraph& graph, bool for_launch);

// Whether the address lies where a graph allocates.
bool is_graph_memory(CUdeviceptr address);

// A launch reached the node.
CUresult begin_graph_allocation(const AllocationNode& node);
CUresult end_graph_allocation(CUdeviceptr address);
// cuMemFree and cuMemFreeAsync of an address: false when no graph allocated it.
bool free_graph_allocation(CUdeviceptr address, CUresult* result);

}  // namespace maya::cuda
