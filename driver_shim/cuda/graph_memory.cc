#include "driver_shim/cuda/graph_memory.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "driver_shim/cuda/allocation.h"
#include "driver_shim/cuda/graph.h"
#include "driver_shim/cuda/graph_exec.h"
#include "driver_shim/cuda/host_allocation.h"
#include "driver_shim/cuda/pool.h"
#include "driver_shim/cuda/recorder.h"

namespace maya::cuda {
namespace {

struct Use {
  uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;  // bytes
};

// Of all graphs of the process.
struct State {
  std::recursive_mutex mutex;
  std::map<CUdeviceptr, GraphMemory*> by_address;
  // Allocations that a launch made and nothing freed yet: they outlive their graphs.
  std::map<CUdeviceptr, std::shared_ptr<GraphMemory>> in_use;
  std::map<int, Use> by_device;
};

State& state() {
  static State& made = *new State;
  return made;
}

device::Allocation physical_record(uint64_t handle, uint64_t bytes, int device) {
  device::Allocation record;
  record.base = handle;
  record.bytes = record.charged_bytes = bytes;
  record.device = device;
  record.kind = device::AllocationKind::kPhysical;
  return record;
}

template <typename Visit>
void visit_allocations(const Graph& graph, const Visit& visit) {
  for (const GraphNode* node : graph.nodes) {
    if (const auto* allocation = std::get_if<AllocationNode>(&node->work); allocation != nullptr) visit(*allocation);
    for (const Graph* owned : owned_graphs(node->work)) visit_allocations(*owned, visit);
  }
}

bool frees(const Graph& graph, CUdeviceptr address) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const GraphNode* node) {
    const FreeNode* freed = std::get_if<FreeNode>(&node->work);
    return freed != nullptr && freed->address == address;
  });
}

// Memory that was freed before the dependencies and not allocated again since, large enough.
std::shared_ptr<GraphMemory> freed_before(const std::vector<GraphEdge>& dependencies, int device, bool managed,
                                          uint64_t bytes) {
  std::unordered_set<const GraphNode*> seen;
  std::vector<const GraphNode*> open;
  for (const GraphEdge& edge : dependencies) open.push_back(edge.from);
  std::vector<std::shared_ptr<GraphMemory>> candidates;
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    if (const FreeNode* freed = std::get_if<FreeNode>(&node->work); freed != nullptr)
      if (freed->memory->device() == device && freed->memory->is_managed() == managed &&
          freed->memory->bytes() >= bytes)
        candidates.push_back(freed->memory);
    for (const GraphEdge& edge : node->dependencies) open.push_back(edge.from);
  }
  for (const auto& candidate : candidates) {
    // As many allocations as frees: then it is free now.
    size_t allocations = 0, freed = 0;
    for (const GraphNode* node : dependencies.front().from->graph->nodes) {
      if (const auto* made = std::get_if<AllocationNode>(&node->work); made != nullptr)
        allocations += made->memory == candidate;
      if (const auto* ended = std::get_if<FreeNode>(&node->work); ended != nullptr && seen.contains(node))
        freed += ended->memory == candidate;
    }
    if (allocations == freed) return candidate;
  }
  return nullptr;
}

CUdeviceptr map_managed(Driver& driver, int device, uint64_t bytes) {
  device::Allocation entry;
  entry.bytes = bytes;
  entry.device = device;
  entry.kind = device::AllocationKind::kManaged;
  entry.flags = CU_MEM_ATTACH_GLOBAL;
  if (map_host_memory(driver, &entry) != CUDA_SUCCESS) throw std::bad_alloc();
  return entry.base;
}

}  // namespace

GraphMemory::GraphMemory(Driver& driver, int device, uint64_t bytes, bool managed)
    : driver_(driver), device_(device), managed_(managed) {
  constexpr uint64_t kGranularity = device::Memory::kGranularity_bytes;
  bytes_ = (bytes + kGranularity - 1) / kGranularity * kGranularity;
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (managed_) {
    base_ = map_managed(driver, device, bytes > UINT64_MAX / 2 ? 0 : bytes_);
    state().by_address.emplace(base_, this);
    return;
  }
  device::Address reserved = 0;
  if (bytes > UINT64_MAX / 2 || driver.memory().reserve(bytes_, 0, &reserved) != device::MemoryStatus::kOk)
    throw std::bad_alloc();
  base_ = reserved;
  state().by_address.emplace(base_, this);
}

