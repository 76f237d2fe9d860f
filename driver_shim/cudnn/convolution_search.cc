// Which algorithm a convolution should use: workspace sizes, the heuristic (cudnnGetConvolution*Algorithm_v7) and the
// searches that run every algorithm and order them by modelled time (cudnnFindConvolution*Algorithm).
#include <algorithm>
#include <iterator>

#include "driver_shim/common/api.h"
#include "driver_shim/common/driver_access.h"
#include "driver_shim/cudnn/convolution_operands.h"
#include "driver_shim/cudnn/modelled_time.h"
#include "driver_shim/cudnn/types.h"

namespace maya::cudnn {
namespace {

// Best expected first, as the heuristic returns them.
constexpr ConvolutionMethod kPreference[] = {ConvolutionMethod::kImplicitProduct, ConvolutionMethod::kWinogradTiles,
                                             ConvolutionMethod::kWinograd,        ConvolutionMethod::kFourierTiles,
                                             ConvolutionMethod::kFourier,         ConvolutionMethod::kExplicitProduct,
                                             ConvolutionMethod::kDirectProduct,   ConvolutionMethod::kAtomicProduct};

int place_of(ConvolutionMethod method, const ConvolutionShape& shape) {
  const auto found = std::find(std::begin(kPreference), std::end(kPreference), method);
  const int place = static_cast<int>(found - std::begin(kPreference));
  // Without tensor cores, Winograd's method comes before the product.
  return !shape.on_tensor_cores() && method == ConvolutionMethod::kWinogradTiles ? -1 : place;
}

bool uses_tensor_cores(const ConvolutionShape& shape, ConvolutionMethod method) {
  return shape.on_tensor_cores() &&
         (method == ConvolutionMethod::kImplicitProduct || method == ConvolutionMethod::kExplicitProduct ||
          method == ConvolutionMethod::kWinogradTiles);
}

cudnnMathType_t math_type(const ConvolutionShape& shape, ConvolutionMethod method) {
  if (shape.type == CUDNN_DATA_FLOAT) return uses_tensor_cores(shape, method) ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
  return uses_tensor_cores(shape, method) ? CUDNN_TENSOR_OP_MATH : CUDNN_DEFAULT_MATH;
}

// What the searches run their candidates on.
struct Buffers {
  void* result = nullptr;
  uint64_t result_bytes = 0;
  void* workspace = nullptr;
  uint64_t workspace_bytes = UINT64_MAX;
};

enum class Search { kHeuristic, kMeasured };

template <typename Performance>
using AlgorithmOf = decltype(Performance::algo);
template <typename Algorithm>
constexpr int kAlgorithmCount = 0;
template <>
constexpr int kAlgorithmCount<cudnnConvolutionFwdAlgo_t> = CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
template <>
constexpr int kAlgorithmCount<cudnnConvolutionBwdDataAlgo_t> = CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT;
template <>
constexpr int kAlgorithmCount<cudnnConvolutionBwdFilterAlgo_t> = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT;

// Fills `results` with every algorithm of the enumeration, the supported ones first.
template <typename Performance>
cudnnStatus_t search(cudnnHandle_t handle, const ConvolutionShape& shape, Search how, const Buffers& buffers,
                     const char* api, int requested, int* returned, Performance* results) {
  using Algorithm = AlgorithmOf<Performance>;
  constexpr int algorithm_count = kAlgorithmCount<Algorithm>;
  if (returned == nullptr || results == nullptr) return null_pointer();
  if (requested < 1) return bad_parameter("fewer than one result asked for");
  struct Candidate {
    Performance performance = {};
    int place = 0;
  };
  Candidate candidates[algorithm_count];
  const int major = compute_capability_major();
  for (int i = 0; i < algorithm_count; ++i) {
    Candidate& candidate = candidates[i];
    Performance& performance = candidate.performance;
    performance.algo = static_cast<Algorithm>(i);
    performance.time = -1;
    performance.determinism = CUDNN_NON_DETERMINISTIC;
    performance.mathType = CUDNN_DEFAULT_MATH;
    ConvolutionMethod method;
    if (!method_of(performance.algo, &method) || !supports(shape, method, major)) {
      performance.status = CUDNN_STATUS_NOT_SUPPORTED;
      continue;
    }
    performance.memory = workspace_bytes(shape, method);
    performance.determinism = is_deterministic(method) ? CUDNN_DETERMINISTIC : CUDNN_NON_DETERMINISTIC;
    performance.mathType = math_type(shape, method);
    candidate.place = place_of(method, shape);
    if (how == Search::kHeuristic) continue;
    if (performance.memory > buffers.workspace_bytes) {
      performance.status = CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
      continue;
    }
    shim::WriteList writes;
    writes.add(buffers.result, buffers.result_bytes);
    writes.add(buffers.workspace, performance.memory);
    performance.status = measure(handle, convolution_record(shape, method, api), writes, &performance.time);
    if (performance.status == CUDNN_STATUS_NOT_INITIALIZED) return performance.status;
  }
  std::stable_sort(candidates, candidates + algorithm_count, [&](const Candidate& a, const Candidate& b) {
    const bool a_works = a.performance.status == CUDNN_STATUS_SUCCESS,
               b_works = b.performance.status == CUDNN_STATUS_SUCCESS;
    if (a_works != b_works) return a_works;
    if (a.performance.time != b.performance.time) return a.performance.time < b.performance.time;
    return a.place < b.place;
  });
  *returned = std::min(requested, algorithm_count);
  for (int i = 0; i < *returned; ++i) results[i] = candidates[i].performance;
  return CUDNN_STATUS_SUCCESS;
}

// Memory of cudnnFindConvolution*Algorithm, which brings its own tensors and workspace, for the length of the call.
class OwnMemory {
 public:
  explicit OwnMemory(uint64_t bytes) {
    const MayaTable* driver = shim::driver();
    result_ = driver == nullptr ? CUDA_ERROR_NOT_INITIALIZED
                                : driver->allocate(&address_, bytes, ChargeLayer::kWorkspaces, "cudnnFindConvolution");
  }
  ~OwnMemory() {
    const auto free = MAYA_DRIVER(cuMemFree_v2);
    if (result_ == CUDA_SUCCESS && free != nullptr) free(address_);
  }
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;
  cudnnStatus_t status() const { return status_of(result_); }

