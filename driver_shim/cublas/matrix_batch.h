// Where the matrices of a batch lie in device memory, turned into ranges that an operation writes.
#pragma once

#include <library_types.h>

#include <cstdint>

#include "driver_shim/common/recording.h"

namespace maya::cublas {

struct MatrixBatch {
  const void* address = nullptr;  // first matrix; device array of pointers when pointer_array is set
  cudaDataType type = CUDA_R_32F;
  int64_t rows = 0;  // contiguous elements
  int64_t columns = 0;
  int64_t leading = 0;  // from column to column, elements
  int64_t stride = 0;   // from matrix to matrix, elements; may be negative
  int64_t batch = 1;
  bool pointer_array = false;
};

// Exact up to WriteList::kInlineRanges columns with gaps in the whole batch; above that one range from the first to the
// last element. Nothing is added when a pointer array cannot be read.
void add_matrices(const MatrixBatch& matrices, shim::WriteList* writes);

}  // namespace maya::cublas
