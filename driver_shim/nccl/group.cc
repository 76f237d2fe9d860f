// ncclGroupStart and ncclGroupEnd. Calls are kept until the end of the outermost group, which puts them on their
// streams and posts them, takes the results that are there and finishes the communicators that were begun in it.
#include "driver_shim/nccl/group.h"

#include <atomic>
#include <functional>
#include <set>
#include <utility>

#include "driver_shim/nccl/twins.h"

namespace maya::nccl {
namespace {

struct GroupState {
  int depth = 0;
  int explicit_depth = 0;
  uint32_t number = 0;
  std::vector<std::function<ncclResult_t()>> calls;
  std::set<std::shared_ptr<Communicator>> touched;
  std::vector<std::unique_ptr<Beginning>> beginnings;
};
thread_local GroupState group;
std::atomic<uint32_t> group_numbers{0};

// Lets all beginnings go on until each has ended. The first error counts.
ncclResult_t finish(std::vector<std::unique_ptr<Beginning>> beginnings) {
  ncclResult_t first_error = ncclSuccess;
  bool later = false;
  while (!beginnings.empty()) {
    for (auto i = beginnings.begin(); i != beginnings.end();) {
      const ncclResult_t result = (*i)->progress();
      if (result == ncclInProgress && (*i)->blocking()) {
        ++i;
        continue;
      }
      if (result == ncclInProgress) {
        later = true;
        hand_over(std::move(*i));
      } else if (result != ncclSuccess && first_error == ncclSuccess) {
        first_error = result;
      }
      i = beginnings.erase(i);
    }
    if (!beginnings.empty()) beginnings.front()->wait();
  }
  return first_error != ncclSuccess ? first_error : later ? ncclInProgress : ncclSuccess;
}

}  // namespace

void begin_group() { ++group.depth; }

bool in_group() { return group.explicit_depth > 0; }

uint32_t current_group() { return group.explicit_depth > 0 ? group.number : 0; }

void keep_until_end(std::function<ncclResult_t()> call) { group.calls.push_back(std::move(call)); }

void touch(std::shared_ptr<Communicator> communicator) { group.touched.insert(std::move(communicator)); }

ncclResult_t end_group() {
  if (--group.depth > 0) return ncclSuccess;
  const auto touched = std::move(group.touched);
  auto beginnings = std::move(group.beginnings);
  group.touched.clear();
  group.beginnings.clear();
  ncclResult_t result = finish(std::move(beginnings));
  std::lock_guard<std::mutex> lock(engine_mutex());
  for (const auto& communicator : touched) {
    finish_twin_broadcasts(*communicator);
    progress(*communicator);
    if (unmatched_self_calls(*communicator)) {
      communicator->self_sends.clear();
      communicator->self_receives.clear();
      result = failed(ncclInvalidUsage, "a send or receive to the own rank has no partner in its group");
    }
  }
  return result;
}

ncclResult_t run(std::unique_ptr<Beginning> beginning) {
  begin_group();
  group.beginnings.push_back(std::move(beginning));
  return end_group();
}

}  // namespace maya::nccl

using namespace maya::nccl;

MAYA_NCCL(ncclGroupStart) {
  begin_group();
  if (group.explicit_depth++ == 0) group.number = ++group_numbers;
  return ncclSuccess;
}

MAYA_NCCL(ncclGroupEnd) {
  if (!in_group()) return failed(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  // They are still of this group.
  ncclResult_t first_error = ncclSuccess;
  if (group.explicit_depth == 1) {
    for (const auto& call : std::exchange(group.calls, {}))
      if (const ncclResult_t result = call(); first_error == ncclSuccess) first_error = result;
  }
  --group.explicit_depth;
  const ncclResult_t ended = end_group();
  return first_error != ncclSuccess ? first_error : ended;
}

MAYA_NCCL(ncclGroupSimulateEnd, ncclSimInfo_t* info) {
  if (!in_group()) return failed(ncclInvalidUsage, "ncclGroupSimulateEnd without ncclGroupStart");
  if (info != nullptr) info->estimatedTime = NCCL_UNDEF_FLOAT;
  if (--group.explicit_depth == 0) group.calls.clear();
  return end_group();
}
