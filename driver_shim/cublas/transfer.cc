// cublasSetVector, cublasGetMatrix and their like: copies between host and device memory, done by the driver's own
// copies.
#include <cuda.h>

#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/common/driver_access.h"
#include "driver_shim/cublas/types.h"

namespace maya::cublas {
namespace {

struct Place {
  const void* address;
  uint64_t pitch_bytes;
};

enum class Direction { kToDevice, kToHost };

// `rows` runs of `run_bytes`. Waits for the copy unless it goes to a stream.
cublasStatus_t transfer(Direction direction, uint64_t run_bytes, uint64_t rows, Place source, Place destination,
                        const CUstream* stream) {
  CUDA_MEMCPY2D copy = {};
  copy.WidthInBytes = run_bytes, copy.Height = rows;
  copy.srcPitch = source.pitch_bytes, copy.dstPitch = destination.pitch_bytes;
  if (direction == Direction::kToDevice) {
    copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = source.address;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE, copy.dstDevice = reinterpret_cast<CUdeviceptr>(destination.address);
  } else {
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE, copy.srcDevice = reinterpret_cast<CUdeviceptr>(source.address);
    copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = const_cast<void*>(destination.address);
  }
  const auto wait = MAYA_DRIVER(cuMemcpy2D_v2);
  const auto start = MAYA_DRIVER(cuMemcpy2DAsync_v2);
  if (wait == nullptr || start == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const CUresult result = stream == nullptr ? wait(&copy) : start(&copy, *stream);
  return result == CUDA_SUCCESS                                                         ? CUBLAS_STATUS_SUCCESS
         : result == CUDA_ERROR_NOT_INITIALIZED || result == CUDA_ERROR_INVALID_CONTEXT ? CUBLAS_STATUS_NOT_INITIALIZED
                                                                                        : CUBLAS_STATUS_MAPPING_ERROR;
}

cublasStatus_t vector(Direction direction, int64_t n, int64_t element_bytes, const void* x, int64_t incx, const void* y,
                      int64_t incy, const CUstream* stream) {
  if (incx <= 0 || incy <= 0 || element_bytes <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  const uint64_t bytes = element_bytes;
  if (incx == 1 && incy == 1) return transfer(direction, n * bytes, 1, {x, n * bytes}, {y, n * bytes}, stream);
  return transfer(direction, bytes, n, {x, incx * bytes}, {y, incy * bytes}, stream);
}

cublasStatus_t matrix(Direction direction, int64_t rows, int64_t columns, int64_t element_bytes, const void* a,
                      int64_t lda, const void* b, int64_t ldb, const CUstream* stream) {
  if (rows < 0 || columns < 0 || element_bytes <= 0 || lda < std::max<int64_t>(1, rows) ||
      ldb < std::max<int64_t>(1, rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (rows == 0 || columns == 0) return CUBLAS_STATUS_SUCCESS;
  const uint64_t bytes = element_bytes;
  return transfer(direction, rows * bytes, columns, {a, lda * bytes}, {b, ldb * bytes}, stream);
}

}  // namespace
}  // namespace maya::cublas

using namespace maya::cublas;

#define TRANSFERS(NAME, DIRECTION, SUFFIX, INT)                                                                        \
  MAYA_API cublasStatus_t cublas##NAME##Vector##SUFFIX(INT n, INT bytes, const void* x, INT incx, void* y, INT incy) { \
    return vector(DIRECTION, n, bytes, x, incx, y, incy, nullptr);                                                     \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublas##NAME##VectorAsync##SUFFIX(INT n, INT bytes, const void* x, INT incx, void* y,        \
                                                            INT incy, cudaStream_t stream) {                           \
    const CUstream cu_stream = reinterpret_cast<CUstream>(stream);                                                     \
    return vector(DIRECTION, n, bytes, x, incx, y, incy, &cu_stream);                                                  \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublas##NAME##Matrix##SUFFIX(INT rows, INT columns, INT bytes, const void* A, INT lda,       \
                                                       void* B, INT ldb) {                                             \
    return matrix(DIRECTION, rows, columns, bytes, A, lda, B, ldb, nullptr);                                           \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublas##NAME##MatrixAsync##SUFFIX(INT rows, INT columns, INT bytes, const void* A, INT lda,  \
                                                            void* B, INT ldb, cudaStream_t stream) {                   \
    const CUstream cu_stream = reinterpret_cast<CUstream>(stream);                                                     \
    return matrix(DIRECTION, rows, columns, bytes, A, lda, B, ldb, &cu_stream);                                        \
  }

TRANSFERS(Set, Direction::kToDevice, , int)
TRANSFERS(Set, Direction::kToDevice, _64, int64_t)
TRANSFERS(Get, Direction::kToHost, , int)
TRANSFERS(Get, Direction::kToHost, _64, int64_t)
