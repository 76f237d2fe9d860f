// Connectionist temporal classification: loss and gradient in one pass over the probabilities.
#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/recorded.h"

namespace maya::cudnn {
namespace {

// Probabilities are time x batch x labels.
enum Dimension { kTime = 0, kBatch = 1, kLabels = 2, kRank = 3 };

cudnnStatus_t check(const cudnnTensorStruct* probabilities, const cudnnTensorStruct* gradients,
                    cudnnCTCLossAlgo_t algorithm, const cudnnCTCLossStruct* loss) {
  if (probabilities == nullptr || loss == nullptr) return null_pointer();
  if (probabilities->rank != kRank) return bad_parameter("probabilities are time x batch x labels");
  if (probabilities->type != CUDNN_DATA_FLOAT) return fail(CUDNN_STATUS_NOT_SUPPORTED, "probabilities are not floats");
  if (gradients != nullptr &&
      (gradients->rank != kRank || !std::equal(probabilities->dims, probabilities->dims + kRank, gradients->dims)))
    return fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "gradients have not the size of the probabilities");
  if (algorithm != CUDNN_CTC_LOSS_ALGO_DETERMINISTIC && algorithm != CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC)
    return bad_parameter("no such algorithm");
  return CUDNN_STATUS_SUCCESS;
}

// Forward and backward variables of the path with blanks between labels, 32-bit floats, and the softmax of the
// probabilities. cuDNN does not document the size.
uint64_t workspace_for(const cudnnTensorStruct& probabilities, uint64_t label_length) {
  const uint64_t steps = static_cast<uint64_t>(probabilities.dims[kTime]) * probabilities.dims[kBatch];
  return (steps * (2 * label_length + 1) * 2 + static_cast<uint64_t>(probabilities.elements())) * sizeof(float);
}

struct Call {
  const char* api;
  uint64_t label_length;
  void* costs;
  void* gradients;
  const cudnnTensorStruct* gradients_desc;
  void* workspace;
  size_t workspace_bytes;
};

cudnnStatus_t run_loss(cudnnHandle_t handle, const cudnnTensorStruct& probabilities, const void* address,
                       const Call& call) {
  if (call.workspace_bytes < workspace_for(probabilities, call.label_length))
    return fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "workspace smaller than cudnnGetCTCLossWorkspaceSize");
  const auto batch = static_cast<uint64_t>(probabilities.dims[kBatch]);
  OperationRecord record(Family::kSoftmax, call.api);
  record.set(Key::kDataType, static_cast<int64_t>(data_type(probabilities.type)))
      .set(Key::kRows, static_cast<int64_t>(probabilities.dims[kTime]) * probabilities.dims[kBatch])
      .set(Key::kColumns, probabilities.dims[kLabels])
      .set(Key::kDirection, call.gradients == nullptr ? 0 : 1);
  // The workspace is written in one direction of time and read in the other.
  cudnnTensorStruct scratch;
  scratch.type = CUDNN_DATA_INT8, scratch.rank = 1, scratch.strides[0] = 1;
  scratch.dims[0] = static_cast<int>(
      std::min<uint64_t>(workspace_for(probabilities, call.label_length), static_cast<uint64_t>(INT32_MAX)));
  cudnnTensorStruct costs;
  costs.rank = 1, costs.dims[0] = static_cast<int>(batch), costs.strides[0] = 1;
  return run(handle, record, {{&probabilities, address}, {&scratch, call.workspace}},
             {{&costs, call.costs}, {call.gradients_desc, call.gradients}, {&scratch, call.workspace}});
}

uint64_t longest(const int* lengths, int count) {
  int most = 0;
  for (int i = 0; i < count; ++i) most = std::max(most, lengths[i]);
  return static_cast<uint64_t>(most);
}

}  // namespace
}  // namespace maya::cudnn

using namespace maya;
using namespace maya::cudnn;

MAYA_API cudnnStatus_t cudnnGetCTCLossWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t probabilities,
                                                    const cudnnTensorDescriptor_t gradients, const int* labels,
                                                    const int* label_lengths, const int* input_lengths,
                                                    cudnnCTCLossAlgo_t algorithm, cudnnCTCLossDescriptor_t loss,
                                                    size_t* bytes) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (labels == nullptr || label_lengths == nullptr || input_lengths == nullptr || bytes == nullptr)
    return null_pointer();
  if (const cudnnStatus_t status = check(probabilities, gradients, algorithm, loss); status != CUDNN_STATUS_SUCCESS)
    return status;
  *bytes = workspace_for(*probabilities, longest(label_lengths, probabilities->dims[kBatch]));
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetCTCLossWorkspaceSize_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t algorithm,
                                                       cudnnCTCLossDescriptor_t loss,
                                                       const cudnnTensorDescriptor_t probabilities,
                                                       const cudnnTensorDescriptor_t gradients, size_t* bytes) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (bytes == nullptr) return null_pointer();
  if (const cudnnStatus_t status = check(probabilities, gradients, algorithm, loss); status != CUDNN_STATUS_SUCCESS)
    return status;
  *bytes = workspace_for(*probabilities, static_cast<uint64_t>(std::max(loss->max_label_length, 0)));
  return CUDNN_STATUS_SUCCESS;
}

// Labels and lengths lie in host memory; at most 256 labels a sample.
MAYA_API cudnnStatus_t cudnnCTCLoss(cudnnHandle_t handle, const cudnnTensorDescriptor_t probabilities_desc,
                                    const void* probabilities, const int labels[], const int label_lengths[],
                                    const int input_lengths[], void* costs,
                                    const cudnnTensorDescriptor_t gradients_desc, void* gradients,
                                    cudnnCTCLossAlgo_t algorithm, cudnnCTCLossDescriptor_t loss, void* workspace,
                                    size_t workspace_size) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (probabilities == nullptr || labels == nullptr || label_lengths == nullptr || input_lengths == nullptr ||
      costs == nullptr)
    return null_pointer();
  if (const cudnnStatus_t status = check(probabilities_desc, gradients_desc, algorithm, loss);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  constexpr uint64_t kMostLabels = 256;
  const uint64_t length = longest(label_lengths, probabilities_desc->dims[kBatch]);
  if (length > kMostLabels) return fail(CUDNN_STATUS_NOT_SUPPORTED, "a sample has more than 256 labels");
  if (gradients != nullptr && gradients_desc == nullptr) return null_pointer();
  return run_loss(handle, *probabilities_desc, probabilities,
                  {"cudnnCTCLoss", length, costs, gradients, gradients_desc, workspace, workspace_size});
}

// Labels and lengths lie in device memory.
MAYA_API cudnnStatus_t cudnnCTCLoss_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t algorithm,
                                       cudnnCTCLossDescriptor_t loss, const cudnnTensorDescriptor_t probabilities_desc,
                                       const void* probabilities, const int labels[], const int label_lengths[],
                                       const int input_lengths[], void* costs,
                                       const cudnnTensorDescriptor_t gradients_desc, void* gradients,
                                       size_t workspace_size, void* workspace) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (probabilities == nullptr || labels == nullptr || label_lengths == nullptr || input_lengths == nullptr ||
      costs == nullptr)
    return null_pointer();
  if (const cudnnStatus_t status = check(probabilities_desc, gradients_desc, algorithm, loss);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  if (gradients != nullptr && gradients_desc == nullptr) return null_pointer();
  const auto length = static_cast<uint64_t>(std::max(loss->max_label_length, 0));
  return run_loss(handle, *probabilities_desc, probabilities,
                  {"cudnnCTCLoss_v8", length, costs, gradients, gradients_desc, workspace, workspace_size});
}
