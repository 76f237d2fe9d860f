// Descriptors of sparse matrices: compressed rows and columns, coordinates, blocks, both ELL formats.
#include <cstring>
#include <new>

#include "driver_shim/common/api.h"
#include "driver_shim/cusparse/descriptors.h"
#include "driver_shim/cusparse/handle.h"

namespace maya::cusparse {
namespace {

int make(SparseMatrix** out, const SparseMatrix& content) {
  const bool valid = out != nullptr && content.rows >= 0 && content.columns >= 0 && content.nonzeros >= 0 &&
                     valid_index(content.offset_type) && valid_index(content.index_type) &&
                     (content.index_base == 0 || content.index_base == 1) && element_bytes(content.type) != 0 &&
                     addressable(content.rows, 1, content.type) && addressable(content.columns, 1, content.type) &&
                     addressable(content.nonzeros, 1, content.type) && addressable(content.stored, 1, content.type);
  if (!valid) return kInvalidValue;
  SparseMatrix* made = new (std::nothrow) SparseMatrix(content);
  if (made == nullptr) return shim::kAllocFailed;
  *out = made;
  return kSuccess;
}

SparseMatrix plain(Format format, int64_t rows, int64_t columns, int64_t nonzeros, void* offsets, void* indices,
                   void* values, int offset_type, int index_type, int base, cudaDataType type) {
  SparseMatrix content;
  content.format = format;
  content.rows = rows;
  content.columns = columns;
  content.nonzeros = nonzeros;
  content.offsets = offsets;
  content.indices = indices;
  content.values = values;
  content.offset_type = offset_type;
  content.index_type = index_type;
  content.index_base = base;
  content.type = type;
  return content;
}

int create_csr(SparseMatrix** out, int64_t rows, int64_t columns, int64_t nonzeros, void* offsets, void* indices,
               void* values, int offset_type, int index_type, int base, cudaDataType type) {
  return make(out, plain(kCsr, rows, columns, nonzeros, offsets, indices, values, offset_type, index_type, base, type));
}

int create_csc(SparseMatrix** out, int64_t rows, int64_t columns, int64_t nonzeros, void* offsets, void* indices,
               void* values, int offset_type, int index_type, int base, cudaDataType type) {
  return make(out, plain(kCsc, rows, columns, nonzeros, offsets, indices, values, offset_type, index_type, base, type));
}

int create_coo(SparseMatrix** out, int64_t rows, int64_t columns, int64_t nonzeros, void* row_indices, void* indices,
               void* values, int index_type, int base, cudaDataType type) {
  return make(out,
              plain(kCoo, rows, columns, nonzeros, row_indices, indices, values, index_type, index_type, base, type));
}

bool valid_block(int64_t size) { return size >= 1 && size <= 1 << 20; }

int create_bsr(SparseMatrix** out, int64_t block_rows, int64_t block_columns, int64_t blocks, int64_t row_block,
               int64_t column_block, void* offsets, void* indices, void* values, int offset_type, int index_type,
               int base, cudaDataType type, int order) {
  if (block_rows < 0 || block_columns < 0 || blocks < 0 || !valid_block(row_block) || !valid_block(column_block) ||
      (order != kColumnMajor && order != kRowMajor) || !addressable(block_rows, row_block, type) ||
      !addressable(block_columns, column_block, type) || !addressable(blocks, row_block * column_block, type))
    return kInvalidValue;
  SparseMatrix content =
      plain(kBsr, block_rows * row_block, block_columns * column_block, blocks * row_block * column_block, offsets,
            indices, values, offset_type, index_type, base, type);
  content.blocks = blocks;
  content.row_block = row_block;
  content.column_block = column_block;
  content.order = order;
  return make(out, content);
}

// ell_columns elements are stored of each row, in square blocks.
int create_blocked_ell(SparseMatrix** out, int64_t rows, int64_t columns, int64_t block, int64_t ell_columns,
                       void* indices, void* values, int index_type, int base, cudaDataType type) {
  if (rows < 0 || !valid_block(block) || ell_columns < 0 || ell_columns > columns ||
      !addressable(rows, ell_columns, type))
    return kInvalidValue;
  SparseMatrix content = plain(kBlockedEll, rows, columns, rows * ell_columns, nullptr, indices, values, index_type,
                               index_type, base, type);
  content.row_block = content.column_block = block;
  content.ell_columns = ell_columns;
  content.blocks = (rows / block) * (ell_columns / block);
  return make(out, content);
}

int create_sliced_ell(SparseMatrix** out, int64_t rows, int64_t columns, int64_t nonzeros, int64_t stored,
                      int64_t slice, void* offsets, void* indices, void* values, int offset_type, int index_type,
                      int base, cudaDataType type) {
  if (stored < nonzeros || !valid_block(slice)) return kInvalidValue;
  SparseMatrix content =
      plain(kSlicedEll, rows, columns, nonzeros, offsets, indices, values, offset_type, index_type, base, type);
  content.stored = stored;
  content.slice = slice;
  return make(out, content);
}

int get_compressed(const SparseMatrix* matrix, Format format, int64_t* rows, int64_t* columns, int64_t* nonzeros,
                   void** offsets, void** indices, void** values, int* offset_type, int* index_type, int* base,
                   cudaDataType* type) {
  if (!alive(matrix) || matrix->format != format || rows == nullptr || columns == nullptr || nonzeros == nullptr ||
      offsets == nullptr || indices == nullptr || values == nullptr || offset_type == nullptr ||
      index_type == nullptr || base == nullptr || type == nullptr)
    return kInvalidValue;
  *rows = matrix->rows;
  *columns = matrix->columns;
  *nonzeros = matrix->nonzeros;
  *offsets = matrix->offsets;
  *indices = matrix->indices;
  *values = matrix->values;
  *offset_type = matrix->offset_type;
  *index_type = matrix->index_type;
  *base = matrix->index_base;
  *type = matrix->type;
  return kSuccess;
}

int get_csr(const SparseMatrix* matrix, int64_t* rows, int64_t* columns, int64_t* nonzeros, void** offsets,
            void** indices, void** values, int* offset_type, int* index_type, int* base, cudaDataType* type) {
  return get_compressed(matrix, kCsr, rows, columns, nonzeros, offsets, indices, values, offset_type, index_type, base,
                        type);
}

int get_csc(const SparseMatrix* matrix, int64_t* rows, int64_t* columns, int64_t* nonzeros, void** offsets,
            void** indices, void** values, int* offset_type, int* index_type, int* base, cudaDataType* type) {
  return get_compressed(matrix, kCsc, rows, columns, nonzeros, offsets, indices, values, offset_type, index_type, base,
                        type);
}

int get_coo(const SparseMatrix* matrix, int64_t* rows, int64_t* columns, int64_t* nonzeros, void** row_indices,
            void** indices, void** values, int* index_type, int* base, cudaDataType* type) {
  int same = 0;
  return get_compressed(matrix, kCoo, rows, columns, nonzeros, row_indices, indices, values, index_type, &same, base,
                        type);
}

int get_blocked_ell(const SparseMatrix* matrix, int64_t* rows, int64_t* columns, int64_t* block, int64_t* ell_columns,
                    void** indices, void** values, int* index_type, int* base, cudaDataType* type) {
  int64_t nonzeros = 0;
  void* offsets = nullptr;
  int offset_type = 0;
  if (block == nullptr || ell_columns == nullptr) return kInvalidValue;
  const int status = get_compressed(matrix, kBlockedEll, rows, columns, &nonzeros, &offsets, indices, values,
                                    &offset_type, index_type, base, type);
  if (status != kSuccess) return status;
  *block = matrix->row_block;
  *ell_columns = matrix->ell_columns;
  return kSuccess;
}

int set_pointers(SparseMatrix* matrix, Format format, void* offsets, void* indices, void* values) {
  if (!alive(matrix) || matrix->format != format) return kInvalidValue;
  matrix->offsets = offsets;
  matrix->indices = indices;
  matrix->values = values;
  return kSuccess;
}

int set_batch(SparseMatrix* matrix, Format format, int batch, int64_t offsets, int64_t indices, int64_t values) {
  if (!alive(matrix) || batch < 1 || offsets < 0 || indices < 0 || values < 0) return kInvalidValue;
  if (matrix->format != format && !(format == kCsr && matrix->format == kCsc)) return kInvalidValue;
  matrix->batch = batch;
  matrix->offsets_stride = offsets;
  matrix->indices_stride = indices;
  matrix->values_stride = values;
  return kSuccess;
}

int get_values(const SparseMatrix* matrix, void** values) {
  if (!alive(matrix) || values == nullptr) return kInvalidValue;
  *values = matrix->values;
  return kSuccess;
}

// Attributes: cusparseFillMode_t (0) and cusparseDiagType_t (1), each an int of 0 or 1.
int* attribute_of(SparseMatrix* matrix, int attribute) {
  return attribute == 0 ? &matrix->fill_mode : attribute == 1 ? &matrix->diagonal : nullptr;
}

}  // namespace
}  // namespace maya::cusparse

