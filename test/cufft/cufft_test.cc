// cuFFT by its documentation: plans, layouts, work areas, errors, and what a transform records. NVIDIA's header is not
// needed to build, so the functions are declared as a program sees them in memory.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>

#include "test/cublas/fake_driver.h"

using namespace maya;
using namespace maya::test;

extern "C" {
int cufftCreate(int*);
int cufftDestroy(int);
int cufftSetStream(int, CUstream);
int cufftSetAutoAllocation(int, int);
int cufftSetWorkArea(int, void*);
int cufftGetSize(int, size_t*);
int cufftGetVersion(int*);
int cufftPlan1d(int*, int, int, int);
int cufftPlan2d(int*, int, int, int);
int cufftPlanMany(int*, int, int*, int*, int, int, int*, int, int, int, int);
int cufftMakePlan1d(int, int, int, int, size_t*);
int cufftEstimate1d(int, int, int, size_t*);
int cufftExecC2C(int, void*, void*, int);
int cufftExecR2C(int, void*, void*);
int cufftExecC2R(int, void*, void*);
int cufftXtMakePlanMany(int, int, long long*, long long*, long long, long long, int, long long*, long long, long long,
                        int, long long, size_t*, int);
int cufftXtExec(int, void*, void*, int);
}

namespace {

// Values of cufft.h and library_types.h.
constexpr int kInvalidPlan = 1, kAllocFailed = 2, kInvalidType = 3, kInvalidValue = 4, kExecFailed = 6,
              kInvalidSize = 8, kNotSupported = 16;
constexpr int kC2C = 0x29, kR2C = 0x2a, kC2R = 0x2c, kZ2Z = 0x69;
constexpr int kReal16 = 2, kComplex16 = 6, kReal32 = 0, kComplex32 = 4, kComplex64 = 5, kReal64 = 1;
constexpr int kForward = -1, kInverse = 1;

}  // namespace

TEST_CASE("cuFFT: plans are numbers, made once, gone once") {
  reset();
  int plan = 0, other = 0, version = 0;
  size_t bytes = 0;
  CHECK(cufftCreate(nullptr) == kInvalidValue);
  REQUIRE(cufftCreate(&plan) == 0);
  REQUIRE(cufftCreate(&other) == 0);
  CHECK(plan != other);
  CHECK(cufftGetSize(plan, &bytes) == kInvalidPlan);  // not made
  CHECK(cufftSetWorkArea(plan, device<void>(0)) == kInvalidPlan);
  CHECK(cufftExecC2C(plan, device<void>(0), device<void>(0), kForward) == kInvalidPlan);
  REQUIRE(cufftSetAutoAllocation(plan, 0) == 0);
  CHECK(cufftMakePlan1d(plan, 0, kC2C, 1, &bytes) == kInvalidSize);
  CHECK(cufftMakePlan1d(plan, 64, kC2C, 0, &bytes) == kInvalidSize);
  CHECK(cufftMakePlan1d(plan, 64, 7, 1, &bytes) == kInvalidType);
  CHECK(cufftMakePlan1d(plan, 64, kC2C, 1, nullptr) == kInvalidValue);
  REQUIRE(cufftMakePlan1d(plan, 64, kC2C, 1, &bytes) == 0);
  CHECK(cufftMakePlan1d(plan, 64, kC2C, 1, &bytes) == kInvalidPlan);  // "if the plan is locked"
  CHECK(cufftSetAutoAllocation(plan, 1) == kInvalidPlan);
  CHECK(cufftDestroy(plan) == 0);
  CHECK(cufftDestroy(plan) == kInvalidPlan);
  CHECK(cufftSetStream(plan, nullptr) == kInvalidPlan);
  CHECK(cufftDestroy(other) == 0);
  CHECK(cufftGetVersion(nullptr) == kInvalidValue);
  CHECK(cufftGetVersion(&version) == 0);
  CHECK(version == 12200);
}

