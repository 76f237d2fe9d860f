#include <string>

#include "test/cublas/lt_fixture.h"

using namespace maya;
using namespace maya::test;

namespace {

int64_t type(DataType data_type) { return static_cast<int64_t>(data_type); }

}  // namespace

TEST_CASE_METHOD(LtFixture, "cublasLtMatmul is recorded with shape, types and epilogue") {
  problem(CUDA_R_16BF, CUDA_R_16BF, 64, 32, 128, true, false);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(CUBLASLT_EPILOGUE_GELU_BIAS));
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, device<void>(0x30000));
  REQUIRE(multiply() == CUBLAS_STATUS_SUCCESS);
  CHECK(std::string(fake().last().operation.api) == "cublasLtMatmul");
  CHECK(fake().last().stream == reinterpret_cast<CUstream>(0x99));
  CHECK(fake().field(Key::kM) == 64);
  CHECK(fake().field(Key::kN) == 32);
  CHECK(fake().field(Key::kK) == 128);
  CHECK(fake().field(Key::kTransA) == 1);
  CHECK(fake().field(Key::kTransB) == 0);
  CHECK(fake().field(Key::kTypeA) == type(DataType::kBfloat16));
  CHECK(fake().field(Key::kTypeD) == type(DataType::kBfloat16));
  CHECK(fake().field(Key::kComputeType) == type(DataType::kFloat32));
  CHECK(fake().field(Key::kEpilogue) == 36);
  CHECK(fake().field(Key::kAlpha) == 1);
  CHECK(fake().field(Key::kBeta) == 0);
  CHECK(fake().field(Key::kWorkspaceBytes) == 1 << 20);
  // A bias is read, not written.
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<char>(0x20000), 64 * 32 * 2)});
}

TEST_CASE_METHOD(LtFixture, "Epilogues that write: auxiliary matrices and bias gradients") {
  problem(CUDA_R_16F, CUDA_R_16F, 64, 32, 16);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, device<void>(0x40000));
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, device<void>(0x30000));
  const MemoryRange d_range = range(device<char>(0x20000), 64 * 32 * 2);
  SECTION("ReLU keeps a bit an element, in columns of the auxiliary leading dimension") {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(CUBLASLT_EPILOGUE_RELU_AUX_BIAS));
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t{128});
    REQUIRE(multiply() == CUBLAS_STATUS_SUCCESS);
    CHECK(fake().last().writes == std::vector<MemoryRange>{d_range, range(device<char>(0x40000), 128 / 8 * 32)});
  }
  SECTION("GELU keeps its input") {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(CUBLASLT_EPILOGUE_GELU_AUX_BIAS));
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t{64});
    REQUIRE(multiply() == CUBLAS_STATUS_SUCCESS);
    CHECK(fake().last().writes == std::vector<MemoryRange>{d_range, range(device<char>(0x40000), 64 * 32 * 2)});
  }
  SECTION("the gradient of GELU reads it and writes the bias gradient, one a row of D") {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(CUBLASLT_EPILOGUE_DGELU_BGRAD));
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t{64});
    REQUIRE(multiply() == CUBLAS_STATUS_SUCCESS);
    CHECK(fake().last().writes == std::vector<MemoryRange>{d_range, range(device<char>(0x30000), 64 * 2)});
  }
  SECTION("bias gradient from B, one a column of D") {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(CUBLASLT_EPILOGUE_BGRADB));
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<int32_t>(CUDA_R_32F));
    REQUIRE(multiply() == CUBLAS_STATUS_SUCCESS);
    CHECK(fake().last().writes == std::vector<MemoryRange>{d_range, range(device<char>(0x30000), 32 * 4)});
  }
}

TEST_CASE_METHOD(LtFixture, "8-bit floats with scales and the maximum of D") {
  problem(CUDA_R_8F_E4M3, CUDA_R_16BF, 64, 32, 128, true, false);
  cublasLtMatrixLayoutInit(&d, CUDA_R_8F_E4M3, 64, 32, 64);
  set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, device<const void>(0x50000));
  set(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, device<void>(0x60000));
  REQUIRE(multiply() == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kTypeA) == type(DataType::kFloat8E4m3));
  CHECK(fake().field(Key::kTypeC) == type(DataType::kBfloat16));
  CHECK(fake().field(Key::kTypeD) == type(DataType::kFloat8E4m3));
  CHECK(fake().last().writes ==
        std::vector<MemoryRange>{range(device<char>(0x20000), 64 * 32), range(device<char>(0x60000), 4)});
}

