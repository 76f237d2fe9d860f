// cuSPARSE by its documentation: handles, descriptors with their getters, and what products, solutions and conversions
// record and write. NVIDIA's header is not needed to build, so the functions are declared as a program sees them in
// memory.
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

#include "test/cublas/fake_driver.h"

using namespace maya;
using namespace maya::test;

extern "C" {
int cusparseCreate(void**);
int cusparseDestroy(void*);
int cusparseSetStream(void*, CUstream);
int cusparseGetStream(void*, CUstream*);
int cusparseGetVersion(void*, int*);
int cusparseSetPointerMode(void*, int);
int cusparseGetPointerMode(void*, int*);
const char* cusparseGetErrorName(int);
int cusparseCreateMatDescr(void**);
int cusparseDestroyMatDescr(void*);
int cusparseSetMatIndexBase(void*, int);
int cusparseGetMatIndexBase(const void*);
int cusparseCreateCsr(void**, int64_t, int64_t, int64_t, void*, void*, void*, int, int, int, int);
int cusparseCreateCoo(void**, int64_t, int64_t, int64_t, void*, void*, void*, int, int, int);
int cusparseCreateBsr(void**, int64_t, int64_t, int64_t, int64_t, int64_t, void*, void*, void*, int, int, int, int,
                      int);
int cusparseCreateBlockedEll(void**, int64_t, int64_t, int64_t, int64_t, void*, void*, int, int, int);
int cusparseCsrGet(void*, int64_t*, int64_t*, int64_t*, void**, void**, void**, int*, int*, int*, int*);
int cusparseCooGet(void*, int64_t*, int64_t*, int64_t*, void**, void**, void**, int*, int*, int*);
int cusparseCsrSetPointers(void*, void*, void*, void*);
int cusparseSpMatGetSize(void*, int64_t*, int64_t*, int64_t*);
int cusparseSpMatGetFormat(void*, int*);
int cusparseSpMatSetAttribute(void*, int, const void*, size_t);
int cusparseSpMatGetAttribute(void*, int, void*, size_t);
int cusparseDestroySpMat(void*);
int cusparseCreateDnMat(void**, int64_t, int64_t, int64_t, void*, int, int);
int cusparseDnMatGet(void*, int64_t*, int64_t*, int64_t*, void**, int*, int*);
int cusparseDestroyDnMat(void*);
int cusparseCreateDnVec(void**, int64_t, void*, int);
int cusparseDestroyDnVec(void*);
int cusparseSpMV_bufferSize(void*, int, const void*, void*, void*, const void*, void*, int, int, size_t*);
int cusparseSpMV(void*, int, const void*, void*, void*, const void*, void*, int, int, void*);
int cusparseSpMM(void*, int, int, const void*, void*, void*, const void*, void*, int, int, void*);
int cusparseSDDMM(void*, int, int, const void*, void*, void*, const void*, void*, int, int, void*);
int cusparseSpSV_createDescr(void**);
int cusparseSpSV_destroyDescr(void*);
int cusparseSpSV_analysis(void*, int, const void*, void*, void*, void*, int, int, void*, void*);
int cusparseSpSV_solve(void*, int, const void*, void*, void*, void*, int, int, void*);
int cusparseSpGEMM_createDescr(void**);
int cusparseSpGEMM_destroyDescr(void*);
int cusparseSpGEMM_compute(void*, int, int, const void*, void*, void*, const void*, void*, int, int, void*, size_t*,
                           void*);
int cusparseSpGEMM_workEstimation(void*, int, int, const void*, void*, void*, const void*, void*, int, int, void*,
                                  size_t*, void*);
int cusparseXcoo2csr(void*, const int*, int, int, int*, int);
int cusparseXcoosort_bufferSizeExt(void*, int, int, int, const int*, const int*, size_t*);
int cusparseXcoosortByRow(void*, int, int, int, int*, int*, int*, void*);
int cusparseSbsrmv(void*, int, int, int, int, int, const float*, void*, const float*, const int*, const int*, int,
                   const float*, const float*, float*);
int cusparseCreateBsrsv2Info(void**);
int cusparseDestroyBsrsv2Info(void*);
int cusparseXbsrsv2_zeroPivot(void*, void*, int*);
int cusparseXcsrgeam2Nnz(void*, int, int, void*, int, const int*, const int*, void*, int, const int*, const int*, void*,
                         int*, int*, void*);
int cusparseDgtsv2(void*, int, int, const double*, const double*, const double*, double*, int, void*);
}

