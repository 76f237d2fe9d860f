// cuSPARSELt by its documentation.
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

#include "test/cublas/fake_driver.h"
#include "test/cusparse_lt/api.h"

using namespace maya;
using namespace maya::test;

namespace {

constexpr int kNotInitialized = 1, kInvalidValue = 3;  // cusparseStatus_t
constexpr int kReal16 = 2, kReal8 = 3, kByRows = 2, kByColumns = 1, kCompute32 = 2;

struct alignas(16) Object {
  unsigned char data[512] = {};
};

// D[128, 64] = A[128, 256] B[256, 64], A structured, all by rows.
struct Product {
  Object handle, a, b, c, multiplication, algorithm, plan;
  Product() {
    reset();
    REQUIRE(cusparseLtInit(&handle) == 0);
    REQUIRE(cusparseLtStructuredDescriptorInit(&handle, &a, 128, 256, 256, 16, kReal16, kByRows, 0) == 0);
    REQUIRE(cusparseLtDenseDescriptorInit(&handle, &b, 256, 64, 64, 16, kReal16, kByRows) == 0);
    REQUIRE(cusparseLtDenseDescriptorInit(&handle, &c, 128, 64, 64, 16, kReal16, kByRows) == 0);
    REQUIRE(cusparseLtMatmulDescriptorInit(&handle, &multiplication, 0, 0, &a, &b, &c, &c, kCompute32) == 0);
    REQUIRE(cusparseLtMatmulAlgSelectionInit(&handle, &algorithm, &multiplication, 0) == 0);
    REQUIRE(cusparseLtMatmulPlanInit(&handle, &plan, &multiplication, &algorithm) == 0);
  }
};

}  // namespace

TEST_CASE("cuSPARSELt: handle and versions") {
  Object handle;
  int value = 0;
  CHECK(cusparseLtInit(nullptr) == kInvalidValue);
  CHECK(cusparseLtGetVersion(nullptr, &value) == kInvalidValue);
  CHECK(cusparseLtGetVersion(&handle, &value) == kNotInitialized);
  REQUIRE(cusparseLtInit(&handle) == 0);
  CHECK(cusparseLtGetVersion(&handle, &value) == 0);
  CHECK(value == 801);
  CHECK(cusparseLtDestroy(&handle) == 0);
  CHECK(cusparseLtDestroy(&handle) == kNotInitialized);
  CHECK(std::string(cusparseLtGetErrorName(10)) == "CUSPARSE_STATUS_NOT_SUPPORTED");
}

TEST_CASE("cuSPARSELt: descriptors check their arguments") {
  Product p;
  Object other;
  CHECK(cusparseLtDenseDescriptorInit(&p.handle, &other, 0, 64, 64, 16, kReal16, kByRows) == kInvalidValue);
  CHECK(cusparseLtDenseDescriptorInit(&p.handle, &other, 64, -64, 64, 16, kReal16, kByRows) == kInvalidValue);
  CHECK(cusparseLtDenseDescriptorInit(&p.handle, &other, 64, 32, 63, 16, kReal16, kByColumns) == kInvalidValue);
  CHECK(cusparseLtDenseDescriptorInit(&p.handle, &other, 64, 32, 64, 15, kReal16, kByColumns) == kInvalidValue);
  CHECK(cusparseLtDenseDescriptorInit(&p.handle, &other, 64, 32, 64, 16, kReal16, 3) == kInvalidValue);
  CHECK(cusparseLtDenseDescriptorInit(&p.handle, &other, INT64_MAX, 2, INT64_MAX, 16, kReal16, kByColumns) ==
        kInvalidValue);
  CHECK(cusparseLtDenseDescriptorInit(&p.handle, &other, 2, 2, INT64_MAX, 16, kReal16, kByRows) == kInvalidValue);
  CHECK(cusparseLtDenseDescriptorInit(&p.handle, nullptr, 64, 32, 64, 16, kReal16, kByColumns) == kInvalidValue);
  CHECK(cusparseLtMatDescriptorDestroy(&other) == kInvalidValue);
  // Neither or both structured, or sizes that do not fit.
  CHECK(cusparseLtMatmulDescriptorInit(&p.handle, &other, 0, 0, &p.b, &p.b, &p.c, &p.c, kCompute32) == kInvalidValue);
  CHECK(cusparseLtMatmulDescriptorInit(&p.handle, &other, 0, 0, &p.a, &p.a, &p.c, &p.c, kCompute32) == kInvalidValue);
  CHECK(cusparseLtMatmulDescriptorInit(&p.handle, &other, 1, 0, &p.a, &p.b, &p.c, &p.c, kCompute32) == kInvalidValue);
  CHECK(cusparseLtMatmulPlanInit(&p.handle, &other, &p.a, &p.algorithm) == kInvalidValue);
  int relu = 1, read = 0;
  CHECK(cusparseLtMatmulDescSetAttribute(&p.handle, &p.multiplication, 0, &relu, 1) == kInvalidValue);
  CHECK(cusparseLtMatmulDescSetAttribute(&p.handle, &p.multiplication, 20, &relu, 4) == kInvalidValue);
  CHECK(cusparseLtMatmulDescSetAttribute(&p.handle, &p.multiplication, 0, &relu, 4) == 0);
  CHECK(cusparseLtMatmulDescGetAttribute(&p.handle, &p.multiplication, 0, &read, 4) == 0);
  CHECK(read == 1);
  CHECK(cusparseLtMatmulAlgGetAttribute(&p.handle, &p.algorithm, 1, &read, 4) == 0);  // how many configurations
  CHECK(read > 0);
  CHECK(cusparseLtMatmulAlgSetAttribute(&p.handle, &p.algorithm, 0, &read, 4) == kInvalidValue);  // one too many
  CHECK(cusparseLtMatmulAlgSetAttribute(&p.handle, &p.algorithm, 1, &read, 4) == kInvalidValue);  // "READ-ONLY"
}

