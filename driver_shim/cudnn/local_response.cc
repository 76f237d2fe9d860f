// Normalisation over neighbours: local response normalisation across channels, and divisive normalisation.
#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/recorded.h"

namespace maya::cudnn {
namespace {

OperationRecord record_of(const char* api, const cudnnTensorStruct& tensor, int64_t direction) {
  OperationRecord record(Family::kNormalization, api);
  return record.set(Key::kDataType, static_cast<int64_t>(data_type(tensor.type)))
      .set(Key::kDirection, direction)
      .set(Key::kRows, tensor.rank > 0 ? tensor.dims[0] : 1)
      .set(Key::kColumns, tensor.rank > 0 && tensor.dims[0] > 0 ? tensor.elements() / tensor.dims[0] : 0)
      .set(Key::kElements, tensor.elements());
}

bool same_size(const cudnnTensorStruct& a, const cudnnTensorStruct& b) {
  if (a.rank != b.rank || a.type != b.type) return false;
  for (int i = 0; i < a.rank; ++i)
    if (a.dims[i] != b.dims[i]) return false;
  return true;
}

cudnnStatus_t sizes_differ() {
  return fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "tensors differ in type or dimensions");
}

}  // namespace
}  // namespace maya::cudnn

using namespace maya;
using namespace maya::cudnn;

MAYA_API cudnnStatus_t cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t normalization,
                                                   cudnnLRNMode_t mode, const void* alpha,
                                                   const cudnnTensorDescriptor_t x_desc, const void* x,
                                                   const void* beta, const cudnnTensorDescriptor_t y_desc, void* y) {
  if (normalization == nullptr || alpha == nullptr || beta == nullptr || x_desc == nullptr || x == nullptr ||
      y_desc == nullptr || y == nullptr)
    return null_pointer();
  if (mode != CUDNN_LRN_CROSS_CHANNEL_DIM1) return bad_parameter("no such mode");
  if (!same_size(*x_desc, *y_desc)) return sizes_differ();
  return run(handle, record_of("cudnnLRNCrossChannelForward", *x_desc, 0), {{x_desc, x}}, {{y_desc, y}});
}

MAYA_API cudnnStatus_t cudnnLRNCrossChannelBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t normalization,
                                                    cudnnLRNMode_t mode, const void* alpha,
                                                    const cudnnTensorDescriptor_t y_desc, const void* y,
                                                    const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                                    const cudnnTensorDescriptor_t x_desc, const void* x,
                                                    const void* beta, const cudnnTensorDescriptor_t dx_desc, void* dx) {
  if (normalization == nullptr || alpha == nullptr || beta == nullptr || y_desc == nullptr || y == nullptr ||
      dy_desc == nullptr || dy == nullptr || x_desc == nullptr || x == nullptr || dx_desc == nullptr || dx == nullptr)
    return null_pointer();
  if (mode != CUDNN_LRN_CROSS_CHANNEL_DIM1) return bad_parameter("no such mode");
  if (!same_size(*x_desc, *y_desc) || !same_size(*x_desc, *dx_desc) || !same_size(*y_desc, *dy_desc))
    return sizes_differ();
  return run(handle, record_of("cudnnLRNCrossChannelBackward", *x_desc, 1), {{y_desc, y}, {dy_desc, dy}, {x_desc, x}},
             {{dx_desc, dx}});
}

// The means are optional; x, means and both temporary tensors share one descriptor.
MAYA_API cudnnStatus_t cudnnDivisiveNormalizationForward(cudnnHandle_t handle, cudnnLRNDescriptor_t normalization,
                                                         cudnnDivNormMode_t mode, const void* alpha,
                                                         const cudnnTensorDescriptor_t x_desc, const void* x,
                                                         const void* means, void* temp, void* temp2, const void* beta,
                                                         const cudnnTensorDescriptor_t y_desc, void* y) {
  if (normalization == nullptr || alpha == nullptr || beta == nullptr || x_desc == nullptr || x == nullptr ||
      temp == nullptr || temp2 == nullptr || y_desc == nullptr || y == nullptr)
    return null_pointer();
  if (mode != CUDNN_DIVNORM_PRECOMPUTED_MEANS) return bad_parameter("no such mode");
  if (!same_size(*x_desc, *y_desc)) return sizes_differ();
  return run(handle, record_of("cudnnDivisiveNormalizationForward", *x_desc, 0), {{x_desc, x}, {x_desc, means}},
             {{y_desc, y}, {x_desc, temp}, {x_desc, temp2}});
}

MAYA_API cudnnStatus_t cudnnDivisiveNormalizationBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t normalization,
                                                          cudnnDivNormMode_t mode, const void* alpha,
                                                          const cudnnTensorDescriptor_t x_desc, const void* x,
                                                          const void* means, const void* dy, void* temp, void* temp2,
                                                          const void* beta, const cudnnTensorDescriptor_t dx_desc,
                                                          void* dx, void* means_gradient) {
  if (normalization == nullptr || alpha == nullptr || beta == nullptr || x_desc == nullptr || x == nullptr ||
      dy == nullptr || temp == nullptr || temp2 == nullptr || dx_desc == nullptr || dx == nullptr)
    return null_pointer();
  if (mode != CUDNN_DIVNORM_PRECOMPUTED_MEANS) return bad_parameter("no such mode");
  if (!same_size(*x_desc, *dx_desc)) return sizes_differ();
  return run(handle, record_of("cudnnDivisiveNormalizationBackward", *x_desc, 1),
             {{x_desc, x}, {x_desc, means}, {x_desc, dy}},
             {{dx_desc, dx}, {dx_desc, means_gradient}, {x_desc, temp}, {x_desc, temp2}});
}
