// Properties of communicators for the device-side interface, which is not supported, and teams of ranks. A team is
// every stride-th rank around this one; its members follow from rank and stride alone.
#include <stddef.h>
#include <string.h>

#include <algorithm>

#include <nccl_device.h>  // needs size_t before it

#include "driver_shim/nccl/communicator.h"

namespace maya::nccl {
namespace {

// Ranks of a node, whose GPUs load and store each other's memory.
int ranks_of_node(const Communicator& c) { return c.nodes > 1 && c.ranks % c.nodes == 0 ? c.ranks / c.nodes : c.ranks; }

ncclTeam_t lsa_team(const Communicator& c) {
  const int size = ranks_of_node(c);
  return {size, c.rank % size, 1};
}

}  // namespace
}  // namespace maya::nccl

using namespace maya::nccl;

MAYA_NCCL(ncclCommQueryProperties, ncclComm_t comm, ncclCommProperties_t* properties) {
  std::shared_ptr<Communicator> communicator;
  if (const ncclResult_t result = ready(comm, "ncclCommQueryProperties", &communicator); result != ncclSuccess)
    return result;
  if (properties == nullptr || properties->magic != NCCL_API_MAGIC ||
      properties->size < offsetof(ncclCommProperties_t, deviceApiSupport))
    return failed(ncclInvalidArgument,
                  "ncclCommQueryProperties: the struct was not made with NCCL_COMM_PROPERTIES_INITIALIZER");
  const Communicator& c = *communicator;
  ncclCommProperties_t whole = NCCL_COMM_PROPERTIES_INITIALIZER;
  whole.size = properties->size;
  whole.version = properties->version;
  whole.rank = c.rank;
  whole.nRanks = c.ranks;
  whole.cudaDev = whole.nvmlDev = c.device;
  whole.deviceApiSupport = whole.multimemSupport = whole.hostRmaSupport = false;
  whole.ginType = whole.railedGinType = NCCL_GIN_TYPE_NONE;
  whole.nLsaTeams = c.ranks / ranks_of_node(c);
  memcpy(static_cast<void*>(properties), &whole, std::min(properties->size, sizeof whole));
  return ncclSuccess;
}

#define MAYA_NCCL_TEAM(type, name, ...)                                     \
  MAYA_NCCL_EXPORT type p##name(__VA_ARGS__) __attribute__((alias(#name))); \
  MAYA_NCCL_EXPORT type name(__VA_ARGS__)

MAYA_NCCL_TEAM(ncclTeam_t, ncclTeamWorld, ncclComm_t comm) {
  const auto communicator = hold(comm, "ncclTeamWorld");
  if (communicator == nullptr) return {};
  return {communicator->ranks, communicator->rank, 1};
}

MAYA_NCCL_TEAM(ncclTeam_t, ncclTeamLsa, ncclComm_t comm) {
  const auto communicator = hold(comm, "ncclTeamLsa");
  if (communicator == nullptr) return {};
  return lsa_team(*communicator);
}

MAYA_NCCL_TEAM(ncclTeam_t, ncclTeamRail, ncclComm_t comm) {
  const auto communicator = hold(comm, "ncclTeamRail");
  if (communicator == nullptr) return {};
  const int size = ranks_of_node(*communicator);
  return {communicator->ranks / size, communicator->rank / size, size};
}

MAYA_NCCL_TEAM(int, ncclTeamRankToWorld, ncclComm_t comm, ncclTeam_t team, int rank) {
  const auto communicator = hold(comm, "ncclTeamRankToWorld");
  if (communicator == nullptr) return -1;
  return communicator->rank + (rank - team.rank) * team.stride;
}

MAYA_NCCL_TEAM(int, ncclTeamRankToLsa, ncclComm_t comm, ncclTeam_t team, int rank) {
  const auto communicator = hold(comm, "ncclTeamRankToLsa");
  if (communicator == nullptr) return -1;
  return lsa_team(*communicator).rank + (rank - team.rank) * team.stride;
}
