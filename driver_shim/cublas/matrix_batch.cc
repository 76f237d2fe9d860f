#include "driver_shim/cublas/matrix_batch.h"

#include <vector>

#include "driver_shim/cublas/types.h"

namespace maya::cublas {

void add_matrices(const MatrixBatch& matrices, shim::WriteList* writes) {
  if (matrices.rows <= 0 || matrices.columns <= 0 || matrices.batch <= 0) return;
  const auto bytes = [&](int64_t elements) { return storage_bytes(matrices.type, static_cast<uint64_t>(elements)); };
  const uint64_t column_bytes = bytes(matrices.rows), pitch_bytes = bytes(matrices.leading);
  const uint64_t span_bytes = (matrices.columns - 1) * pitch_bytes + column_bytes;
  if (matrices.pointer_array) {
    std::vector<void*> addresses;
    if (!shim::read_pointer_array(matrices.address, matrices.batch, &addresses)) return;
    for (const void* address : addresses) writes->add_matrix(address, column_bytes, matrices.columns, pitch_bytes);
    return;
  }
  if (matrices.batch == 1) {
    writes->add_matrix(matrices.address, column_bytes, matrices.columns, pitch_bytes);
    return;
  }
  const auto* lowest = static_cast<const char*>(matrices.address);
  const uint64_t distance_bytes = bytes(matrices.stride < 0 ? -matrices.stride : matrices.stride);
  if (matrices.stride < 0) lowest -= distance_bytes * (matrices.batch - 1);
  const bool gapless = column_bytes == pitch_bytes || matrices.columns == 1;
  if (gapless) {
    writes->add_matrix(lowest, span_bytes, matrices.batch, distance_bytes);
  } else if (matrices.batch * matrices.columns <= static_cast<int64_t>(shim::WriteList::kInlineRanges)) {
    for (int64_t i = 0; i < matrices.batch; ++i)
      writes->add_matrix(lowest + i * distance_bytes, column_bytes, matrices.columns, pitch_bytes);
  } else {
    writes->add(lowest, (matrices.batch - 1) * distance_bytes + span_bytes);
  }
}

}  // namespace maya::cublas
