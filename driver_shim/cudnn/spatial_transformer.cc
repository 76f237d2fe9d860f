// Spatial transformers: a grid of sampling points from an affine matrix a sample, and bilinear sampling at them.
#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/recorded.h"

namespace maya::cudnn {
namespace {

// cuDNN documentation, cudnnSpatialTfGridGeneratorForward: theta is n x 2 x 3, the grid n x h x w x 2.
constexpr int64_t kMatrixElements = 6, kCoordinates = 2;

int64_t grid_elements(const cudnnSpatialTransformerStruct& transformer) {
  return static_cast<int64_t>(transformer.dims[0]) * transformer.dims[2] * transformer.dims[3] * kCoordinates;
}

// "Only two-dimensional transformers are supported": dims are n, c, h and w of the result.
cudnnStatus_t check(cudnnHandle_t handle, const cudnnSpatialTransformerStruct* transformer) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (transformer == nullptr) return null_pointer();
  if (transformer->rank != 4) return fail(CUDNN_STATUS_NOT_SUPPORTED, "spatial transformers have 4 dimensions");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t record_grid(cudnnHandle_t handle, const cudnnSpatialTransformerStruct& transformer, const char* api,
                          int64_t read_elements, void* written, int64_t written_elements) {
  OperationRecord record(Family::kElementwise, api);
  const uint64_t written_bytes = storage_bytes(transformer.type, static_cast<uint64_t>(written_elements));
  record.set(Key::kDataType, static_cast<int64_t>(data_type(transformer.type)))
      .set(Key::kElements, grid_elements(transformer))
      .set(Key::kReadBytes, static_cast<int64_t>(storage_bytes(transformer.type, static_cast<uint64_t>(read_elements))))
      .set(Key::kWrittenBytes, static_cast<int64_t>(written_bytes));
  shim::WriteList writes;
  writes.add(written, written_bytes);
  return status_of(shim::record(handle->cu_stream(), record, writes));
}

// The grid as a tensor.
cudnnTensorStruct grid_tensor(const cudnnSpatialTransformerStruct& transformer) {
  cudnnTensorStruct grid;
  grid.type = transformer.type, grid.rank = 4;
  const int dims[] = {transformer.dims[0], transformer.dims[2], transformer.dims[3], static_cast<int>(kCoordinates)};
  int stride = 1;
  for (int i = 3; i >= 0; --i) {
    grid.dims[i] = dims[i], grid.strides[i] = stride;
    stride *= dims[i];
  }
  return grid;
}

OperationRecord sampler(const char* api, const cudnnTensorStruct& sampled, int64_t direction) {
  OperationRecord record(Family::kIndex, api);
  return record.set(Key::kDataType, static_cast<int64_t>(data_type(sampled.type)))
      .set(Key::kElements, sampled.elements())
      .set(Key::kDirection, direction);
}

}  // namespace
}  // namespace maya::cudnn

using namespace maya;
using namespace maya::cudnn;

MAYA_API cudnnStatus_t cudnnSpatialTfGridGeneratorForward(cudnnHandle_t handle,
                                                          const cudnnSpatialTransformerDescriptor_t transformer,
                                                          const void* theta, void* grid) {
  if (const cudnnStatus_t status = check(handle, transformer); status != CUDNN_STATUS_SUCCESS) return status;
  if (theta == nullptr || grid == nullptr) return null_pointer();
  return record_grid(handle, *transformer, "cudnnSpatialTfGridGeneratorForward", transformer->dims[0] * kMatrixElements,
                     grid, grid_elements(*transformer));
}

MAYA_API cudnnStatus_t cudnnSpatialTfGridGeneratorBackward(cudnnHandle_t handle,
                                                           const cudnnSpatialTransformerDescriptor_t transformer,
                                                           const void* grid_gradient, void* theta_gradient) {
  if (const cudnnStatus_t status = check(handle, transformer); status != CUDNN_STATUS_SUCCESS) return status;
  if (grid_gradient == nullptr || theta_gradient == nullptr) return null_pointer();
  return record_grid(handle, *transformer, "cudnnSpatialTfGridGeneratorBackward", grid_elements(*transformer),
                     theta_gradient, transformer->dims[0] * kMatrixElements);
}

MAYA_API cudnnStatus_t cudnnSpatialTfSamplerForward(cudnnHandle_t handle,
                                                    cudnnSpatialTransformerDescriptor_t transformer, const void* alpha,
                                                    const cudnnTensorDescriptor_t x_desc, const void* x,
                                                    const void* grid, const void* beta, cudnnTensorDescriptor_t y_desc,
                                                    void* y) {
  if (const cudnnStatus_t status = check(handle, transformer); status != CUDNN_STATUS_SUCCESS) return status;
  if (alpha == nullptr || beta == nullptr || x_desc == nullptr || x == nullptr || grid == nullptr ||
      y_desc == nullptr || y == nullptr)
    return null_pointer();
  const cudnnTensorStruct points = grid_tensor(*transformer);
  return run(handle, sampler("cudnnSpatialTfSamplerForward", *y_desc, 0), {{x_desc, x}, {&points, grid}},
             {{y_desc, y}});
}

MAYA_API cudnnStatus_t cudnnSpatialTfSamplerBackward(cudnnHandle_t handle,
                                                     cudnnSpatialTransformerDescriptor_t transformer, const void* alpha,
                                                     const cudnnTensorDescriptor_t x_desc, const void* x,
                                                     const void* beta, const cudnnTensorDescriptor_t dx_desc, void* dx,
                                                     const void* grid_alpha, const cudnnTensorDescriptor_t dy_desc,
                                                     const void* dy, const void* grid, const void* grid_beta,
                                                     void* grid_gradient) {
  if (const cudnnStatus_t status = check(handle, transformer); status != CUDNN_STATUS_SUCCESS) return status;
  if (alpha == nullptr || beta == nullptr || grid_alpha == nullptr || grid_beta == nullptr || x_desc == nullptr ||
      x == nullptr || dx_desc == nullptr || dx == nullptr || dy_desc == nullptr || dy == nullptr || grid == nullptr ||
      grid_gradient == nullptr)
    return null_pointer();
  const cudnnTensorStruct points = grid_tensor(*transformer);
  return run(handle, sampler("cudnnSpatialTfSamplerBackward", *dy_desc, 1),
             {{x_desc, x}, {dy_desc, dy}, {&points, grid}}, {{dx_desc, dx}, {&points, grid_gradient}});
}
