// Bytes and written ranges of described matrices; descriptors of dense matrices and of vectors.
#include "driver_shim/cusparse/descriptors.h"

#include <algorithm>
#include <new>

#include "driver_shim/common/api.h"
#include "driver_shim/common/sizes.h"
#include "driver_shim/cublas/matrix_batch.h"
#include "driver_shim/cublas/types.h"
#include "driver_shim/cusparse/handle.h"

namespace maya::cusparse {

uint64_t element_bytes(cudaDataType type) { return cublas::storage_bytes(type, 1); }

bool addressable(int64_t a, int64_t b, cudaDataType type) {
  // Of a value that is no type too: its caller refuses it, in whatever order it asks.
  const double element = std::max(1.0, static_cast<double>(element_bytes(type)));
  const double first = static_cast<double>(a), second = static_cast<double>(b);
  return std::max({first * second * element, first, second}) <= shim::kMostBytes;
}

namespace {

double offset_count(const SparseMatrix& matrix) {
  switch (matrix.format) {
    case kCsr:
      return static_cast<double>(matrix.rows) + 1;
    case kCsc:
      return static_cast<double>(matrix.columns) + 1;
    case kBsr:
      return static_cast<double>(matrix.rows / matrix.row_block) + 1;
    case kCoo:
      return static_cast<double>(matrix.nonzeros);
    case kSlicedEll:
      return static_cast<double>((matrix.rows + matrix.slice - 1) / matrix.slice) + 1;
    case kBlockedEll:
      return 0;
  }
  return 0;
}

double index_count(const SparseMatrix& matrix) {
  return static_cast<double>(matrix.format == kBsr || matrix.format == kBlockedEll ? matrix.blocks
                             : matrix.format == kSlicedEll                         ? matrix.stored
                                                                                   : matrix.nonzeros);
}

double value_count(const SparseMatrix& matrix) {
  return static_cast<double>(matrix.format == kSlicedEll ? matrix.stored : matrix.nonzeros);
}

// `each` bytes for every member of the batch, `stride` elements of `element` bytes apart; 0: the same for all.
void add_batch(const void* address, double each, int batch, int64_t stride, uint64_t element, shim::WriteList* writes) {
  const auto bytes = static_cast<uint64_t>(shim::counted(each));
  if (bytes == 0 || address == nullptr) return;
  const uint64_t more = stride > 0 && batch > 1 ? shim::times(shim::times(static_cast<uint64_t>(stride), element),
                                                              static_cast<uint64_t>(batch - 1))
                                                : 0;
  writes->add(address, shim::plus(bytes, more));
}

}  // namespace

double stored_bytes(const SparseMatrix& matrix) {
  return offset_count(matrix) * static_cast<double>(index_bytes(matrix.offset_type)) +
         index_count(matrix) * static_cast<double>(index_bytes(matrix.index_type)) +
         value_count(matrix) * static_cast<double>(element_bytes(matrix.type));
}

double dense_bytes(const DenseMatrix& matrix) {
  return static_cast<double>(matrix.rows) * static_cast<double>(matrix.columns) *
         static_cast<double>(element_bytes(matrix.type));
}

void add(const DenseMatrix& matrix, shim::WriteList* writes) {
  const bool by_rows = matrix.order == kRowMajor;
  cublas::add_matrices({matrix.values, matrix.type, by_rows ? matrix.columns : matrix.rows,
                        by_rows ? matrix.rows : matrix.columns, matrix.leading, matrix.stride, matrix.batch},
                       writes);
}

void add(const DenseVector& vector, shim::WriteList* writes) {
  writes->add(vector.values, static_cast<uint64_t>(vector.size) * element_bytes(vector.type));
}

void add_values(const SparseMatrix& matrix, shim::WriteList* writes) {
  const uint64_t element = element_bytes(matrix.type);
  add_batch(matrix.values, value_count(matrix) * static_cast<double>(element), matrix.batch, matrix.values_stride,
            element, writes);
}

void add_structure(const SparseMatrix& matrix, shim::WriteList* writes) {
  const uint64_t offset = index_bytes(matrix.offset_type), index = index_bytes(matrix.index_type);
  add_batch(matrix.offsets, offset_count(matrix) * static_cast<double>(offset), matrix.batch, matrix.offsets_stride,
            offset, writes);
  add_batch(matrix.indices, index_count(matrix) * static_cast<double>(index), matrix.batch, matrix.indices_stride,
            index, writes);
}

namespace {

template <typename Object>
int make(Object** out, const Object& content) {
  Object* made = new (std::nothrow) Object(content);
  if (made == nullptr) return shim::kAllocFailed;
  *out = made;
  return kSuccess;
}

template <typename Object>
int destroy(Object* object) {
  if (!alive(object)) return kInvalidValue;
  object->magic = 0;
  delete object;
  return kSuccess;
}

int create_dense(DenseMatrix** out, int64_t rows, int64_t columns, int64_t leading, void* values, cudaDataType type,
                 int order) {
  if (out == nullptr || rows < 0 || columns < 0 || element_bytes(type) == 0) return kInvalidValue;
  if (order != kColumnMajor && order != kRowMajor) return kInvalidValue;
  if (leading < (order == kColumnMajor ? rows : columns)) return kInvalidValue;
  if (!addressable(leading, order == kColumnMajor ? columns : rows, type) || !addressable(rows, columns, type))
    return kInvalidValue;
  DenseMatrix content;
  content.rows = rows;
  content.columns = columns;
  content.leading = leading;
  content.values = values;
  content.type = type;
  content.order = order;
  return make(out, content);
}

int get_dense(const DenseMatrix* matrix, int64_t* rows, int64_t* columns, int64_t* leading, void** values,
              cudaDataType* type, int* order) {
  if (!alive(matrix) || rows == nullptr || columns == nullptr || leading == nullptr || values == nullptr ||
      type == nullptr || order == nullptr)
    return kInvalidValue;
  *rows = matrix->rows;
  *columns = matrix->columns;
  *leading = matrix->leading;
  *values = matrix->values;
  *type = matrix->type;
  *order = matrix->order;
  return kSuccess;
}

int create_vector(DenseVector** out, int64_t size, void* values, cudaDataType type) {
  if (out == nullptr || size < 0 || element_bytes(type) == 0 || !addressable(size, 1, type)) return kInvalidValue;
  DenseVector content;
  content.size = size;
  content.values = values;
  content.type = type;
  return make(out, content);
}

int get_vector(const DenseVector* vector, int64_t* size, void** values, cudaDataType* type) {
  if (!alive(vector) || size == nullptr || values == nullptr || type == nullptr) return kInvalidValue;
  *size = vector->size;
  *values = vector->values;
  *type = vector->type;
  return kSuccess;
}

template <typename Object>
int get_values(const Object* object, void** values) {
  if (!alive(object) || values == nullptr) return kInvalidValue;
  *values = object->values;
  return kSuccess;
}

template <typename Object>
int set_values(Object* object, void* values) {
  if (!alive(object)) return kInvalidValue;
  object->values = values;
  return kSuccess;
}

int create_sparse_vector(SparseVector** out, int64_t size, int64_t nonzeros, void* indices, void* values,
                         int index_type, int base, cudaDataType type) {
  if (out == nullptr || size < 0 || nonzeros < 0 || nonzeros > size || !valid_index(index_type) || base < 0 ||
      base > 1 || element_bytes(type) == 0 || !addressable(size, 1, type))
    return kInvalidValue;
  SparseVector content;
  content.size = size;
  content.nonzeros = nonzeros;
  content.indices = indices;
  content.values = values;
  content.index_type = index_type;
  content.index_base = base;
  content.type = type;
  return make(out, content);
}

int get_sparse_vector(const SparseVector* vector, int64_t* size, int64_t* nonzeros, void** indices, void** values,
                      int* index_type, int* base, cudaDataType* type) {
  if (!alive(vector) || size == nullptr || nonzeros == nullptr || indices == nullptr || values == nullptr ||
      index_type == nullptr || base == nullptr || type == nullptr)
    return kInvalidValue;
  *size = vector->size;
  *nonzeros = vector->nonzeros;
  *indices = vector->indices;
  *values = vector->values;
  *index_type = vector->index_type;
  *base = vector->index_base;
  *type = vector->type;
  return kSuccess;
}

}  // namespace
}  // namespace maya::cusparse

