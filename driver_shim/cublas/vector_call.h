// One BLAS level 1 or 2 operation in the form that all its entry points share, and the results that such calls hand
// back.
#pragma once

#include <cublas_v2.h>

#include <cstdint>
#include <initializer_list>

#include "driver_shim/common/recording.h"

namespace maya::cublas {

// `count` elements, `increment` elements apart. The sign of the increment only reverses the order: the elements lie
// from `address` upwards either way (BLAS convention). An increment of 0 means one element.
struct Vector {
  const void* address = nullptr;
  cudaDataType type = CUDA_R_32F;
  int64_t count = 0;
  int64_t increment = 1;

  uint64_t bytes() const;  // payload, without gaps
  void add_to(shim::WriteList* writes) const;
};

struct VectorCall {
  const char* api = "";
  cudaDataType type = CUDA_R_32F;  // of the operands: DataType in the trace
  int64_t rows = 0, columns = 0;   // level 2: of the matrix; columns 0 for level 1
  int64_t elements = 0;            // level 1: vector length
  int64_t incx = 1, incy = 0;
  int64_t batch = 1;
  int64_t flops = 0;
  uint64_t matrix_bytes = 0;  // bytes of the matrix that are read
};

// Records the call; what it reads are `reads` and the matrix, what it writes are `writes` and `extra`.
cublasStatus_t run(cublasHandle_t handle, const VectorCall& call, std::initializer_list<Vector> reads,
                   std::initializer_list<Vector> writes, const shim::WriteList* extra = nullptr);

// A call whose answer is one value at `result`. Device pointer mode: those bytes become unknown. Host pointer mode:
// waits for the stream as the library does, then writes `value`, which is what unknown device data reads as.
cublasStatus_t run_with_result(cublasHandle_t handle, const VectorCall& call, std::initializer_list<Vector> reads,
                               void* result, const void* value, uint64_t bytes);

}  // namespace maya::cublas