TEST_CASE_METHOD(LtFixture, "Row-major storage is a transposition; batches have strides") {
  problem(CUDA_R_32F, CUDA_R_32F, 4, 6, 8, false, false, CUBLAS_COMPUTE_32F_FAST_TF32);
  // A row major: 4 rows of 8; D row major: 4 rows of 6, 10 apart.
  set(&a, CUBLASLT_MATRIX_LAYOUT_ORDER, static_cast<int32_t>(CUBLASLT_ORDER_ROW));
  set(&a, CUBLASLT_MATRIX_LAYOUT_LD, int64_t{8});
  set(&d, CUBLASLT_MATRIX_LAYOUT_ORDER, static_cast<int32_t>(CUBLASLT_ORDER_ROW));
  set(&d, CUBLASLT_MATRIX_LAYOUT_LD, int64_t{10});
  for (auto* layout : {&a, &b, &c, &d}) set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{2});
  set(&d, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{100});
  REQUIRE(multiply() == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kTransA) == 1);
  CHECK(fake().field(Key::kTypeA) == type(DataType::kTf32));
  CHECK(fake().field(Key::kBatch) == 2);
  CHECK(fake().field(Key::kStrideC) == 100);
  std::vector<MemoryRange> expected;
  for (int batch = 0; batch < 2; ++batch)
    for (int row = 0; row < 4; ++row) expected.push_back(range(device<char>(0x20000 + batch * 400 + row * 40), 24));
  CHECK(fake().last().writes == expected);
}