using namespace maya::cusparse;

// One body for the plain and the const form of a function, whose pointers differ in const alone.
#define BOTH(name, const_name, parameters, arguments, body) \
  MAYA_API int name parameters { return body arguments; }   \
  MAYA_API int const_name parameters { return body arguments; }

BOTH(cusparseCreateDnMat, cusparseCreateConstDnMat,
     (DenseMatrix * *matrix, int64_t rows, int64_t columns, int64_t leading, void* values, cudaDataType type,
      int order),
     (matrix, rows, columns, leading, values, type, order), create_dense)
BOTH(cusparseDnMatGet, cusparseConstDnMatGet,
     (DenseMatrix * matrix, int64_t* rows, int64_t* columns, int64_t* leading, void** values, cudaDataType* type,
      int* order),
     (matrix, rows, columns, leading, values, type, order), get_dense)
BOTH(cusparseDnMatGetValues, cusparseConstDnMatGetValues, (DenseMatrix * matrix, void** values), (matrix, values),
     get_values)
MAYA_API int cusparseDnMatSetValues(DenseMatrix* matrix, void* values) { return set_values(matrix, values); }
MAYA_API int cusparseDestroyDnMat(DenseMatrix* matrix) { return destroy(matrix); }

MAYA_API int cusparseDnMatSetStridedBatch(DenseMatrix* matrix, int batch, int64_t stride) {
  if (!alive(matrix) || batch < 1 || stride < 0) return kInvalidValue;
  matrix->batch = batch;
  matrix->stride = stride;
  return kSuccess;
}