using namespace maya::cusparse;

#define BOTH(name, const_name, parameters, arguments, body) \
  MAYA_API int name parameters { return body arguments; }   \
  MAYA_API int const_name parameters { return body arguments; }

#define COMPRESSED_PARAMETERS(Out)                                                                          \
  (Out matrix, int64_t rows, int64_t columns, int64_t nonzeros, void* offsets, void* indices, void* values, \
   int offset_type, int index_type, int base, cudaDataType type)
#define COMPRESSED_ARGUMENTS \
  (matrix, rows, columns, nonzeros, offsets, indices, values, offset_type, index_type, base, type)
BOTH(cusparseCreateCsr, cusparseCreateConstCsr, COMPRESSED_PARAMETERS(SparseMatrix**), COMPRESSED_ARGUMENTS, create_csr)
BOTH(cusparseCreateCsc, cusparseCreateConstCsc, COMPRESSED_PARAMETERS(SparseMatrix**), COMPRESSED_ARGUMENTS, create_csc)

#define COMPRESSED_GETTERS                                                                                       \
  (SparseMatrix * matrix, int64_t * rows, int64_t * columns, int64_t * nonzeros, void** offsets, void** indices, \
   void** values, int* offset_type, int* index_type, int* base, cudaDataType* type)
BOTH(cusparseCsrGet, cusparseConstCsrGet, COMPRESSED_GETTERS, COMPRESSED_ARGUMENTS, get_csr)
BOTH(cusparseCscGet, cusparseConstCscGet, COMPRESSED_GETTERS, COMPRESSED_ARGUMENTS, get_csc)

