// cuFFT: making plans, asking for their work area's size.
#include "driver_shim/common/api.h"
#include "driver_shim/cublas/types.h"
#include "driver_shim/cufft/plan.h"

namespace maya::cufft {
namespace {

// One problem as any of the calls describes it. Null embeds stand for contiguous data.
template <typename Integer>
struct Problem {
  int rank;
  const Integer* sizes;
  const Integer* input_embed;
  Integer input_stride, input_distance;
  const Integer* output_embed;
  Integer output_stride, output_distance;
  Integer batch;
};

template <typename Integer>
int describe(const Problem<Integer>& problem, Transform* transform) {
  if (problem.rank < 1 || problem.rank > kMaximumRank || problem.sizes == nullptr) return kInvalidValue;
  long long sizes[kMaximumRank] = {}, input[kMaximumRank] = {}, output[kMaximumRank] = {};
  for (int i = 0; i < problem.rank; ++i) {
    sizes[i] = problem.sizes[i];
    if (problem.input_embed != nullptr) input[i] = problem.input_embed[i];
    if (problem.output_embed != nullptr) output[i] = problem.output_embed[i];
  }
  return complete(problem.rank, sizes,
                  {problem.input_embed == nullptr ? nullptr : input, problem.input_stride, problem.input_distance},
                  {problem.output_embed == nullptr ? nullptr : output, problem.output_stride, problem.output_distance},
                  problem.batch, transform);
}

template <typename Integer>
int describe(const Problem<Integer>& problem, int type, Transform* transform) {
  const int result = set_type(type, transform);
  return result != kSuccess ? result : describe(problem, transform);
}

template <typename Integer>
int make_typed(int plan, const Problem<Integer>& problem, int type, size_t* bytes) {
  const Plan* found = find(plan);
  if (found == nullptr || found->made) return kInvalidPlan;
  if (bytes == nullptr) return kInvalidValue;
  Transform transform;
  const int result = describe(problem, type, &transform);
  return result != kSuccess ? result : make(plan, transform, type, bytes);
}

// cufftPlan*: a new plan that is made at once; none is left behind when that fails.
template <typename Integer>
int plan_typed(int* plan, const Problem<Integer>& problem, int type) {
  if (plan == nullptr) return kInvalidValue;
  Transform transform;
  if (const int result = describe(problem, type, &transform); result != kSuccess) return result;
  int number = 0;
  if (const int result = create(&number); result != kSuccess) return result;
  if (const int result = make(number, transform, type, nullptr); result != kSuccess) {
    destroy(number);
    return result;
  }
  *plan = number;
  return kSuccess;
}

template <typename Integer>
int estimate(const Problem<Integer>& problem, int type, size_t* bytes) {
  if (bytes == nullptr) return kInvalidValue;
  Transform transform;
  if (const int result = describe(problem, type, &transform); result != kSuccess) return result;
  *bytes = work_bytes(transform);
  return kSuccess;
}

template <typename Integer>
int size_of(int plan, const Problem<Integer>& problem, int type, size_t* bytes) {
  return find(plan) == nullptr ? kInvalidPlan : estimate(problem, type, bytes);
}

template <typename Integer, int Rank>
Problem<Integer> contiguous(const Integer (&sizes)[Rank], Integer batch) {
  return {Rank, sizes, nullptr, 1, 0, nullptr, 1, 0, batch};
}

// The precision of a type and whether it is complex.
bool precision_of(cudaDataType type, cudaDataType* complex, bool* is_complex) {
  *is_complex = cublas::is_complex(type);
  switch (type) {
    case CUDA_R_16F:
    case CUDA_C_16F:
      *complex = CUDA_C_16F;
      return true;
    case CUDA_R_16BF:
    case CUDA_C_16BF:
      *complex = CUDA_C_16BF;
      return true;
    case CUDA_R_32F:
    case CUDA_C_32F:
      *complex = CUDA_C_32F;
      return true;
    case CUDA_R_64F:
    case CUDA_C_64F:
      *complex = CUDA_C_64F;
      return true;
    default:
      return false;
  }
}

// The types of cufftXtMakePlanMany: one precision for both sides and the execution, at least one side complex. Half
// precisions take powers of two only, as documented.
int describe_types(const Problem<long long>& problem, cudaDataType input, cudaDataType output, cudaDataType execution,
                   Transform* transform, int* type) {
  cudaDataType input_precision, output_precision, execution_precision;
  bool input_complex, output_complex, execution_complex;
  if (!precision_of(input, &input_precision, &input_complex) ||
      !precision_of(output, &output_precision, &output_complex) ||
      !precision_of(execution, &execution_precision, &execution_complex) || input_precision != output_precision ||
      input_precision != execution_precision || !execution_complex || (!input_complex && !output_complex))
    return kInvalidValue;
  transform->input_type = input;
  transform->output_type = output;
  transform->execution_type = execution;
  if (const int result = describe(problem, transform); result != kSuccess) return result;
  const bool half = execution == CUDA_C_16F || execution == CUDA_C_16BF;
  for (int i = 0; half && i < problem.rank; ++i)
    if ((problem.sizes[i] & (problem.sizes[i] - 1)) != 0) return kNotSupported;
  const bool twice = execution == CUDA_C_64F;
  *type = half              ? 0
          : !input_complex  ? (twice ? kD2Z : kR2C)
          : !output_complex ? (twice ? kZ2D : kC2R)
                            : (twice ? kZ2Z : kC2C);
  return kSuccess;
}

}  // namespace
}  // namespace maya::cufft

using namespace maya::cufft;

MAYA_API int cufftPlan1d(int* plan, int nx, int type, int batch) {
  const int sizes[] = {nx};
  return plan_typed(plan, contiguous(sizes, batch), type);
}

