// cuSOLVER by its documentation: handles, arguments, work sizes, and what a routine records and writes. NVIDIA's header
// is not needed to build, so the functions are declared as a program sees them in memory.
#include <catch2/catch.hpp>
#include <cstdint>

#include "test/cublas/fake_driver.h"

using namespace maya;
using namespace maya::test;

extern "C" {
int cusolverGetVersion(int*);
int cusolverGetProperty(int, int*);
int cusolverDnCreate(void**);
int cusolverDnDestroy(void*);
int cusolverDnSetStream(void*, CUstream);
int cusolverDnSetDeterministicMode(void*, int);
int cusolverDnGetDeterministicMode(void*, int*);
int cusolverSpCreate(void**);
int cusolverSpDestroy(void*);
int cusolverDnCreateGesvdjInfo(void**);
int cusolverDnDestroyGesvdjInfo(void*);
int cusolverDnXgesvdjSetTolerance(void*, double);
int cusolverDnCreateParams(void**);
int cusolverDnDestroyParams(void*);
int cusolverDnSpotrf_bufferSize(void*, int, int, float*, int, int*);
int cusolverDnSpotrf(void*, int, int, float*, int, float*, int, int*);
int cusolverDnSpotrfBatched(void*, int, int, float**, int, int*, int);
int cusolverDnDgetrf(void*, int, int, double*, int, double*, int*, int*);
int cusolverDnDgetrf_bufferSize(void*, int, int, double*, int, int*);
int cusolverDnZgetrs(void*, int, int, int, const void*, int, const int*, void*, int, int*);
int cusolverDnSgeqrf(void*, int, int, float*, int, float*, float*, int, int*);
int cusolverDnSorgqr(void*, int, int, int, float*, int, const float*, float*, int, int*);
int cusolverDnSormqr(void*, int, int, int, int, int, const float*, int, const float*, float*, int, float*, int, int*);
int cusolverDnDsyevd(void*, int, int, int, double*, int, double*, double*, int, int*);
int cusolverDnDsyevd_bufferSize(void*, int, int, int, const double*, int, const double*, int*);
int cusolverDnSgesvd(void*, signed char, signed char, int, int, float*, int, float*, float*, int, float*, int, float*,
                     int, float*, int*);
int cusolverDnSgesvdjBatched(void*, int, int, int, float*, int, float*, float*, int, float*, int, float*, int, int*,
                             void*, int);
int cusolverDnXpotrf_bufferSize(void*, void*, int, int64_t, int, const void*, int64_t, int, size_t*, size_t*);
int cusolverDnXpotrf(void*, void*, int, int64_t, int, void*, int64_t, int, void*, size_t, void*, size_t, int*);
int cusolverDnXsyevBatched(void*, void*, int, int, int64_t, int, void*, int64_t, int, void*, int, void*, size_t, void*,
                           size_t, int*, int64_t);
int cusolverDnXgeev(void*, void*, int, int, int64_t, int, void*, int64_t, int, void*, int, void*, int64_t, int, void*,
                    int64_t, int, void*, size_t, void*, size_t, int*);
}

namespace {

constexpr int kNotInitialized = 1, kInvalidValue = 3, kExecutionFailed = 6;  // cusolverStatus_t
constexpr int kLower = 0, kUpper = 1, kLeft = 0, kReal32 = 0, kReal64 = 1, kComplex32 = 4, kReal16 = 2;

struct Dense {
  void* handle = nullptr;
  Dense() {
    reset();
    REQUIRE(cusolverDnCreate(&handle) == 0);
  }
  ~Dense() { cusolverDnDestroy(handle); }
};

// The status word of a routine is a known zero afterwards.
bool known_zero(const int* info, size_t count = 1) {
  const auto found = fake().memory.find(reinterpret_cast<CUdeviceptr>(info));
  return found != fake().memory.end() && found->second == std::vector<char>(count * sizeof(int), 0);
}

}  // namespace

