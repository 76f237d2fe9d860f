// Recurrent networks: forward, backward for data, backward for weights. Recorded with sequence length, batch, sizes and
// total work.
#include "driver_shim/common/api.h"
#include "driver_shim/common/recording.h"
#include "driver_shim/cudnn/descriptors.h"
#include "driver_shim/cudnn/handle.h"
#include "driver_shim/cudnn/rnn_weights.h"
#include "driver_shim/cudnn/types.h"

namespace maya::cudnn {
namespace {

struct Call {
  const char* api;
  int64_t direction;  // 0 forward, 1 backward
  uint64_t read_bytes, written_bytes;
};

OperationRecord record_of(const Call& call, const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x) {
  const RnnWeights weights(rnn);
  OperationRecord record(Family::kRecurrent, call.api);
  record.set(Key::kDataType, static_cast<int64_t>(data_type(rnn.type)));
  record.set(Key::kComputeType, static_cast<int64_t>(data_type(rnn.math_precision)));
  record.set(Key::kSeqQ, x.max_length)
      .set(Key::kBatch, x.batch)
      .set(Key::kColumns, rnn.input_size)
      .set(Key::kRows, rnn.hidden_size);
  record.set(Key::kGroups, weights.pseudo_layers()).set(Key::kDirection, call.direction);
  // Forward, and each of the two parts of the backward pass, form the same number of products.
  record.set(Key::kFlops, weights.flops_per_step() * static_cast<int64_t>(x.steps()));
  return record.set(Key::kReadBytes, call.read_bytes).set(Key::kWrittenBytes, call.written_bytes);
}

// State tensors are optional.
uint64_t bytes_of(const cudnnTensorStruct* tensor, const void* address) {
  return tensor == nullptr || address == nullptr ? 0 : tensor->span_bytes();
}

cudnnStatus_t check(cudnnHandle_t handle, const void* rnn, const void* x, const void* y) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  return rnn == nullptr || x == nullptr || y == nullptr ? null_pointer() : CUDNN_STATUS_SUCCESS;
}

}  // namespace
}  // namespace maya::cudnn

using namespace maya;
using namespace maya::cudnn;

MAYA_API cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, cudnnForwardMode_t mode,
                                       const int32_t*, cudnnRNNDataDescriptor_t x_desc, const void*,
                                       cudnnRNNDataDescriptor_t y_desc, void* y, cudnnTensorDescriptor_t h_desc,
                                       const void* hx, void* hy, cudnnTensorDescriptor_t c_desc, const void* cx,
                                       void* cy, size_t weight_bytes, const void*, size_t workspace_bytes,
                                       void* workspace, size_t reserve_bytes, void* reserve) {
  if (const cudnnStatus_t status = check(handle, rnn, x_desc, y_desc); status != CUDNN_STATUS_SUCCESS) return status;
  const uint64_t read = x_desc->span_bytes() + weight_bytes + bytes_of(h_desc, hx) + bytes_of(c_desc, cx);
  const uint64_t written = y_desc->span_bytes() + bytes_of(h_desc, hy) + bytes_of(c_desc, cy);
  shim::WriteList writes;
  writes.add(y, y_desc->span_bytes());
  writes.add(hy, bytes_of(h_desc, hy));
  writes.add(cy, bytes_of(c_desc, cy));
  writes.add(workspace, workspace_bytes);
  if (mode == CUDNN_FWD_MODE_TRAINING) writes.add(reserve, reserve_bytes);
  return status_of(
      shim::record(handle->cu_stream(), record_of({"cudnnRNNForward", 0, read, written}, *rnn, *x_desc), writes));
}

MAYA_API cudnnStatus_t cudnnRNNBackwardData_v8(
    cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, const int32_t*, cudnnRNNDataDescriptor_t y_desc, const void*,
    const void*, cudnnRNNDataDescriptor_t x_desc, void* dx, cudnnTensorDescriptor_t h_desc, const void* hx,
    const void* dhy, void* dhx, cudnnTensorDescriptor_t c_desc, const void* cx, const void* dcy, void* dcx,
    size_t weight_bytes, const void*, size_t workspace_bytes, void* workspace, size_t reserve_bytes, void* reserve) {
  if (const cudnnStatus_t status = check(handle, rnn, x_desc, y_desc); status != CUDNN_STATUS_SUCCESS) return status;
  const uint64_t read = 2 * y_desc->span_bytes() + weight_bytes + bytes_of(h_desc, hx) + bytes_of(h_desc, dhy) +
                        bytes_of(c_desc, cx) + bytes_of(c_desc, dcy) + reserve_bytes;
  const uint64_t written = x_desc->span_bytes() + bytes_of(h_desc, dhx) + bytes_of(c_desc, dcx);
  shim::WriteList writes;
  writes.add(dx, x_desc->span_bytes());
  writes.add(dhx, bytes_of(h_desc, dhx));
  writes.add(dcx, bytes_of(c_desc, dcx));
  writes.add(workspace, workspace_bytes);
  writes.add(reserve, reserve_bytes);
  return status_of(shim::record(handle->cu_stream(),
                                record_of({"cudnnRNNBackwardData_v8", 1, read, written}, *rnn, *x_desc), writes));
}

MAYA_API cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, cudnnWgradMode_t,
                                                  const int32_t*, cudnnRNNDataDescriptor_t x_desc, const void*,
                                                  cudnnTensorDescriptor_t h_desc, const void* hx,
                                                  cudnnRNNDataDescriptor_t y_desc, const void*, size_t weight_bytes,
                                                  void* weight_gradient, size_t workspace_bytes, void* workspace,
                                                  size_t reserve_bytes, void*) {
  if (const cudnnStatus_t status = check(handle, rnn, x_desc, y_desc); status != CUDNN_STATUS_SUCCESS) return status;
  const uint64_t read = x_desc->span_bytes() + y_desc->span_bytes() + bytes_of(h_desc, hx) + reserve_bytes;
  shim::WriteList writes;
  writes.add(weight_gradient, weight_bytes);
  writes.add(workspace, workspace_bytes);
  return status_of(shim::record(
      handle->cu_stream(), record_of({"cudnnRNNBackwardWeights_v8", 1, read, weight_bytes}, *rnn, *x_desc), writes));
}