TEST_CASE("cuFFT: work areas are charged, given back, and replaced by the program's") {
  reset();
  int plan = 0;
  size_t bytes = 0, estimate = 0;
  REQUIRE(cufftPlan2d(&plan, 512, 512, kC2C) == 0);
  CHECK(cufftGetSize(plan, &bytes) == 0);
  CHECK(bytes == 2097152);  // 512 x 512 complex numbers of 8 bytes, as seen on devices
  REQUIRE(fake().charged.size() == 1);
  CHECK(fake().charged.begin()->second == bytes);
  CHECK(cufftSetWorkArea(plan, device<void>(0)) == 0);
  CHECK(fake().charged.empty());
  CHECK(cufftDestroy(plan) == 0);
  REQUIRE(cufftPlan1d(&plan, 1024, kZ2Z, 4) == 0);
  CHECK(fake().charged.size() == 1);
  CHECK(cufftDestroy(plan) == 0);
  CHECK(fake().charged.empty());
  CHECK(cufftEstimate1d(1024, kZ2Z, 4, &estimate) == 0);
  CHECK(estimate == 1024 * 4 * 16);
  // The bound of the documentation: eight times the signal, for sizes that no small factors divide.
  CHECK(cufftEstimate1d(10007, kC2C, 1, &estimate) == 0);
  CHECK((estimate >= 10007 * 8 && estimate <= 8 * 10007 * 8));
  fake().allocate_result = CUDA_ERROR_OUT_OF_MEMORY;
  plan = -1;
  CHECK(cufftPlan1d(&plan, 1024, kC2C, 1) == kAllocFailed);
  CHECK(plan == -1);
}

TEST_CASE("cuFFT: a transform records its sizes, type, direction, and writes its output") {
  reset();
  int plan = 0;
  REQUIRE(cufftPlan1d(&plan, 1024, kC2C, 8) == 0);
  REQUIRE(cufftSetStream(plan, reinterpret_cast<CUstream>(0x11)) == 0);
  CHECK(cufftExecC2C(plan, nullptr, device<void>(0), kForward) == kInvalidValue);
  CHECK(cufftExecC2C(plan, device<void>(0), device<void>(0), 0) == kInvalidValue);
  CHECK(cufftExecR2C(plan, device<void>(0), device<void>(0)) == kInvalidValue);  // a plan of another type
  CHECK(fake().recorded.empty());
  REQUIRE(cufftExecC2C(plan, device<void>(0), device<void>(65536), kInverse) == 0);
  CHECK(fake().last().stream == reinterpret_cast<CUstream>(0x11));
  CHECK(fake().last().operation.family == Family::kFourier);
  CHECK(fake().field(Key::kColumns) == 1024);
  CHECK(fake().field(Key::kBatch) == 8);
  CHECK(fake().field(Key::kDirection) == 1);
  CHECK(fake().field(Key::kTypeA) == static_cast<int64_t>(DataType::kComplex64));
  CHECK(fake().field(Key::kFlops) == 5 * 1024 * 10 * 8);  // 5 n log2 n
  CHECK(fake().field(Key::kReadBytes) == 1024 * 8 * 8);   // one pass
  REQUIRE(fake().last().writes.size() == 1);
  CHECK(fake().last().writes[0] == range(device<void>(65536), 1024 * 8 * 8));
  fake().record_result = CUDA_ERROR_INVALID_HANDLE;
  CHECK(cufftExecC2C(plan, device<void>(0), device<void>(0), kForward) == kExecFailed);
  cufftDestroy(plan);
}

TEST_CASE("cuFFT: real transforms store n / 2 + 1 complex numbers and do half the operations") {
  reset();
  int plan = 0;
  REQUIRE(cufftPlan1d(&plan, 1000, kR2C, 3) == 0);
  REQUIRE(cufftExecR2C(plan, device<void>(0), device<void>(65536)) == 0);
  CHECK(fake().last().writes[0].bytes == 501 * 3 * 8);
  CHECK(fake().field(Key::kReadBytes) == 1000 * 3 * 4);
  CHECK(fake().field(Key::kWrittenBytes) == 501 * 3 * 8);
  CHECK(fake().field(Key::kFlops) == static_cast<int64_t>(2.5 * 1000 * std::log2(1000.0) * 3));
  cufftDestroy(plan);
  REQUIRE(cufftPlan1d(&plan, 1000, kC2R, 3) == 0);
  REQUIRE(cufftExecC2R(plan, device<void>(0), device<void>(65536)) == 0);
  CHECK(fake().last().writes[0].bytes == 1000 * 3 * 4);
  CHECK(fake().field(Key::kDirection) == 1);
  cufftDestroy(plan);
}