TEST_CASE("cuSOLVER: versions and handles; a handle of one kind is not one of the other") {
  int value = 0;
  CHECK(cusolverGetVersion(&value) == 0);
  CHECK(value == 12200);
  CHECK(cusolverGetProperty(1, &value) == 0);
  CHECK(value == 2);
  CHECK(cusolverGetProperty(3, &value) == kInvalidValue);
  void *dense = nullptr, *sparse = nullptr;
  CHECK(cusolverDnCreate(nullptr) == kInvalidValue);
  REQUIRE(cusolverDnCreate(&dense) == 0);
  REQUIRE(cusolverSpCreate(&sparse) == 0);
  CHECK(cusolverDnSetStream(sparse, nullptr) == kNotInitialized);
  CHECK(cusolverDnSetStream(dense, nullptr) == 0);
  CHECK(cusolverDnGetDeterministicMode(dense, &value) == 0);
  CHECK(value == 1);  // CUSOLVER_DETERMINISTIC_RESULTS is the default
  CHECK(cusolverDnSetDeterministicMode(dense, 3) == kInvalidValue);
  CHECK(cusolverDnSetDeterministicMode(dense, 2) == 0);
  CHECK(cusolverDnDestroy(dense) == 0);
  CHECK(cusolverSpDestroy(sparse) == 0);
  CHECK(cusolverDnDestroy(nullptr) == kNotInitialized);
  void* parameters = nullptr;
  REQUIRE(cusolverDnCreateParams(&parameters) == 0);
  CHECK(cusolverDnDestroyParams(parameters) == 0);
  CHECK(cusolverDnDestroyParams(nullptr) == kInvalidValue);
}

TEST_CASE("cuSOLVER: Cholesky") {
  Dense dense;
  float* a = device<float>(0);
  int* info = device<int>(1 << 20);
  int lwork = 0;
  CHECK(cusolverDnSpotrf_bufferSize(nullptr, kLower, 8, a, 8, &lwork) == kNotInitialized);
  CHECK(cusolverDnSpotrf_bufferSize(dense.handle, 7, 8, a, 8, &lwork) == kInvalidValue);
  CHECK(cusolverDnSpotrf_bufferSize(dense.handle, kLower, -1, a, 8, &lwork) == kInvalidValue);
  CHECK(cusolverDnSpotrf_bufferSize(dense.handle, kLower, 8, a, 7, &lwork) == kInvalidValue);
  CHECK(cusolverDnSpotrf_bufferSize(dense.handle, kLower, 8, a, 8, nullptr) == kInvalidValue);
  REQUIRE(cusolverDnSpotrf_bufferSize(dense.handle, kLower, 0, a, 1, &lwork) == 0);
  CHECK(lwork > 0);
  CHECK(cusolverDnSpotrf(dense.handle, kLower, 8, nullptr, 8, a, lwork, info) == kInvalidValue);
  CHECK(fake().recorded.empty());
  REQUIRE(cusolverDnSpotrf(dense.handle, kLower, 300, a, 300, a, lwork, info) == 0);
  CHECK(fake().last().operation.family == Family::kSolver);
  CHECK(fake().field(Key::kOperator) == static_cast<int64_t>(Operator::kFactorization));
  CHECK(fake().field(Key::kRows) == 300);
  CHECK(fake().field(Key::kFlops) == 300 * 300 * 300 / 3);  // LAPACK Working Note 41: n^3 / 3
  CHECK(fake().last().writes[0] == range(a, 300 * 300 * 4));
  CHECK(fake().last().writes.back() == range(info, 4));
  CHECK(known_zero(info));
  fake().record_result = CUDA_ERROR_LAUNCH_FAILED;
  CHECK(cusolverDnSpotrf(dense.handle, kLower, 300, a, 300, a, lwork, info) == kExecutionFailed);
}

TEST_CASE("cuSOLVER: batches find their matrices through the array of pointers") {
  Dense dense;
  float** pointers = upload<float*>(1 << 16, {device<float>(0), device<float>(4096)});
  int* info = device<int>(1 << 20);
  REQUIRE(cusolverDnSpotrfBatched(dense.handle, kUpper, 4, pointers, 4, info, 2) == 0);
  CHECK(fake().field(Key::kBatch) == 2);
  REQUIRE(fake().last().writes.size() == 3);
  CHECK(fake().last().writes[0] == range(device<float>(0), 64));
  CHECK(fake().last().writes[1] == range(device<float>(4096), 64));
  CHECK(known_zero(info, 2));
  CHECK(cusolverDnSpotrfBatched(dense.handle, kUpper, 4, pointers, 4, info, -1) == kInvalidValue);
}

