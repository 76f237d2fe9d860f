// User objects: reference counts with a destructor. Programs and graphs hold references.
#include <cuda.h>

#include <atomic>

#include "driver_shim/cuda/graph.h"
#include "virtual_device/handle_pool.h"

using maya::cuda::Call;
using maya::cuda::enter;
using maya::cuda::Graph;
using maya::cuda::Needs;
using maya::cuda::with_graph;

namespace {

struct UserObject {
  UserObject(void* user_data, CUhostFn destructor, uint32_t count)
      : data(user_data), destroy(destructor), references(count) {}
  void* data;
  CUhostFn destroy;
  std::atomic<uint32_t> references;
};

constexpr size_t kMostObjects = 1 << 16;

maya::device::HandlePool<UserObject>& pool() {
  static auto& made = *new maya::device::HandlePool<UserObject>(kMostObjects);
  return made;
}

bool valid_count(unsigned int count) { return count != 0 && count <= INT32_MAX; }

}  // namespace

CUresult cuUserObjectCreate(CUuserObject* out, void* data, CUhostFn destroy, unsigned int references,
                            unsigned int flags) {
  return enter(Needs::kInitialized, [&](Call&) {
    if (out == nullptr || destroy == nullptr || !valid_count(references) || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
      return CUDA_ERROR_INVALID_VALUE;
    UserObject* made = pool().create(data, destroy, references);
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = reinterpret_cast<CUuserObject>(made);
    return CUDA_SUCCESS;
  });
}

namespace maya::cuda {

CUresult retain_user_object(CUuserObject handle, uint32_t count) {
  UserObject* object = pool().get(handle);
  if (object == nullptr || !valid_count(count)) return CUDA_ERROR_INVALID_VALUE;
  object->references.fetch_add(count, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

CUresult release_user_object(CUuserObject handle, uint32_t count) {
  UserObject* object = pool().get(handle);
  if (object == nullptr || !valid_count(count) || count > object->references.load(std::memory_order_relaxed))
    return CUDA_ERROR_INVALID_VALUE;
  if (object->references.fetch_sub(count, std::memory_order_acq_rel) != count) return CUDA_SUCCESS;
  const CUhostFn destroy = object->destroy;
  void* data = object->data;
  if (pool().destroy(handle)) destroy(data);
  return CUDA_SUCCESS;
}

}  // namespace maya::cuda

CUresult cuUserObjectRetain(CUuserObject handle, unsigned int count) {
  return enter(Needs::kInitialized, [&](Call&) { return maya::cuda::retain_user_object(handle, count); });
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned int count) {
  return enter(Needs::kInitialized, [&](Call&) { return maya::cuda::release_user_object(handle, count); });
}

CUresult cuGraphRetainUserObject(CUgraph graph_handle, CUuserObject object, unsigned int count, unsigned int flags) {
  return with_graph(graph_handle, flags <= CU_GRAPH_USER_OBJECT_MOVE, [&](Call&, Graph& graph) -> CUresult {
    UserObject* found = pool().get(object);
    if (found == nullptr || !valid_count(count)) return CUDA_ERROR_INVALID_VALUE;
    // Moved references are the caller's own.
    if (flags == CU_GRAPH_USER_OBJECT_MOVE) {
      if (count > found->references.load(std::memory_order_relaxed)) return CUDA_ERROR_INVALID_VALUE;
    } else if (const CUresult status = maya::cuda::retain_user_object(object, count); status != CUDA_SUCCESS) {
      return status;
    }
    for (auto& [held, references] : graph.user_objects) {
      if (held != object) continue;
      references += count;
      return CUDA_SUCCESS;
    }
    graph.user_objects.emplace_back(object, count);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphReleaseUserObject(CUgraph graph_handle, CUuserObject object, unsigned int count) {
  return with_graph(graph_handle, valid_count(count), [&](Call&, Graph& graph) -> CUresult {
    for (auto& held : graph.user_objects) {
      if (held.first != object) continue;
      if (held.second < count) return CUDA_ERROR_INVALID_VALUE;
      held.second -= count;
      if (held.second == 0) std::erase(graph.user_objects, held);
      return maya::cuda::release_user_object(object, count);
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}