BOTH(cusparseCreateCoo, cusparseCreateConstCoo,
     (SparseMatrix * *matrix, int64_t rows, int64_t columns, int64_t nonzeros, void* row_indices, void* indices,
      void* values, int index_type, int base, cudaDataType type),
     (matrix, rows, columns, nonzeros, row_indices, indices, values, index_type, base, type), create_coo)
BOTH(cusparseCooGet, cusparseConstCooGet,
     (SparseMatrix * matrix, int64_t* rows, int64_t* columns, int64_t* nonzeros, void** row_indices, void** indices,
      void** values, int* index_type, int* base, cudaDataType* type),
     (matrix, rows, columns, nonzeros, row_indices, indices, values, index_type, base, type), get_coo)

BOTH(cusparseCreateBsr, cusparseCreateConstBsr,
     (SparseMatrix * *matrix, int64_t block_rows, int64_t block_columns, int64_t blocks, int64_t row_block,
      int64_t column_block, void* offsets, void* indices, void* values, int offset_type, int index_type, int base,
      cudaDataType type, int order),
     (matrix, block_rows, block_columns, blocks, row_block, column_block, offsets, indices, values, offset_type,
      index_type, base, type, order),
     create_bsr)

BOTH(cusparseCreateBlockedEll, cusparseCreateConstBlockedEll,
     (SparseMatrix * *matrix, int64_t rows, int64_t columns, int64_t block, int64_t ell_columns, void* indices,
      void* values, int index_type, int base, cudaDataType type),
     (matrix, rows, columns, block, ell_columns, indices, values, index_type, base, type), create_blocked_ell)
BOTH(cusparseBlockedEllGet, cusparseConstBlockedEllGet,
     (SparseMatrix * matrix, int64_t* rows, int64_t* columns, int64_t* block, int64_t* ell_columns, void** indices,
      void** values, int* index_type, int* base, cudaDataType* type),
     (matrix, rows, columns, block, ell_columns, indices, values, index_type, base, type), get_blocked_ell)

BOTH(cusparseCreateSlicedEll, cusparseCreateConstSlicedEll,
     (SparseMatrix * *matrix, int64_t rows, int64_t columns, int64_t nonzeros, int64_t stored, int64_t slice,
      void* offsets, void* indices, void* values, int offset_type, int index_type, int base, cudaDataType type),
     (matrix, rows, columns, nonzeros, stored, slice, offsets, indices, values, offset_type, index_type, base, type),
     create_sliced_ell)