TEST_CASE("cuSOLVER: LU and its solution") {
  Dense dense;
  double* a = device<double>(0);
  int *pivots = device<int>(1 << 24), *info = device<int>(1 << 20), lwork = 0;
  REQUIRE(cusolverDnDgetrf_bufferSize(dense.handle, 60, 30, a, 64, &lwork) == 0);
  CHECK(lwork > 0);
  REQUIRE(cusolverDnDgetrf(dense.handle, 60, 30, a, 64, a, pivots, info) == 0);
  CHECK(fake().field(Key::kFlops) == 60 * 30 * 30 - 30 * 30 * 30 / 3);
  CHECK(fake().last().writes[0].bytes == 60 * 8);  // 30 columns with gaps between them
  CHECK(fake().last().writes[30] == range(pivots, 30 * 4));
  CHECK(known_zero(info));
  CHECK(cusolverDnDgetrf(dense.handle, 60, 30, a, 59, a, pivots, info) == kInvalidValue);
  REQUIRE(cusolverDnZgetrs(dense.handle, 0, 30, 2, a, 30, pivots, device<void>(4096), 30, info) == 0);
  CHECK(fake().field(Key::kOperator) == static_cast<int64_t>(Operator::kTriangularSolve));
  CHECK(fake().field(Key::kFlops) == 2 * 30 * 30 * 2 * 4);  // a complex multiplication and addition is eight operations
  CHECK(fake().last().writes[0] == range(device<void>(4096), 30 * 2 * 16));
  CHECK(cusolverDnZgetrs(dense.handle, 3, 30, 2, a, 30, pivots, a, 30, info) == kInvalidValue);
}

TEST_CASE("cuSOLVER: QR, its factor, and products with it") {
  Dense dense;
  float *a = device<float>(0), *tau = device<float>(1 << 24);
  int* info = device<int>(1 << 20);
  REQUIRE(cusolverDnSgeqrf(dense.handle, 90, 30, a, 90, tau, a, 1, info) == 0);
  CHECK(fake().field(Key::kFlops) == 2 * 90 * 30 * 30 - 2 * 30 * 30 * 30 / 3);
  CHECK(fake().last().writes[1] == range(tau, 30 * 4));
  // dorgqr: 4 m n k - 2 (m + n) k^2 + 4/3 k^3
  REQUIRE(cusolverDnSorgqr(dense.handle, 90, 30, 30, a, 90, tau, a, 1, info) == 0);
  CHECK(fake().field(Key::kFlops) == 4 * 90 * 30 * 30 - 2 * 120 * 900 + 4 * 27000 / 3);
  CHECK(cusolverDnSorgqr(dense.handle, 30, 31, 30, a, 90, tau, a, 1, info) == kInvalidValue);
  CHECK(cusolverDnSorgqr(dense.handle, 90, 30, 31, a, 90, tau, a, 1, info) == kInvalidValue);
  // dormqr from the left: 4 n m k - 2 n k^2
  REQUIRE(cusolverDnSormqr(dense.handle, kLeft, 1, 90, 5, 30, a, 90, tau, device<float>(8192), 90, a, 1, info) == 0);
  CHECK(fake().field(Key::kFlops) == 4 * 5 * 90 * 30 - 2 * 5 * 30 * 30);
  CHECK(fake().last().writes[0] == range(device<float>(8192), 90 * 5 * 4));
  CHECK(cusolverDnSormqr(dense.handle, kLeft, 1, 90, 5, 91, a, 90, tau, a, 90, a, 1, info) == kInvalidValue);
}

