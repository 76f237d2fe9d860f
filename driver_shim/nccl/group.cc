// ncclGroupStart and ncclGroupEnd: calls are carried out when the outermost group of the thread ends.
#include <atomic>
#include <set>

#include "driver_shim/nccl/communicator.h"

namespace maya::nccl {
namespace {

struct GroupState {
  int depth = 0;
  uint64_t number = 0;
  std::set<std::shared_ptr<Clique>> touched;
  std::set<std::shared_ptr<Clique>> joining;
};
thread_local GroupState group;
std::atomic<uint64_t> group_numbers{0};

void begin() {
  if (group.depth++ == 0) group.number = ++group_numbers;
}

ncclResult_t end() {
  if (--group.depth > 0) return ncclSuccess;
  const auto joining = std::move(group.joining);
  const auto touched = std::move(group.touched);
  group.joining.clear();
  group.touched.clear();
  for (const auto& clique : joining) {
    if (clique->joined == clique->ranks) {
      forget_clique(clique->unique);
      continue;
    }
    return failed(ncclInvalidUsage, "a communicator of " + std::to_string(clique->ranks) + " ranks has only " +
                                        std::to_string(clique->joined) +
                                        " in this process; worlds of several processes are not supported");
  }
  for (const auto& clique : touched)
    if (const ncclResult_t result = carry_out(*clique); result != ncclSuccess) return result;
  return ncclSuccess;
}

}  // namespace

uint64_t current_group() { return group.number; }
bool in_group() { return group.depth > 0; }
void joins_in_group(std::shared_ptr<Clique> clique) { group.joining.insert(std::move(clique)); }

ncclResult_t submit(ncclComm_t comm, PendingCall call) {
  begin();
  call.group = group.number;
  {
    std::lock_guard<std::mutex> lock(comm->clique->mutex);
    comm->clique->queues[static_cast<size_t>(comm->rank)].push_back(call);
  }
  group.touched.insert(comm->clique);
  return end();
}

}  // namespace maya::nccl

using namespace maya::nccl;

MAYA_NCCL(ncclGroupStart) {
  begin();
  return ncclSuccess;
}

MAYA_NCCL(ncclGroupEnd) {
  if (!in_group()) return failed(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  return end();
}

MAYA_NCCL(ncclGroupSimulateEnd, ncclSimInfo_t* info) {
  if (!in_group()) return failed(ncclInvalidUsage, "ncclGroupSimulateEnd without ncclGroupStart");
  if (info != nullptr) info->estimatedTime = NCCL_UNDEF_FLOAT;
  return end();
}
