// Unique ids and the init calls.
#include <string.h>

#include <set>

#include "driver_shim/nccl/lifecycle.h"

namespace maya::nccl {
namespace {

std::string bounds_text(const char* api, int rank, int ranks) {
  return std::string(api) + ": rank " + std::to_string(rank) + " of " + std::to_string(ranks);
}

ncclResult_t initialize_rank(const char* api, ncclComm_t* comm, int ranks, const ncclUniqueId* id, int rank,
                             const ncclConfig_t* config) {
  if (comm == nullptr || id == nullptr || ranks < 1 || rank < 0 || rank >= ranks)
    return failed(ncclInvalidArgument, bounds_text(api, rank, ranks));
  *comm = nullptr;
  auto communicator = std::make_shared<Communicator>();
  Communicator& c = *communicator;
  std::string error;
  if (const ncclResult_t result = read_config(config, Configuration(), &c.configuration, &error); result != ncclSuccess)
    return failed(result, std::string(api) + ": " + error);
  memcpy(static_cast<void*>(&c.identity), id, sizeof c.identity);
  if (!c.identity.valid())
    return failed(ncclInvalidArgument, std::string(api) + ": the unique id was not made by ncclGetUniqueId");
  if (const ncclResult_t result = current_device(&c.device, api); result != ncclSuccess) return result;
  c.rank = rank;
  c.ranks = ranks;
  c.twins = ranks > 1 && twins();
  return begin(api, std::move(communicator), comm);
}

}  // namespace
}  // namespace maya::nccl

using namespace maya::nccl;

MAYA_NCCL(ncclGetUniqueId, ncclUniqueId* id) {
  if (id == nullptr) return failed(ncclInvalidArgument, "ncclGetUniqueId: uniqueId is null");
  Identity identity;
  std::string error;
  if (!make_identity(&identity, &error)) return failed(ncclSystemError, "ncclGetUniqueId: " + error);
  memcpy(id, &identity, sizeof identity);
  return ncclSuccess;
}

MAYA_NCCL(ncclCommInitRank, ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return initialize_rank("ncclCommInitRank", comm, ranks, &id, rank, nullptr);
}

MAYA_NCCL(ncclCommInitRankConfig, ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  return initialize_rank("ncclCommInitRankConfig", comm, ranks, &id, rank, config);
}

// Every rank gets the same ids in the same order, so the first one is enough to meet.
MAYA_NCCL(ncclCommInitRankScalable, ncclComm_t* comm, int ranks, int rank, int id_count, ncclUniqueId* ids,
          ncclConfig_t* config) {
  if (id_count < 1 || id_count > ranks)
    return failed(ncclInvalidArgument, "ncclCommInitRankScalable: " + std::to_string(id_count) + " unique ids for " +
                                           std::to_string(ranks) + " ranks");
  return initialize_rank("ncclCommInitRankScalable", comm, ranks, ids, rank, config);
}

MAYA_NCCL(ncclCommInitAll, ncclComm_t* comms, int count, const int* devices) {
  if (comms == nullptr || count < 1) return failed(ncclInvalidArgument, "ncclCommInitAll: no communicators asked for");
  const maya::MayaTable* driver = maya::shim::driver();
  if (driver == nullptr) return failed(ncclUnhandledCudaError, "ncclCommInitAll: no driver");
  int visible = 0;
  if (MAYA_DRIVER(cuInit)(0) != CUDA_SUCCESS || MAYA_DRIVER(cuDeviceGetCount)(&visible) != CUDA_SUCCESS)
    return failed(ncclUnhandledCudaError, "ncclCommInitAll: no devices");
  std::set<int> distinct;
  for (int i = 0; i < count; ++i) {
    const int device = devices != nullptr ? devices[i] : i;
    if (device < 0 || device >= visible || !distinct.insert(device).second)
      return failed(ncclInvalidUsage,
                    "ncclCommInitAll: device " + std::to_string(device) + " does not exist or is listed twice");
  }
  Identity identity;
  std::string error;
  if (!make_identity(&identity, &error)) return failed(ncclSystemError, "ncclCommInitAll: " + error);
  begin_group();
  ncclResult_t result = ncclSuccess;
  for (int i = 0; i < count && result == ncclSuccess; ++i) {
    auto communicator = std::make_shared<Communicator>();
    communicator->identity = identity;
    communicator->device = devices != nullptr ? devices[i] : i;
    communicator->rank = i;
    communicator->ranks = count;
    result = begin("ncclCommInitAll", std::move(communicator), &comms[i]);
  }
  const ncclResult_t ended = end_group();
  return result != ncclSuccess ? result : ended;
}
