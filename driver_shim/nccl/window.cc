// Memory windows: registration alone. Their device-side use and one-sided calls are not supported, as
// ncclCommQueryProperties tells.
#include <set>

#include "driver_shim/nccl/communicator.h"

struct ncclWindow_vidmem {
  std::shared_ptr<maya::nccl::Communicator> communicator;
  void* pointer;
  size_t bytes;
};

namespace maya::nccl {
namespace {

std::mutex windows_mutex;
std::set<ncclWindow_t>& windows() {
  static auto* const all = new std::set<ncclWindow_t>;
  return *all;
}

}  // namespace
}  // namespace maya::nccl

using namespace maya::nccl;

MAYA_NCCL(ncclCommWindowRegister, ncclComm_t comm, void* buffer, size_t bytes, ncclWindow_t* window, int flags) {
  std::shared_ptr<Communicator> communicator;
  if (const ncclResult_t result = ready(comm, "ncclCommWindowRegister", &communicator); result != ncclSuccess)
    return result;
  if (buffer == nullptr || bytes == 0 || window == nullptr)
    return failed(ncclInvalidArgument, "ncclCommWindowRegister: a pointer is null or there are no bytes");
  if ((flags & ~(NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING)) != 0)
    return failed(ncclInvalidArgument, "ncclCommWindowRegister: invalid flags " + std::to_string(flags));
  if (reinterpret_cast<uintptr_t>(buffer) % NCCL_WIN_REQUIRED_ALIGNMENT != 0)
    return failed(ncclInvalidArgument, "ncclCommWindowRegister: the buffer is not aligned to 4096 bytes");
  auto* made = new ncclWindow_vidmem{std::move(communicator), buffer, bytes};
  std::lock_guard<std::mutex> lock(windows_mutex);
  windows().insert(made);
  *window = made;
  return ncclSuccess;
}

MAYA_NCCL(ncclCommWindowDeregister, ncclComm_t comm, ncclWindow_t window) {
  if (hold(comm, "ncclCommWindowDeregister") == nullptr) return ncclInvalidArgument;
  std::lock_guard<std::mutex> lock(windows_mutex);
  if (windows().erase(window) == 0)
    return failed(ncclInvalidArgument, "ncclCommWindowDeregister: not a registered window");
  delete window;
  return ncclSuccess;
}

MAYA_NCCL(ncclWinGetUserPtr, ncclComm_t comm, ncclWindow_t window, void** pointer) {
  if (hold(comm, "ncclWinGetUserPtr") == nullptr) return ncclInvalidArgument;
  std::lock_guard<std::mutex> lock(windows_mutex);
  if (pointer == nullptr || windows().count(window) == 0)
    return failed(ncclInvalidArgument, "ncclWinGetUserPtr: not a registered window");
  *pointer = window->pointer;
  return ncclSuccess;
}
