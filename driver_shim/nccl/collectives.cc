// Collective and point-to-point entry points: argument checks, one record in the trace, one call posted.
#include "driver_shim/nccl/communicator.h"
#include "driver_shim/nccl/device_memory.h"

namespace maya::nccl {
namespace {

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

ncclResult_t check(const Communicator& c, const CollectiveCall& call) {
  const std::string api = call.api;
  if (type_bytes(call.type) == 0)
    return failed(ncclInvalidArgument, api + ": invalid type " + std::to_string(call.type));
  if (call.root < 0 || call.root >= c.ranks)
    return failed(ncclInvalidArgument, api + ": invalid root or peer " + std::to_string(call.root));
  if (call.count > (uint64_t{1} << 60) / static_cast<uint64_t>(c.ranks))
    return failed(ncclInvalidArgument, api + ": invalid count " + std::to_string(call.count));
  const auto index = static_cast<size_t>(call.operation) - ncclNumOps;
  const bool user = call.operation >= ncclNumOps;
  std::lock_guard<std::mutex> lock(engine_mutex());
  if (call.operation < 0 || (user && (index >= c.operations.size() || !c.operations[index].live)))
    return failed(ncclInvalidArgument, api + ": invalid reduction operation " + std::to_string(call.operation));
  if (user && c.operations[index].type != call.type)
    return failed(ncclInvalidArgument, api + ": the reduction operation was made for another type");
  const bool sends = sent_bytes(call, c.rank, c.ranks) > 0, receives = received_bytes(call, c.rank, c.ranks) > 0;
  if ((sends && call.send == nullptr) || (receives && call.receive == nullptr))
    return failed(ncclInvalidArgument, api + ": a buffer is null");
  return ncclSuccess;
}

OperationRecord record_of(const Communicator& c, const CollectiveCall& call) {
  const bool point_to_point = is_point_to_point(call.kind);
  OperationRecord record(point_to_point ? Family::kPointToPoint : Family::kCollective, call.api);
  record.set(Key::kCollective, static_cast<int64_t>(call.kind))
      .set(Key::kBytes, static_cast<int64_t>(call.count * type_bytes(call.type)))
      .set(Key::kDataType, static_cast<int64_t>(type_of(call.type)))
      .set(Key::kRedOp, call.operation)
      .set(point_to_point ? Key::kPeer : Key::kRoot, call.root)
      .set(Key::kCommunicator, c.trace_id)
      .set(Key::kRanks, c.ranks)
      .set(Key::kNodes, nodes_of(c, call))
      .set(Key::kGroupCall, current_group());
  return record;
}

// A call with its place in the trace, on its way to the other ranks.
struct Issue {
  std::shared_ptr<Communicator> communicator;
  CollectiveCall call;
  Contribution own;
  ncclResult_t result = ncclSuccess;
};

void hand_out(void* argument) {
  auto& issue = *static_cast<Issue*>(argument);
  try {
    begin_group();
    touch(issue.communicator);
    issue.result = post(issue.communicator, issue.call, std::move(issue.own));
    const ncclResult_t ended = end_group();
    if (issue.result == ncclSuccess) issue.result = ended;
  } catch (const std::bad_alloc&) {
    issue.result = ncclSystemError;
  }
}

ncclResult_t not_recorded(const CollectiveCall& call, CUresult error) {
  return failed(ncclUnhandledCudaError, std::string(call.api) + ": the driver returned error " + std::to_string(error));
}

// Bytes that become unknown when the call is issued. What a single rank or the root of a broadcast receives is its own,
// in place or copied, and so is what a twin broadcasts: nothing becomes unknown.
MemoryRange unknown_range(const Communicator& c, const CollectiveCall& call) {
  const bool broadcast = call.kind == CollectiveKind::kBroadcast;
  const bool own = c.ranks == 1 || (broadcast && (c.rank == call.root || c.twins));
  if (own && call.operation < ncclNumOps) return {0, 0};
  return {address(call.receive), received_bytes(call, c.rank, c.ranks)};
}

// A launch of the graph that the call was captured into: the same call again.
void replay(void* argument, CUstream stream) {
  Issue issue = *static_cast<const Issue*>(argument);
  if (issue.communicator->state.load() != Communicator::State::kReady) return;
  issue.call.stream = reinterpret_cast<cudaStream_t>(stream);
  issue.own = contribute(*issue.communicator, issue.call);
  const MemoryRange unknown = unknown_range(*issue.communicator, issue.call);
  if (unknown.bytes > 0) shim::driver()->make_unknown(unknown.address, unknown.bytes);
  hand_out(&issue);
}

void release(void* argument) { delete static_cast<Issue*>(argument); }

// Puts the call on its stream and hands it out.
ncclResult_t launch(Issue& issue, const OperationRecord& record, uint64_t entry_ns) {
  const Communicator& c = *issue.communicator;
  issue.own = contribute(c, issue.call);
  const MemoryRange unknown = unknown_range(c, issue.call);
  const CUresult recorded = shim::driver()->record_timed_operation(
      reinterpret_cast<CUstream>(issue.call.stream), &record, &unknown, unknown.bytes > 0 ? 1 : 0, entry_ns,
      issue.call.count > 0 ? &hand_out : nullptr, &issue);
  return recorded == CUDA_SUCCESS ? issue.result : not_recorded(issue.call, recorded);
}

ncclResult_t issue(ncclComm_t comm, const CollectiveCall& call) {
  std::shared_ptr<Communicator> communicator;
  if (const ncclResult_t result = ready(comm, call.api, &communicator); result != ncclSuccess) return result;
  const maya::MayaTable& driver = *shim::driver();
  const uint64_t entry_ns = driver.now_ns();
  Issue issue{std::move(communicator), call, parameters_of(call)};
  const Communicator& c = *issue.communicator;
  if (const ncclResult_t result = check(c, call); result != ncclSuccess) return result;
  if (const ncclResult_t result = charge_for(*issue.communicator, call); result != ncclSuccess) return result;
  const OperationRecord record = record_of(c, call);
  const auto stream = reinterpret_cast<CUstream>(call.stream);
  if (driver.is_capturing(stream) != 0) {
    auto* kept = new Issue(issue);
    const CUresult recorded = driver.capture_operation(stream, &record, &replay, &release, kept);
    if (recorded == CUDA_ERROR_ILLEGAL_STATE) delete kept;
    return recorded == CUDA_SUCCESS ? ncclSuccess : not_recorded(call, recorded);
  }
  if (!in_group()) return launch(issue, record, entry_ns);
  // NCCL launches the operations of a group at its end: an event that is recorded before that comes before them. The
  // stream, which may be a default one, is of the context that is current now.
  CUcontext context = nullptr;
  MAYA_DRIVER(cuCtxGetCurrent)(&context);
  keep_until_end([issue, record, context]() mutable {
    CUcontext current = nullptr;
    MAYA_DRIVER(cuCtxGetCurrent)(&current);
    if (current != context) MAYA_DRIVER(cuCtxSetCurrent)(context);
    const ncclResult_t result = launch(issue, record, shim::driver()->now_ns());
    if (current != context) MAYA_DRIVER(cuCtxSetCurrent)(current);
    return result;
  });
  return ncclSuccess;
}

}  // namespace
}  // namespace maya::nccl