namespace {

constexpr int kNotInitialized = 1, kInvalidValue = 3, kNotSupported = 10;  // cusparseStatus_t
constexpr int kIndex32 = 2, kIndex64 = 3, kByColumns = 1, kByRows = 2, kReal32 = 0, kReal64 = 1;

const float kOne = 1;

struct Sparse {
  void* handle = nullptr;
  void* matrix = nullptr;  // 100 by 60, 500 stored elements
  Sparse() {
    reset();
    REQUIRE(cusparseCreate(&handle) == 0);
    REQUIRE(cusparseCreateCsr(&matrix, 100, 60, 500, device<void>(0), device<void>(4096), device<void>(8192), kIndex32,
                              kIndex32, 0, kReal32) == 0);
  }
  ~Sparse() {
    cusparseDestroySpMat(matrix);
    cusparseDestroy(handle);
  }
};

struct Vector {
  void* descriptor = nullptr;
  Vector(int64_t size, uint64_t offset) {
    REQUIRE(cusparseCreateDnVec(&descriptor, size, device<void>(offset), kReal32) == 0);
  }
  ~Vector() { cusparseDestroyDnVec(descriptor); }
};

struct Matrix {
  void* descriptor = nullptr;
  Matrix(int64_t rows, int64_t columns, int64_t leading, uint64_t offset, int order) {
    REQUIRE(cusparseCreateDnMat(&descriptor, rows, columns, leading, device<void>(offset), kReal32, order) == 0);
  }
  ~Matrix() { cusparseDestroyDnMat(descriptor); }
};

}  // namespace

TEST_CASE("cuSPARSE: handle, stream, pointer mode, descriptors of the typed routines") {
  void* handle = nullptr;
  CHECK(cusparseCreate(nullptr) == kInvalidValue);
  REQUIRE(cusparseCreate(&handle) == 0);
  CUstream stream = nullptr;
  CHECK(cusparseSetStream(handle, reinterpret_cast<CUstream>(0x11)) == 0);
  CHECK(cusparseGetStream(handle, &stream) == 0);
  CHECK(stream == reinterpret_cast<CUstream>(0x11));
  int value = 0;
  CHECK(cusparseGetVersion(handle, &value) == 0);
  CHECK(value == 12710);  // CUSPARSE_VERSION of the release whose names are exported
  CHECK(cusparseSetPointerMode(handle, 2) == kInvalidValue);
  CHECK(cusparseSetPointerMode(handle, 1) == 0);
  CHECK(cusparseGetPointerMode(handle, &value) == 0);
  CHECK(value == 1);
  CHECK(cusparseSetStream(nullptr, nullptr) == kNotInitialized);
  CHECK(cusparseDestroy(handle) == 0);
  CHECK(std::string(cusparseGetErrorName(10)) == "CUSPARSE_STATUS_NOT_SUPPORTED");
  CHECK(std::string(cusparseGetErrorName(99)) == "unrecognized error code");

  void* descriptor = nullptr;
  REQUIRE(cusparseCreateMatDescr(&descriptor) == 0);
  CHECK(cusparseSetMatIndexBase(descriptor, 1) == 0);
  CHECK(cusparseGetMatIndexBase(descriptor) == 1);
  CHECK(cusparseSetMatIndexBase(descriptor, 2) == kInvalidValue);
  CHECK(cusparseDestroyMatDescr(descriptor) == 0);
}