MAYA_API int cusparseDnMatGetStridedBatch(DenseMatrix* matrix, int* batch, int64_t* stride) {
  if (!alive(matrix) || batch == nullptr || stride == nullptr) return kInvalidValue;
  *batch = matrix->batch;
  *stride = matrix->stride;
  return kSuccess;
}

BOTH(cusparseCreateDnVec, cusparseCreateConstDnVec,
     (DenseVector * *vector, int64_t size, void* values, cudaDataType type), (vector, size, values, type),
     create_vector)
BOTH(cusparseDnVecGet, cusparseConstDnVecGet, (DenseVector * vector, int64_t* size, void** values, cudaDataType* type),
     (vector, size, values, type), get_vector)
BOTH(cusparseDnVecGetValues, cusparseConstDnVecGetValues, (DenseVector * vector, void** values), (vector, values),
     get_values)
MAYA_API int cusparseDnVecSetValues(DenseVector* vector, void* values) { return set_values(vector, values); }
MAYA_API int cusparseDestroyDnVec(DenseVector* vector) { return destroy(vector); }

BOTH(cusparseCreateSpVec, cusparseCreateConstSpVec,
     (SparseVector * *vector, int64_t size, int64_t nonzeros, void* indices, void* values, int index_type, int base,
      cudaDataType type),
     (vector, size, nonzeros, indices, values, index_type, base, type), create_sparse_vector)
BOTH(cusparseSpVecGet, cusparseConstSpVecGet,
     (SparseVector * vector, int64_t* size, int64_t* nonzeros, void** indices, void** values, int* index_type,
      int* base, cudaDataType* type),
     (vector, size, nonzeros, indices, values, index_type, base, type), get_sparse_vector)
BOTH(cusparseSpVecGetValues, cusparseConstSpVecGetValues, (SparseVector * vector, void** values), (vector, values),
     get_values)
MAYA_API int cusparseSpVecSetValues(SparseVector* vector, void* values) { return set_values(vector, values); }
MAYA_API int cusparseDestroySpVec(SparseVector* vector) { return destroy(vector); }
MAYA_API int cusparseSpVecGetIndexBase(SparseVector* vector, int* base) {
  if (!alive(vector) || base == nullptr) return kInvalidValue;
  *base = vector->index_base;
  return kSuccess;
}