 private:
  CUdeviceptr address_ = 0;
  CUresult result_;
};

template <typename Performance>
cudnnStatus_t search_on_own_memory(cudnnHandle_t handle, const ConvolutionShape& shape, const char* api, int requested,
                                   int* returned, Performance* results) {
  using Algorithm = AlgorithmOf<Performance>;
  const int major = compute_capability_major();
  uint64_t most = 0;
  for (int i = 0; i < kAlgorithmCount<Algorithm>; ++i) {
    ConvolutionMethod method;
    if (method_of(static_cast<Algorithm>(i), &method) && supports(shape, method, major))
      most = std::max(most, workspace_bytes(shape, method));
  }
  const double elements = shape.image_elements() + shape.filter_elements() + shape.result_elements();
  // Transformed images may be larger than the device: such an algorithm is left out, as when there is no room for it.
  const uint64_t tensors = storage_bytes(shape.type, static_cast<uint64_t>(elements));
  Buffers buffers;
  const OwnMemory own(tensors);
  if (own.status() != CUDNN_STATUS_SUCCESS) return own.status();
  buffers.workspace_bytes = 0;
  for (; most > 0; most /= 2) {
    const OwnMemory workspace(most);
    if (workspace.status() != CUDNN_STATUS_SUCCESS) continue;
    buffers.workspace_bytes = most;
    return search(handle, shape, Search::kMeasured, buffers, api, requested, returned, results);
  }
  return search(handle, shape, Search::kMeasured, buffers, api, requested, returned, results);
}

template <typename Algorithm>
cudnnStatus_t give_workspace(const ConvolutionShape& shape, Algorithm algorithm, size_t* bytes) {
  if (bytes == nullptr) return null_pointer();
  ConvolutionMethod method;
  if (!method_of(algorithm, &method) || !supports(shape, method, compute_capability_major()))
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "the algorithm does not support this convolution");
  *bytes = workspace_bytes(shape, method);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t checked(cudnnHandle_t handle, ConvolutionDirection direction, cudnnTensorDescriptor_t image,
                      cudnnFilterDescriptor_t filter, cudnnConvolutionDescriptor_t convolution,
                      cudnnTensorDescriptor_t result, ConvolutionShape* shape) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  return convolution_shape(direction, image, filter, convolution, result, shape);
}

constexpr auto kForward = ConvolutionDirection::kForward;
constexpr auto kData = ConvolutionDirection::kBackwardData;
constexpr auto kFilter = ConvolutionDirection::kBackwardFilter;

}  // namespace
}  // namespace maya::cudnn