TEST_CASE("cuSPARSE: descriptors of the generic interface give back what they were made of") {
  Sparse s;
  int64_t rows = 0, columns = 0, nonzeros = 0, leading = 0;
  void *offsets = nullptr, *indices = nullptr, *values = nullptr, *other = nullptr;
  int offset_type = 0, index_type = 0, base = -1, type = -1, format = 0, order = 0;
  REQUIRE(cusparseCsrGet(s.matrix, &rows, &columns, &nonzeros, &offsets, &indices, &values, &offset_type, &index_type,
                         &base, &type) == 0);
  CHECK((rows == 100 && columns == 60 && nonzeros == 500));
  CHECK((offsets == device<void>(0) && indices == device<void>(4096) && values == device<void>(8192)));
  CHECK((offset_type == kIndex32 && index_type == kIndex32 && base == 0 && type == kReal32));
  CHECK(cusparseCooGet(s.matrix, &rows, &columns, &nonzeros, &offsets, &indices, &values, &index_type, &base, &type) ==
        kInvalidValue);  // another format
  CHECK(cusparseSpMatGetFormat(s.matrix, &format) == 0);
  CHECK(format == 1);  // CUSPARSE_FORMAT_CSR
  CHECK(cusparseCsrSetPointers(s.matrix, device<void>(1), device<void>(2), device<void>(3)) == 0);
  int upper = 1, read = 0;
  CHECK(cusparseSpMatSetAttribute(s.matrix, 0, &upper, sizeof upper) == 0);
  CHECK(cusparseSpMatGetAttribute(s.matrix, 0, &read, sizeof read) == 0);
  CHECK(read == 1);
  CHECK(cusparseSpMatSetAttribute(s.matrix, 2, &upper, sizeof upper) == kInvalidValue);
  CHECK(cusparseSpMatSetAttribute(s.matrix, 0, &upper, 1) == kInvalidValue);

  const auto csr = [&](int64_t r, int64_t c, int64_t n, int index, int b) {
    return cusparseCreateCsr(&other, r, c, n, nullptr, nullptr, nullptr, index, index, b, kReal32);
  };
  CHECK(csr(-1, 60, 0, kIndex32, 0) == kInvalidValue);
  CHECK(csr(100, 60, -1, kIndex32, 0) == kInvalidValue);
  CHECK(csr(100, 60, 0, 4, 0) == kInvalidValue);
  CHECK(csr(100, 60, 0, kIndex64, 2) == kInvalidValue);
  CHECK(cusparseCreateCsr(nullptr, 1, 1, 0, nullptr, nullptr, nullptr, 2, 2, 0, kReal32) == kInvalidValue);
  // BSR counts in blocks.
  REQUIRE(cusparseCreateBsr(&other, 4, 3, 5, 16, 8, device<void>(0), device<void>(64), device<void>(128), kIndex32,
                            kIndex32, 0, kReal32, kByRows) == 0);
  CHECK(cusparseSpMatGetSize(other, &rows, &columns, &nonzeros) == 0);
  CHECK((rows == 4 && columns == 3 && nonzeros == 5));
  CHECK(cusparseDestroySpMat(other) == 0);
  CHECK(cusparseDestroySpMat(nullptr) == kInvalidValue);

  CHECK(cusparseCreateDnMat(&other, 10, 5, 9, nullptr, kReal32, kByColumns) == kInvalidValue);
  CHECK(cusparseCreateDnMat(&other, 10, 5, 4, nullptr, kReal32, kByRows) == kInvalidValue);
  CHECK(cusparseCreateDnMat(&other, 10, 5, 10, nullptr, kReal32, 3) == kInvalidValue);
  CHECK(cusparseCreateDnMat(&other, 10, -5, 10, nullptr, kReal32, kByColumns) == kInvalidValue);
  REQUIRE(cusparseCreateDnMat(&other, 10, 5, 12, device<void>(64), kReal64, kByColumns) == 0);
  CHECK(cusparseDnMatGet(other, &rows, &columns, &leading, &values, &type, &order) == 0);
  CHECK((rows == 10 && columns == 5 && leading == 12 && values == device<void>(64) && type == kReal64));
  CHECK(cusparseDestroyDnMat(other) == 0);
}