MAYA_API int cusparseDestroySpMat(SparseMatrix* matrix) {
  if (!alive(matrix)) return kInvalidValue;
  matrix->magic = 0;
  delete matrix;
  return kSuccess;
}

MAYA_API int cusparseCsrSetPointers(SparseMatrix* matrix, void* offsets, void* indices, void* values) {
  return set_pointers(matrix, kCsr, offsets, indices, values);
}
MAYA_API int cusparseCscSetPointers(SparseMatrix* matrix, void* offsets, void* indices, void* values) {
  return set_pointers(matrix, kCsc, offsets, indices, values);
}
MAYA_API int cusparseCooSetPointers(SparseMatrix* matrix, void* rows, void* columns, void* values) {
  return set_pointers(matrix, kCoo, rows, columns, values);
}

MAYA_API int cusparseCsrSetStridedBatch(SparseMatrix* matrix, int batch, int64_t offsets, int64_t values) {
  return set_batch(matrix, kCsr, batch, offsets, values, values);
}
MAYA_API int cusparseCooSetStridedBatch(SparseMatrix* matrix, int batch, int64_t stride) {
  return set_batch(matrix, kCoo, batch, stride, stride, stride);
}
MAYA_API int cusparseBsrSetStridedBatch(SparseMatrix* matrix, int batch, int64_t offsets, int64_t indices,
                                        int64_t values) {
  return set_batch(matrix, kBsr, batch, offsets, indices, values);
}
MAYA_API int cusparseSpMatGetStridedBatch(SparseMatrix* matrix, int* batch) {
  if (!alive(matrix) || batch == nullptr) return kInvalidValue;
  *batch = matrix->batch;
  return kSuccess;
}

// Sizes of BSR are counted in blocks, as its descriptor was made. Numbers of stored elements that a kernel would have
// counted (SpGEMM, dense to sparse) stay what they were: none.
MAYA_API int cusparseSpMatGetSize(SparseMatrix* matrix, int64_t* rows, int64_t* columns, int64_t* nonzeros) {
  if (!alive(matrix) || rows == nullptr || columns == nullptr || nonzeros == nullptr) return kInvalidValue;
  const bool blocked = matrix->format == kBsr;
  *rows = blocked ? matrix->rows / matrix->row_block : matrix->rows;
  *columns = blocked ? matrix->columns / matrix->column_block : matrix->columns;
  *nonzeros = blocked ? matrix->blocks : matrix->nonzeros;
  return kSuccess;
}

MAYA_API int cusparseSpMatGetFormat(SparseMatrix* matrix, int* format) {
  if (!alive(matrix) || format == nullptr) return kInvalidValue;
  *format = matrix->format;
  return kSuccess;
}

MAYA_API int cusparseSpMatGetIndexBase(SparseMatrix* matrix, int* base) {
  if (!alive(matrix) || base == nullptr) return kInvalidValue;
  *base = matrix->index_base;
  return kSuccess;
}

BOTH(cusparseSpMatGetValues, cusparseConstSpMatGetValues, (SparseMatrix * matrix, void** values), (matrix, values),
     get_values)

MAYA_API int cusparseSpMatSetValues(SparseMatrix* matrix, void* values) {
  if (!alive(matrix)) return kInvalidValue;
  matrix->values = values;
  return kSuccess;
}

MAYA_API int cusparseSpMatSetAttribute(SparseMatrix* matrix, int attribute, const void* data, size_t bytes) {
  if (!alive(matrix) || data == nullptr || bytes != sizeof(int)) return kInvalidValue;
  int* member = attribute_of(matrix, attribute);
  int value = 0;
  std::memcpy(&value, data, sizeof value);
  if (member == nullptr || value < 0 || value > 1) return kInvalidValue;
  *member = value;
  return kSuccess;
}

MAYA_API int cusparseSpMatGetAttribute(SparseMatrix* matrix, int attribute, void* data, size_t bytes) {
  if (!alive(matrix) || data == nullptr || bytes != sizeof(int)) return kInvalidValue;
  const int* member = attribute_of(matrix, attribute);
  if (member == nullptr) return kInvalidValue;
  std::memcpy(data, member, sizeof *member);
  return kSuccess;
}
