#include <string>

#include "test/cublas/handle_fixture.h"

using namespace maya;
using namespace maya::test;

TEST_CASE_METHOD(HandleFixture, "gemv") {
  REQUIRE(cublasSgemv_v2(handle, CUBLAS_OP_N, 3, 5, &one, device<float>(0), 3, device<float>(256), 1, &zero,
                         device<float>(512), 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().operation.family == Family::kVector);
  CHECK(fake().field(Key::kRows) == 3);
  CHECK(fake().field(Key::kColumns) == 5);
  CHECK(fake().field(Key::kFlops) == 30);
  // 15 of A, 5 of x, 3 of y.
  CHECK(fake().field(Key::kReadBytes) == 23 * 4);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(512), 12)});
  // Transposed, y has as many elements as A has columns.
  REQUIRE(cublasSgemv_v2(handle, CUBLAS_OP_T, 3, 5, &one, device<float>(0), 3, device<float>(256), 1, &zero,
                         device<float>(512), 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(512), 20)});

  CHECK(cublasSgemv_v2(handle, CUBLAS_OP_N, -1, 5, &one, device<float>(0), 3, device<float>(256), 1, &zero,
                       device<float>(512), 1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasSgemv_v2(handle, CUBLAS_OP_N, 3, 5, &one, device<float>(0), 3, device<float>(256), 0, &zero,
                       device<float>(512), 1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasSgemv_v2(handle, CUBLAS_OP_N, 3, 5, &one, device<float>(0), 2, device<float>(256), 1, &zero,
                       device<float>(512), 1) == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE_METHOD(HandleFixture, "A symmetric matrix is read by half and used in full") {
  REQUIRE(cublasSsymv_v2(handle, CUBLAS_FILL_MODE_LOWER, 4, &one, device<float>(0), 4, device<float>(256), 1, &zero,
                         device<float>(512), 1) == CUBLAS_STATUS_SUCCESS);
  // 10 stored elements, each in two products of 2 operations.
  CHECK(fake().field(Key::kFlops) == 40);
  CHECK(fake().field(Key::kReadBytes) == (10 + 4 + 4) * 4);
  CHECK(cublasSsymv_v2(handle, CUBLAS_FILL_MODE_FULL, 4, &one, device<float>(0), 4, device<float>(256), 1, &zero,
                       device<float>(512), 1) == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE_METHOD(HandleFixture, "Banded, packed and triangular matrices") {
  REQUIRE(cublasDgbmv_v2(
              handle, CUBLAS_OP_N, 6, 6, 1, 1,
              [] {
                static const double two = 2;
                return &two;
              }(),
              device<double>(0), 3, device<double>(256), 1,
              [] {
                static const double none = 0;
                return &none;
              }(),
              device<double>(512), 1) == CUBLAS_STATUS_SUCCESS);
  // Three diagonals of six columns.
  CHECK(fake().field(Key::kFlops) == 36);
  CHECK(cublasDgbmv_v2(
            handle, CUBLAS_OP_N, 6, 6, 1, 1,
            [] {
              static const double two = 2;
              return &two;
            }(),
            device<double>(0), 2, device<double>(256), 1,
            [] {
              static const double none = 0;
              return &none;
            }(),
            device<double>(512), 1) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(cublasStrsv_v2(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, CUBLAS_DIAG_UNIT, 4, device<float>(0), 4,
                         device<float>(256), 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(256), 16)});
  REQUIRE(cublasStpmv_v2(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 4, device<float>(0),
                         device<float>(256), 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kFlops) == 20);
}

TEST_CASE_METHOD(HandleFixture, "Rank updates write the matrix: all of it, or one triangle") {
  REQUIRE(cublasSger_v2(handle, 2, 3, &one, device<float>(0), 1, device<float>(256), 1, device<float>(512), 2) ==
          CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(512), 24)});
  REQUIRE(cublasSsyr_v2(handle, CUBLAS_FILL_MODE_LOWER, 3, &one, device<float>(0), 1, device<float>(512), 3) ==
          CUBLAS_STATUS_SUCCESS);
  // Columns from the diagonal down: 3, 2 and 1 elements at 0, 4 and 8.
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(512), 12), range(device<float>(528), 8),
                                                         range(device<float>(544), 4)});
  REQUIRE(cublasSsyr_v2(handle, CUBLAS_FILL_MODE_UPPER, 3, &one, device<float>(0), 1, device<float>(512), 3) ==
          CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(512), 4), range(device<float>(524), 8),
                                                         range(device<float>(536), 12)});
  REQUIRE(cublasSspr_v2(handle, CUBLAS_FILL_MODE_UPPER, 3, &one, device<float>(0), 1, device<float>(512)) ==
          CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(512), 24)});
}

TEST_CASE_METHOD(HandleFixture, "Batches of matrix-vector products") {
  REQUIRE(cublasHSSgemvStridedBatched(handle, CUBLAS_OP_N, 4, 2, &one, device<__half>(0), 4, 8, device<__half>(256), 1,
                                      2, &zero, device<float>(512), 1, 4, 3) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kBatch) == 3);
  CHECK(fake().field(Key::kFlops) == 48);
  CHECK(fake().field(Key::kDataType) == static_cast<int64_t>(DataType::kFloat16));
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(512), 48)});
  float* const* outputs = upload<float*>(8192, {device<float>(0x1000), device<float>(0x2000)});
  REQUIRE(cublasSgemvBatched(handle, CUBLAS_OP_T, 4, 2, &one, device<const float*>(0), 4, device<const float*>(64), 1,
                             &zero, outputs, 1, 2) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().writes ==
        std::vector<MemoryRange>{range(device<float>(0x1000), 8), range(device<float>(0x2000), 8)});
}