GraphMemory::~GraphMemory() {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  detach();
  state().by_address.erase(base_);
  if (!managed_) {
    driver_.memory().unreserve(base_, bytes_);
    return;
  }
  free_host_memory(driver_, base_, device::AllocationKind::kManaged);
}

CUresult GraphMemory::attach() {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (attached_) return CUDA_SUCCESS;
  if (!managed_)
    if (const CUresult status = attach_physical(); status != CUDA_SUCCESS) return status;
  attached_ = true;
  Use& use = state().by_device[device_];
  use.reserved += bytes_;
  use.reserved_high = std::max(use.reserved_high, use.reserved);
  return CUDA_SUCCESS;
}

CUresult GraphMemory::attach_physical() {
  device::Memory& memory = driver_.memory();
  device::MemoryStatus status = memory.create_physical(device_, bytes_, &physical_);
  if (status == device::MemoryStatus::kOutOfMemory && trim_pools(driver_, device_))
    status = memory.create_physical(device_, bytes_, &physical_);
  if (status != device::MemoryStatus::kOk) {
    physical_ = 0;
    if (status == device::MemoryStatus::kOutOfMemory)
      record_allocation_failure(driver_, device_, bytes_, "cuGraphLaunch");
    return memory_result(status);
  }
  Recorder::get().allocation(physical_record(physical_, bytes_, device_));
  return memory_result(memory.map(base_, bytes_, 0, physical_, nullptr));
}

void GraphMemory::detach() {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (!attached_) return;
  set_in_use(false);
  attached_ = false;
  state().by_device[device_].reserved -= bytes_;
  if (managed_) return;
  std::vector<device::Allocation> freed;
  driver_.memory().unmap(base_, bytes_, &freed);
  device::Allocation released;
  driver_.memory().release_physical(physical_, &released);
  Recorder::get().free(physical_record(physical_, bytes_, device_));
  physical_ = 0;
}

void GraphMemory::set_in_use(bool in_use) {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (in_use == in_use_) return;
  in_use_ = in_use;
  Use& use = state().by_device[device_];
  use.used = in_use ? use.used + bytes_ : use.used - bytes_;
  use.used_high = std::max(use.used_high, use.used);
  if (in_use && !managed_) driver_.memory().make_unknown(base_, bytes_);
}

