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

bool is_captured(cudaStream_t stream) {
  const auto ask = MAYA_DRIVER(cuStreamIsCapturing);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return ask != nullptr && ask(reinterpret_cast<CUstream>(stream), &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

ncclResult_t issue(ncclComm_t comm, const CollectiveCall& call) {
  if (const ncclResult_t result = ready(comm, call.api); result != ncclSuccess) return result;
  const std::shared_ptr<Communicator> communicator = comm->communicator;
  Communicator& c = *communicator;
  if (const ncclResult_t result = check(c, call); result != ncclSuccess) return result;
  if (const ncclResult_t result = charge_for(c, call); result != ncclSuccess) return result;
  const bool captured = is_captured(call.stream);
  Contribution own = parameters_of(call);
  if (!captured) own = contribute(c, call);

  const OperationRecord record = record_of(c, call);
  const MemoryRange writes{address(call.receive), received_bytes(call, c.rank, c.ranks)};
  // What a single rank or the root of a broadcast receives is its own, in place or copied: nothing becomes unknown.
  const bool from_itself = c.ranks == 1 || (call.kind == CollectiveKind::kBroadcast && c.rank == call.root);
  // So does what a twin broadcasts: it has this rank's bytes (twins.h).
  const bool from_twin = c.twins && call.kind == CollectiveKind::kBroadcast;
  const bool in_place = call.send == call.receive || call.send == nullptr;
  const bool alone = (from_itself || from_twin) && !own.user_operation && (!captured || in_place);
  const CUresult recorded = shim::driver()->record_operation(reinterpret_cast<CUstream>(call.stream), &record, &writes,
                                                             alone || writes.bytes == 0 ? 0 : 1);
  if (recorded != CUDA_SUCCESS)
    return failed(ncclUnhandledCudaError,
                  std::string(call.api) + ": the driver returned error " + std::to_string(recorded));
  if (captured || call.count == 0) return ncclSuccess;
  begin_group();
  touch(communicator);
  const ncclResult_t posted = post(communicator, call, std::move(own));
  const ncclResult_t ended = end_group();
  return posted != ncclSuccess ? posted : ended;
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
