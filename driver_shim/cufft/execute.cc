// Cost and record of a transform.
#include <algorithm>
#include <cmath>

#include "driver_shim/common/recording.h"
#include "driver_shim/common/sizes.h"
#include "driver_shim/cublas/types.h"
#include "driver_shim/cufft/plan.h"

namespace maya::cufft {
namespace {

int64_t product(const int64_t* values, int count) {
  int64_t all = 1;
  for (int i = 0; i < count; ++i) all *= values[i];
  return all;
}

// cuFFT's documentation: factors up to 127 are done by Cooley and Tukey's method, larger primes by Bluestein's.
bool has_large_prime(int64_t size) {
  for (int64_t factor = 2; factor <= 127; ++factor)
    while (size % factor == 0) size /= factor;
  return size > 1;
}

int64_t padded(int64_t size) {
  if (!has_large_prime(size)) return size;
  int64_t power = 1;
  while (power < 2 * size - 1) power *= 2;
  return power;
}

bool is_real(cudaDataType type) {
  return type == CUDA_R_16F || type == CUDA_R_16BF || type == CUDA_R_32F || type == CUDA_R_64F;
}

// Stored elements of one side's signals, counting what is transformed only.
int64_t stored(const Transform& transform, bool halved) {
  const int64_t last = transform.sizes[transform.rank - 1];
  return product(transform.sizes, transform.rank) / last * (halved ? last / 2 + 1 : last) * transform.batch;
}

DataType real_type(cudaDataType execution) {
  switch (execution) {
    case CUDA_C_64F:
      return DataType::kFloat64;
    case CUDA_C_16F:
      return DataType::kFloat16;
    case CUDA_C_16BF:
      return DataType::kBfloat16;
    default:
      return DataType::kFloat32;
  }
}

}  // namespace

size_t work_bytes(const Transform& transform) {
  double elements = static_cast<double>(transform.batch);
  for (int i = 0; i < transform.rank; ++i) elements *= static_cast<double>(padded(transform.sizes[i]));
  return static_cast<size_t>(elements) * cublas::storage_bytes(transform.execution_type, 1);
}

int64_t output_span(const Transform& transform) {
  const bool halved = is_real(transform.input_type);
  int64_t last = 0;
  for (int i = 0; i < transform.rank; ++i) {
    const bool innermost = i == transform.rank - 1;
    const int64_t size = innermost && halved ? transform.sizes[i] / 2 + 1 : transform.sizes[i];
    last = last * (i == 0 ? 0 : transform.output_embed[i]) + size - 1;
  }
  return (transform.batch - 1) * transform.output_distance + last * transform.output_stride + 1;
}

Cost cost_of(const Transform& transform) {
  const double shared_points = transform.execution_type == CUDA_C_64F ? 12 : 13;  // log2
  const double points = static_cast<double>(product(transform.sizes, transform.rank)) * transform.batch;
  Cost cost = {0, 0};
  for (int i = 0; i < transform.rank; ++i) {
    const double size = static_cast<double>(transform.sizes[i]);
    const double working = static_cast<double>(padded(transform.sizes[i]));
    const double transforms = working == size ? 1 : 2;
    cost.flops += points / size * transforms * 5 * working * std::log2(std::max(working, 2.0));
    cost.passes += transforms * std::max(std::ceil(std::log2(std::max(working, 2.0)) / shared_points), 1.0);
  }
  if (is_real(transform.input_type) || is_real(transform.output_type)) cost.flops /= 2;
  return cost;
}

int execute(const Plan& plan, const char* api, const void* input, void* output, int direction) {
  if (input == nullptr || output == nullptr || (direction != -1 && direction != 1)) return kInvalidValue;
  const Transform& transform = plan.transform;
  const Cost cost = cost_of(transform);
  const double element = static_cast<double>(cublas::storage_bytes(transform.execution_type, 1));
  const double input_bytes = static_cast<double>(stored(transform, is_real(transform.output_type))) *
                             static_cast<double>(cublas::storage_bytes(transform.input_type, 1));
  const double output_bytes = static_cast<double>(stored(transform, is_real(transform.input_type))) *
                              static_cast<double>(cublas::storage_bytes(transform.output_type, 1));
  // Between two passes lies complex data, half of it where one side is real.
  const bool halved = is_real(transform.input_type) || is_real(transform.output_type);
  const double between = (cost.passes - 1) * static_cast<double>(stored(transform, halved)) * element;
  OperationRecord record(Family::kFourier, api);
  record.set(Key::kDataType, static_cast<int64_t>(real_type(transform.execution_type)))
      .set(Key::kTypeA, static_cast<int64_t>(cublas::data_type(transform.input_type)))
      .set(Key::kTypeD, static_cast<int64_t>(cublas::data_type(transform.output_type)))
      .set(Key::kColumns, transform.sizes[transform.rank - 1])
      .set(Key::kRows, product(transform.sizes, transform.rank - 1))
      .set(Key::kBatch, transform.batch)
      .set(Key::kDirection, direction == 1 ? 1 : 0)
      .set(Key::kSteps, shim::counted(cost.passes))
      .set(Key::kFlops, shim::counted(cost.flops))
      .set(Key::kReadBytes, shim::counted(input_bytes + between))
      .set(Key::kWrittenBytes, shim::counted(output_bytes + between));
  shim::WriteList writes;
  writes.add(output, cublas::storage_bytes(transform.output_type, output_span(transform)));
  const CUresult result = shim::record(plan.stream, record, writes);
  return result == CUDA_SUCCESS ? kSuccess : kExecFailed;
}

}  // namespace maya::cufft
