#include "driver_shim/cusolver/dense.h"

#include <algorithm>
#include <climits>

#include "driver_shim/common/sizes.h"

namespace maya::cusolver {

void add(const void* address, cudaDataType type, int64_t rows, int64_t columns, int64_t leading,
         shim::WriteList* writes, int64_t stride, int64_t batch) {
  if (address == nullptr || rows <= 0 || columns <= 0 || batch <= 0) return;
  cublas::add_matrices({address, type, rows, columns, leading, stride, batch}, writes);
}

int run(const DenseHandle* handle, const Routine& routine, const shim::WriteList& writes, const int* info,
        int64_t count) {
  const double element = static_cast<double>(cublas::storage_bytes(routine.type, 1));
  const double bytes = static_cast<double>(routine.rows) * static_cast<double>(routine.columns) *
                       static_cast<double>(routine.batch) * element;
  OperationRecord record(Family::kSolver, routine.api);
  // A complex multiplication and addition is eight real operations instead of two.
  const double complex = static_cast<double>(cublas::multiply_add_flops(routine.type)) / 2;
  record.set(Key::kOperator, static_cast<int64_t>(routine.op))
      .set(Key::kDataType, static_cast<int64_t>(cublas::data_type(routine.type)))
      .set(Key::kRows, routine.rows)
      .set(Key::kColumns, routine.columns)
      .set(Key::kBatch, routine.batch)
      .set(Key::kSteps, routine.steps)
      .set(Key::kFlops, shim::counted(std::max(routine.flops, 1.0) * complex * static_cast<double>(routine.batch)))
      .set(Key::kReadBytes, shim::counted(bytes))
      .set(Key::kWrittenBytes, shim::counted(bytes));
  return shim::status_of(
      shim::record_success(handle->stream, record, writes,
                           {reinterpret_cast<CUdeviceptr>(info), sizeof(int) * static_cast<uint64_t>(count)}));
}

int answer(double elements, int* lwork) {
  if (lwork == nullptr || elements > INT_MAX) return kInvalidValue;
  *lwork = static_cast<int>(std::max(elements, 1.0));
  return kSuccess;
}

double svd_flops(double m, double n, Vectors vectors) {
  if (m < n) std::swap(m, n);
  switch (vectors) {
    case Vectors::kNone:
      return 4 * m * n * n - 4 * cube(n) / 3;
    case Vectors::kThin:
      return 14 * m * n * n + 8 * cube(n);
    case Vectors::kFull:
      return 4 * m * m * n + 8 * m * n * n + 9 * cube(n);
  }
  return 0;
}

double jacobi_svd_flops(double m, double n, bool vectors) {
  if (m < n) std::swap(m, n);
  return kSweeps * n * n / 2 * (12 * m + (vectors ? 6 * n : 0));
}

}  // namespace maya::cusolver
