// cublasLtMatmulAlgoGetHeuristic and cublasLtMatmulAlgoCheck.
#include <cuda.h>

#include "driver_shim/common/api.h"
#include "driver_shim/common/driver_access.h"
#include "driver_shim/cublas/lt_algorithm.h"
#include "driver_shim/cublas/lt_attribute.h"
#include "driver_shim/cublas/lt_handle.h"
#include "driver_shim/cublas/lt_problem.h"

namespace maya::cublas {
namespace {

int multiprocessors() {
  const auto get_device = MAYA_DRIVER(cuCtxGetDevice);
  const auto get_attribute = MAYA_DRIVER(cuDeviceGetAttribute);
  CUdevice device = 0;
  int count = 0;
  if (get_device == nullptr || get_attribute == nullptr || get_device(&device) != CUDA_SUCCESS ||
      get_attribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) != CUDA_SUCCESS)
    return 0;
  return count;
}

// Thread blocks over multiprocessors: "a value of 1.0 suggests that the kernel will fully occupy the GPU".
float waves(const MatmulProblem& problem, int id) {
  const int count = multiprocessors();
  if (count == 0) return 0;
  const AlgorithmTile& tile = kAlgorithmTiles[id];
  const int64_t blocks =
      (problem.m + tile.rows - 1) / tile.rows * ((problem.n + tile.columns - 1) / tile.columns) * problem.batch;
  return static_cast<float>(blocks) / static_cast<float>(count);
}

cublasStatus_t check_problem(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                             cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                             MatmulProblem* problem) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (const cublasStatus_t status = make_problem(ours(desc), ours(a), ours(b), ours(c), ours(d), problem);
      status != CUBLAS_STATUS_SUCCESS)
    return status;
  const cudaDataType d_type = ours(d)->data_type(), c_type = c == nullptr ? d_type : ours(c)->data_type();
  return lt_supported(*ours(desc), *problem, ours(a)->data_type(), ours(b)->data_type(), c_type, d_type,
                      compute_capability())
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_NOT_SUPPORTED;
}

void fill(cublasLtMatmulHeuristicResult_t* result, const MatmulProblem& problem, int id) {
  result->workspaceSize = 0;
  result->state = CUBLAS_STATUS_SUCCESS;
  result->wavesCount = waves(problem, id);
  for (int& word : result->reserved) word = 0;
}

}  // namespace
}  // namespace maya::cublas

using namespace maya::cublas;

MAYA_API cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                       cublasLtMatmulPreference_t preference, int requested,
                                                       cublasLtMatmulHeuristicResult_t results[], int* returned) {
  if (requested <= 0 || results == nullptr || returned == nullptr || preference == nullptr)
    return usable(handle) ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED;
  *returned = 0;
  MatmulProblem problem;
  if (const cublasStatus_t status = check_problem(handle, desc, a, b, c, d, &problem); status != CUBLAS_STATUS_SUCCESS)
    return status;
  const bool one_given = ours(preference)->search_mode == CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID;
  if (one_given && !valid(&results[0].algo)) return CUBLAS_STATUS_INVALID_VALUE;
  const int first = one_given ? ours(&results[0].algo)->id : 0;
  const int last = one_given ? first : kAlgorithmCount - 1;
  const float most_waves = ours(preference)->max_waves;
  for (int id = first; id <= last && *returned < requested; ++id) {
    cublasLtMatmulHeuristicResult_t& result = results[*returned];
    if (most_waves > 0 && waves(problem, id) > most_waves) continue;
    fill(&result, problem, id);
    initialize(&result.algo, sizeof result.algo, algorithm(id));
    ++*returned;
  }
  return *returned == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
}

MAYA_API cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                                cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                const cublasLtMatmulAlgo_t* algo,
                                                cublasLtMatmulHeuristicResult_t* result) {
  MatmulProblem problem;
  if (const cublasStatus_t status = check_problem(handle, desc, a, b, c, d, &problem); status != CUBLAS_STATUS_SUCCESS)
    return status;
  if (!valid(algo) || result == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  fill(result, problem, ours(algo)->id);
  return CUBLAS_STATUS_SUCCESS;
}
