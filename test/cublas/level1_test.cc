#include <cmath>
#include <string>

#include "driver_shim/cublas/givens.h"
#include "test/cublas/handle_fixture.h"

using namespace maya;
using namespace maya::test;

TEST_CASE_METHOD(HandleFixture, "axpy reads both vectors and writes y") {
  REQUIRE(cublasSaxpy_v2(handle, 10, &one, device<float>(0), 1, device<float>(256), 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().operation.family == Family::kVector);
  CHECK(fake().field(Key::kElements) == 10);
  CHECK(fake().field(Key::kFlops) == 20);
  CHECK(fake().field(Key::kReadBytes) == 80);
  CHECK(fake().field(Key::kWrittenBytes) == 40);
  CHECK(fake().field(Key::kDataType) == static_cast<int64_t>(DataType::kFloat32));
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(256), 40)});
}

TEST_CASE_METHOD(HandleFixture, "Strided vectors write their elements, whatever the sign of the increment") {
  for (const int increment : {3, -3}) {
    REQUIRE(cublasDscal_v2(
                handle, 2,
                [] {
                  static const double two = 2;
                  return &two;
                }(),
                device<double>(0), increment) == CUBLAS_STATUS_SUCCESS);
    CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<double>(0), 8), range(device<double>(24), 8)});
  }
}

TEST_CASE_METHOD(HandleFixture, "An empty vector does nothing") {
  CHECK(cublasSaxpy_v2(handle, 0, &one, device<float>(0), 1, device<float>(256), 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasScopy_v2(handle, -5, device<float>(0), 1, device<float>(256), 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().recorded.empty());
  CHECK(cublasSaxpy_v2(handle, 4, nullptr, device<float>(0), 1, device<float>(256), 1) == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE_METHOD(HandleFixture, "Results in host memory are waited for and zero") {
  float result = 42;
  REQUIRE(cublasSdot_v2(handle, 8, device<float>(0), 1, device<float>(256), 1, &result) == CUBLAS_STATUS_SUCCESS);
  CHECK(result == 0);
  CHECK(fake().synchronizations == 1);
  CHECK(fake().last().writes.empty());
  double norm = 42;
  REQUIRE(cublasDznrm2_v2(handle, 8, device<cuDoubleComplex>(0), 1, &norm) == CUBLAS_STATUS_SUCCESS);
  CHECK(norm == 0);
  // An index is counted from 1: the first element stands for the one that nobody computed.
  int index = 42;
  REQUIRE(cublasIsamax_v2(handle, 8, device<float>(0), 1, &index) == CUBLAS_STATUS_SUCCESS);
  CHECK(index == 1);
  REQUIRE(cublasIsamax_v2(handle, 0, device<float>(0), 1, &index) == CUBLAS_STATUS_SUCCESS);
  CHECK(index == 0);
  CHECK(cublasSdot_v2(handle, 8, device<float>(0), 1, device<float>(256), 1, nullptr) == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE_METHOD(HandleFixture, "Results in device memory become unknown, without waiting") {
  cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE);
  REQUIRE(cublasDdot_v2(handle, 8, device<double>(0), 1, device<double>(256), 1, device<double>(512)) ==
          CUBLAS_STATUS_SUCCESS);
  CHECK(fake().synchronizations == 0);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<double>(512), 8)});
}

TEST_CASE_METHOD(HandleFixture, "The result of empty vectors in device memory is zero") {
  cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE);
  float* result = upload<float>(512, {42});
  REQUIRE(cublasSdot_v2(handle, 0, device<float>(0), 1, device<float>(256), 1, result) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().memory[reinterpret_cast<CUdeviceptr>(result)] == std::vector<char>(4, 0));
  CHECK(fake().recorded.empty());
}

TEST_CASE_METHOD(HandleFixture, "Forms with explicit types") {
  REQUIRE(cublasAxpyEx(handle, 4, &one, CUDA_R_32F, device<char>(0), CUDA_R_16F, 1, device<char>(256), CUDA_R_16F, 1,
                       CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kDataType) == static_cast<int64_t>(DataType::kFloat16));
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<char>(256), 8)});
  double result = 42;
  REQUIRE(cublasDotEx(handle, 4, device<char>(0), CUDA_R_64F, 1, device<char>(256), CUDA_R_64F, 1, &result, CUDA_R_64F,
                      CUDA_R_64F) == CUBLAS_STATUS_SUCCESS);
  CHECK(result == 0);
  CHECK(cublasScalEx(handle, 4, &one, CUDA_R_32F, device<char>(0), CUDA_R_4I, 1, CUDA_R_32F) ==
        CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_CASE_METHOD(HandleFixture, "Rotations") {
  REQUIRE(cublasSrot_v2(handle, 4, device<float>(0), 1, device<float>(64), 1, &one, &zero) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(0), 16), range(device<float>(64), 16)});
  float a = 3, b = 4, c = 0, s = 0;
  REQUIRE(cublasSrotg_v2(handle, &a, &b, &c, &s) == CUBLAS_STATUS_SUCCESS);
  // The right triangle 3, 4, 5; |b| > |a|, so z = 1 / c.
  CHECK(a == Approx(5));
  CHECK(b == Approx(5.0 / 3));
  CHECK(c == Approx(0.6));
  CHECK(s == Approx(0.8));
}

TEST_CASE("A Givens rotation turns (a, b) into (r, 0)") {
  double a = -2, b = 7, c = 0, s = 0;
  cublas::make_rotation(&a, &b, &c, &s);
  CHECK(c * c + s * s == Approx(1));
  CHECK(c * -2 + s * 7 == Approx(a));
  CHECK(-s * -2 + c * 7 == Approx(0).margin(1e-12));

  std::complex<double> za(1, 2), zb(3, -1), zs;
  double zc = 0;
  const std::complex<double> first = za;
  cublas::make_rotation(&za, &zb, &zc, &zs);
  CHECK(std::abs(zc * first + zs * zb - za) == Approx(0).margin(1e-12));
  CHECK(std::abs(-std::conj(zs) * first + zc * zb) == Approx(0).margin(1e-12));
}

TEST_CASE("A modified Givens rotation zeroes the second component of (sqrt(d1) x1, sqrt(d2) y1)") {
  const double rows[][4] = {{1, 1, 3, 4}, {2, 0.5, 5, 1}, {1e9, 1e-9, 1, 2}, {1, 1, 4, 3}};
  for (const auto& row : rows) {
    double d1 = row[0], d2 = row[1], x1 = row[2], param[5] = {};
    cublas::make_modified_rotation(&d1, &d2, &x1, row[3], param);
    double h11 = param[1], h21 = param[2], h12 = param[3], h22 = param[4];
    if (param[0] == 0) h11 = h22 = 1;
    if (param[0] == 1) h12 = 1, h21 = -1;
    CHECK(h11 * row[2] + h12 * row[3] == Approx(x1));
    CHECK(h21 * row[2] + h22 * row[3] == Approx(0).margin(1e-9));
    // The length is kept: d1' x1'^2 = d1 x1^2 + d2 y1^2.
    CHECK(d1 * x1 * x1 == Approx(row[0] * row[2] * row[2] + row[1] * row[3] * row[3]));
  }
  double d1 = 1, d2 = 0, x1 = 1, param[5] = {9, 9, 9, 9, 9};
  cublas::make_modified_rotation(&d1, &d2, &x1, 5.0, param);
  CHECK(param[0] == -2);
  CHECK(param[1] == 9);
}
