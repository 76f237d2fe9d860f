// Interprocess communication: handles of memory and events.
#include <cuda.h>

#include <cstring>
#include <map>
#include <mutex>

#include "driver_shim/cuda/allocation.h"
#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/shareable_handle.h"

using namespace maya::cuda;

namespace {

using maya::device::Allocation;
using maya::device::AllocationKind;
using maya::device::MemoryStatus;

// Memory of other processes that is open here. A context that opens a handle again gets the same address.
struct Opened {
  std::mutex mutex;
  struct Entry {
    uint64_t process, object;
    const Context* context;
    uint64_t references;
  };
  std::map<CUdeviceptr, Entry> entries;
  bool noticed = false;
};
Opened& opened() {
  static Opened& instance = *new Opened;
  return instance;
}

// The addresses are allocations of the context and go with it (allocation.cc).
void forget_opened(Driver&, Context& context) {
  Opened& all = opened();
  std::lock_guard<std::mutex> lock(all.mutex);
  std::erase_if(all.entries, [&](const auto& entry) { return entry.second.context == &context; });
}

[[maybe_unused]] const bool kHookAdded = (add_context_hook(forget_opened), true);

CUresult open_memory(CUdeviceptr* out, const CUipcMemHandle& handle, unsigned int flags) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    if (out == nullptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
    SharedMemoryTicket ticket;
    std::memcpy(&ticket, handle.reserved, sizeof(ticket));
    if (ticket.magic != SharedMemoryTicket::kMagic || ticket.kind != SharedMemoryTicket::kAllocation ||
        ticket.bytes == 0)
      return CUDA_ERROR_INVALID_HANDLE;
    // A process cannot open its own handles.
    if (ticket.process == this_process()) return CUDA_ERROR_INVALID_CONTEXT;
    Opened& all = opened();
    std::lock_guard<std::mutex> lock(all.mutex);
    for (auto& [address, entry] : all.entries) {
      if (entry.process != ticket.process || entry.object != ticket.object || entry.context != &call.context())
        continue;
      ++entry.references;
      *out = address;
      return CUDA_SUCCESS;
    }
    Allocation made;
    const MemoryStatus status = call.memory().adopt(call.context().device, ticket.bytes, &call.context(), &made);
    if (status != MemoryStatus::kOk)
      return status == MemoryStatus::kInvalidValue ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_MAP_FAILED;
    all.entries[made.base] = {ticket.process, ticket.object, &call.context(), 1};
    Recorder::get().allocation(made);
    if (!all.noticed) {
      all.noticed = true;
      Recorder::get().notice(1,
                             "memory of another process was opened: its bytes are not carried over and read as zero");
    }
    *out = made.base;
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuIpcGetMemHandle(CUipcMemHandle* out, CUdeviceptr address) {
  return enter(Needs::kContext, [&](Call& call) {
    Allocation found;
    if (out == nullptr || !call.memory().find(address, &found) || found.kind != AllocationKind::kDevice)
      return CUDA_ERROR_INVALID_VALUE;
    SharedMemoryTicket ticket;
    ticket.kind = SharedMemoryTicket::kAllocation;
    ticket.process = this_process();
    ticket.object = found.id;
    ticket.address = found.base;
    ticket.bytes = found.bytes;
    ticket.device = found.device;
    *out = {};
    std::memcpy(out->reserved, &ticket, sizeof(ticket));
    return CUDA_SUCCESS;
  });
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* out, CUipcMemHandle handle, unsigned int flags) {
  return open_memory(out, handle, flags);
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* out, CUipcMemHandle handle, unsigned int flags) {
  return open_memory(out, handle, flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  return enter(Needs::kContext, [&](Call& call) {
    Opened& all = opened();
    std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = all.entries.find(address);
    if (found == all.entries.end()) return CUDA_ERROR_INVALID_VALUE;
    if (--found->second.references != 0) return CUDA_SUCCESS;
    all.entries.erase(found);
    return free_device_memory(call.driver(), address);
  });
}

CUresult cuIpcGetEventHandle(CUipcEventHandle* out, CUevent handle) {
  return enter(Needs::kContext, [&](Call& call) {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Event* event = call.driver().events().get(handle);
    constexpr uint32_t kNeeded = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    if (event == nullptr || (event->flags & kNeeded) != kNeeded) return CUDA_ERROR_INVALID_HANDLE;
    SharedMemoryTicket ticket;
    ticket.kind = SharedMemoryTicket::kEvent;
    ticket.process = this_process();
    ticket.object = event->id;
    *out = {};
    std::memcpy(out->reserved, &ticket, sizeof(ticket));
    return CUDA_SUCCESS;
  });
}

// The event of another process: an event here that counts as done until it is recorded.
CUresult cuIpcOpenEventHandle(CUevent* out, CUipcEventHandle handle) {
  return enter(Needs::kContext, [&](Call&) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    SharedMemoryTicket ticket;
    std::memcpy(&ticket, handle.reserved, sizeof(ticket));
    if (ticket.magic != SharedMemoryTicket::kMagic || ticket.kind != SharedMemoryTicket::kEvent)
      return CUDA_ERROR_INVALID_HANDLE;
    if (ticket.process == this_process()) return CUDA_ERROR_INVALID_CONTEXT;
    return cuEventCreate(out, CU_EVENT_DISABLE_TIMING);
  });
}
