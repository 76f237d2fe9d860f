// cuSPARSELt: matrix and multiplication descriptors, algorithm selections.
#include "driver_shim/common/api.h"
#include "driver_shim/common/sizes.h"
#include "driver_shim/cublas/types.h"
#include "driver_shim/cusparse_lt/objects.h"

namespace maya::cusparse_lt {

size_t compressed_bytes(const Matrix& matrix) {
  const auto elements = static_cast<size_t>(matrix.rows) * static_cast<size_t>(matrix.columns);
  const uint32_t bits = cublas::storage_bits(matrix.type);
  const size_t kept = elements / 2;
  const size_t place_bits = bits == 32 ? 4 * kept : bits == 4 ? kept : 2 * kept;
  return shim::times((kept * bits + place_bits) / 8, static_cast<size_t>(matrix.batch));
}

namespace {

int create_matrix(const void* handle, void* storage, int64_t rows, int64_t columns, int64_t leading, uint32_t alignment,
                  cudaDataType type, int order, bool structured) {
  if (const int status = check(handle); status != kSuccess) return status;
  // "alignment: memory alignment in bytes, must be a multiple of 16."
  if (storage == nullptr || rows <= 0 || columns <= 0 || (order != 1 && order != 2) ||
      leading < (order == 1 ? rows : columns) || alignment == 0 || alignment % 16 != 0)
    return kInvalidValue;
  if (cublas::storage_bits(type) == 0) return kInvalidValue;
  // The bits of a matrix are counted in 64 bits, together with those that tell places.
  constexpr double kMostElements = shim::kMostBytes / sizeof(float);
  const auto real = [](int64_t size) { return static_cast<double>(size); };
  if (real(leading) * real(order == 1 ? columns : rows) > kMostElements || real(rows) * real(columns) > kMostElements)
    return kInvalidValue;
  if (cublas::storage_bits(type) > 32 || cublas::is_complex(type)) return kNotSupported;
  Matrix matrix;
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.leading = leading;
  matrix.type = type;
  matrix.order = order;
  matrix.structured = structured ? 1 : 0;
  store(storage, matrix);
  return kSuccess;
}

// Members by the numbers of cusparseLtMatmulDescAttribute_t; `visit` is take or give.
template <typename Object, typename Visit>
int visit_attribute(Object* object, int attribute, Visit visit) {
  constexpr int kFirstMode = 10, kFirstScale = kFirstMode + Multiplication::kScaled;
  switch (attribute) {
    case 0:
      return visit(object->relu);
    case 1:
      return visit(object->relu_bound);
    case 2:
      return visit(object->relu_threshold);
    case 3:
      return visit(object->gelu);
    case 4:
      return visit(object->gelu_scaling);
    case 5:
      return visit(object->alpha_vector);
    case 6:
      return visit(object->beta_vector);
    case 7:
      return visit(object->bias_stride);
    case 8:
      return visit(object->bias);
    case 9:
      return visit(object->sparse);
    default:
      break;
  }
  if (attribute >= kFirstMode && attribute < kFirstScale) return visit(object->scale_modes[attribute - kFirstMode]);
  if (attribute >= kFirstScale && attribute < kFirstScale + Multiplication::kScaled)
    return visit(object->scales[attribute - kFirstScale]);
  return kInvalidValue;
}

template <typename Object, typename Visit>
int visit_algorithm(Object* object, int attribute, Visit visit) {
  switch (attribute) {
    case 0:
      return visit(object->configuration);
    case 2:
      return visit(object->search_iterations);
    case 3:
      return visit(object->split_k);
    case 4:
      return visit(object->split_k_mode);
    case 5:
      return visit(object->split_k_buffers);
    default:
      return kInvalidValue;
  }
}

}  // namespace
}  // namespace maya::cusparse_lt

using namespace maya::cusparse_lt;

MAYA_API int cusparseLtDenseDescriptorInit(const void* handle, void* matrix, int64_t rows, int64_t columns,
                                           int64_t leading, uint32_t alignment, cudaDataType type, int order) {
  return create_matrix(handle, matrix, rows, columns, leading, alignment, type, order, false);
}

MAYA_API int cusparseLtStructuredDescriptorInit(const void* handle, void* matrix, int64_t rows, int64_t columns,
                                                int64_t leading, uint32_t alignment, cudaDataType type, int order,
                                                int sparsity) {
  const int status = create_matrix(handle, matrix, rows, columns, leading, alignment, type, order, true);
  // CUSPARSELT_SPARSITY_50_PERCENT is the only one.
  return status == kSuccess && sparsity != 0 ? kInvalidValue : status;
}

MAYA_API int cusparseLtMatDescriptorDestroy(const void* storage) {
  if (object_of<Matrix>(storage) == nullptr) return kInvalidValue;
  std::memset(const_cast<void*>(storage), 0, sizeof(Matrix));
  return kSuccess;
}

// CUSPARSELT_MAT_NUM_BATCHES (0) is an int, CUSPARSELT_MAT_BATCH_STRIDE (1) an int64_t.
MAYA_API int cusparseLtMatDescSetAttribute(const void* handle, void* storage, int attribute, const void* data,
                                           size_t bytes) {
  if (const int status = check(handle); status != kSuccess) return status;
  Matrix* matrix = object_of<Matrix>(storage);
  if (matrix == nullptr || data == nullptr) return kInvalidValue;
  if (attribute == 0) {
    int32_t batch = 0;
    const int status = take(&batch, data, bytes);
    if (status != kSuccess || batch < 1) return kInvalidValue;
    matrix->batch = batch;
    return kSuccess;
  }
  return attribute == 1 ? take(&matrix->stride, data, bytes) : kInvalidValue;
}