CUresult make_allocation_node(Driver& driver, const std::vector<GraphEdge>& dependencies,
                              const CUDA_MEM_ALLOC_NODE_PARAMS& parameters, AllocationNode* out) {
  const CUmemPoolProps& properties = parameters.poolProps;
  const int device = properties.location.id;
  const bool managed = properties.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
  if (parameters.bytesize == 0 || properties.handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
      (properties.allocType != CU_MEM_ALLOCATION_TYPE_PINNED && !managed) ||
      properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE || device < 0 || device >= driver.device_count() ||
      parameters.accessDescCount > static_cast<size_t>(driver.device_count()) ||
      (parameters.accessDescCount != 0 && parameters.accessDescs == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  out->parameters = parameters;
  out->access = std::make_shared<const std::vector<CUmemAccessDesc>>(
      parameters.accessDescs, parameters.accessDescs + parameters.accessDescCount);
  out->parameters.accessDescs = out->access->empty() ? nullptr : out->access->data();
  out->memory = freed_before(dependencies, device, managed, parameters.bytesize);
  if (out->memory == nullptr) out->memory = std::make_shared<GraphMemory>(driver, device, parameters.bytesize, managed);
  out->parameters.dptr = out->memory->base();
  return CUDA_SUCCESS;
}

CUresult make_free_node(const Graph& graph, CUdeviceptr address, FreeNode* out) {
  std::shared_ptr<GraphMemory> memory;
  size_t allocations = 0, freed = 0;
  for (const GraphNode* node : graph.nodes) {
    if (const auto* made = std::get_if<AllocationNode>(&node->work);
        made != nullptr && made->parameters.dptr == address) {
      memory = made->memory;
      ++allocations;
    }
    if (const auto* ended = std::get_if<FreeNode>(&node->work); ended != nullptr && ended->address == address) ++freed;
  }
  if (memory != nullptr && freed >= allocations) return CUDA_ERROR_INVALID_VALUE;
  if (memory == nullptr) {
    if (frees(graph, address)) return CUDA_ERROR_INVALID_VALUE;
    // An allocation that another graph made and left.
    graphs().for_each([&](const Graph* other) {
      visit_allocations(*other, [&](const AllocationNode& node) {
        if (node.parameters.dptr == address) memory = node.memory;
      });
    });
  }
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out->address = address;
  out->memory = std::move(memory);
  return CUDA_SUCCESS;
}

CUresult prepare_graph_memory(ExecutableGraph& graph, bool for_launch) {
  if (!graph.allocates) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  visit_allocations(*graph.graph, [&](const AllocationNode& node) {
    if (for_launch && node.memory->in_use()) {
      if ((graph.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) == 0)
        result = CUDA_ERROR_INVALID_VALUE;
      else
        end_graph_allocation(node.memory->base());
    }
    if (result == CUDA_SUCCESS) result = node.memory->attach();
  });
  return result;
}

bool is_graph_memory(CUdeviceptr address) {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  const auto after = state().by_address.upper_bound(address);
  if (after == state().by_address.begin()) return false;
  const GraphMemory& memory = *std::prev(after)->second;
  return address - memory.base() < memory.bytes();
}

CUresult begin_graph_allocation(const AllocationNode& node) {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  node.memory->set_in_use(true);
  state().in_use[node.memory->base()] = node.memory;
  return CUDA_SUCCESS;
}

CUresult end_graph_allocation(CUdeviceptr address) {
  std::shared_ptr<GraphMemory> last;  // may end here, after the lock
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  const auto found = state().in_use.find(address);
  if (found == state().in_use.end()) return CUDA_ERROR_INVALID_VALUE;
  last = std::move(found->second);
  state().in_use.erase(found);
  last->set_in_use(false);
  return CUDA_SUCCESS;
}

bool free_graph_allocation(CUdeviceptr address, CUresult* result) {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (!state().by_address.contains(address)) return false;
  *result = end_graph_allocation(address);
  return true;
}

namespace {

template <typename Body>
CUresult with_device(CUdevice device, bool valid, Body&& body) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    if (!valid) return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || device >= call.driver().device_count()) return CUDA_ERROR_INVALID_DEVICE;
    std::lock_guard<std::recursive_mutex> lock(state().mutex);
    return body(state().by_device[device]);
  });
}

bool valid_attribute(CUgraphMem_attribute attribute) {
  return attribute >= CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT && attribute <= CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
}

}  // namespace
}  // namespace maya::cuda

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  return maya::cuda::with_device(device, true, [&](const auto&) {
    for (const auto& [address, memory] : maya::cuda::state().by_address)
      if (memory->device() == device && !memory->in_use()) memory->detach();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
  const bool valid = value != nullptr && maya::cuda::valid_attribute(attribute);
  return maya::cuda::with_device(device, valid, [&](const maya::cuda::Use& use) {
    const uint64_t values[] = {use.used, use.used_high, use.reserved, use.reserved_high};
    *static_cast<cuuint64_t*>(value) = values[attribute];
    return CUDA_SUCCESS;
  });
}

// High watermarks can only be reset to zero.
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
  const bool watermark =
      attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
  const bool valid = value != nullptr && watermark && *static_cast<cuuint64_t*>(value) == 0;
  return maya::cuda::with_device(device, valid, [&](maya::cuda::Use& use) {
    if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
      use.used_high = use.used;
    else
      use.reserved_high = use.reserved;
    return CUDA_SUCCESS;
  });
}
