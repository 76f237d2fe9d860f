// cublas<t>gemmGroupedBatched: groups of equal products with sizes of their own. Recorded as one operation with its
// number of groups and problems and their total work; kM, kN and kK are those of the group with most work.
#include <algorithm>
#include <vector>

#include "driver_shim/common/api.h"
#include "driver_shim/cublas/gemm_call.h"
#include "driver_shim/cublas/handle.h"
#include "driver_shim/cublas/types.h"
#include "driver_shim/cublas/vector_call.h"

namespace maya::cublas {
namespace {

template <typename I>
struct Groups {
  const cublasOperation_t* transa;
  const cublasOperation_t* transb;
  const I* m;
  const I* n;
  const I* k;
  const I* lda;
  const I* ldb;
  const I* ldc;
  I count;
  const I* sizes;  // products in each group

  bool complete() const {
    return transa != nullptr && transb != nullptr && m != nullptr && n != nullptr && k != nullptr && lda != nullptr &&
           ldb != nullptr && ldc != nullptr && sizes != nullptr;
  }
};

struct Types {
  cudaDataType a, b, c;
  cublasComputeType_t compute;
};

template <typename I>
cublasStatus_t grouped(const char* api, cublasHandle_t handle, const Groups<I>& groups, const void* alpha,
                       const void* beta, const void* c_array, const Types& types) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (groups.count < 0 || (groups.count > 0 && (!groups.complete() || alpha == nullptr || beta == nullptr)))
    return CUBLAS_STATUS_INVALID_VALUE;

  int64_t problems = 0, flops = 0, read_bytes = 0, written_bytes = 0, largest = 0, largest_flops = -1;
  for (I i = 0; i < groups.count; ++i) {
    GemmCall call;
    call.transa = groups.transa[i], call.transb = groups.transb[i];
    call.m = groups.m[i], call.n = groups.n[i], call.k = groups.k[i], call.batch = groups.sizes[i];
    call.a.leading = groups.lda[i], call.b.leading = groups.ldb[i], call.c.leading = groups.ldc[i];
    call.alpha = alpha, call.beta = beta;
    if (const cublasStatus_t status = check(call); status != CUBLAS_STATUS_SUCCESS) return status;
    const int64_t group_flops = call.m * call.n * call.k * multiply_add_flops(types.c) * call.batch;
    if (group_flops > largest_flops) largest = i, largest_flops = group_flops;
    problems += call.batch, flops += group_flops;
    read_bytes += call.batch * (storage_bytes(types.a, call.m * call.k) + storage_bytes(types.b, call.k * call.n));
    written_bytes += call.batch * storage_bytes(types.c, call.m * call.n);
  }
  if (problems == 0) return CUBLAS_STATUS_SUCCESS;
  if (!supported_types(types.compute, types.a, types.b, types.c)) return CUBLAS_STATUS_NOT_SUPPORTED;

  shim::WriteList writes;
  if (std::vector<void*> matrices; shim::read_pointer_array(c_array, problems, &matrices)) {
    size_t problem = 0;
    for (I i = 0; i < groups.count; ++i)
      for (I j = 0; j < groups.sizes[i]; ++j)
        writes.add_matrix(matrices[problem++], storage_bytes(types.c, groups.m[i]), groups.n[i],
                          storage_bytes(types.c, groups.ldc[i]));
  }
  DataType type_a = data_type(types.a), type_b = data_type(types.b), compute = compute_data_type(types.compute);
  if (types.a == CUDA_R_32F && types.compute == CUBLAS_COMPUTE_32F && tf32_allowed(*handle)) compute = DataType::kTf32;
  if (types.a == CUDA_R_32F && compute == DataType::kTf32) type_a = type_b = DataType::kTf32;
  OperationRecord record(Family::kGroupedGemm, api);
  record.set(Key::kGroups, groups.count).set(Key::kBatch, problems);
  record.set(Key::kM, groups.m[largest]).set(Key::kN, groups.n[largest]).set(Key::kK, groups.k[largest]);
  record.set(Key::kTypeA, static_cast<int64_t>(type_a)).set(Key::kTypeB, static_cast<int64_t>(type_b));
  record.set(Key::kTypeC, static_cast<int64_t>(data_type(types.c))).set(Key::kTypeD, record.get(Key::kTypeC));
  record.set(Key::kComputeType, static_cast<int64_t>(compute));
  record.set(Key::kTransA, groups.transa[largest]).set(Key::kTransB, groups.transb[largest]);
  record.set(Key::kFlops, flops).set(Key::kReadBytes, read_bytes).set(Key::kWrittenBytes, written_bytes);
  record.set(Key::kWorkspaceBytes, handle->workspace_bytes);
  return status_of(shim::record(handle->cu_stream(), record, writes));
}

}  // namespace
}  // namespace maya::cublas

using namespace maya::cublas;

#define GROUPED(NAME, T, INT)                                                                                          \
  MAYA_API cublasStatus_t NAME(                                                                                        \
      cublasHandle_t handle, const cublasOperation_t transa[], const cublasOperation_t transb[], const INT m[],        \
      const INT n[], const INT k[], const T alpha[], const T* const[], const INT lda[], const T* const[],              \
      const INT ldb[], const T beta[], T* const C[], const INT ldc[], INT group_count, const INT group_size[]) {       \
    return grouped<INT>(#NAME, handle, {transa, transb, m, n, k, lda, ldb, ldc, group_count, group_size}, alpha, beta, \
                        C, {kCudaType<T>, kCudaType<T>, kCudaType<T>, default_compute_type(kCudaType<T>)});            \
  }

GROUPED(cublasSgemmGroupedBatched, float, int)
GROUPED(cublasSgemmGroupedBatched_64, float, int64_t)
GROUPED(cublasDgemmGroupedBatched, double, int)
GROUPED(cublasDgemmGroupedBatched_64, double, int64_t)

#define GROUPED_EX(NAME, INT)                                                                                          \
  MAYA_API cublasStatus_t NAME(                                                                                        \
      cublasHandle_t handle, const cublasOperation_t transa[], const cublasOperation_t transb[], const INT m[],        \
      const INT n[], const INT k[], const void* alpha, const void* const[], cudaDataType_t a_type, const INT lda[],    \
      const void* const[], cudaDataType_t b_type, const INT ldb[], const void* beta, void* const C[],                  \
      cudaDataType_t c_type, const INT ldc[], INT group_count, const INT group_size[], cublasComputeType_t compute) {  \
    return grouped<INT>(#NAME, handle, {transa, transb, m, n, k, lda, ldb, ldc, group_count, group_size}, alpha, beta, \
                        C, {a_type, b_type, c_type, compute});                                                         \
  }

GROUPED_EX(cublasGemmGroupedBatchedEx, int)
GROUPED_EX(cublasGemmGroupedBatchedEx_64, int64_t)