MAYA_API int cufftPlan2d(int* plan, int nx, int ny, int type) {
  const int sizes[] = {nx, ny};
  return plan_typed(plan, contiguous(sizes, 1), type);
}

MAYA_API int cufftPlan3d(int* plan, int nx, int ny, int nz, int type) {
  const int sizes[] = {nx, ny, nz};
  return plan_typed(plan, contiguous(sizes, 1), type);
}

MAYA_API int cufftPlanMany(int* plan, int rank, int* n, int* inembed, int istride, int idist, int* onembed, int ostride,
                           int odist, int type, int batch) {
  return plan_typed(plan, Problem<int>{rank, n, inembed, istride, idist, onembed, ostride, odist, batch}, type);
}

MAYA_API int cufftMakePlan1d(int plan, int nx, int type, int batch, size_t* bytes) {
  const int sizes[] = {nx};
  return make_typed(plan, contiguous(sizes, batch), type, bytes);
}

MAYA_API int cufftMakePlan2d(int plan, int nx, int ny, int type, size_t* bytes) {
  const int sizes[] = {nx, ny};
  return make_typed(plan, contiguous(sizes, 1), type, bytes);
}

MAYA_API int cufftMakePlan3d(int plan, int nx, int ny, int nz, int type, size_t* bytes) {
  const int sizes[] = {nx, ny, nz};
  return make_typed(plan, contiguous(sizes, 1), type, bytes);
}

MAYA_API int cufftMakePlanMany(int plan, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
                               int ostride, int odist, int type, int batch, size_t* bytes) {
  return make_typed(plan, Problem<int>{rank, n, inembed, istride, idist, onembed, ostride, odist, batch}, type, bytes);
}

MAYA_API int cufftMakePlanMany64(int plan, int rank, long long* n, long long* inembed, long long istride,
                                 long long idist, long long* onembed, long long ostride, long long odist, int type,
                                 long long batch, size_t* bytes) {
  return make_typed(plan, Problem<long long>{rank, n, inembed, istride, idist, onembed, ostride, odist, batch}, type,
                    bytes);
}

MAYA_API int cufftXtMakePlanMany(int plan, int rank, long long* n, long long* inembed, long long istride,
                                 long long idist, cudaDataType input_type, long long* onembed, long long ostride,
                                 long long odist, cudaDataType output_type, long long batch, size_t* bytes,
                                 cudaDataType execution_type) {
  const Plan* found = find(plan);
  if (found == nullptr || found->made) return kInvalidPlan;
  if (bytes == nullptr) return kInvalidValue;
  Transform transform;
  int type = 0;
  const int result = describe_types({rank, n, inembed, istride, idist, onembed, ostride, odist, batch}, input_type,
                                    output_type, execution_type, &transform, &type);
  return result != kSuccess ? result : make(plan, transform, type, bytes);
}

MAYA_API int cufftEstimate1d(int nx, int type, int batch, size_t* bytes) {
  const int sizes[] = {nx};
  return estimate(contiguous(sizes, batch), type, bytes);
}

MAYA_API int cufftEstimate2d(int nx, int ny, int type, size_t* bytes) {
  const int sizes[] = {nx, ny};
  return estimate(contiguous(sizes, 1), type, bytes);
}

MAYA_API int cufftEstimate3d(int nx, int ny, int nz, int type, size_t* bytes) {
  const int sizes[] = {nx, ny, nz};
  return estimate(contiguous(sizes, 1), type, bytes);
}

MAYA_API int cufftEstimateMany(int rank, int* n, int* inembed, int istride, int idist, int* onembed, int ostride,
                               int odist, int type, int batch, size_t* bytes) {
  return estimate(Problem<int>{rank, n, inembed, istride, idist, onembed, ostride, odist, batch}, type, bytes);
}

MAYA_API int cufftGetSize1d(int plan, int nx, int type, int batch, size_t* bytes) {
  const int sizes[] = {nx};
  return size_of(plan, contiguous(sizes, batch), type, bytes);
}

MAYA_API int cufftGetSize2d(int plan, int nx, int ny, int type, size_t* bytes) {
  const int sizes[] = {nx, ny};
  return size_of(plan, contiguous(sizes, 1), type, bytes);
}

MAYA_API int cufftGetSize3d(int plan, int nx, int ny, int nz, int type, size_t* bytes) {
  const int sizes[] = {nx, ny, nz};
  return size_of(plan, contiguous(sizes, 1), type, bytes);
}

MAYA_API int cufftGetSizeMany(int plan, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
                              int ostride, int odist, int type, int batch, size_t* bytes) {
  return size_of(plan, Problem<int>{rank, n, inembed, istride, idist, onembed, ostride, odist, batch}, type, bytes);
}

MAYA_API int cufftGetSizeMany64(int plan, int rank, long long* n, long long* inembed, long long istride,
                                long long idist, long long* onembed, long long ostride, long long odist, int type,
                                long long batch, size_t* bytes) {
  return size_of(plan, Problem<long long>{rank, n, inembed, istride, idist, onembed, ostride, odist, batch}, type,
                 bytes);
}

MAYA_API int cufftXtGetSizeMany(int plan, int rank, long long* n, long long* inembed, long long istride,
                                long long idist, cudaDataType input_type, long long* onembed, long long ostride,
                                long long odist, cudaDataType output_type, long long batch, size_t* bytes,
                                cudaDataType execution_type) {
  if (find(plan) == nullptr) return kInvalidPlan;
  if (bytes == nullptr) return kInvalidValue;
  Transform transform;
  int type = 0;
  const int result = describe_types({rank, n, inembed, istride, idist, onembed, ostride, odist, batch}, input_type,
                                    output_type, execution_type, &transform, &type);
  if (result == kSuccess) *bytes = work_bytes(transform);
  return result;
}
