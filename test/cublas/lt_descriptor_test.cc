#include <cstring>
#include <string>

#include "test/cublas/lt_fixture.h"

using namespace maya::test;

TEST_CASE("Descriptors on the heap and in the caller's storage hold the same") {
  cublasLtMatrixLayout_t made = nullptr;
  REQUIRE(cublasLtMatrixLayoutCreate(&made, CUDA_R_16BF, 7, 9, 8) == CUBLAS_STATUS_SUCCESS);
  cublasLtMatrixLayoutOpaque_t in_place;
  REQUIRE(cublasLtMatrixLayoutInit(&in_place, CUDA_R_16BF, 7, 9, 8) == CUBLAS_STATUS_SUCCESS);
  CHECK(std::memcmp(made, &in_place, sizeof in_place) == 0);
  CHECK(cublasLtMatrixLayoutInit_internal(&in_place, 56, CUDA_R_16BF, 7, 9, 8) == CUBLAS_STATUS_ALLOC_FAILED);
  CHECK(cublasLtMatrixLayoutDestroy(made) == CUBLAS_STATUS_SUCCESS);
}

// cublasLt.h of CUDA 12.9: both structs are uint64_t data[8]; CUDA 13 made them larger.
TEST_CASE("Storage of a program built with CUDA 12 is enough, and nothing behind it is written") {
  struct {
    uint64_t storage[8];
    uint64_t behind[8];
  } memory;
  std::memset(&memory, 0x5a, sizeof memory);
  auto* layout = reinterpret_cast<cublasLtMatrixLayout_t>(memory.storage);
  REQUIRE(cublasLtMatrixLayoutInit_internal(layout, 64, CUDA_R_16BF, 7, 9, 8) == CUBLAS_STATUS_SUCCESS);
  uint64_t rows = 0;
  int32_t batches = 0;
  size_t written = 0;
  CHECK(cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, 8, &written) ==
        CUBLAS_STATUS_SUCCESS);
  CHECK(cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, 4, &written) ==
        CUBLAS_STATUS_SUCCESS);
  CHECK(rows == 7);
  CHECK(batches == 1);
  auto* preference = reinterpret_cast<cublasLtMatmulPreference_t>(memory.storage);
  REQUIRE(cublasLtMatmulPreferenceInit_internal(preference, 64) == CUBLAS_STATUS_SUCCESS);
  for (const uint64_t word : memory.behind) CHECK(word == 0x5a5a5a5a5a5a5a5a);
}