TEST_CASE("cuSPARSE: descriptors that no memory could hold are refused") {
  void* made = nullptr;
  const int64_t large = int64_t{1} << 40, most = INT64_MAX;
  void* memory = device<void>(0);
  CHECK(cusparseCreateDnMat(&made, large, large, large, memory, kReal32, kByColumns) == kInvalidValue);
  CHECK(cusparseCreateDnMat(&made, 1, 1, most, memory, kReal32, kByRows) == kInvalidValue);
  CHECK(cusparseCreateDnVec(&made, most, memory, kReal64) == kInvalidValue);
  CHECK(cusparseCreateCsr(&made, most, 1, 1, memory, memory, memory, kIndex32, kIndex32, 0, kReal32) == kInvalidValue);
  CHECK(cusparseCreateCsr(&made, 1, 1, most, memory, memory, memory, kIndex32, kIndex32, 0, kReal32) == kInvalidValue);
  CHECK(cusparseCreateBsr(&made, large, 1, 1, 1 << 20, 1 << 20, memory, memory, memory, kIndex32, kIndex32, 0, kReal32,
                          kByRows) == kInvalidValue);
  CHECK(cusparseCreateBsr(&made, 1, 1, large, 1 << 20, 1 << 20, memory, memory, memory, kIndex32, kIndex32, 0, kReal32,
                          kByRows) == kInvalidValue);
  // Sizes are not multiplied before a type that is none is refused (the sanitizer builds would stop here).
  constexpr int kNoType = 99;
  CHECK(cusparseCreateBlockedEll(&made, large, most, 16, most / 2, memory, memory, kIndex32, 0, kNoType) ==
        kInvalidValue);
  CHECK(cusparseCreateBsr(&made, most, most, most, 16, 16, memory, memory, memory, kIndex32, kIndex32, 0, kNoType,
                          kByRows) == kInvalidValue);
  // Many rows and columns with few elements are what sparse matrices are for.
  REQUIRE(cusparseCreateCsr(&made, large, large, 5, memory, memory, memory, kIndex64, kIndex64, 0, kReal32) == 0);
  CHECK(cusparseDestroySpMat(made) == 0);
}

TEST_CASE("cuSPARSE: products with dense operands") {
  Sparse s;
  Vector x(60, 1 << 16), y(100, 1 << 17);
  size_t bytes = 0;
  CHECK(cusparseSpMV(nullptr, 0, &kOne, s.matrix, x.descriptor, &kOne, y.descriptor, kReal32, 0, nullptr) ==
        kNotInitialized);
  CHECK(cusparseSpMV(s.handle, 0, nullptr, s.matrix, x.descriptor, &kOne, y.descriptor, kReal32, 0, nullptr) ==
        kInvalidValue);
  CHECK(cusparseSpMV(s.handle, 0, &kOne, s.matrix, y.descriptor, &kOne, x.descriptor, kReal32, 0, nullptr) ==
        kInvalidValue);  // sizes
  CHECK(cusparseSpMV(s.handle, 3, &kOne, s.matrix, x.descriptor, &kOne, y.descriptor, kReal32, 0, nullptr) ==
        kInvalidValue);
  REQUIRE(cusparseSpMV_bufferSize(s.handle, 0, &kOne, s.matrix, x.descriptor, &kOne, y.descriptor, kReal32, 0,
                                  &bytes) == 0);
  CHECK(bytes > 0);
  REQUIRE(cusparseSpMV(s.handle, 0, &kOne, s.matrix, x.descriptor, &kOne, y.descriptor, kReal32, 0, nullptr) == 0);
  CHECK(fake().last().operation.family == Family::kSparse);
  CHECK(fake().field(Key::kNonzeros) == 500);
  CHECK(fake().field(Key::kFlops) == 2 * 500);
  // 101 offsets, 500 indices, 500 values, x, y
  CHECK(fake().field(Key::kReadBytes) == 4 * (101 + 500 + 500 + 60 + 100));
  CHECK(fake().last().writes[0] == range(device<void>(1 << 17), 400));
  REQUIRE(cusparseSpMV(s.handle, 1, &kOne, s.matrix, y.descriptor, &kOne, x.descriptor, kReal32, 0, nullptr) == 0);

  Matrix b(60, 8, 8, 1 << 18, kByRows), c(100, 8, 100, 1 << 19, kByColumns);
  REQUIRE(cusparseSpMM(s.handle, 0, 0, &kOne, s.matrix, b.descriptor, &kOne, c.descriptor, kReal32, 0, nullptr) == 0);
  CHECK(fake().field(Key::kM) == 100);
  CHECK(fake().field(Key::kN) == 8);
  CHECK(fake().field(Key::kK) == 60);
  CHECK(fake().field(Key::kFlops) == 2 * 500 * 8);
  CHECK(fake().last().writes[0] == range(device<void>(1 << 19), 3200));
  CHECK(cusparseSpMM(s.handle, 0, 1, &kOne, s.matrix, b.descriptor, &kOne, c.descriptor, kReal32, 0, nullptr) ==
        kInvalidValue);
  Matrix p(100, 30, 30, 1 << 18, kByRows), q(30, 60, 60, 1 << 19, kByRows);
  REQUIRE(cusparseSDDMM(s.handle, 0, 0, &kOne, p.descriptor, q.descriptor, &kOne, s.matrix, kReal32, 0, nullptr) == 0);
  CHECK(fake().field(Key::kFlops) == 2 * 500 * 30);
  CHECK(fake().last().writes[0] == range(device<void>(8192), 2000));  // the values alone
}