TEST_CASE("cuSPARSELt: a product is recorded with the multiplications that remain") {
  Product p;
  const float one = 1, zero = 0;
  CUstream stream = reinterpret_cast<CUstream>(0x11);
  void *a = device<void>(0), *b = device<void>(1 << 20), *d = device<void>(1 << 21), *bias = device<void>(1 << 22);
  CHECK(cusparseLtMatmul(&p.handle, &p.plan, nullptr, a, b, &zero, d, d, nullptr, &stream, 1) == kInvalidValue);
  CHECK(cusparseLtMatmul(&p.handle, &p.plan, &one, a, b, &zero, d, nullptr, nullptr, &stream, 1) == kInvalidValue);
  CHECK(cusparseLtMatmul(&p.handle, &p.a, &one, a, b, &zero, d, d, nullptr, &stream, 1) == kInvalidValue);
  REQUIRE(cusparseLtMatmulDescSetAttribute(&p.handle, &p.multiplication, 8, &bias, sizeof bias) == 0);
  REQUIRE(cusparseLtMatmul(&p.handle, &p.plan, &one, a, b, &zero, d, d, nullptr, &stream, 1) == 0);
  CHECK(fake().last().stream == stream);
  CHECK(fake().last().operation.family == Family::kGemm);
  CHECK(fake().field(Key::kM) == 128);
  CHECK(fake().field(Key::kN) == 64);
  CHECK(fake().field(Key::kK) == 256 / 2);
  CHECK(fake().field(Key::kNonzeros) == 128 * 256 / 2);
  CHECK(fake().field(Key::kEpilogue) == 4);  // CUBLASLT_EPILOGUE_BIAS
  CHECK(fake().last().writes[0] == range(d, 128 * 64 * 2));
  const size_t before = fake().recorded.size();
  REQUIRE(cusparseLtMatmulSearch(&p.handle, &p.plan, &one, a, b, &zero, d, d, nullptr, nullptr, 0) == 0);
  CHECK(fake().recorded.size() > before + 1);
  size_t bytes = 1;
  CHECK(cusparseLtMatmulGetWorkspace(&p.handle, &p.plan, &bytes) == 0);
  CHECK(bytes == 0);  // no split-K
  CHECK(cusparseLtMatmulPlanDestroy(&p.plan) == 0);
  CHECK(cusparseLtMatmulPlanDestroy(&p.plan) == kInvalidValue);
}

// PyTorch's SparseSemiStructuredTensor reckons with 9/16 of the dense bytes for 16-bit types, 10/16 for 8-bit ones.
TEST_CASE("cuSPARSELt: compressed sizes") {
  Product p;
  Object bytes8;
  size_t bytes = 0, buffer = 0;
  REQUIRE(cusparseLtSpMMACompressedSize2(&p.handle, &p.a, &bytes, &buffer) == 0);
  CHECK(bytes == 128 * 256 * 2 * 9 / 16);
  REQUIRE(cusparseLtStructuredDescriptorInit(&p.handle, &bytes8, 128, 256, 256, 16, kReal8, kByRows, 0) == 0);
  REQUIRE(cusparseLtSpMMACompressedSize2(&p.handle, &bytes8, &bytes, &buffer) == 0);
  CHECK(bytes == 128 * 256 * 10 / 16);
  CHECK(cusparseLtSpMMACompressedSize2(&p.handle, &p.b, &bytes, &buffer) == kInvalidValue);  // not structured
  REQUIRE(cusparseLtSpMMACompress2(&p.handle, &p.a, 1, 0, device<void>(0), device<void>(1 << 20), nullptr, nullptr) ==
          0);
  CHECK(fake().last().writes[0] == range(device<void>(1 << 20), 128 * 256 * 2 * 9 / 16));
  CHECK(cusparseLtSpMMACompress2(&p.handle, &p.a, 1, 0, nullptr, device<void>(0), nullptr, nullptr) == kInvalidValue);
  REQUIRE(cusparseLtSpMMAPrune(&p.handle, &p.multiplication, device<void>(0), device<void>(1 << 20), 0, nullptr) == 0);
  CHECK(fake().last().writes[0] == range(device<void>(1 << 20), 128 * 256 * 2));
}