// "output[b * odist + (x * onembed[1] + y) * ostride]" of the advanced data layout.
TEST_CASE("cuFFT: advanced layouts decide which range is written") {
  reset();
  int plan = 0, sizes[] = {4, 8}, input[] = {4, 8}, output[] = {6, 10};
  REQUIRE(cufftPlanMany(&plan, 2, sizes, input, 1, 32, output, 2, 200, kC2C, 3) == 0);
  REQUIRE(cufftExecC2C(plan, device<void>(0), device<void>(4096), kForward) == 0);
  CHECK(fake().last().writes[0].bytes == (2 * 200 + (3 * 10 + 7) * 2 + 1) * 8);
  CHECK(fake().field(Key::kRows) == 4);
  CHECK(fake().field(Key::kColumns) == 8);
  CHECK(fake().field(Key::kSteps) == 2);  // one pass a dimension
  cufftDestroy(plan);
  CHECK(cufftPlanMany(&plan, 4, sizes, nullptr, 1, 0, nullptr, 1, 0, kC2C, 1) == kInvalidValue);
  CHECK(cufftPlanMany(&plan, 0, sizes, nullptr, 1, 0, nullptr, 1, 0, kC2C, 1) == kInvalidValue);
  CHECK(cufftPlanMany(&plan, 1, nullptr, nullptr, 1, 0, nullptr, 1, 0, kC2C, 1) == kInvalidValue);
}

TEST_CASE("cuFFT: a layout that no memory reaches is refused") {
  reset();
  long long size[] = {16, 16}, wide[] = {16, INT64_MAX};
  size_t bytes = 0;
  const auto make = [&](long long* embed, long long stride, long long distance, long long batch) {
    int plan = 0;
    REQUIRE(cufftCreate(&plan) == 0);
    const int result = cufftXtMakePlanMany(plan, 2, size, embed, stride, distance, kComplex32, size, 1, 256, kComplex32,
                                           batch, &bytes, kComplex32);
    cufftDestroy(plan);
    return result;
  };
  CHECK(make(size, 1, 256, 4) == 0);
  CHECK(make(wide, 1, 256, 4) == kInvalidSize);
  CHECK(make(size, INT64_MAX, 256, 4) == kInvalidSize);
  CHECK(make(size, 1, INT64_MAX, 4) == kInvalidSize);
}

TEST_CASE("cuFFT: cufftXtMakePlanMany takes types of one precision; half precision powers of two only") {
  reset();
  long long size[] = {1024}, odd[] = {1000};
  size_t bytes = 0;
  const auto make = [&](long long* n, int input, int output, int execution) {
    int plan = 0;
    REQUIRE(cufftCreate(&plan) == 0);
    const int result =
        cufftXtMakePlanMany(plan, 1, n, nullptr, 1, 1, input, nullptr, 1, 1, output, 2, &bytes, execution);
    if (result == 0) CHECK(cufftXtExec(plan, device<void>(0), device<void>(65536), kForward) == 0);
    cufftDestroy(plan);
    return result;
  };
  CHECK(make(size, kComplex32, kComplex32, kComplex32) == 0);
  CHECK(make(odd, kReal64, kComplex64, kComplex64) == 0);
  CHECK(fake().field(Key::kDataType) == static_cast<int64_t>(DataType::kFloat64));
  CHECK(make(size, kComplex32, kReal32, kComplex32) == 0);
  CHECK(fake().field(Key::kDirection) == 1);  // "direction is ignored for real-to-complex and complex-to-real"
  CHECK(make(size, kReal16, kComplex16, kComplex16) == 0);
  CHECK(bytes == 1024 * 2 * 4);
  CHECK(make(odd, kReal16, kComplex16, kComplex16) == kNotSupported);
  CHECK(make(size, kReal32, kReal32, kComplex32) == kInvalidValue);
  CHECK(make(size, kReal32, kComplex64, kComplex32) == kInvalidValue);
  CHECK(make(size, 3, kComplex32, kComplex32) == kInvalidValue);  // CUDA_R_8I
  CHECK(fake().charged.empty());
}