MAYA_API int cusparseLtMatDescGetAttribute(const void* handle, const void* storage, int attribute, void* data,
                                           size_t bytes) {
  if (const int status = check(handle); status != kSuccess) return status;
  const Matrix* matrix = object_of<Matrix>(storage);
  if (matrix == nullptr || data == nullptr) return kInvalidValue;
  if (attribute == 0) return give(matrix->batch, data, bytes);
  return attribute == 1 ? give(matrix->stride, data, bytes) : kInvalidValue;
}

MAYA_API int cusparseLtMatmulDescriptorInit(const void* handle, void* storage, int op_a, int op_b, const void* mat_a,
                                            const void* mat_b, const void* mat_c, const void* mat_d, int compute_type) {
  if (const int status = check(handle); status != kSuccess) return status;
  const Matrix *a = object_of<Matrix>(mat_a), *b = object_of<Matrix>(mat_b), *c = object_of<Matrix>(mat_c),
               *d = object_of<Matrix>(mat_d);
  if (storage == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr || op_a < 0 || op_a > 1 ||
      op_b < 0 || op_b > 1 || compute_type < 0 || compute_type > 2)
    return kInvalidValue;
  // "Either A or B is structured." Sizes agree.
  if (a->structured == b->structured || c->structured != 0 || d->structured != 0) return kInvalidValue;
  const int64_t m = op_a == 0 ? a->rows : a->columns, k = op_a == 0 ? a->columns : a->rows;
  const int64_t depth = op_b == 0 ? b->rows : b->columns, n = op_b == 0 ? b->columns : b->rows;
  if (k != depth || c->rows != m || c->columns != n || d->rows != m || d->columns != n) return kInvalidValue;
  Multiplication multiplication;
  multiplication.operation_a = op_a;
  multiplication.operation_b = op_b;
  multiplication.compute_type = compute_type;
  multiplication.a = *a;
  multiplication.b = *b;
  multiplication.c = *c;
  multiplication.d = *d;
  store(storage, multiplication);
  return kSuccess;
}

MAYA_API int cusparseLtMatmulDescSetAttribute(const void* handle, void* storage, int attribute, const void* data,
                                              size_t bytes) {
  if (const int status = check(handle); status != kSuccess) return status;
  Multiplication* object = object_of<Multiplication>(storage);
  if (object == nullptr || data == nullptr) return kInvalidValue;
  return visit_attribute(object, attribute, [&](auto& member) { return take(&member, data, bytes); });
}

MAYA_API int cusparseLtMatmulDescGetAttribute(const void* handle, const void* storage, int attribute, void* data,
                                              size_t bytes) {
  if (const int status = check(handle); status != kSuccess) return status;
  const Multiplication* object = object_of<Multiplication>(storage);
  if (object == nullptr || data == nullptr) return kInvalidValue;
  return visit_attribute(object, attribute, [&](const auto& member) { return give(member, data, bytes); });
}

MAYA_API int cusparseLtMatmulAlgSelectionInit(const void* handle, void* storage, const void* multiplication,
                                              int algorithm) {
  if (const int status = check(handle); status != kSuccess) return status;
  // CUSPARSELT_MATMUL_ALG_DEFAULT is the only one.
  if (storage == nullptr || object_of<Multiplication>(multiplication) == nullptr || algorithm != 0)
    return kInvalidValue;
  store(storage, Algorithm{});
  return kSuccess;
}

MAYA_API int cusparseLtMatmulAlgSelectionDestroy(const void* storage) {
  if (object_of<Algorithm>(storage) == nullptr) return kInvalidValue;
  std::memset(const_cast<void*>(storage), 0, sizeof(Algorithm));
  return kSuccess;
}

MAYA_API int cusparseLtMatmulAlgSetAttribute(const void* handle, void* storage, int attribute, const void* data,
                                             size_t bytes) {
  if (const int status = check(handle); status != kSuccess) return status;
  Algorithm* object = object_of<Algorithm>(storage);
  if (object == nullptr || data == nullptr) return kInvalidValue;
  Algorithm changed = *object;
  const int status = visit_algorithm(&changed, attribute, [&](int32_t& member) { return take(&member, data, bytes); });
  if (status != kSuccess) return status;
  if (changed.configuration < 0 || changed.configuration >= Algorithm::kConfigurations ||
      changed.search_iterations < 1 || changed.split_k < -1)
    return kInvalidValue;
  *object = changed;
  return kSuccess;
}

MAYA_API int cusparseLtMatmulAlgGetAttribute(const void* handle, const void* storage, int attribute, void* data,
                                             size_t bytes) {
  if (const int status = check(handle); status != kSuccess) return status;
  const Algorithm* object = object_of<Algorithm>(storage);
  if (object == nullptr || data == nullptr) return kInvalidValue;
  constexpr int kMaximumId = 1;  // CUSPARSELT_MATMUL_ALG_CONFIG_MAX_ID: how many there are
  if (attribute == kMaximumId) return give(int32_t{Algorithm::kConfigurations}, data, bytes);
  return visit_algorithm(object, attribute, [&](const int32_t& member) { return give(member, data, bytes); });
}
