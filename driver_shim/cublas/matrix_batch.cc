#include "driver_shim/cublas/matrix_batch.h"

#include <algorithm>
#include <vector>

#include "driver_shim/common/sizes.h"
#include "driver_shim/cublas/types.h"

namespace maya::cublas {

void add_matrices(const MatrixBatch& matrices, shim::WriteList* writes) {
  if (matrices.address == nullptr || matrices.rows <= 0 || matrices.columns <= 0 || matrices.batch <= 0) return;
  const auto bytes = [&](uint64_t elements) { return storage_bytes(matrices.type, elements); };
  const uint64_t columns = static_cast<uint64_t>(matrices.columns), batch = static_cast<uint64_t>(matrices.batch);
  const uint64_t column_bytes = bytes(static_cast<uint64_t>(matrices.rows));
  const uint64_t pitch_bytes = bytes(static_cast<uint64_t>(matrices.leading));
  const uint64_t span_bytes = shim::plus(shim::times(columns - 1, pitch_bytes), column_bytes);
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
  auto lowest = reinterpret_cast<uintptr_t>(matrices.address);
  const auto stride = static_cast<uint64_t>(matrices.stride);
  const uint64_t distance_bytes = bytes(matrices.stride < 0 ? -stride : stride);
  if (matrices.stride < 0) lowest -= std::min<uint64_t>(lowest, shim::times(distance_bytes, batch - 1));
  const auto* address = reinterpret_cast<const void*>(lowest);
  const bool gapless = column_bytes == pitch_bytes || columns == 1;
  if (gapless) {
    writes->add_matrix(address, span_bytes, batch, distance_bytes);
  } else if (shim::times(batch, columns) <= shim::WriteList::kInlineRanges) {
    for (uint64_t i = 0; i < batch; ++i)
      writes->add_matrix(reinterpret_cast<const void*>(lowest + i * distance_bytes), column_bytes, columns,
                         pitch_bytes);
  } else {
    writes->add(address, shim::plus(shim::times(batch - 1, distance_bytes), span_bytes));
  }
}

}  // namespace maya::cublas