using namespace maya::nccl;
using maya::CollectiveKind;

MAYA_NCCL(ncclAllReduce, const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t operation,
          ncclComm_t comm, cudaStream_t stream) {
  return issue(comm, {CollectiveKind::kAllReduce, "ncclAllReduce", send, receive, count, type, operation, 0, stream});
}
MAYA_NCCL(ncclReduce, const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t operation,
          int root, ncclComm_t comm, cudaStream_t stream) {
  return issue(comm, {CollectiveKind::kReduce, "ncclReduce", send, receive, count, type, operation, root, stream});
}
MAYA_NCCL(ncclBroadcast, const void* send, void* receive, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
          cudaStream_t stream) {
  return issue(comm, {CollectiveKind::kBroadcast, "ncclBroadcast", send, receive, count, type, ncclSum, root, stream});
}
MAYA_NCCL(ncclBcast, void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream) {
  return issue(comm, {CollectiveKind::kBroadcast, "ncclBcast", buffer, buffer, count, type, ncclSum, root, stream});
}
MAYA_NCCL(ncclReduceScatter, const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t operation,
          ncclComm_t comm, cudaStream_t stream) {
  return issue(comm,
               {CollectiveKind::kReduceScatter, "ncclReduceScatter", send, receive, count, type, operation, 0, stream});
}
MAYA_NCCL(ncclAllGather, const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
          cudaStream_t stream) {
  return issue(comm, {CollectiveKind::kAllGather, "ncclAllGather", send, receive, count, type, ncclSum, 0, stream});
}
MAYA_NCCL(ncclAlltoAll, const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
          cudaStream_t stream) {
  return issue(comm, {CollectiveKind::kAllToAll, "ncclAlltoAll", send, receive, count, type, ncclSum, 0, stream});
}
MAYA_NCCL(ncclGather, const void* send, void* receive, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
          cudaStream_t stream) {
  return issue(comm, {CollectiveKind::kGather, "ncclGather", send, receive, count, type, ncclSum, root, stream});
}
MAYA_NCCL(ncclScatter, const void* send, void* receive, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
          cudaStream_t stream) {
  return issue(comm, {CollectiveKind::kScatter, "ncclScatter", send, receive, count, type, ncclSum, root, stream});
}
MAYA_NCCL(ncclSend, const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
          cudaStream_t stream) {
  return issue(comm, {CollectiveKind::kSend, "ncclSend", send, nullptr, count, type, ncclSum, peer, stream});
}
MAYA_NCCL(ncclRecv, void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return issue(comm, {CollectiveKind::kRecv, "ncclRecv", nullptr, receive, count, type, ncclSum, peer, stream});
}
