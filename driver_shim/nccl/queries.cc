// What a communicator answers about itself; versions, error texts, memory statistics.
#include "driver_shim/nccl/communicator.h"

using namespace maya::nccl;

MAYA_NCCL(ncclGetVersion, int* version) {
  if (version == nullptr) return failed(ncclInvalidArgument, "ncclGetVersion: version is null");
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

namespace {

template <typename Get>
ncclResult_t answer(ncclComm_t comm, int* value, const char* api, Get&& get) {
  const auto communicator = hold(comm, api);
  if (communicator == nullptr) return ncclInvalidArgument;
  if (value == nullptr) return failed(ncclInvalidArgument, std::string(api) + ": a pointer is null");
  *value = get(*communicator);
  return ncclSuccess;
}

}  // namespace

MAYA_NCCL(ncclCommCount, const ncclComm_t comm, int* count) {
  return answer(comm, count, "ncclCommCount", [](const Communicator& c) { return c.ranks; });
}
MAYA_NCCL(ncclCommUserRank, const ncclComm_t comm, int* rank) {
  return answer(comm, rank, "ncclCommUserRank", [](const Communicator& c) { return c.rank; });
}
MAYA_NCCL(ncclCommCuDevice, const ncclComm_t comm, int* device) {
  return answer(comm, device, "ncclCommCuDevice", [](const Communicator& c) { return c.device; });
}

// Texts as NCCL's documentation and its log files show them.
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

MAYA_NCCL(ncclCommMemStats, ncclComm_t comm, ncclCommMemStat_t kind, uint64_t* value) {
  const auto communicator = hold(comm, "ncclCommMemStats");
  if (communicator == nullptr) return ncclInvalidArgument;
  if (value == nullptr) return failed(ncclInvalidArgument, "ncclCommMemStats: value is null");
  const Communicator& c = *communicator;
  switch (kind) {
    case ncclStatGpuMemSuspended:
      *value = c.state.load() == Communicator::State::kSuspended ? 1 : 0;
      return ncclSuccess;
    case ncclStatGpuMemSuspend:
      *value = c.charged_bytes + c.suspended_bytes;
      return ncclSuccess;
    case ncclStatGpuMemTotal:
      *value = c.charged_bytes;
      return ncclSuccess;
    case ncclStatGpuMemPersist:
      *value = 0;
      return ncclSuccess;
    default:
      return failed(ncclInvalidArgument, "ncclCommMemStats: invalid statistic " + std::to_string(kind));
  }
}
