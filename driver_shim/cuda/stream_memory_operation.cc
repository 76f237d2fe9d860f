// Stream memory operations, version 2 of the interface. Writes take effect at once, as all work does; a wait finds its
// value in a program that is right, so it takes no time.
#include <cuda.h>

#include <cstring>

#include "driver_shim/cuda/capture.h"
#include "driver_shim/cuda/stream_call.h"
#include "driver_shim/cuda/stream_memory_operation.h"

using maya::cuda::Call;
using maya::cuda::Stream;
using maya::cuda::with_stream;

namespace {

// The word must lie in memory that the device can reach and be aligned to its size.
CUresult check_word(Call& call, CUdeviceptr address, size_t bytes, maya::device::Allocation* found) {
  if (address % bytes != 0 || !call.memory().find(address, found)) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

CUresult write_word(Call& call, CUdeviceptr address, const void* value, size_t bytes, unsigned int flags) {
  maya::device::Allocation found;
  if ((flags & ~static_cast<unsigned int>(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult status = check_word(call, address, bytes, &found); status != CUDA_SUCCESS) return status;
  if (call.memory().in_device_range(address))
    return call.memory().write(address, value, bytes) == maya::device::MemoryStatus::kOk ? CUDA_SUCCESS
                                                                                         : CUDA_ERROR_INVALID_VALUE;
  memcpy(reinterpret_cast<void*>(address), value, bytes);
  return CUDA_SUCCESS;
}

CUresult wait_word(Call& call, CUdeviceptr address, size_t bytes, unsigned int flags) {
  maya::device::Allocation found;
  // CU_STREAM_WAIT_VALUE_FLUSH needs an ability that CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES denies.
  if ((flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (flags > CU_STREAM_WAIT_VALUE_NOR) return CUDA_ERROR_INVALID_VALUE;
  return check_word(call, address, bytes, &found);
}

CUresult one(Call& call, const CUstreamBatchMemOpParams& operation) {
  switch (operation.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return wait_word(call, operation.waitValue.address, 4, operation.waitValue.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return wait_word(call, operation.waitValue.address, 8, operation.waitValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return write_word(call, operation.writeValue.address, &operation.writeValue.value, 4, operation.writeValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return write_word(call, operation.writeValue.address, &operation.writeValue.value64, 8,
                        operation.writeValue.flags);
    case CU_STREAM_MEM_OP_BARRIER:
      return operation.memoryBarrier.flags > CU_STREAM_MEMORY_BARRIER_TYPE_GPU ? CUDA_ERROR_INVALID_VALUE
                                                                               : CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_ATOMIC_REDUCTION:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      return CUDA_ERROR_NOT_SUPPORTED;  // as their device attributes say
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult batch(CUstream stream, unsigned int count, const CUstreamBatchMemOpParams* operations, unsigned int flags,
               bool per_thread) {
  const bool valid = flags == 0 && count <= maya::cuda::kMostMemoryOperations && (count == 0 || operations != nullptr);
  return with_stream(
      stream, per_thread, valid,
      [&](Call& call, Stream& on) -> CUresult {
        const std::vector<CUstreamBatchMemOpParams> batch(operations, operations + count);
        if (on.capture() != nullptr)
          return maya::cuda::Captures::add(
              on, maya::cuda::MemoryOperationNode{batch, reinterpret_cast<CUcontext>(on.context()), flags});
        return maya::cuda::run_memory_operations(call, batch);
      },
      maya::cuda::WhileCaptured::kAllowed);
}

// The single forms are batches of one.
CUresult write(CUstream stream, CUdeviceptr address, uint64_t value, CUstreamBatchMemOpType type, unsigned int flags,
               bool per_thread) {
  CUstreamBatchMemOpParams operation{};
  operation.operation = type;
  operation.writeValue.address = address;
  operation.writeValue.flags = flags;
  if (type == CU_STREAM_MEM_OP_WRITE_VALUE_32)
    operation.writeValue.value = static_cast<cuuint32_t>(value);
  else
    operation.writeValue.value64 = value;
  return batch(stream, 1, &operation, 0, per_thread);
}

CUresult wait(CUstream stream, CUdeviceptr address, uint64_t value, CUstreamBatchMemOpType type, unsigned int flags,
              bool per_thread) {
  CUstreamBatchMemOpParams operation{};
  operation.operation = type;
  operation.waitValue.address = address;
  operation.waitValue.flags = flags;
  if (type == CU_STREAM_MEM_OP_WAIT_VALUE_32)
    operation.waitValue.value = static_cast<cuuint32_t>(value);
  else
    operation.waitValue.value64 = value;
  return batch(stream, 1, &operation, 0, per_thread);
}

}  // namespace

CUresult maya::cuda::run_memory_operations(Call& call, const std::vector<CUstreamBatchMemOpParams>& operations) {
  for (const CUstreamBatchMemOpParams& operation : operations)
    if (const CUresult status = one(call, operation); status != CUDA_SUCCESS) return status;
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags) {
  return wait(stream, address, value, CU_STREAM_MEM_OP_WAIT_VALUE_32, flags, false);
}
CUresult cuStreamWaitValue32_v2_ptsz(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags) {
  return wait(stream, address, value, CU_STREAM_MEM_OP_WAIT_VALUE_32, flags, true);
}
CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags) {
  return wait(stream, address, value, CU_STREAM_MEM_OP_WAIT_VALUE_64, flags, false);
}
CUresult cuStreamWaitValue64_v2_ptsz(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags) {
  return wait(stream, address, value, CU_STREAM_MEM_OP_WAIT_VALUE_64, flags, true);
}
CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags) {
  return write(stream, address, value, CU_STREAM_MEM_OP_WRITE_VALUE_32, flags, false);
}
CUresult cuStreamWriteValue32_v2_ptsz(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags) {
  return write(stream, address, value, CU_STREAM_MEM_OP_WRITE_VALUE_32, flags, true);
}
CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags) {
  return write(stream, address, value, CU_STREAM_MEM_OP_WRITE_VALUE_64, flags, false);
}
CUresult cuStreamWriteValue64_v2_ptsz(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags) {
  return write(stream, address, value, CU_STREAM_MEM_OP_WRITE_VALUE_64, flags, true);
}
CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count, CUstreamBatchMemOpParams* operations,
                               unsigned int flags) {
  return batch(stream, count, operations, flags, false);
}
CUresult cuStreamBatchMemOp_v2_ptsz(CUstream stream, unsigned int count, CUstreamBatchMemOpParams* operations,
                                    unsigned int flags) {
  return batch(stream, count, operations, flags, true);
}