TEST_CASE_METHOD(LtFixture, "cublasLtMatmul refuses contradictions") {
  problem(CUDA_R_32F, CUDA_R_32F, 4, 6, 8);
  CHECK(cublasLtMatmul(nullptr, &desc, &one, device<char>(1), &a, device<char>(1), &b, &zero, nullptr, &c,
                       device<char>(1), &d, nullptr, nullptr, 0, nullptr) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(cublasLtMatmul(handle, nullptr, &one, device<char>(1), &a, device<char>(1), &b, &zero, nullptr, &c,
                       device<char>(1), &d, nullptr, nullptr, 0, nullptr) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasLtMatmul(handle, &desc, nullptr, device<char>(1), &a, device<char>(1), &b, &zero, nullptr, &c,
                       device<char>(1), &d, nullptr, nullptr, 0, nullptr) == CUBLAS_STATUS_INVALID_VALUE);
  const cublasLtMatmulAlgo_t foreign = {};
  CHECK(multiply(&foreign) == CUBLAS_STATUS_INVALID_VALUE);
  set(&d, CUBLASLT_MATRIX_LAYOUT_LD, int64_t{3});
  CHECK(multiply() == CUBLAS_STATUS_INVALID_VALUE);
  set(&d, CUBLASLT_MATRIX_LAYOUT_LD, int64_t{4});
  set(&a, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{2});
  CHECK(multiply() == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE_METHOD(LtFixture, "A cuBLAS handle serves as a cublasLt handle") {
  // The documentation allows the cast; the two structs begin alike.
  uint64_t pretended[2] = {0x6d61796163626c73, 0};
  problem(CUDA_R_32F, CUDA_R_32F, 4, 6, 8);
  CHECK(cublasLtMatmul(reinterpret_cast<cublasLtHandle_t>(pretended), &desc, &one, device<char>(1), &a, device<char>(1),
                       &b, &zero, nullptr, &c, device<char>(1), &d, nullptr, nullptr, 0,
                       nullptr) == CUBLAS_STATUS_SUCCESS);
}

TEST_CASE_METHOD(LtFixture, "Grouped products read their sizes from device memory") {
  fake().compute_capability_major = 10;
  const int* rows = upload<int>(0x1000, {16, 32});
  const int* columns = upload<int>(0x1100, {8, 8});
  const int* inner = upload<int>(0x1200, {4, 4});
  REQUIRE(cublasLtMatmulDescInit(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
  cublasLtGroupedMatrixLayoutInit(&a, CUDA_R_16BF, 2, rows, inner, rows);
  cublasLtGroupedMatrixLayoutInit(&b, CUDA_R_16BF, 2, inner, columns, inner);
  cublasLtGroupedMatrixLayoutInit(&c, CUDA_R_16BF, 2, rows, columns, rows);
  cublasLtGroupedMatrixLayoutInit(&d, CUDA_R_16BF, 2, rows, columns, rows);
  upload<char*>(0x20000, {device<char>(0x100000), device<char>(0x200000)});
  REQUIRE(multiply() == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().operation.family == Family::kGroupedGemm);
  CHECK(fake().field(Key::kGroups) == 2);
  CHECK(fake().field(Key::kM) == 32);
  // 2 * 16*8*4 + 2 * 32*8*4.
  CHECK(fake().field(Key::kFlops) == 3072);
  CHECK(fake().last().writes ==
        std::vector<MemoryRange>{range(device<char>(0x100000), 256), range(device<char>(0x200000), 512)});
  // Hopper takes them since cuBLAS 13.4, Ampere does not.
  fake().compute_capability_major = 9;
  CHECK(multiply() == CUBLAS_STATUS_SUCCESS);
  fake().compute_capability_major = 8;
  CHECK(multiply() == CUBLAS_STATUS_NOT_SUPPORTED);
}

// Whatever the memory holds: sizes that are none make no cost, and a count that no memory bears out takes none here.
TEST_CASE_METHOD(LtFixture, "Grouped products whose sizes are no sizes are recorded without them") {
  const int64_t least = INT64_MIN, most = INT64_MAX;
  const auto* sizes = upload<int64_t>(0x1000, {least, most});
  const auto grouped = [&](int groups, const int64_t* array) {
    for (auto* layout : {&a, &b, &c, &d}) {
      cublasLtGroupedMatrixLayoutInit(layout, CUDA_R_16BF, groups, array, array, array);
      const int32_t wide = CUBLASLT_INTEGER_WIDTH_64;
      set(layout, CUBLASLT_GROUPED_MATRIX_LAYOUT_ROWS_COLS_ARRAY_INTEGER_WIDTH, wide);
      set(layout, CUBLASLT_GROUPED_MATRIX_LAYOUT_LD_ARRAY_INTEGER_WIDTH, wide);
    }
    REQUIRE(multiply() == CUBLAS_STATUS_SUCCESS);
    CHECK(fake().field(Key::kGroups) == groups);
    CHECK(fake().field(Key::kFlops) == 0);
    CHECK(fake().last().writes.empty());
  };
  REQUIRE(cublasLtMatmulDescInit(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
  grouped(2, sizes);
  grouped(INT32_MAX, device<int64_t>(0x8000));
}

TEST_CASE_METHOD(LtFixture, "Layouts that no memory could hold are refused everywhere") {
  problem(CUDA_R_16BF, CUDA_R_16BF, 8, 8, 8);
  cublasLtMatrixTransformDescOpaque_t transform;
  cublasLtMatrixTransformDescInit(&transform, CUDA_R_32F);
  cublasLtMatmulHeuristicResult_t result;
  int count = 0;
  const auto refused = [&] {
    CHECK(multiply() == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(cublasLtMatmulAlgoGetHeuristic(handle, &desc, &a, &b, &c, &d, preference, 1, &result, &count) ==
          CUBLAS_STATUS_INVALID_VALUE);
    CHECK(cublasLtMatrixTransform(handle, &transform, &one, device<char>(0), &d, &zero, nullptr, nullptr,
                                  device<char>(0x2000), &d, nullptr) == CUBLAS_STATUS_INVALID_VALUE);
  };
  SECTION("elements") {
    const uint64_t large = uint64_t{1} << 40;
    for (auto* layout : {&a, &b, &c, &d})
      cublasLtMatrixLayoutInit(layout, CUDA_R_16BF, large, large, static_cast<int64_t>(large));
    refused();
  }
  SECTION("rows that are negative as signed numbers") {
    for (auto* layout : {&a, &b, &c, &d}) cublasLtMatrixLayoutInit(layout, CUDA_R_16BF, UINT64_MAX, 1, INT64_MAX);
    refused();
  }
  SECTION("distances") {
    for (auto* layout : {&a, &b, &c, &d}) set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{2});
    set(&d, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, INT64_MIN);
    refused();
  }
  SECTION("a negative leading dimension, in an order that has no least one") {
    set(&d, CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t{CUBLASLT_ORDER_COL32});
    set(&d, CUBLASLT_MATRIX_LAYOUT_LD, int64_t{-8});
    refused();
  }
  CHECK(fake().recorded.empty());
}

TEST_CASE_METHOD(LtFixture, "A transform is an elementwise pass") {
  cublasLtMatrixTransformDescOpaque_t transform;
  cublasLtMatrixTransformDescInit(&transform, CUDA_R_32F);
  const int32_t transposed = CUBLAS_OP_T;
  cublasLtMatrixTransformDescSetAttribute(&transform, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, &transposed, 4);
  cublasLtMatrixLayoutInit(&a, CUDA_R_32F, 6, 4, 6);
  cublasLtMatrixLayoutInit(&c, CUDA_R_16F, 4, 6, 4);
  REQUIRE(cublasLtMatrixTransform(handle, &transform, &one, device<char>(0), &a, &zero, nullptr, nullptr,
                                  device<char>(0x2000), &c, nullptr) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().operation.family == Family::kElementwise);
  CHECK(fake().field(Key::kElements) == 24);
  CHECK(fake().field(Key::kReadBytes) == 96);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<char>(0x2000), 48)});
  cublasLtMatrixLayoutInit(&a, CUDA_R_32F, 4, 6, 4);
  CHECK(cublasLtMatrixTransform(handle, &transform, &one, device<char>(0), &a, &zero, nullptr, nullptr,
                                device<char>(0x2000), &c, nullptr) == CUBLAS_STATUS_INVALID_VALUE);
}
