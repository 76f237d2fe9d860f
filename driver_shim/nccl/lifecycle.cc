// Communicators' creation and end, queries, versions, memory.
#include <string.h>

#include <atomic>
#include <random>
#include <set>

#include "driver_shim/nccl/communicator.h"

namespace maya::nccl {
namespace {

std::mutex live_mutex;
std::set<ncclComm_t>& live() {
  static auto* const all = new std::set<ncclComm_t>;
  return *all;
}

uint64_t random_word() {
  static std::mutex mutex;
  static auto* const device = new std::random_device;
  std::lock_guard<std::mutex> lock(mutex);
  return (static_cast<uint64_t>((*device)()) << 32) | (*device)();
}

ncclComm_t make(std::shared_ptr<Clique> clique, int rank, CUdevice device) {
  auto* comm = new ncclComm;
  comm->clique = std::move(clique);
  comm->rank = rank;
  comm->device = device;
  comm->trace_id = shim::driver()->communicator(0, comm->clique->unique, static_cast<uint32_t>(rank),
                                                static_cast<uint32_t>(comm->clique->ranks), 0, 0);
  ++comm->clique->joined;
  std::lock_guard<std::mutex> lock(live_mutex);
  live().insert(comm);
  return comm;
}

// Handles of destroyed communicators must be told from live ones, so their memory is kept.
void retire(ncclComm_t comm) {
  {
    std::lock_guard<std::mutex> lock(live_mutex);
    live().erase(comm);
  }
  comm->magic = 0;
  shim::driver()->communicator(comm->trace_id, comm->clique->unique, static_cast<uint32_t>(comm->rank),
                               static_cast<uint32_t>(comm->clique->ranks), 0, 1);
  comm->clique.reset();
}

ncclResult_t current_device(CUdevice* device, const char* api) {
  if (shim::driver() == nullptr || MAYA_DRIVER(cuCtxGetDevice) == nullptr)
    return failed(ncclUnhandledCudaError, std::string(api) + ": no driver");
  const CUresult status = MAYA_DRIVER(cuCtxGetDevice)(device);
  return status == CUDA_SUCCESS
             ? ncclSuccess
             : failed(ncclUnhandledCudaError,
                      std::string(api) + ": no current device: driver error " + std::to_string(status));
}

uint64_t unique_of(const ncclUniqueId& id) {
  uint64_t unique;
  memcpy(&unique, id.internal, sizeof unique);
  return unique;
}

ncclResult_t initialize_rank(const char* api, ncclComm_t* comm, int ranks, const ncclUniqueId* id, int rank) {
  if (comm == nullptr || id == nullptr || ranks < 1 || rank < 0 || rank >= ranks)
    return failed(ncclInvalidArgument,
                  std::string(api) + ": rank " + std::to_string(rank) + " of " + std::to_string(ranks));
  CUdevice device;
  if (const ncclResult_t status = current_device(&device, api); status != ncclSuccess) return status;
  if (ranks > 1 && !in_group())
    return failed(ncclInvalidUsage,
                  std::string(api) + ": a communicator of " + std::to_string(ranks) +
                      " ranks needs its other processes; worlds of several processes are not supported");
  const std::shared_ptr<Clique> clique = ranks == 1 ? std::make_shared<Clique>(1) : clique_of(unique_of(*id), ranks);
  clique->unique = unique_of(*id);
  *comm = make(clique, rank, device);
  if (ranks > 1) joins_in_group(clique);
  return ncclSuccess;
}

}  // namespace
}  // namespace maya::nccl

using namespace maya::nccl;

