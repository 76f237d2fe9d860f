#include "driver_shim/cufft/plan.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>

#include "driver_shim/common/current_context.h"
#include "driver_shim/common/sizes.h"

namespace maya::cufft {
namespace {

// Never destroyed: calls may come from static destructors.
struct Plans {
  std::mutex mutex;
  int next = 1;
  std::map<int, Plan> by_number;
};

Plans& plans() {
  static Plans* const made = new Plans;
  return *made;
}

// The dimensions of one side's storage, and the distance between two signals of contiguous data.
void contiguous(const Transform& transform, bool halved, int64_t* embed, int64_t* stride, int64_t* distance) {
  *stride = 1;
  *distance = 1;
  for (int i = 0; i < transform.rank; ++i) {
    const int64_t size = transform.sizes[i];
    const bool last = i == transform.rank - 1;
    embed[i] = last && halved ? size / 2 + 1 : size;
    *distance *= embed[i];
  }
}

bool is_complex(cudaDataType type) {
  return type == CUDA_C_16F || type == CUDA_C_16BF || type == CUDA_C_32F || type == CUDA_C_64F;
}

// "If inembed and onembed are set to NULL, all other stride information is ignored, and default strides are used."
int lay_out(const Layout& layout, bool halved, const Transform& transform, int64_t* embed, int64_t* stride,
            int64_t* distance) {
  contiguous(transform, halved, embed, stride, distance);
  if (layout.embed == nullptr) return kSuccess;
  if (layout.stride < 1 || layout.distance < 0) return kInvalidValue;
  for (int i = 0; i < transform.rank; ++i) {
    if (layout.embed[i] < 1) return kInvalidSize;
    embed[i] = layout.embed[i];
  }
  *stride = layout.stride;
  *distance = layout.distance;
  // Places are counted from these: what no memory reaches is refused.
  const double span = static_cast<double>(layout.distance) * static_cast<double>(transform.batch);
  double signal = static_cast<double>(layout.stride);
  for (int i = 0; i < transform.rank; ++i)
    signal *= static_cast<double>(i == 0 ? transform.sizes[0] : std::max(embed[i], transform.sizes[i]));
  constexpr double kElement_bytes = 16;
  return (span + signal) * kElement_bytes > shim::kMostBytes ? kInvalidSize : kSuccess;
}

}  // namespace

int create(int* number) {
  if (number == nullptr) return kInvalidValue;
  Plans& all = plans();
  std::lock_guard<std::mutex> lock(all.mutex);
  try {
    all.by_number.emplace(all.next, Plan{});
  } catch (const std::bad_alloc&) {
    return kAllocFailed;
  }
  *number = all.next++;
  return kSuccess;
}

int destroy(int number) {
  Plans& all = plans();
  CUdeviceptr work_area = 0;
  {
    std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = all.by_number.find(number);
    if (found == all.by_number.end()) return kInvalidPlan;
    work_area = found->second.own_work_area;
    all.by_number.erase(found);
  }
  if (work_area != 0) MAYA_DRIVER(cuMemFree_v2)(work_area);
  return kSuccess;
}

Plan* find(int number) {
  Plans& all = plans();
  std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.by_number.find(number);
  return found == all.by_number.end() ? nullptr : &found->second;
}

int set_type(int type, Transform* transform) {
  const bool twice = type == kZ2Z || type == kD2Z || type == kZ2D;
  const cudaDataType complex = twice ? CUDA_C_64F : CUDA_C_32F;
  const cudaDataType real = twice ? CUDA_R_64F : CUDA_R_32F;
  switch (type) {
    case kC2C:
    case kZ2Z:
      transform->input_type = transform->output_type = complex;
      break;
    case kR2C:
    case kD2Z:
      transform->input_type = real;
      transform->output_type = complex;
      break;
    case kC2R:
    case kZ2D:
      transform->input_type = complex;
      transform->output_type = real;
      break;
    default:
      return kInvalidType;
  }
  transform->execution_type = complex;
  return kSuccess;
}

int complete(int rank, const long long* sizes, const Layout& input, const Layout& output, long long batch,
             Transform* transform) {
  if (rank < 1 || rank > kMaximumRank || sizes == nullptr) return kInvalidValue;
  if (batch < 1) return kInvalidSize;
  transform->rank = rank;
  transform->batch = batch;
  int64_t points = 1;
  for (int i = 0; i < rank; ++i) {
    // cuFFT's limit: the elements of a transform are counted in 64 bits.
    if (sizes[i] < 1 || sizes[i] > INT64_MAX / 64 / batch / points) return kInvalidSize;
    transform->sizes[i] = sizes[i];
    points *= sizes[i];
  }
  if (const int result = lay_out(input, !is_complex(transform->output_type), *transform, transform->input_embed,
                                 &transform->input_stride, &transform->input_distance);
      result != kSuccess)
    return result;
  return lay_out(output, !is_complex(transform->input_type), *transform, transform->output_embed,
                 &transform->output_stride, &transform->output_distance);
}

int make(int number, const Transform& transform, int type, size_t* bytes) {
  Plan* plan = find(number);
  // "It will fail and return CUFFT_INVALID_PLAN if the plan is locked": made before.
  if (plan == nullptr || plan->made) return kInvalidPlan;
  const size_t needed = work_bytes(transform);
  if (plan->allocates_work_area) {
    CUcontext context = nullptr;
    if (shim::make_context_current(&context) != CUDA_SUCCESS) return kSetupFailed;
    const CUresult result =
        shim::driver()->allocate(&plan->own_work_area, needed, ChargeLayer::kWorkspaces, "cufftMakePlan");
    if (result != CUDA_SUCCESS) return result == CUDA_ERROR_OUT_OF_MEMORY ? kAllocFailed : kSetupFailed;
  }
  plan->transform = transform;
  plan->type = type;
  plan->work_bytes = needed;
  plan->made = true;
  if (bytes != nullptr) *bytes = needed;
  return kSuccess;
}

}  // namespace maya::cufft