TEST_CASE("cuSOLVER: eigenvalues and singular values") {
  Dense dense;
  double *a = device<double>(0), *w = device<double>(1 << 24);
  int *info = device<int>(1 << 20), lwork = 0;
  REQUIRE(cusolverDnDsyevd_bufferSize(dense.handle, 1, kLower, 50, a, 50, w, &lwork) == 0);
  CHECK(lwork >= 1 + 6 * 50 + 2 * 50 * 50);  // LAPACK's dsyevd needs that many
  REQUIRE(cusolverDnDsyevd(dense.handle, 1, kLower, 50, a, 50, w, a, lwork, info) == 0);
  CHECK(fake().field(Key::kFlops) == 9 * 50 * 50 * 50);  // Golub and Van Loan: 9 n^3 with vectors
  CHECK(fake().last().writes[1] == range(w, 50 * 8));
  CHECK(cusolverDnDsyevd(dense.handle, 2, kLower, 50, a, 50, w, a, lwork, info) == kInvalidValue);

  float *m = device<float>(0), *s = device<float>(1 << 24), *u = device<float>(1 << 22), *v = device<float>(1 << 23);
  REQUIRE(cusolverDnSgesvd(dense.handle, 'N', 'N', 40, 30, m, 40, s, nullptr, 1, nullptr, 1, m, 1, nullptr, info) == 0);
  CHECK(fake().field(Key::kFlops) == 4 * 40 * 900 - 4 * 27000 / 3);
  CHECK(fake().last().writes.size() == 3);  // A, S, info
  REQUIRE(cusolverDnSgesvd(dense.handle, 'S', 'S', 40, 30, m, 40, s, u, 40, v, 30, m, 1, nullptr, info) == 0);
  CHECK(fake().field(Key::kFlops) == 14 * 40 * 900 + 8 * 27000);
  CHECK(fake().last().writes[2] == range(u, 40 * 30 * 4));
  CHECK(fake().last().writes[3] == range(v, 30 * 30 * 4));
  // "gesvd only supports m >= n"; both vectors cannot take A's place
  CHECK(cusolverDnSgesvd(dense.handle, 'S', 'S', 30, 40, m, 40, s, u, 40, v, 40, m, 1, nullptr, info) == kInvalidValue);
  CHECK(cusolverDnSgesvd(dense.handle, 'O', 'O', 40, 30, m, 40, s, u, 40, v, 40, m, 1, nullptr, info) == kInvalidValue);

  void* jacobi = nullptr;
  REQUIRE(cusolverDnCreateGesvdjInfo(&jacobi) == 0);
  CHECK(cusolverDnXgesvdjSetTolerance(jacobi, 1e-7) == 0);
  CHECK(cusolverDnXgesvdjSetTolerance(nullptr, 1e-7) == kInvalidValue);
  REQUIRE(cusolverDnSgesvdjBatched(dense.handle, 1, 20, 10, m, 20, s, u, 20, v, 10, m, 1, info, jacobi, 6) == 0);
  CHECK(fake().field(Key::kBatch) == 6);
  CHECK(known_zero(info, 6));
  // "m and n are not larger than 32"
  CHECK(cusolverDnSgesvdjBatched(dense.handle, 1, 33, 10, m, 33, s, u, 33, v, 10, m, 1, info, jacobi, 6) ==
        kInvalidValue);
  CHECK(cusolverDnSgesvdjBatched(dense.handle, 1, 20, 10, m, 20, s, u, 20, v, 10, m, 1, info, nullptr, 6) ==
        kInvalidValue);
  cusolverDnDestroyGesvdjInfo(jacobi);
}

TEST_CASE("cuSOLVER: the 64-bit interface takes types as arguments") {
  Dense dense;
  void *a = device<void>(0), *w = device<void>(1 << 24);
  int* info = device<int>(1 << 20);
  size_t on_device = 0, on_host = 1;
  CHECK(cusolverDnXpotrf_bufferSize(dense.handle, nullptr, kLower, 8, kReal16, a, 8, kReal16, &on_device, &on_host) ==
        kInvalidValue);
  REQUIRE(cusolverDnXpotrf_bufferSize(dense.handle, nullptr, kLower, 64, kReal64, a, 64, kReal64, &on_device,
                                      &on_host) == 0);
  CHECK((on_device > 0 && on_host == 0));
  REQUIRE(cusolverDnXpotrf(dense.handle, nullptr, kLower, 64, kComplex32, a, 64, kComplex32, a, on_device, nullptr, 0,
                           info) == 0);
  CHECK(fake().field(Key::kDataType) == static_cast<int64_t>(DataType::kComplex64));
  CHECK(fake().last().writes[0] == range(a, 64 * 64 * 8));
  CHECK(known_zero(info));
  REQUIRE(cusolverDnXsyevBatched(dense.handle, nullptr, 1, kLower, 16, kComplex32, a, 16, kReal32, w, kComplex32, a, 1,
                                 nullptr, 0, info, 9) == 0);
  CHECK(fake().field(Key::kBatch) == 9);
  CHECK(fake().last().writes[1] == range(w, 9 * 16 * 4));
  CHECK(known_zero(info, 9));
  // "Left eigenvectors are not supported."
  CHECK(cusolverDnXgeev(dense.handle, nullptr, 1, 1, 16, kReal32, a, 16, kComplex32, w, kReal32, a, 16, kReal32, a, 16,
                        kReal32, a, 1, nullptr, 0, info) == kInvalidValue);
  REQUIRE(cusolverDnXgeev(dense.handle, nullptr, 0, 0, 16, kReal32, a, 16, kComplex32, w, kReal32, nullptr, 1, kReal32,
                          nullptr, 1, kReal32, a, 1, nullptr, 0, info) == 0);
  CHECK(fake().field(Key::kFlops) == 10 * 16 * 16 * 16);
}