TEST_CASE("cuSPARSE: triangular solutions need a square matrix and a descriptor") {
  Sparse s;
  Vector x(100, 1 << 16), y(100, 1 << 17);
  void *analysis = nullptr, *square = nullptr;
  REQUIRE(cusparseSpSV_createDescr(&analysis) == 0);
  CHECK(cusparseSpSV_analysis(s.handle, 0, &kOne, s.matrix, x.descriptor, y.descriptor, kReal32, 0, analysis,
                              nullptr) == kInvalidValue);
  REQUIRE(cusparseCreateCsr(&square, 100, 100, 500, device<void>(0), device<void>(4096), device<void>(8192), kIndex32,
                            kIndex32, 0, kReal32) == 0);
  REQUIRE(cusparseSpSV_analysis(s.handle, 0, &kOne, square, x.descriptor, y.descriptor, kReal32, 0, analysis,
                                nullptr) == 0);
  REQUIRE(cusparseSpSV_solve(s.handle, 0, &kOne, square, x.descriptor, y.descriptor, kReal32, 0, analysis) == 0);
  CHECK(fake().field(Key::kFlops) == 2 * 500);
  CHECK(fake().field(Key::kSteps) == 20);  // 2 sqrt(100)
  CHECK(fake().last().writes[0] == range(device<void>(1 << 17), 400));
  CHECK(cusparseSpSV_solve(s.handle, 0, &kOne, square, x.descriptor, y.descriptor, kReal32, 0, nullptr) ==
        kInvalidValue);
  cusparseDestroySpMat(square);
  cusparseSpSV_destroyDescr(analysis);
}

TEST_CASE("cuSPARSE: a sparse product has no elements, since no kernel counted them") {
  Sparse s;
  void *other = nullptr, *result = nullptr, *descriptor = nullptr, *coo = nullptr;
  REQUIRE(cusparseCreateCsr(&other, 60, 40, 300, device<void>(0), device<void>(1), device<void>(2), kIndex32, kIndex32,
                            0, kReal32) == 0);
  REQUIRE(cusparseCreateCsr(&result, 100, 40, 0, device<void>(1 << 20), nullptr, nullptr, kIndex32, kIndex32, 0,
                            kReal32) == 0);
  REQUIRE(cusparseSpGEMM_createDescr(&descriptor) == 0);
  size_t bytes = 0;
  REQUIRE(cusparseSpGEMM_workEstimation(s.handle, 0, 0, &kOne, s.matrix, other, &kOne, result, kReal32, 0, descriptor,
                                        &bytes, nullptr) == 0);
  CHECK(bytes > 0);
  CHECK(fake().recorded.empty());  // a null buffer asks for the size
  REQUIRE(cusparseSpGEMM_workEstimation(s.handle, 0, 0, &kOne, s.matrix, other, &kOne, result, kReal32, 0, descriptor,
                                        &bytes, device<void>(1 << 21)) == 0);
  REQUIRE(cusparseSpGEMM_compute(s.handle, 0, 0, &kOne, s.matrix, other, &kOne, result, kReal32, 0, descriptor, &bytes,
                                 device<void>(1 << 21)) == 0);
  CHECK(fake().field(Key::kFlops) == 2 * 500 * 300 / 60);  // each element meets 300 / 60 others
  CHECK(cusparseSpGEMM_compute(s.handle, 1, 0, &kOne, s.matrix, other, &kOne, result, kReal32, 0, descriptor, &bytes,
                               nullptr) == kNotSupported);
  CHECK(cusparseSpGEMM_compute(s.handle, 0, 0, &kOne, other, s.matrix, &kOne, result, kReal32, 0, descriptor, &bytes,
                               nullptr) == kInvalidValue);
  int64_t rows = 0, columns = 0, nonzeros = -1;
  CHECK(cusparseSpMatGetSize(result, &rows, &columns, &nonzeros) == 0);
  CHECK(nonzeros == 0);
  REQUIRE(cusparseCreateCoo(&coo, 100, 40, 0, nullptr, nullptr, nullptr, kIndex32, 0, kReal32) == 0);
  CHECK(cusparseSpGEMM_compute(s.handle, 0, 0, &kOne, s.matrix, other, &kOne, coo, kReal32, 0, descriptor, &bytes,
                               nullptr) == kNotSupported);
  for (void* matrix : {other, result, coo}) cusparseDestroySpMat(matrix);
  cusparseSpGEMM_destroyDescr(descriptor);
}

