// Tensor and filter descriptors.
#include <algorithm>
#include <cmath>

#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/descriptors.h"
#include "driver_shim/cudnn/handle.h"
#include "driver_shim/cudnn/types.h"

using namespace maya::cudnn;

int64_t cudnnTensorStruct::elements() const {
  int64_t product = rank == 0 ? 0 : 1;
  for (int i = 0; i < rank; ++i) product *= dims[i];
  return product;
}

int64_t cudnnTensorStruct::span() const {
  if (elements() == 0) return 0;
  int64_t last = 0;
  for (int i = 0; i < rank; ++i) last += static_cast<int64_t>(dims[i] - 1) * strides[i];
  return last + 1;
}

uint64_t cudnnTensorStruct::bytes() const { return storage_bytes(type, elements()); }

uint64_t cudnnTensorStruct::span_bytes() const { return storage_bytes(type, span()); }

int64_t cudnnFilterStruct::elements() const {
  int64_t product = rank == 0 ? 0 : 1;
  for (int i = 0; i < rank; ++i) product *= dims[i];
  return product;
}

uint64_t cudnnFilterStruct::bytes() const { return storage_bytes(type, elements()); }

namespace {

constexpr int kMinimumFilterRank = 3;

bool positive(const int* values, int count) {
  return std::all_of(values, values + count, [](int value) { return value > 0; });
}

constexpr double kMostElements = 1ull << 52;  // beyond it sizes are garbage

cudnnStatus_t too_large() { return fail(CUDNN_STATUS_NOT_SUPPORTED, "the tensor is larger than any device"); }

// Strides of a packed tensor: row major, or with the channels innermost. False when one does not fit into an int.
bool packed_strides(const int* dims, int rank, cudnnTensorFormat_t format, int* strides) {
  int64_t stride = 1;
  const auto place = [&](int i) {
    if (stride > INT32_MAX) return false;
    strides[i] = static_cast<int>(stride);
    stride *= dims[i];
    return true;
  };
  const bool channels_last = format == CUDNN_TENSOR_NHWC;
  if (channels_last && !place(1)) return false;
  for (int i = rank - 1; i >= 0; --i)
    if (!(channels_last && i == 1) && !place(i)) return false;
  return true;
}

// Sizes multiply without overflow.
bool is_sane(const int* dims, const int* strides, int rank) {
  double elements = 1, last = 0;
  for (int i = 0; i < rank; ++i) {
    elements *= dims[i];
    if (strides != nullptr) last += std::abs(static_cast<double>(dims[i] - 1) * strides[i]);
  }
  return std::max(elements, last) < kMostElements;
}

cudnnStatus_t set_tensor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int rank, const int* dims,
                         const int* strides) {
  if (tensor == nullptr || dims == nullptr || strides == nullptr) return null_pointer();
  if (rank < 1 || rank > CUDNN_DIM_MAX)
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "tensor rank outside 1 to CUDNN_DIM_MAX");
  if (storage_bits(type) == 0 || !positive(dims, rank))
    return bad_parameter("tensor dimension below 1 or unknown data type");
  if (!is_sane(dims, strides, rank)) return too_large();
  tensor->type = type, tensor->rank = rank;
  std::copy(dims, dims + rank, tensor->dims);
  std::copy(strides, strides + rank, tensor->strides);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set_packed_tensor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format, cudnnDataType_t type,
                                int rank, const int* dims) {
  if (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC)
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "vectorised tensor formats are not supported");
  if (format == CUDNN_TENSOR_NHWC && rank < 3) return bad_parameter("the NHWC format needs three dimensions");
  if (dims == nullptr) return null_pointer();
  int strides[CUDNN_DIM_MAX] = {};
  if (rank >= 1 && rank <= CUDNN_DIM_MAX && positive(dims, rank) && !packed_strides(dims, rank, format, strides))
    return too_large();
  return set_tensor(tensor, type, rank, dims, strides);
}

}  // namespace

MAYA_API cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor) { return create(tensor); }
MAYA_API cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) { return destroy(tensor); }

MAYA_API cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                                  cudnnDataType_t type, int n, int c, int h, int w) {
  const int dims[] = {n, c, h, w};
  return set_packed_tensor(tensor, format, type, 4, dims);
}