MAYA_NCCL(ncclGetVersion, int* version) {
  if (version == nullptr) return failed(ncclInvalidArgument, "ncclGetVersion: version is null");
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

MAYA_NCCL(ncclGetUniqueId, ncclUniqueId* id) {
  if (id == nullptr) return failed(ncclInvalidArgument, "ncclGetUniqueId: uniqueId is null");
  memset(id, 0, sizeof *id);
  const uint64_t words[2] = {random_word() | 1, random_word()};
  memcpy(id->internal, words, sizeof words);
  return ncclSuccess;
}

MAYA_NCCL(ncclCommInitRank, ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return initialize_rank("ncclCommInitRank", comm, ranks, &id, rank);
}
MAYA_NCCL(ncclCommInitRankConfig, ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t*) {
  return initialize_rank("ncclCommInitRankConfig", comm, ranks, &id, rank);
}
MAYA_NCCL(ncclCommInitRankScalable, ncclComm_t* comm, int ranks, int rank, int, ncclUniqueId* ids, ncclConfig_t*) {
  return initialize_rank("ncclCommInitRankScalable", comm, ranks, ids, rank);
}

MAYA_NCCL(ncclCommInitAll, ncclComm_t* comms, int count, const int* devices) {
  if (comms == nullptr || count < 1) return failed(ncclInvalidArgument, "ncclCommInitAll: no communicators asked for");
  const maya::MayaTable* driver = maya::shim::driver();
  if (driver == nullptr) return failed(ncclUnhandledCudaError, "ncclCommInitAll: no driver");
  std::set<int> distinct;
  for (int i = 0; i < count; ++i) {
    const int device = devices != nullptr ? devices[i] : i;
    if (device < 0 || device >= driver->device_count() || !distinct.insert(device).second)
      return failed(ncclInvalidUsage,
                    "ncclCommInitAll: device " + std::to_string(device) + " does not exist or is listed twice");
  }
  auto clique = std::make_shared<Clique>(count);
  clique->unique = random_word();
  for (int i = 0; i < count; ++i) comms[i] = make(clique, i, devices != nullptr ? devices[i] : i);
  return ncclSuccess;
}

MAYA_NCCL(ncclCommSplit, ncclComm_t comm, int color, int, ncclComm_t* made, ncclConfig_t*) {
  if (!valid(comm, "ncclCommSplit")) return ncclInvalidArgument;
  if (made == nullptr || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
    return failed(ncclInvalidArgument, "ncclCommSplit: bad color or null result");
  if (color == NCCL_SPLIT_NOCOLOR) {
    *made = NCCL_COMM_NULL;
    return ncclSuccess;
  }
  if (comm->clique->ranks > 1) return failed(ncclInvalidUsage, "ncclCommSplit of several ranks is not supported");
  auto clique = std::make_shared<Clique>(1);
  clique->unique = random_word();
  *made = make(clique, 0, comm->device);
  return ncclSuccess;
}

namespace {

ncclResult_t end(ncclComm_t comm, const char* api) {
  if (comm == nullptr) return ncclSuccess;  // documented: a null communicator is accepted
  if (!valid(comm, api)) return ncclInvalidArgument;
  retire(comm);
  return ncclSuccess;
}

}  // namespace

MAYA_NCCL(ncclCommDestroy, ncclComm_t comm) { return end(comm, "ncclCommDestroy"); }
MAYA_NCCL(ncclCommAbort, ncclComm_t comm) { return end(comm, "ncclCommAbort"); }
MAYA_NCCL(ncclCommFinalize, ncclComm_t comm) {
  return valid(comm, "ncclCommFinalize") ? ncclSuccess : ncclInvalidArgument;
}
MAYA_NCCL(ncclCommRevoke, ncclComm_t comm, int) {
  return valid(comm, "ncclCommRevoke") ? ncclSuccess : ncclInvalidArgument;
}

MAYA_NCCL(ncclCommCount, const ncclComm_t comm, int* count) {
  if (!valid(comm, "ncclCommCount") || count == nullptr) return ncclInvalidArgument;
  *count = comm->clique->ranks;
  return ncclSuccess;
}
MAYA_NCCL(ncclCommUserRank, const ncclComm_t comm, int* rank) {
  if (!valid(comm, "ncclCommUserRank") || rank == nullptr) return ncclInvalidArgument;
  *rank = comm->rank;
  return ncclSuccess;
}
MAYA_NCCL(ncclCommCuDevice, const ncclComm_t comm, int* device) {
  if (!valid(comm, "ncclCommCuDevice") || device == nullptr) return ncclInvalidArgument;
  *device = comm->device;
  return ncclSuccess;
}
MAYA_NCCL(ncclCommGetAsyncError, ncclComm_t comm, ncclResult_t* error) {
  if (!valid(comm, "ncclCommGetAsyncError") || error == nullptr) return ncclInvalidArgument;
  *error = ncclSuccess;
  return ncclSuccess;
}

MAYA_NCCL_EXPORT const char* pncclGetErrorString(ncclResult_t result) __attribute__((alias("ncclGetErrorString")));
MAYA_NCCL_EXPORT const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    case ncclTimeout:
      return "operation timed out";
    default:
      return "unknown result code";
  }
}
MAYA_NCCL_EXPORT const char* pncclGetLastError(ncclComm_t comm) __attribute__((alias("ncclGetLastError")));
MAYA_NCCL_EXPORT const char* ncclGetLastError(ncclComm_t) { return last_error(); }

MAYA_NCCL(ncclMemAlloc, void** pointer, size_t bytes) {
  if (pointer == nullptr || bytes == 0) return failed(ncclInvalidArgument, "ncclMemAlloc: null pointer or no bytes");
  const maya::MayaTable* driver = maya::shim::driver();
  CUdeviceptr address = 0;
  if (driver == nullptr ||
      driver->allocate(&address, bytes, maya::ChargeLayer::kAllocations, "ncclMemAlloc") != CUDA_SUCCESS)
    return failed(ncclUnhandledCudaError, "ncclMemAlloc: out of device memory");
  *pointer = reinterpret_cast<void*>(address);
  return ncclSuccess;
}
MAYA_NCCL(ncclMemFree, void* pointer) {
  const auto free = MAYA_DRIVER(cuMemFree_v2);
  if (free == nullptr || free(reinterpret_cast<CUdeviceptr>(pointer)) != CUDA_SUCCESS)
    return failed(ncclUnhandledCudaError, "ncclMemFree: not an allocation");
  return ncclSuccess;
}

MAYA_NCCL(ncclCommRegister, const ncclComm_t comm, void* buffer, size_t bytes, void** handle) {
  if (!valid(comm, "ncclCommRegister") || buffer == nullptr || bytes == 0 || handle == nullptr)
    return ncclInvalidArgument;
  *handle = buffer;
  return ncclSuccess;
}
MAYA_NCCL(ncclCommDeregister, const ncclComm_t comm, void* handle) {
  return valid(comm, "ncclCommDeregister") && handle != nullptr ? ncclSuccess : ncclInvalidArgument;
}
MAYA_NCCL(ncclCommMemStats, ncclComm_t comm, ncclCommMemStat_t, uint64_t* value) {
  if (!valid(comm, "ncclCommMemStats") || value == nullptr) return ncclInvalidArgument;
  *value = 0;
  return ncclSuccess;
}