TEST_CASE("cuSPARSE: indices are converted and sorted") {
  Sparse s;
  int *rows = device<int>(0), *columns = device<int>(4096), *offsets = device<int>(8192);
  size_t bytes = 0;
  REQUIRE(cusparseXcoo2csr(s.handle, rows, 500, 100, offsets, 0) == 0);
  CHECK(fake().last().writes[0] == range(offsets, 101 * 4));
  CHECK(cusparseXcoo2csr(s.handle, rows, -1, 100, offsets, 0) == kInvalidValue);
  CHECK(cusparseXcoo2csr(s.handle, rows, 500, 100, offsets, 2) == kInvalidValue);
  CHECK(cusparseXcoo2csr(nullptr, rows, 500, 100, offsets, 0) == kNotInitialized);
  REQUIRE(cusparseXcoosort_bufferSizeExt(s.handle, 100, 60, 500, rows, columns, &bytes) == 0);
  CHECK(bytes >= 500 * 3 * 4);
  REQUIRE(cusparseXcoosortByRow(s.handle, 100, 60, 500, rows, columns, device<int>(1 << 16), nullptr) == 0);
  CHECK(fake().last().operation.family == Family::kSort);
  CHECK(fake().last().writes.size() == 3);
}

TEST_CASE("cuSPARSE: typed routines") {
  Sparse s;
  void *descriptor = nullptr, *info = nullptr;
  REQUIRE(cusparseCreateMatDescr(&descriptor) == 0);
  float* values = device<float>(0);
  int *offsets = device<int>(4096), *indices = device<int>(8192), position = 7, total = 7;
  REQUIRE(cusparseSbsrmv(s.handle, 0, 0, 4, 3, 5, &kOne, descriptor, values, offsets, indices, 16,
                         device<float>(1 << 16), &kOne, device<float>(1 << 17)) == 0);
  CHECK(fake().field(Key::kFlops) == 2 * 5 * 16 * 16);
  CHECK(fake().last().writes[0] == range(device<void>(1 << 17), 4 * 16 * 4));
  CHECK(cusparseSbsrmv(s.handle, 0, 0, 4, 3, 5, &kOne, descriptor, values, offsets, indices, 0, device<float>(0), &kOne,
                       device<float>(0)) == kInvalidValue);
  CHECK(cusparseSbsrmv(s.handle, 0, 0, 4, 3, 5, &kOne, nullptr, values, offsets, indices, 16, device<float>(0), &kOne,
                       device<float>(0)) == kInvalidValue);
  REQUIRE(cusparseCreateBsrsv2Info(&info) == 0);
  CHECK(cusparseXbsrsv2_zeroPivot(s.handle, info, &position) == 0);
  CHECK(position == -1);  // "position = -1 if no zero pivot"
  CHECK(cusparseXbsrsv2_zeroPivot(s.handle, nullptr, &position) == kInvalidValue);
  REQUIRE(cusparseXcsrgeam2Nnz(s.handle, 100, 60, descriptor, 500, offsets, indices, descriptor, 400, offsets, indices,
                               descriptor, device<int>(1 << 18), &total, nullptr) == 0);
  CHECK(total == 0);
  CHECK(fake().last().writes[0] == range(device<void>(1 << 18), 101 * 4));
  double* d = device<double>(0);
  REQUIRE(cusparseDgtsv2(s.handle, 50, 2, d, d, d, device<double>(1 << 16), 50, nullptr) == 0);
  CHECK(fake().last().writes[0] == range(device<void>(1 << 16), 50 * 2 * 8));
  CHECK(cusparseDgtsv2(s.handle, 2, 2, d, d, d, d, 50, nullptr) == kInvalidValue);  // "must be >= 3"
  CHECK(cusparseDgtsv2(s.handle, 50, 2, d, d, d, d, 49, nullptr) == kInvalidValue);
  cusparseDestroyBsrsv2Info(info);
  cusparseDestroyMatDescr(descriptor);
}