TEST_CASE("Attributes have the documented sizes and defaults") {
  cublasLtMatmulDescOpaque_t desc;
  cublasLtMatmulDescInit(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const struct {
    cublasLtMatmulDescAttributes_t id;
    size_t bytes;
    int64_t value;
  } rows[] = {{CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 4, CUBLAS_COMPUTE_32F},
              {CUBLASLT_MATMUL_DESC_SCALE_TYPE, 4, CUDA_R_32F},
              {CUBLASLT_MATMUL_DESC_TRANSA, 4, CUBLAS_OP_N},
              {CUBLASLT_MATMUL_DESC_FILL_MODE, 4, CUBLAS_FILL_MODE_FULL},
              {CUBLASLT_MATMUL_DESC_EPILOGUE, 4, CUBLASLT_EPILOGUE_DEFAULT},
              {CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8, 0},
              {CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, 8, 0},
              {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 8, 0},
              {CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, 4, 0},
              {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, 8, 0},
              {CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, 8, 0},
              {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, 4, 0xffffffff},
              {CUBLASLT_MATMUL_DESC_FAST_ACCUM, 1, 0},
              {CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 4, 0xffffffff},
              {CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, 4, 0},
              {CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, 8, 0}};
  for (const auto& row : rows) {
    size_t needed = 0, written = 0;
    int64_t value = 0;
    CHECK(cublasLtMatmulDescGetAttribute(&desc, row.id, nullptr, 0, &needed) == CUBLAS_STATUS_SUCCESS);
    CHECK(needed == row.bytes);
    CHECK(cublasLtMatmulDescGetAttribute(&desc, row.id, &value, row.bytes, &written) == CUBLAS_STATUS_SUCCESS);
    CHECK(written == row.bytes);
    CHECK(value == row.value);
    CHECK(cublasLtMatmulDescGetAttribute(&desc, row.id, &value, row.bytes + 1, &written) ==
          CUBLAS_STATUS_INVALID_VALUE);
    CHECK(cublasLtMatmulDescSetAttribute(&desc, row.id, &value, row.bytes + 1) == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(cublasLtMatmulDescSetAttribute(&desc, row.id, nullptr, row.bytes) == CUBLAS_STATUS_INVALID_VALUE);
  }
  CHECK(cublasLtMatmulDescGetAttribute(&desc, CUBLASLT_MATMUL_DESC_TRANSA, nullptr, 0, nullptr) ==
        CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasLtMatmulDescSetAttribute(nullptr, CUBLASLT_MATMUL_DESC_TRANSA, &desc, 4) == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE_METHOD(LtFixture, "Preferences begin with the documented defaults") {
  uint32_t alignment = 0;
  uint64_t bytes = 42, mask = 0;
  size_t written = 0;
  CHECK(cublasLtMatmulPreferenceGetAttribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &alignment, 4,
                                             &written) == CUBLAS_STATUS_SUCCESS);
  CHECK(alignment == 256);
  CHECK(cublasLtMatmulPreferenceGetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, 8,
                                             &written) == CUBLAS_STATUS_SUCCESS);
  CHECK(bytes == 0);
  CHECK(cublasLtMatmulPreferenceGetAttribute(preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, &mask, 8, &written) ==
        CUBLAS_STATUS_SUCCESS);
  CHECK(mask == ~uint64_t{0});
  // Average sizes of grouped products: 32 bits as documented, and 64 as Transformer Engine passes them.
  for (const auto id :
       {CUBLASLT_MATMUL_PREF_GROUPED_AVERAGE_REDUCTION_DIM, CUBLASLT_MATMUL_PREF_GROUPED_DESC_D_AVERAGE_ROWS,
        CUBLASLT_MATMUL_PREF_GROUPED_DESC_D_AVERAGE_COLS}) {
    const uint32_t narrow = 3000;
    const int64_t wide = 4000;
    uint32_t average = 0;
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, id, &narrow, 4) == CUBLAS_STATUS_SUCCESS);
    CHECK(cublasLtMatmulPreferenceGetAttribute(preference, id, &average, 4, &written) == CUBLAS_STATUS_SUCCESS);
    CHECK(average == 3000);
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, id, &wide, 8) == CUBLAS_STATUS_SUCCESS);
    CHECK(cublasLtMatmulPreferenceGetAttribute(preference, id, &average, 4, &written) == CUBLAS_STATUS_SUCCESS);
    CHECK(average == 4000);
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, id, &narrow, 2) == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, id, nullptr, 8) == CUBLAS_STATUS_INVALID_VALUE);
  }
}

TEST_CASE("Transform and emulation descriptors") {
  cublasLtMatrixTransformDesc_t transform = nullptr;
  REQUIRE(cublasLtMatrixTransformDescCreate(&transform, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
  const int32_t transposed = CUBLAS_OP_T;
  int32_t read = 0;
  CHECK(cublasLtMatrixTransformDescSetAttribute(transform, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, &transposed, 4) ==
        CUBLAS_STATUS_SUCCESS);
  CHECK(cublasLtMatrixTransformDescGetAttribute(transform, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, &read, 4, nullptr) ==
        CUBLAS_STATUS_SUCCESS);
  CHECK(read == CUBLAS_OP_T);
  cublasLtMatrixTransformDescDestroy(transform);
  cublasLtEmulationDesc_t emulation = nullptr;
  REQUIRE(cublasLtEmulationDescCreate(&emulation) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasLtEmulationDescGetAttribute(emulation, CUBLASLT_EMULATION_DESC_SPECIAL_VALUES_SUPPORT, &read, 4,
                                          nullptr) == CUBLAS_STATUS_SUCCESS);
  CHECK(read == 0xffff);
  cublasLtEmulationDescDestroy(emulation);
}

TEST_CASE_METHOD(LtFixture, "Versions, texts and settings") {
  CHECK(cublasLtGetVersion() == CUBLAS_VERSION);
  CHECK(std::string(cublasLtGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED)) ==
        cublasGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED));
  size_t capacity = 0;
  CHECK(cublasLtHeuristicsCacheSetCapacity(100) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasLtHeuristicsCacheGetCapacity(&capacity) == CUBLAS_STATUS_SUCCESS);
  CHECK(capacity == 100);
  CHECK(cublasLtLoggerSetLevel(6) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasLtDestroy(nullptr) == CUBLAS_STATUS_NOT_INITIALIZED);
}
