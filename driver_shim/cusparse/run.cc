#include <algorithm>
#include <cmath>

#include "driver_shim/common/sizes.h"
#include "driver_shim/cublas/types.h"
#include "driver_shim/cusparse/handle.h"

namespace maya::cusparse {

int run(const Handle* handle, Family family, const char* api, const Shape& shape, const Cost& cost,
        const shim::WriteList& writes) {
  const double batch = static_cast<double>(std::max<int64_t>(shape.batch, 1));
  const double complex = static_cast<double>(cublas::multiply_add_flops(shape.type)) / 2;
  OperationRecord record(family, api);
  record.set(Key::kDataType, static_cast<int64_t>(cublas::data_type(shape.type)))
      .set(Key::kM, shape.m)
      .set(Key::kN, shape.n)
      .set(Key::kK, shape.k)
      .set(Key::kNonzeros, shape.nonzeros)
      .set(Key::kBatch, shape.batch)
      .set(Key::kSteps, cost.steps)
      .set(Key::kFlops, shim::counted(std::max(cost.flops * complex * batch, 1.0)))
      .set(Key::kReadBytes, shim::counted(std::max(cost.read_bytes * batch, 1.0)))
      .set(Key::kWrittenBytes, shim::counted(std::max(cost.written_bytes * batch, 1.0)));
  return shim::status_of(shim::record(handle->stream, record, writes));
}

int64_t solution_steps(int64_t rows) {
  return std::max<int64_t>(static_cast<int64_t>(2 * std::sqrt(static_cast<double>(rows))), 1);
}

size_t partition_bytes(int64_t nonzeros) {
  constexpr size_t kUnit_bytes = 256;
  const size_t bytes = sizeof(int) * (static_cast<size_t>(nonzeros) / 512 + 1);
  return (bytes + kUnit_bytes - 1) / kUnit_bytes * kUnit_bytes;
}

}  // namespace maya::cusparse
