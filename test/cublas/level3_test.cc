#include <string>

#include "test/cublas/handle_fixture.h"

using namespace maya;
using namespace maya::test;

TEST_CASE_METHOD(HandleFixture, "symm is a product with the symmetric matrix on either side") {
  REQUIRE(cublasSsymm_v2(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, 3, 5, &one, device<float>(0), 3,
                         device<float>(256), 3, &zero, device<float>(512), 3) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().operation.family == Family::kGemm);
  CHECK(fake().field(Key::kM) == 3);
  CHECK(fake().field(Key::kN) == 5);
  CHECK(fake().field(Key::kK) == 3);
  REQUIRE(cublasSsymm_v2(handle, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, 3, 5, &one, device<float>(0), 5,
                         device<float>(256), 3, &zero, device<float>(512), 3) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kK) == 5);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(512), 60)});
  CHECK(cublasSsymm_v2(handle, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, 3, 5, &one, device<float>(0), 3,
                       device<float>(256), 3, &zero, device<float>(512), 3) == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE_METHOD(HandleFixture, "syrk and syr2k write one triangle with half of the work") {
  REQUIRE(cublasSsyrk_v2(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, 3, 4, &one, device<float>(0), 3, &zero,
                         device<float>(512), 3) == CUBLAS_STATUS_SUCCESS);
  // 6 elements of 4 products of 2 operations.
  CHECK(fake().field(Key::kFlops) == 48);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(512), 4), range(device<float>(524), 8),
                                                         range(device<float>(536), 12)});
  REQUIRE(cublasSsyr2k_v2(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, 3, 4, &one, device<float>(0), 4,
                          device<float>(256), 4, &zero, device<float>(512), 3) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kFlops) == 96);
  CHECK(fake().field(Key::kTransA) == 1);
  CHECK(fake().field(Key::kTransB) == 0);
}

TEST_CASE_METHOD(HandleFixture, "herk has real scalars") {
  REQUIRE(cublasCherk_v2(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 2, 3, &one, device<cuComplex>(0), 2, &zero,
                         device<cuComplex>(512), 2) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kAlpha) == 1);
  CHECK(fake().field(Key::kBeta) == 0);
  // 3 elements of 3 products of 8 real operations.
  CHECK(fake().field(Key::kFlops) == 72);
}

TEST_CASE_METHOD(HandleFixture, "trmm writes C, trsm writes B") {
  REQUIRE(cublasStrmm_v2(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 4, 2, &one,
                         device<float>(0), 4, device<float>(256), 4, device<float>(512), 4) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(512), 32)});
  CHECK(fake().field(Key::kFlops) == 32);
  REQUIRE(cublasStrsm_v2(handle, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, 4, 2,
                         &one, device<float>(0), 2, device<float>(256), 4) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kK) == 2);
  CHECK(fake().field(Key::kTransB) == 1);
  CHECK(fake().field(Key::kFlops) == 16);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(256), 32)});
  float* const* outputs = upload<float*>(8192, {device<float>(0x1000), device<float>(0x2000)});
  REQUIRE(cublasStrsmBatched(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 4, 2,
                             &one, device<const float*>(0), 4, outputs, 4, 2) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kBatch) == 2);
  CHECK(fake().last().writes ==
        std::vector<MemoryRange>{range(device<float>(0x1000), 32), range(device<float>(0x2000), 32)});
}

TEST_CASE_METHOD(HandleFixture, "geam, dgmm and repacking are element by element") {
  REQUIRE(cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, 3, 4, &one, device<float>(0), 4, &zero, nullptr, 3,
                      device<float>(512), 3) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().operation.family == Family::kElementwise);
  // B is not read where beta is zero.
  CHECK(fake().field(Key::kReadBytes) == 48);
  CHECK(fake().field(Key::kWrittenBytes) == 48);
  REQUIRE(cublasSdgmm(handle, CUBLAS_SIDE_LEFT, 3, 4, device<float>(0), 3, device<float>(256), 1, device<float>(512),
                      3) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kReadBytes) == (12 + 3) * 4);
  REQUIRE(cublasStrttp(handle, CUBLAS_FILL_MODE_LOWER, 3, device<float>(0), 3, device<float>(512)) ==
          CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(512), 24)});
}
