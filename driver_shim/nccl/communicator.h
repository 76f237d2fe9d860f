// Communicators whose ranks all live in this process: one rank, or one per device (ncclCommInitAll, ncclCommInitRank
// inside one group).
#pragma once

#include <nccl.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver_shim/common/driver_access.h"

// Defines an entry point and its profiling twin pnccl*, which is the same code (NCCL documentation, "PMPI"-style
// interception).
#define MAYA_NCCL_EXPORT extern "C" __attribute__((visibility("default")))
#define MAYA_NCCL(name, ...)                                                        \
  MAYA_NCCL_EXPORT ncclResult_t p##name(__VA_ARGS__) __attribute__((alias(#name))); \
  MAYA_NCCL_EXPORT ncclResult_t name(__VA_ARGS__)

namespace maya::nccl {

// One collective or point-to-point call of one rank, not yet carried out.
struct PendingCall {
  CollectiveKind kind;
  const char* api;
  const void* send;
  void* receive;
  size_t count;  // as NCCL counts for this kind
  ncclDataType_t type;
  int operation;  // ncclRedOp_t, built in or made by ncclRedOpCreatePreMulSum
  int root;       // root or peer
  cudaStream_t stream;
  CUcontext context;
  uint64_t group;  // number of the group it was issued in
};

// The ranks of one communicator. Calls of a rank are carried out in order, each when every rank has issued its own.
struct Clique {
  explicit Clique(int count) : ranks(count), queues(static_cast<size_t>(count)) {}
  const int ranks;
  uint64_t unique = 0;
  std::mutex mutex;
  std::vector<std::deque<PendingCall>> queues;  // by rank
  int joined = 0;
};

}  // namespace maya::nccl

struct ncclComm {
  static constexpr uint64_t kMagic = 0x6d6179616e63636c;
  uint64_t magic = kMagic;
  std::shared_ptr<maya::nccl::Clique> clique;
  int rank = 0;
  CUdevice device = 0;
  uint32_t trace_id = 0;
  uint64_t sequence = 0;
  std::vector<bool> operations;  // live user-defined reductions, by number - ncclNumOps
};

namespace maya::nccl {

// Remembers `text` for ncclGetLastError and returns `result`.
ncclResult_t failed(ncclResult_t result, std::string text);
const char* last_error();

// Null, with ncclGetLastError set, unless `comm` is a live communicator.
bool valid(ncclComm_t comm, const char* api);

size_t type_bytes(ncclDataType_t type);  // 0 for an invalid type
DataType type_of(ncclDataType_t type);

// Carries out every call for which all ranks of the clique have issued theirs. True when nothing is left waiting.
ncclResult_t carry_out(Clique& clique);

// dst[i] = a[i] (op) b[i] on host values; averages are divided by the caller's last step (finish_average).
void reduce_into(void* accumulator, const void* value, size_t count, ncclDataType_t type, ncclRedOp_t operation);
void finish_average(void* accumulator, size_t count, ncclDataType_t type, int ranks);

// Groups. begin/end nest per thread; submit() outside a group is a group of its own.
ncclResult_t submit(ncclComm_t comm, PendingCall call);
uint64_t current_group();
bool in_group();
// A communicator that waits for its other ranks until the group ends.
void joins_in_group(std::shared_ptr<Clique> clique);
// The clique of `unique`, made for `ranks` when it is the first.
std::shared_ptr<Clique> clique_of(uint64_t unique, int ranks);
void forget_clique(uint64_t unique);

}  // namespace maya::nccl