using namespace maya;
using namespace maya::cudnn;

MAYA_API cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                               const cudnnFilterDescriptor_t w,
                                                               const cudnnConvolutionDescriptor_t convolution,
                                                               const cudnnTensorDescriptor_t y,
                                                               cudnnConvolutionFwdAlgo_t algorithm, size_t* bytes) {
  ConvolutionShape shape;
  const cudnnStatus_t status = checked(handle, kForward, x, w, convolution, y, &shape);
  return status != CUDNN_STATUS_SUCCESS ? status : give_workspace(shape, algorithm, bytes);
}

MAYA_API cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t convolution, const cudnnTensorDescriptor_t dx,
    cudnnConvolutionBwdDataAlgo_t algorithm, size_t* bytes) {
  ConvolutionShape shape;
  const cudnnStatus_t status = checked(handle, kData, dx, w, convolution, dy, &shape);
  return status != CUDNN_STATUS_SUCCESS ? status : give_workspace(shape, algorithm, bytes);
}

MAYA_API cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t convolution, const cudnnFilterDescriptor_t dw,
    cudnnConvolutionBwdFilterAlgo_t algorithm, size_t* bytes) {
  ConvolutionShape shape;
  const cudnnStatus_t status = checked(handle, kFilter, x, dw, convolution, dy, &shape);
  return status != CUDNN_STATUS_SUCCESS ? status : give_workspace(shape, algorithm, bytes);
}

MAYA_API cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                              const cudnnFilterDescriptor_t w,
                                                              const cudnnConvolutionDescriptor_t convolution,
                                                              const cudnnTensorDescriptor_t y, const int requested,
                                                              int* returned, cudnnConvolutionFwdAlgoPerf_t* results) {
  ConvolutionShape shape;
  const cudnnStatus_t status = checked(handle, kForward, x, w, convolution, y, &shape);
  return status != CUDNN_STATUS_SUCCESS
             ? status
             : search(handle, shape, Search::kHeuristic, {}, "", requested, returned, results);
}

MAYA_API cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t convolution, const cudnnTensorDescriptor_t dx, const int requested,
    int* returned, cudnnConvolutionBwdDataAlgoPerf_t* results) {
  ConvolutionShape shape;
  const cudnnStatus_t status = checked(handle, kData, dx, w, convolution, dy, &shape);
  return status != CUDNN_STATUS_SUCCESS
             ? status
             : search(handle, shape, Search::kHeuristic, {}, "", requested, returned, results);
}

MAYA_API cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t convolution, const cudnnFilterDescriptor_t dw, const int requested,
    int* returned, cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  ConvolutionShape shape;
  const cudnnStatus_t status = checked(handle, kFilter, x, dw, convolution, dy, &shape);
  return status != CUDNN_STATUS_SUCCESS
             ? status
             : search(handle, shape, Search::kHeuristic, {}, "", requested, returned, results);
}

MAYA_API cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                            const cudnnFilterDescriptor_t w,
                                                            const cudnnConvolutionDescriptor_t convolution,
                                                            const cudnnTensorDescriptor_t y, const int requested,
                                                            int* returned, cudnnConvolutionFwdAlgoPerf_t* results) {
  ConvolutionShape shape;
  const cudnnStatus_t status = checked(handle, kForward, x, w, convolution, y, &shape);
  return status != CUDNN_STATUS_SUCCESS ? status
                                        : search_on_own_memory(handle, shape, "cudnnFindConvolutionForwardAlgorithm",
                                                               requested, returned, results);
}

