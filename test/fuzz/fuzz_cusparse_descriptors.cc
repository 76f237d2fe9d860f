// cuSPARSE's and cuSPARSELt's descriptors from hostile calls: whatever is made, set and read in whatever order gets a
// status, and what is done with them is recorded with sizes that are counted. NVIDIA's headers are not needed to build,
// so the functions are declared as a program sees them in memory. The input is a list of calls, an opcode and its
// operands each.
#include <library_types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "test/cusparse_lt/api.h"
#include "test/fuzz/input.h"
#include "test/fuzz/recorded_operations.h"

extern "C" {
int cusparseCreate(void**);
int cusparseDestroy(void*);
int cusparseSetPointerMode(void*, int);
int cusparseCreateCsr(void**, int64_t, int64_t, int64_t, void*, void*, void*, int, int, int, int);
int cusparseCreateCsc(void**, int64_t, int64_t, int64_t, void*, void*, void*, int, int, int, int);
int cusparseCreateCoo(void**, int64_t, int64_t, int64_t, void*, void*, void*, int, int, int);
int cusparseCreateBsr(void**, int64_t, int64_t, int64_t, int64_t, int64_t, void*, void*, void*, int, int, int, int,
                      int);
int cusparseCreateBlockedEll(void**, int64_t, int64_t, int64_t, int64_t, void*, void*, int, int, int);
int cusparseCreateSlicedEll(void**, int64_t, int64_t, int64_t, int64_t, int64_t, void*, void*, void*, int, int, int,
                            int);
int cusparseDestroySpMat(void*);
int cusparseCsrGet(void*, int64_t*, int64_t*, int64_t*, void**, void**, void**, int*, int*, int*, int*);
int cusparseCscGet(void*, int64_t*, int64_t*, int64_t*, void**, void**, void**, int*, int*, int*, int*);
int cusparseCooGet(void*, int64_t*, int64_t*, int64_t*, void**, void**, void**, int*, int*, int*);
int cusparseBlockedEllGet(void*, int64_t*, int64_t*, int64_t*, int64_t*, void**, void**, int*, int*, int*);
int cusparseSpMatGetSize(void*, int64_t*, int64_t*, int64_t*);
int cusparseCsrSetStridedBatch(void*, int, int64_t, int64_t);
int cusparseCooSetStridedBatch(void*, int, int64_t);
int cusparseBsrSetStridedBatch(void*, int, int64_t, int64_t, int64_t);
int cusparseSpMatSetAttribute(void*, int, const void*, size_t);
int cusparseSpMatGetAttribute(void*, int, void*, size_t);
int cusparseCreateDnMat(void**, int64_t, int64_t, int64_t, void*, int, int);
int cusparseDnMatSetStridedBatch(void*, int, int64_t);
int cusparseDestroyDnMat(void*);
int cusparseCreateDnVec(void**, int64_t, void*, int);
int cusparseDestroyDnVec(void*);
int cusparseCreateSpVec(void**, int64_t, int64_t, void*, void*, int, int, int);
int cusparseDestroySpVec(void*);
int cusparseSpMV_bufferSize(void*, int, const void*, void*, void*, const void*, void*, int, int, size_t*);
int cusparseSpMV(void*, int, const void*, void*, void*, const void*, void*, int, int, void*);
int cusparseSpMM_bufferSize(void*, int, int, const void*, void*, void*, const void*, void*, int, int, size_t*);
int cusparseSpMM(void*, int, int, const void*, void*, void*, const void*, void*, int, int, void*);
int cusparseSDDMM(void*, int, int, const void*, void*, void*, const void*, void*, int, int, void*);
int cusparseGather(void*, void*, void*);
int cusparseScatter(void*, void*, void*);
int cusparseAxpby(void*, const void*, void*, const void*, void*);
int cusparseSpVV(void*, int, void*, void*, void*, int, void*);
int cusparseSparseToDense_bufferSize(void*, void*, void*, int, size_t*);
int cusparseSparseToDense(void*, void*, void*, int, void*);
int cusparseDenseToSparse_analysis(void*, void*, void*, int, void*);
int cusparseDenseToSparse_convert(void*, void*, void*, int, void*);
int cusparseSpSV_createDescr(void**);
int cusparseSpSV_destroyDescr(void*);
int cusparseSpSV_bufferSize(void*, int, const void*, void*, void*, void*, int, int, void*, size_t*);
int cusparseSpSV_analysis(void*, int, const void*, void*, void*, void*, int, int, void*, void*);
int cusparseSpSV_solve(void*, int, const void*, void*, void*, void*, int, int, void*);
int cusparseSpSM_analysis(void*, int, int, const void*, void*, void*, void*, int, int, void*, void*);
int cusparseSpSM_solve(void*, int, int, const void*, void*, void*, void*, int, int, void*);
int cusparseSpGEMM_createDescr(void**);
int cusparseSpGEMM_destroyDescr(void*);
int cusparseSpGEMM_getNumProducts(void*, int64_t*);
int cusparseSpGEMM_workEstimation(void*, int, int, const void*, void*, void*, const void*, void*, int, int, void*,
                                  size_t*, void*);
int cusparseSpGEMM_estimateMemory(void*, int, int, const void*, void*, void*, const void*, void*, int, int, void*,
                                  float, size_t*, void*, size_t*);
int cusparseSpGEMM_compute(void*, int, int, const void*, void*, void*, const void*, void*, int, int, void*, size_t*,
                           void*);
int cusparseSpGEMM_copy(void*, int, int, const void*, void*, void*, const void*, void*, int, int, void*);
int cusparseCreateMatDescr(void**);
int cusparseDestroyMatDescr(void*);
int cusparseCreateBsrsm2Info(void**);
int cusparseDestroyBsrsm2Info(void*);
int cusparseSbsrmv(void*, int, int, int, int, int, const float*, void*, const float*, const int*, const int*, int,
                   const float*, const float*, float*);
int cusparseSbsrmm(void*, int, int, int, int, int, int, int, const float*, void*, const float*, const int*, const int*,
                   int, const float*, int, const float*, float*, int);
int cusparseSbsrsm2_bufferSize(void*, int, int, int, int, int, int, void*, float*, const int*, const int*, int, void*,
                               int*);
int cusparseXcsrgeam2Nnz(void*, int, int, void*, int, const int*, const int*, void*, int, const int*, const int*, void*,
                         int*, int*, void*);
int cusparseScsrgeam2(void*, int, int, const float*, void*, int, const float*, const int*, const int*, const float*,
                      void*, int, const float*, const int*, const int*, void*, float*, int*, int*, void*);
int cusparseSgtsv2StridedBatch_bufferSizeExt(void*, int, const float*, const float*, const float*, const float*, int,
                                             int, size_t*);
int cusparseSgtsv2StridedBatch(void*, int, const float*, const float*, const float*, float*, int, int, void*);
int cusparseXcoo2csr(void*, const int*, int, int, int*, int);
int cusparseXcsr2coo(void*, const int*, int, int, int*, int);
int cusparseXcoosort_bufferSizeExt(void*, int, int, int, const int*, const int*, size_t*);
int cusparseXcoosortByRow(void*, int, int, int, int*, int*, int*, void*);
}

