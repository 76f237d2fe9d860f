// Memory for NCCL's buffers, and its registration with communicators.
#include "driver_shim/nccl/communicator.h"

using namespace maya::nccl;

MAYA_NCCL(ncclMemAlloc, void** pointer, size_t bytes) {
  if (pointer == nullptr || bytes == 0) return failed(ncclInvalidArgument, "ncclMemAlloc: null pointer or no bytes");
  const maya::MayaTable* driver = maya::shim::driver();
  CUdeviceptr address = 0;
  if (driver == nullptr ||
      driver->allocate(&address, bytes, maya::ChargeLayer::kAllocations, "ncclMemAlloc") != CUDA_SUCCESS)
    return failed(ncclUnhandledCudaError, "ncclMemAlloc: out of device memory");
  *pointer = reinterpret_cast<void*>(address);
  return ncclSuccess;
}

MAYA_NCCL(ncclMemFree, void* pointer) {
  const auto free = MAYA_DRIVER(cuMemFree_v2);
  if (free == nullptr || free(reinterpret_cast<CUdeviceptr>(pointer)) != CUDA_SUCCESS)
    return failed(ncclUnhandledCudaError, "ncclMemFree: not an allocation");
  return ncclSuccess;
}

MAYA_NCCL(ncclCommRegister, const ncclComm_t comm, void* buffer, size_t bytes, void** handle) {
  if (hold(comm, "ncclCommRegister") == nullptr) return ncclInvalidArgument;
  if (buffer == nullptr || bytes == 0 || handle == nullptr)
    return failed(ncclInvalidArgument, "ncclCommRegister: a pointer is null or there are no bytes");
  *handle = buffer;
  return ncclSuccess;
}

MAYA_NCCL(ncclCommDeregister, const ncclComm_t comm, void* handle) {
  if (hold(comm, "ncclCommDeregister") == nullptr) return ncclInvalidArgument;
  return handle != nullptr ? ncclSuccess : failed(ncclInvalidArgument, "ncclCommDeregister: the handle is null");
}