MAYA_API cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int n, int c,
                                                    int h, int w, int n_stride, int c_stride, int h_stride,
                                                    int w_stride) {
  const int dims[] = {n, c, h, w}, strides[] = {n_stride, c_stride, h_stride, w_stride};
  return set_tensor(tensor, type, 4, dims, strides);
}

MAYA_API cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int rank,
                                                  const int dims[], const int strides[]) {
  return set_tensor(tensor, type, rank, dims, strides);
}

MAYA_API cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                                    cudnnDataType_t type, int rank, const int dims[]) {
  return set_packed_tensor(tensor, format, type, rank, dims);
}

MAYA_API cudnnStatus_t cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t tensor, cudnnDataType_t* type, int* n,
                                                  int* c, int* h, int* w, int* n_stride, int* c_stride, int* h_stride,
                                                  int* w_stride) {
  if (tensor == nullptr) return null_pointer();
  if (tensor->rank != 4) return bad_parameter("the tensor has not four dimensions");
  give(type, tensor->type);
  give(n, tensor->dims[0]), give(c, tensor->dims[1]), give(h, tensor->dims[2]), give(w, tensor->dims[3]);
  give(n_stride, tensor->strides[0]), give(c_stride, tensor->strides[1]), give(h_stride, tensor->strides[2]);
  give(w_stride, tensor->strides[3]);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensor, int requested,
                                                  cudnnDataType_t* type, int* rank, int dims[], int strides[]) {
  if (tensor == nullptr) return null_pointer();
  if (requested < 0 || requested > CUDNN_DIM_MAX) return bad_parameter("number of dimensions asked for");
  give(type, tensor->type);
  give(rank, tensor->rank);
  const int count = std::min(requested, tensor->rank);
  if (dims != nullptr) std::copy(tensor->dims, tensor->dims + count, dims);
  if (strides != nullptr) std::copy(tensor->strides, tensor->strides + count, strides);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t tensor, size_t* bytes) {
  if (tensor == nullptr || bytes == nullptr) return null_pointer();
  *bytes = tensor->span_bytes();
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filter) { return create(filter); }
MAYA_API cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) { return destroy(filter); }

MAYA_API cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                                  cudnnTensorFormat_t format, int rank, const int dims[]) {
  if (filter == nullptr || dims == nullptr) return null_pointer();
  if (rank < kMinimumFilterRank || rank > CUDNN_DIM_MAX)
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "filter rank outside 3 to CUDNN_DIM_MAX");
  if (storage_bits(type) == 0 || !positive(dims, rank))
    return bad_parameter("filter dimension below 1 or unknown data type");
  if (!is_sane(dims, nullptr, rank)) return too_large();
  filter->type = type, filter->format = format, filter->rank = rank;
  std::copy(dims, dims + rank, filter->dims);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                                  cudnnTensorFormat_t format, int k, int c, int h, int w) {
  const int dims[] = {k, c, h, w};
  return cudnnSetFilterNdDescriptor(filter, type, format, 4, dims);
}

MAYA_API cudnnStatus_t cudnnGetFilter4dDescriptor(const cudnnFilterDescriptor_t filter, cudnnDataType_t* type,
                                                  cudnnTensorFormat_t* format, int* k, int* c, int* h, int* w) {
  if (filter == nullptr) return null_pointer();
  if (filter->rank != 4) return bad_parameter("the filter has not four dimensions");
  give(type, filter->type);
  give(format, filter->format);
  give(k, filter->dims[0]), give(c, filter->dims[1]), give(h, filter->dims[2]), give(w, filter->dims[3]);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t filter, int requested,
                                                  cudnnDataType_t* type, cudnnTensorFormat_t* format, int* rank,
                                                  int dims[]) {
  if (filter == nullptr) return null_pointer();
  if (requested < 0 || requested > CUDNN_DIM_MAX) return bad_parameter("number of dimensions asked for");
  give(type, filter->type);
  give(format, filter->format);
  give(rank, filter->rank);
  if (dims != nullptr) std::copy(filter->dims, filter->dims + std::min(requested, filter->rank), dims);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetFilterSizeInBytes(const cudnnFilterDescriptor_t filter, size_t* bytes) {
  if (filter == nullptr || bytes == nullptr) return null_pointer();
  *bytes = filter->bytes();
  return CUDNN_STATUS_SUCCESS;
}
