// User objects: reference counts with a destructor. (Graphs that retain them are not emulated.)
#include <cuda.h>

#include <atomic>

#include "driver_shim/cuda/gate.h"
#include "virtual_device/handle_pool.h"

using maya::cuda::Call;
using maya::cuda::enter;
using maya::cuda::Needs;

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

CUresult cuUserObjectRetain(CUuserObject handle, unsigned int count) {
  return enter(Needs::kInitialized, [&](Call&) {
    UserObject* object = pool().get(handle);
    if (object == nullptr || !valid_count(count)) return CUDA_ERROR_INVALID_VALUE;
    object->references.fetch_add(count, std::memory_order_relaxed);
    return CUDA_SUCCESS;
  });
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned int count) {
  return enter(Needs::kInitialized, [&](Call&) {
    UserObject* object = pool().get(handle);
    if (object == nullptr || !valid_count(count) || count > object->references.load(std::memory_order_relaxed))
      return CUDA_ERROR_INVALID_VALUE;
    if (object->references.fetch_sub(count, std::memory_order_acq_rel) != count) return CUDA_SUCCESS;
    const CUhostFn destroy = object->destroy;
    void* data = object->data;
    if (pool().destroy(handle)) destroy(data);
    return CUDA_SUCCESS;
  });
}
