// Reductions made by the program.
#include <string.h>

#include "driver_shim/nccl/communicator.h"

using namespace maya::nccl;

MAYA_NCCL(ncclRedOpCreatePreMulSum, ncclRedOp_t* operation, void* scalar, ncclDataType_t type,
          ncclScalarResidence_t residence, ncclComm_t comm) {
  std::shared_ptr<Communicator> communicator;
  if (const ncclResult_t result = ready(comm, "ncclRedOpCreatePreMulSum", &communicator); result != ncclSuccess)
    return result;
  if (operation == nullptr || scalar == nullptr || type_bytes(type) == 0 ||
      (residence != ncclScalarDevice && residence != ncclScalarHostImmediate))
    return failed(ncclInvalidArgument,
                  "ncclRedOpCreatePreMulSum: a pointer is null, or the type or residence is invalid");
  UserOperation made;
  made.live = true;
  made.type = type;
  if (residence == ncclScalarDevice)
    made.device_scalar = scalar;
  else
    memcpy(made.scalar, scalar, type_bytes(type));
  std::lock_guard<std::mutex> lock(engine_mutex());
  auto& operations = communicator->operations;
  size_t index = 0;
  while (index < operations.size() && operations[index].live) ++index;
  if (index == operations.size()) operations.emplace_back();
  operations[index] = made;
  *operation = static_cast<ncclRedOp_t>(ncclNumOps + index);
  return ncclSuccess;
}

MAYA_NCCL(ncclRedOpDestroy, ncclRedOp_t operation, ncclComm_t comm) {
  const auto communicator = hold(comm, "ncclRedOpDestroy");
  if (communicator == nullptr) return ncclInvalidArgument;
  std::lock_guard<std::mutex> lock(engine_mutex());
  auto& operations = communicator->operations;
  const auto index = static_cast<size_t>(operation) - ncclNumOps;
  if (operation < ncclNumOps || index >= operations.size() || !operations[index].live)
    return failed(ncclInvalidArgument, "ncclRedOpDestroy: not a user-defined operation of this communicator");
  operations[index].live = false;
  return ncclSuccess;
}