MAYA_API cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithm(cudnnHandle_t handle, const cudnnFilterDescriptor_t w,
                                                                 const cudnnTensorDescriptor_t dy,
                                                                 const cudnnConvolutionDescriptor_t convolution,
                                                                 const cudnnTensorDescriptor_t dx, const int requested,
                                                                 int* returned,
                                                                 cudnnConvolutionBwdDataAlgoPerf_t* results) {
  ConvolutionShape shape;
  const cudnnStatus_t status = checked(handle, kData, dx, w, convolution, dy, &shape);
  return status != CUDNN_STATUS_SUCCESS
             ? status
             : search_on_own_memory(handle, shape, "cudnnFindConvolutionBackwardDataAlgorithm", requested, returned,
                                    results);
}

MAYA_API cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithm(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t convolution, const cudnnFilterDescriptor_t dw, const int requested,
    int* returned, cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  ConvolutionShape shape;
  const cudnnStatus_t status = checked(handle, kFilter, x, dw, convolution, dy, &shape);
  return status != CUDNN_STATUS_SUCCESS
             ? status
             : search_on_own_memory(handle, shape, "cudnnFindConvolutionBackwardFilterAlgorithm", requested, returned,
                                    results);
}

MAYA_API cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x_desc, const void* x, const cudnnFilterDescriptor_t w_desc,
    const void* w, const cudnnConvolutionDescriptor_t convolution, const cudnnTensorDescriptor_t y_desc, void* y,
    const int requested, int* returned, cudnnConvolutionFwdAlgoPerf_t* results, void* workspace,
    size_t workspace_size) {
  ConvolutionShape shape;
  if (const cudnnStatus_t status = checked(handle, kForward, x_desc, w_desc, convolution, y_desc, &shape);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  if (x == nullptr || w == nullptr || y == nullptr) return null_pointer();
  return search(handle, shape, Search::kMeasured, {y, y_desc->span_bytes(), workspace, workspace_size},
                "cudnnFindConvolutionForwardAlgorithmEx", requested, returned, results);
}

MAYA_API cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w_desc, const void* w, const cudnnTensorDescriptor_t dy_desc,
    const void* dy, const cudnnConvolutionDescriptor_t convolution, const cudnnTensorDescriptor_t dx_desc, void* dx,
    const int requested, int* returned, cudnnConvolutionBwdDataAlgoPerf_t* results, void* workspace,
    size_t workspace_size) {
  ConvolutionShape shape;
  if (const cudnnStatus_t status = checked(handle, kData, dx_desc, w_desc, convolution, dy_desc, &shape);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  if (w == nullptr || dy == nullptr || dx == nullptr) return null_pointer();
  return search(handle, shape, Search::kMeasured, {dx, dx_desc->span_bytes(), workspace, workspace_size},
                "cudnnFindConvolutionBackwardDataAlgorithmEx", requested, returned, results);
}

MAYA_API cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x_desc, const void* x, const cudnnTensorDescriptor_t dy_desc,
    const void* dy, const cudnnConvolutionDescriptor_t convolution, const cudnnFilterDescriptor_t dw_desc, void* dw,
    const int requested, int* returned, cudnnConvolutionBwdFilterAlgoPerf_t* results, void* workspace,
    size_t workspace_size) {
  ConvolutionShape shape;
  if (const cudnnStatus_t status = checked(handle, kFilter, x_desc, dw_desc, convolution, dy_desc, &shape);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  if (x == nullptr || dy == nullptr || dw == nullptr) return null_pointer();
  return search(handle, shape, Search::kMeasured, {dw, dw_desc->bytes(), workspace, workspace_size},
                "cudnnFindConvolutionBackwardFilterAlgorithmEx", requested, returned, results);
}
