#include "test/cublas/lt_fixture.h"

using namespace maya::test;

TEST_CASE_METHOD(LtFixture, "The heuristic gives algorithms that cublasLtMatmul takes") {
  problem(CUDA_R_16BF, CUDA_R_16BF, 256, 512, 64);
  cublasLtMatmulHeuristicResult_t results[8];
  int returned = 0;
  REQUIRE(cublasLtMatmulAlgoGetHeuristic(handle, &desc, &a, &b, &c, &d, preference, 8, results, &returned) ==
          CUBLAS_STATUS_SUCCESS);
  REQUIRE(returned >= 1);
  for (int i = 0; i < returned; ++i) {
    CHECK(results[i].state == CUBLAS_STATUS_SUCCESS);
    CHECK(results[i].workspaceSize == 0);  // the preference allows none
    CHECK(multiply(&results[i].algo) == CUBLAS_STATUS_SUCCESS);
    cublasLtMatmulHeuristicResult_t checked;
    CHECK(cublasLtMatmulAlgoCheck(handle, &desc, &a, &b, &c, &d, &results[i].algo, &checked) == CUBLAS_STATUS_SUCCESS);
  }
  // Two by two tiles of 128 x 256 on 132 multiprocessors.
  CHECK(results[0].wavesCount == Approx(4.0 / 132));
  REQUIRE(cublasLtMatmulAlgoGetHeuristic(handle, &desc, &a, &b, &c, &d, preference, 1, results, &returned) ==
          CUBLAS_STATUS_SUCCESS);
  CHECK(returned == 1);
}

TEST_CASE_METHOD(LtFixture, "The heuristic refuses what the documentation refuses") {
  cublasLtMatmulHeuristicResult_t result;
  int returned = 0;
  const auto ask = [&] {
    return cublasLtMatmulAlgoGetHeuristic(handle, &desc, &a, &b, &c, &d, preference, 1, &result, &returned);
  };
  problem(CUDA_R_16BF, CUDA_R_16BF, 16, 16, 16);
  CHECK(cublasLtMatmulAlgoGetHeuristic(handle, &desc, &a, &b, &c, &d, preference, 0, &result, &returned) ==
        CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasLtMatmulAlgoGetHeuristic(nullptr, &desc, &a, &b, &c, &d, preference, 1, &result, &returned) ==
        CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(ask() == CUBLAS_STATUS_SUCCESS);
  // Sizes that do not fit together.
  cublasLtMatrixLayoutInit(&b, CUDA_R_16BF, 17, 16, 17);
  CHECK(ask() == CUBLAS_STATUS_INVALID_VALUE);
  // Half precision sums of bfloat16.
  problem(CUDA_R_16BF, CUDA_R_16BF, 16, 16, 16, false, false, CUBLAS_COMPUTE_16F, CUDA_R_16F);
  CHECK(ask() == CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_CASE_METHOD(LtFixture, "8-bit floats need compute capability 8.9, and A transposed up to Hopper") {
  cublasLtMatmulHeuristicResult_t result;
  int returned = 0;
  const auto ask = [&] {
    return cublasLtMatmulAlgoGetHeuristic(handle, &desc, &a, &b, &c, &d, preference, 1, &result, &returned);
  };
  problem(CUDA_R_8F_E4M3, CUDA_R_16BF, 64, 64, 64, true, false);
  CHECK(ask() == CUBLAS_STATUS_SUCCESS);
  fake().compute_capability_major = 8;
  CHECK(ask() == CUBLAS_STATUS_NOT_SUPPORTED);
  fake().compute_capability_minor = 9;
  CHECK(ask() == CUBLAS_STATUS_SUCCESS);
  problem(CUDA_R_8F_E4M3, CUDA_R_16BF, 64, 64, 64, false, false);
  CHECK(ask() == CUBLAS_STATUS_NOT_SUPPORTED);
  fake().compute_capability_major = 10, fake().compute_capability_minor = 0;
  CHECK(ask() == CUBLAS_STATUS_SUCCESS);
  problem(CUDA_R_8F_E5M2, CUDA_R_16BF, 64, 64, 64, true, false);
  CHECK(ask() == CUBLAS_STATUS_NOT_SUPPORTED);  // not both e5m2
}

TEST_CASE_METHOD(LtFixture, "Algorithms by id: initialise, capabilities, configuration") {
  int ids[8], returned = 0;
  REQUIRE(cublasLtMatmulAlgoGetIds(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F,
                                   CUDA_R_16F, 8, ids, &returned) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(returned >= 1);
  cublasLtMatmulAlgo_t algo;
  CHECK(cublasLtMatmulAlgoInit(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F,
                               1000, &algo) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(cublasLtMatmulAlgoInit(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F,
                                 ids[0], &algo) == CUBLAS_STATUS_SUCCESS);
  int32_t id = -1, split = 4;
  size_t written = 0;
  CHECK(cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_ID, &id, 4, &written) ==
        CUBLAS_STATUS_SUCCESS);
  CHECK(id == ids[0]);
  CHECK(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_ID, &id, 4) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &split, 4) ==
        CUBLAS_STATUS_SUCCESS);
  CHECK(cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_TILE_IDS, nullptr, 0, &written) ==
        CUBLAS_STATUS_SUCCESS);
  CHECK(written >= 4);
  int32_t batches = 0;
  CHECK(cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT, &batches, 4, &written) ==
        CUBLAS_STATUS_SUCCESS);
  CHECK(batches != 0);
  CHECK(cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT, &batches, 2, &written) ==
        CUBLAS_STATUS_INVALID_VALUE);
  cublasLtMatmulAlgo_t foreign = {};
  CHECK(cublasLtMatmulAlgoConfigGetAttribute(&foreign, CUBLASLT_ALGO_CONFIG_ID, &id, 4, &written) ==
        CUBLAS_STATUS_INVALID_VALUE);
}
