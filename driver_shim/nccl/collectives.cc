// Collective and point-to-point entry points: argument checks, one record in the trace, one pending call.
#include "driver_shim/nccl/communicator.h"

namespace maya::nccl {
namespace {

// Bytes that rank `comm` receives, for the trace's write ranges.
uint64_t received_bytes(const PendingCall& call, const ncclComm& comm) {
  const uint64_t bytes = call.count * type_bytes(call.type);
  const auto ranks = static_cast<uint64_t>(comm.clique->ranks);
  switch (call.kind) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll:
      return bytes * ranks;
    case CollectiveKind::kGather:
      return comm.rank == call.root ? bytes * ranks : 0;
    case CollectiveKind::kReduce:
      return comm.rank == call.root ? bytes : 0;
    case CollectiveKind::kSend:
      return 0;
    default:
      return bytes;
  }
}

ncclResult_t issue(ncclComm_t comm, const PendingCall& call) {
  if (!valid(comm, call.api)) return ncclInvalidArgument;
  const std::string api = call.api;
  if (type_bytes(call.type) == 0)
    return failed(ncclInvalidArgument, api + ": invalid type " + std::to_string(call.type));
  if (call.root < 0 || call.root >= comm->clique->ranks)
    return failed(ncclInvalidArgument, api + ": invalid root or peer " + std::to_string(call.root));
  if (call.operation >= ncclNumOps) {
    const auto index = static_cast<size_t>(call.operation - ncclNumOps);
    if (index >= comm->operations.size() || !comm->operations[index])
      return failed(ncclInvalidArgument, api + ": invalid reduction operation " + std::to_string(call.operation));
  } else if (call.operation < 0) {
    return failed(ncclInvalidArgument, api + ": invalid reduction operation " + std::to_string(call.operation));
  }
  const bool receives = received_bytes(call, *comm) > 0;
  if (call.count > 0 && ((call.send == nullptr && call.kind != CollectiveKind::kRecv &&
                          !(call.kind == CollectiveKind::kBroadcast && comm->rank != call.root)) ||
                         (call.receive == nullptr && receives)))
    return failed(ncclInvalidArgument, api + ": a buffer is null");

  OperationRecord record(call.kind == CollectiveKind::kSend || call.kind == CollectiveKind::kRecv
                             ? Family::kPointToPoint
                             : Family::kCollective,
                         call.api);
  record.set(Key::kCollective, static_cast<int64_t>(call.kind))
      .set(Key::kBytes, static_cast<int64_t>(call.count * type_bytes(call.type)))
      .set(Key::kDataType, static_cast<int64_t>(type_of(call.type)))
      .set(Key::kRedOp, call.operation)
      .set(call.kind == CollectiveKind::kSend || call.kind == CollectiveKind::kRecv ? Key::kPeer : Key::kRoot,
           call.root)
      .set(Key::kCommunicator, comm->trace_id)
      .set(Key::kRanks, comm->clique->ranks);
  ++comm->sequence;  // position in the communicator's own order: the reader counts the records, so that equal calls
                     // share one descriptor
  const CUresult recorded =
      shim::driver()->record_operation(reinterpret_cast<CUstream>(call.stream), &record, nullptr, 0);
  if (recorded != CUDA_SUCCESS)
    return failed(ncclUnhandledCudaError, api + ": the driver returned error " + std::to_string(recorded));
  return submit(comm, call);
}

PendingCall pending(CollectiveKind kind, const char* api, const void* send, void* receive, size_t count,
                    ncclDataType_t type, int operation, int root, cudaStream_t stream) {
  return {kind, api, send, receive, count, type, operation, root, stream, nullptr, 0};
}

}  // namespace
}  // namespace maya::nccl

using namespace maya::nccl;
using maya::CollectiveKind;

MAYA_NCCL(ncclAllReduce, const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t operation,
          ncclComm_t comm, cudaStream_t stream) {
  return issue(comm,
               pending(CollectiveKind::kAllReduce, "ncclAllReduce", send, receive, count, type, operation, 0, stream));
}
MAYA_NCCL(ncclReduce, const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t operation,
          int root, ncclComm_t comm, cudaStream_t stream) {
  return issue(comm,
               pending(CollectiveKind::kReduce, "ncclReduce", send, receive, count, type, operation, root, stream));
}
MAYA_NCCL(ncclBroadcast, const void* send, void* receive, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
          cudaStream_t stream) {
  return issue(comm,
               pending(CollectiveKind::kBroadcast, "ncclBroadcast", send, receive, count, type, ncclSum, root, stream));
}
MAYA_NCCL(ncclBcast, void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream) {
  return issue(comm,
               pending(CollectiveKind::kBroadcast, "ncclBcast", buffer, buffer, count, type, ncclSum, root, stream));
}
MAYA_NCCL(ncclReduceScatter, const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t operation,
          ncclComm_t comm, cudaStream_t stream) {
  return issue(comm, pending(CollectiveKind::kReduceScatter, "ncclReduceScatter", send, receive, count, type, operation,
                             0, stream));
}
MAYA_NCCL(ncclAllGather, const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
          cudaStream_t stream) {
  return issue(comm,
               pending(CollectiveKind::kAllGather, "ncclAllGather", send, receive, count, type, ncclSum, 0, stream));
}
MAYA_NCCL(ncclAlltoAll, const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
          cudaStream_t stream) {
  return issue(comm,
               pending(CollectiveKind::kAllToAll, "ncclAlltoAll", send, receive, count, type, ncclSum, 0, stream));
}
MAYA_NCCL(ncclGather, const void* send, void* receive, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
          cudaStream_t stream) {
  return issue(comm, pending(CollectiveKind::kGather, "ncclGather", send, receive, count, type, ncclSum, root, stream));
}
MAYA_NCCL(ncclScatter, const void* send, void* receive, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
          cudaStream_t stream) {
  return issue(comm,
               pending(CollectiveKind::kScatter, "ncclScatter", send, receive, count, type, ncclSum, root, stream));
}
MAYA_NCCL(ncclSend, const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
          cudaStream_t stream) {
  return issue(comm, pending(CollectiveKind::kSend, "ncclSend", send, nullptr, count, type, ncclSum, peer, stream));
}
MAYA_NCCL(ncclRecv, void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return issue(comm, pending(CollectiveKind::kRecv, "ncclRecv", nullptr, receive, count, type, ncclSum, peer, stream));
}

MAYA_NCCL(ncclRedOpCreatePreMulSum, ncclRedOp_t* operation, void* scalar, ncclDataType_t type, ncclScalarResidence_t,
          ncclComm_t comm) {
  if (!valid(comm, "ncclRedOpCreatePreMulSum")) return ncclInvalidArgument;
  if (operation == nullptr || scalar == nullptr || type_bytes(type) == 0)
    return failed(ncclInvalidArgument, "ncclRedOpCreatePreMulSum: a pointer is null or the type is invalid");
  comm->operations.push_back(true);
  *operation = static_cast<ncclRedOp_t>(ncclNumOps + comm->operations.size() - 1);
  return ncclSuccess;
}
MAYA_NCCL(ncclRedOpDestroy, ncclRedOp_t operation, ncclComm_t comm) {
  if (!valid(comm, "ncclRedOpDestroy")) return ncclInvalidArgument;
  const auto index = static_cast<size_t>(operation) - ncclNumOps;
  if (operation < ncclNumOps || index >= comm->operations.size() || !comm->operations[index])
    return failed(ncclInvalidArgument, "ncclRedOpDestroy: not a user-defined operation of this communicator");
  comm->operations[index] = false;
  return ncclSuccess;
}
