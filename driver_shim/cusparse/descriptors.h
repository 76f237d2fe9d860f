// What the generic interface of cuSPARSE describes: sparse and dense matrices and vectors. Const descriptors of
// NVIDIA's header are the same objects.
#pragma once

#include <library_types.h>

#include <cstdint>

#include "driver_shim/common/recording.h"

namespace maya::cusparse {

// Values of cusparseFormat_t, cusparseOrder_t, cusparseIndexType_t.
enum Format : int { kCsr = 1, kCsc = 2, kCoo = 3, kBlockedEll = 5, kBsr = 6, kSlicedEll = 7 };
enum Order : int { kColumnMajor = 1, kRowMajor = 2 };
enum IndexType : int { kIndex16 = 1, kIndex32 = 2, kIndex64 = 3 };

inline uint64_t index_bytes(int type) { return type == kIndex16 ? 2 : type == kIndex64 ? 8 : 4; }
inline bool valid_index(int type) { return type >= kIndex16 && type <= kIndex64; }

struct SparseMatrix {
  static constexpr uint64_t kMagic = 0x6d61796173706d74;
  uint64_t magic = kMagic;
  Format format = kCsr;
  int64_t rows = 0, columns = 0;  // elements; of blocked formats too
  int64_t nonzeros = 0;           // stored elements; blocks times block size of BSR
  int64_t blocks = 0, row_block = 1, column_block = 1;
  int64_t ell_columns = 0, slice = 0, stored = 0;  // blocked ELL; sliced ELL
  void* offsets = nullptr;                         // CSR, CSC, BSR, sliced ELL; row indices of COO
  void* indices = nullptr;
  void* values = nullptr;
  int offset_type = kIndex32, index_type = kIndex32;
  int index_base = 0;
  cudaDataType type = CUDA_R_32F;
  int order = kColumnMajor;  // of a block
  int batch = 1;
  int64_t offsets_stride = 0, indices_stride = 0, values_stride = 0;
  int fill_mode = 0, diagonal = 0;
};

struct DenseMatrix {
  static constexpr uint64_t kMagic = 0x6d61796173646d74;
  uint64_t magic = kMagic;
  int64_t rows = 0, columns = 0, leading = 0;
  void* values = nullptr;
  cudaDataType type = CUDA_R_32F;
  int order = kColumnMajor;
  int batch = 1;
  int64_t stride = 0;
};

struct DenseVector {
  static constexpr uint64_t kMagic = 0x6d61796173647663;
  uint64_t magic = kMagic;
  int64_t size = 0;
  void* values = nullptr;
  cudaDataType type = CUDA_R_32F;
};

struct SparseVector {
  static constexpr uint64_t kMagic = 0x6d61796173737663;
  uint64_t magic = kMagic;
  int64_t size = 0, nonzeros = 0;
  void* indices = nullptr;
  void* values = nullptr;
  int index_type = kIndex32, index_base = 0;
  cudaDataType type = CUDA_R_32F;
};

template <typename Object>
bool alive(const Object* object) {
  return object != nullptr && object->magic == Object::kMagic;
}

uint64_t element_bytes(cudaDataType type);
// Whether `a` times `b` elements can lie in memory at all: descriptors of larger ones are refused, so that sizes can be
// multiplied up from them.
bool addressable(int64_t a, int64_t b, cudaDataType type);
// Bytes of the offsets, indices and values of one matrix.
double stored_bytes(const SparseMatrix& matrix);
double dense_bytes(const DenseMatrix& matrix);

// What an operation makes unknown when it writes them.
void add(const DenseMatrix& matrix, shim::WriteList* writes);
void add(const DenseVector& vector, shim::WriteList* writes);
void add_values(const SparseMatrix& matrix, shim::WriteList* writes);
void add_structure(const SparseMatrix& matrix, shim::WriteList* writes);  // offsets and indices

// Rows and columns of op(matrix).
template <typename Matrix>
int64_t rows_of(const Matrix& matrix, int operation) {
  return operation == 0 ? matrix.rows : matrix.columns;
}
template <typename Matrix>
int64_t columns_of(const Matrix& matrix, int operation) {
  return operation == 0 ? matrix.columns : matrix.rows;
}

}  // namespace maya::cusparse