namespace {

using maya::test::device;
using Input = maya::test::FuzzInput;

constexpr int kSlots = 6;

// The common ones, and now and then any number.
int type_of(Input& input) {
  constexpr int kTypes[] = {CUDA_R_32F, CUDA_R_16BF, CUDA_R_16F, CUDA_R_64F, CUDA_C_64F, CUDA_R_8I};
  const uint8_t choice = input.byte();
  return choice < std::size(kTypes) ? kTypes[choice] : choice;
}

int number(Input& input) { return static_cast<int>(input.number()); }

class Session {
 public:
  Session() {
    maya::test::reset();
    cusparseCreate(&handle_);
    cusparseSpSV_createDescr(&solution_);
    cusparseSpGEMM_createDescr(&product_);
    cusparseCreateMatDescr(&descriptor_);
    cusparseCreateBsrsm2Info(&info_);
    cusparseLtInit(&lt_handle_);
  }
  ~Session() {
    for (int i = 0; i < kSlots; ++i) {
      cusparseDestroySpMat(sparse_[i]);
      cusparseDestroyDnMat(dense_[i]);
      cusparseDestroyDnVec(vectors_[i]);
      cusparseDestroySpVec(sparse_vectors_[i]);
    }
    cusparseDestroyBsrsm2Info(info_);
    cusparseDestroyMatDescr(descriptor_);
    cusparseSpGEMM_destroyDescr(product_);
    cusparseSpSV_destroyDescr(solution_);
    cusparseDestroy(handle_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void run(Input& input) {
    using Call = void (Session::*)(Input&);
    constexpr Call kCalls[] = {
        &Session::make_sparse, &Session::make_dense, &Session::make_vectors, &Session::change,
        &Session::read,        &Session::multiply,   &Session::solve,        &Session::multiply_sparse,
        &Session::convert,     &Session::vectors,    &Session::typed,        &Session::sort,
        &Session::make_lt,     &Session::change_lt,  &Session::multiply_lt};
    while (!input.empty()) (this->*kCalls[input.byte() % std::size(kCalls)])(input);
    maya::test::check_recorded_operations();
  }

 private:
  struct alignas(16) Object {
    unsigned char data[512] = {};
  };

  void*& sparse(Input& input) { return sparse_[input.byte() % kSlots]; }
  void*& dense(Input& input) { return dense_[input.byte() % kSlots]; }
  void*& vector(Input& input) { return vectors_[input.byte() % kSlots]; }
  void*& sparse_vector(Input& input) { return sparse_vectors_[input.byte() % kSlots]; }
  Object& matrix(Input& input) { return matrices_[input.byte() % kSlots]; }

  void make_sparse(Input& input) {
    void*& made = sparse(input);
    cusparseDestroySpMat(made);
    made = nullptr;
    const uint8_t format = input.byte() % 6;
    const int64_t rows = input.number(), columns = input.number(), nonzeros = input.number();
    const int offset_type = input.byte() % 5, index_type = input.byte() % 5, base = input.byte() % 3,
              type = type_of(input);
    void *offsets = device<void>(0), *indices = device<void>(1 << 16), *values = device<void>(1 << 17);
    switch (format) {
      case 0:
        cusparseCreateCsr(&made, rows, columns, nonzeros, offsets, indices, values, offset_type, index_type, base,
                          type);
        break;
      case 1:
        cusparseCreateCsc(&made, rows, columns, nonzeros, offsets, indices, values, offset_type, index_type, base,
                          type);
        break;
      case 2:
        cusparseCreateCoo(&made, rows, columns, nonzeros, offsets, indices, values, index_type, base, type);
        break;
      case 3: {
        const int64_t height = input.number(), width = input.number();
        cusparseCreateBsr(&made, rows, columns, nonzeros, height, width, offsets, indices, values, offset_type,
                          index_type, base, type, input.byte() % 3);
        break;
      }
      case 4:
        cusparseCreateBlockedEll(&made, rows, columns, input.number(), nonzeros, indices, values, index_type, base,
                                 type);
        break;
      case 5: {
        const int64_t stored = input.number(), slice = input.number();
        cusparseCreateSlicedEll(&made, rows, columns, nonzeros, stored, slice, offsets, indices, values, offset_type,
                                index_type, base, type);
        break;
      }
    }
  }

  void make_dense(Input& input) {
    void*& made = dense(input);
    cusparseDestroyDnMat(made);
    made = nullptr;
    const int64_t rows = input.number(), columns = input.number(), leading = input.number();
    const int type = type_of(input), order = input.byte() % 4;
    cusparseCreateDnMat(&made, rows, columns, leading, device<void>(1 << 18), type, order);
    if (input.byte() % 2 == 0) return;
    const int batch = number(input);
    cusparseDnMatSetStridedBatch(made, batch, input.number());
  }

  void make_vectors(Input& input) {
    void*& made = vector(input);
    cusparseDestroyDnVec(made);
    made = nullptr;
    const int64_t size = input.number();
    cusparseCreateDnVec(&made, size, device<void>(1 << 19), type_of(input));
    void*& spread = sparse_vector(input);
    cusparseDestroySpVec(spread);
    spread = nullptr;
    const int64_t nonzeros = input.number();
    const int index_type = input.byte() % 5, base = input.byte() % 3;
    cusparseCreateSpVec(&spread, size, nonzeros, device<void>(0), device<void>(1 << 16), index_type, base,
                        type_of(input));
  }

  void change(Input& input) {
    void* changed = sparse(input);
    const int batch = number(input);
    const int64_t first = input.number(), second = input.number(), third = input.number();
    cusparseCsrSetStridedBatch(changed, batch, first, second);
    cusparseCooSetStridedBatch(changed, batch, first);
    cusparseBsrSetStridedBatch(changed, batch, first, second, third);
    const int value = number(input);
    cusparseSpMatSetAttribute(changed, input.byte() % 4, &value, sizeof value);
    cusparseSetPointerMode(handle_, input.byte() % 3);
  }

  void read(Input& input) {
    void* from = sparse(input);
    int64_t a, b, c, d;
    void *x, *y, *z;
    int i, j, k, type;
    cusparseCsrGet(from, &a, &b, &c, &x, &y, &z, &i, &j, &k, &type);
    cusparseCscGet(from, &a, &b, &c, &x, &y, &z, &i, &j, &k, &type);
    cusparseCooGet(from, &a, &b, &c, &x, &y, &z, &i, &j, &type);
    cusparseBlockedEllGet(from, &a, &b, &c, &d, &x, &y, &i, &j, &type);
    cusparseSpMatGetSize(from, &a, &b, &c);
    cusparseSpMatGetAttribute(from, input.byte() % 4, &i, sizeof i);
  }

  void multiply(Input& input) {
    void *matrix = sparse(input), *b = dense(input), *c = dense(input), *x = vector(input), *y = vector(input);
    const int op_a = input.byte() % 4, op_b = input.byte() % 4;
    size_t bytes = 0;
    cusparseSpMV_bufferSize(handle_, op_a, &scalar_, matrix, x, &scalar_, y, CUDA_R_32F, 0, &bytes);
    cusparseSpMV(handle_, op_a, &scalar_, matrix, x, &scalar_, y, CUDA_R_32F, 0, nullptr);
    cusparseSpMM_bufferSize(handle_, op_a, op_b, &scalar_, matrix, b, &scalar_, c, CUDA_R_32F, 0, &bytes);
    cusparseSpMM(handle_, op_a, op_b, &scalar_, matrix, b, &scalar_, c, CUDA_R_32F, 0, nullptr);
    cusparseSDDMM(handle_, op_a, op_b, &scalar_, b, c, &scalar_, matrix, CUDA_R_32F, 0, nullptr);
  }

  void solve(Input& input) {
    void *matrix = sparse(input), *b = dense(input), *c = dense(input), *x = vector(input), *y = vector(input);
    const int op_a = input.byte() % 4, op_b = input.byte() % 4;
    size_t bytes = 0;
    cusparseSpSV_bufferSize(handle_, op_a, &scalar_, matrix, x, y, CUDA_R_32F, 0, solution_, &bytes);
    cusparseSpSV_analysis(handle_, op_a, &scalar_, matrix, x, y, CUDA_R_32F, 0, solution_, nullptr);
    cusparseSpSV_solve(handle_, op_a, &scalar_, matrix, x, y, CUDA_R_32F, 0, solution_);
    cusparseSpSM_analysis(handle_, op_a, op_b, &scalar_, matrix, b, c, CUDA_R_32F, 0, solution_, nullptr);
    cusparseSpSM_solve(handle_, op_a, op_b, &scalar_, matrix, b, c, CUDA_R_32F, 0, solution_);
  }

  void multiply_sparse(Input& input) {
    void *a = sparse(input), *b = sparse(input), *c = sparse(input);
    void* buffer = input.byte() % 2 == 0 ? nullptr : device<void>(1 << 20);
    size_t bytes = 0, more = 0;
    int64_t products = 0;
    cusparseSpGEMM_workEstimation(handle_, 0, 0, &scalar_, a, b, &scalar_, c, CUDA_R_32F, 0, product_, &bytes, buffer);
    cusparseSpGEMM_getNumProducts(product_, &products);
    if (products < 0) std::abort();
    cusparseSpGEMM_estimateMemory(handle_, 0, 0, &scalar_, a, b, &scalar_, c, CUDA_R_32F, 0, product_, 0.5f, &bytes,
                                  buffer, &more);
    cusparseSpGEMM_compute(handle_, 0, 0, &scalar_, a, b, &scalar_, c, CUDA_R_32F, 0, product_, &bytes, buffer);
    cusparseSpGEMM_copy(handle_, 0, 0, &scalar_, a, b, &scalar_, c, CUDA_R_32F, 0, product_);
  }

  void convert(Input& input) {
    void *matrix = sparse(input), *other = dense(input);
    size_t bytes = 0;
    cusparseSparseToDense_bufferSize(handle_, matrix, other, 0, &bytes);
    cusparseSparseToDense(handle_, matrix, other, 0, nullptr);
    cusparseDenseToSparse_analysis(handle_, other, matrix, 0, nullptr);
    cusparseDenseToSparse_convert(handle_, other, matrix, 0, nullptr);
  }

  void vectors(Input& input) {
    void *x = sparse_vector(input), *y = vector(input);
    char result[16];
    cusparseGather(handle_, y, x);
    cusparseScatter(handle_, x, y);
    cusparseAxpby(handle_, &scalar_, x, &scalar_, y);
    cusparseSpVV(handle_, input.byte() % 4, x, y, result, type_of(input), nullptr);
  }

  void typed(Input& input) {
    const int direction = input.byte() % 3, op = input.byte() % 4, rows = number(input), columns = number(input),
              blocks = number(input), block = number(input);
    const int n = number(input), ldb = number(input), ldc = number(input);
    auto* values = device<float>(0);
    auto* integers = device<int>(1 << 16);
    int bytes = 0, total = 0;
    size_t size = 0;
    cusparseSbsrmv(handle_, direction, op, rows, columns, blocks, &scalar_, descriptor_, values, integers, integers,
                   block, values, &scalar_, values);
    cusparseSbsrmm(handle_, direction, op, 0, rows, n, columns, blocks, &scalar_, descriptor_, values, integers,
                   integers, block, values, ldb, &scalar_, values, ldc);
    cusparseSbsrsm2_bufferSize(handle_, direction, op, 0, rows, n, blocks, descriptor_, values, integers, integers,
                               block, info_, &bytes);
    if (bytes < 0) std::abort();
    cusparseXcsrgeam2Nnz(handle_, rows, columns, descriptor_, blocks, integers, integers, descriptor_, block, integers,
                         integers, descriptor_, integers, &total, nullptr);
    cusparseScsrgeam2(handle_, rows, columns, &scalar_, descriptor_, blocks, values, integers, integers, &scalar_,
                      descriptor_, block, values, integers, integers, descriptor_, values, integers, integers, nullptr);
    cusparseSgtsv2StridedBatch_bufferSizeExt(handle_, rows, values, values, values, values, n, ldb, &size);
    cusparseSgtsv2StridedBatch(handle_, rows, values, values, values, values, n, ldb, nullptr);
  }

  void sort(Input& input) {
    const int m = number(input), n = number(input), nonzeros = number(input), base = input.byte() % 3;
    auto* integers = device<int>(1 << 16);
    size_t bytes = 0;
    cusparseXcoo2csr(handle_, integers, nonzeros, m, integers, base);
    cusparseXcsr2coo(handle_, integers, nonzeros, m, integers, base);
    cusparseXcoosort_bufferSizeExt(handle_, m, n, nonzeros, integers, integers, &bytes);
    cusparseXcoosortByRow(handle_, m, n, nonzeros, integers, integers, integers, nullptr);
  }

  void make_lt(Input& input) {
    Object& made = matrix(input);
    const int64_t rows = input.number(), columns = input.number(), leading = input.number();
    const bool structured = input.byte() % 2 == 1;
    const int type = input.byte() % 4 == 0 ? type_of(input) : static_cast<int>(CUDA_R_16F), order = input.byte() % 3;
    if (structured)
      cusparseLtStructuredDescriptorInit(&lt_handle_, &made, rows, columns, leading, 16, type, order, 0);
    else
      cusparseLtDenseDescriptorInit(&lt_handle_, &made, rows, columns, leading, 16, type, order);
    const int op_a = input.byte() % 4, op_b = input.byte() % 4;
    Object &a = matrix(input), &b = matrix(input), &c = matrix(input), &d = matrix(input);
    cusparseLtMatmulDescriptorInit(&lt_handle_, &multiplication_, op_a, op_b, &a, &b, &c, &d, input.byte() % 6);
    cusparseLtMatmulAlgSelectionInit(&lt_handle_, &algorithm_, &multiplication_, 0);
    cusparseLtMatmulPlanInit(&lt_handle_, &plan_, &multiplication_, &algorithm_);
  }

  void change_lt(Input& input) {
    constexpr size_t kSizes[] = {4, 8, 1, 0};
    const int attribute = input.byte() % 32;
    int64_t value = input.number();
    const size_t bytes = kSizes[input.byte() % std::size(kSizes)];
    switch (input.byte() % 3) {
      case 0: {
        Object& changed = matrix(input);
        cusparseLtMatDescSetAttribute(&lt_handle_, &changed, attribute, &value, bytes);
        cusparseLtMatDescGetAttribute(&lt_handle_, &changed, attribute, &value, bytes);
        break;
      }
      case 1:
        cusparseLtMatmulDescSetAttribute(&lt_handle_, &multiplication_, attribute, &value, bytes);
        cusparseLtMatmulDescGetAttribute(&lt_handle_, &multiplication_, attribute, &value, bytes);
        break;
      case 2:
        cusparseLtMatmulAlgSetAttribute(&lt_handle_, &algorithm_, attribute, &value, bytes);
        cusparseLtMatmulAlgGetAttribute(&lt_handle_, &algorithm_, attribute, &value, bytes);
        break;
    }
  }

  void multiply_lt(Input& input) {
    size_t bytes = 0, more = 0;
    CUstream stream = nullptr;
    void *a = device<void>(0), *b = device<void>(1 << 16), *d = device<void>(1 << 17);
    cusparseLtMatmulGetWorkspace(&lt_handle_, &plan_, &bytes);
    cusparseLtMatmul(&lt_handle_, &plan_, &scalar_, a, b, &scalar_, d, d, nullptr, &stream, 1);
    const Object& compressed = matrix(input);
    cusparseLtSpMMACompressedSize2(&lt_handle_, &compressed, &bytes, &more);
    cusparseLtSpMMACompress2(&lt_handle_, &compressed, 1, 0, a, d, nullptr, stream);
    cusparseLtSpMMAPrune(&lt_handle_, &multiplication_, a, d, input.byte() % 3, stream);
  }

  void *handle_ = nullptr, *solution_ = nullptr, *product_ = nullptr, *descriptor_ = nullptr, *info_ = nullptr;
  void *sparse_[kSlots] = {}, *dense_[kSlots] = {}, *vectors_[kSlots] = {}, *sparse_vectors_[kSlots] = {};
  Object lt_handle_, matrices_[kSlots], multiplication_, algorithm_, plan_;
  const float scalar_ = 1;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  Session().run(input);
  return 0;
}
