// cuFFT: plan numbers, streams, versions. Transforms are not supported, so no plan can be made ready.
#include <cuda.h>

#include <map>
#include <mutex>
#include <new>

#include "driver_shim/common/api.h"
#include "driver_shim/stubs/library_handle.h"

using namespace maya::stubs;

namespace {

enum Result : int { kFftSuccess = 0, kInvalidPlan = 1, kFftAllocFailed = 2, kFftInvalidValue = 4 };
#if defined(MAYA_CUDA_MAJOR) && MAYA_CUDA_MAJOR == 12
constexpr Version kVersion{11, 4, 1};
#else
constexpr Version kVersion{12, 2, 0};
#endif

struct Plan {
  CUstream stream = nullptr;
  bool allocates_work_area = true;
};

// Plans are small integers in cuFFT. Never destroyed: calls may come from static destructors.
struct Plans {
  std::mutex mutex;
  int next = 1;
  std::map<int, Plan> by_number;
};

Plans& plans() {
  static Plans* const made = new Plans;
  return *made;
}

template <typename Change>
int with_plan(int number, Change change) {
  Plans& all = plans();
  std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.by_number.find(number);
  if (found == all.by_number.end()) return kInvalidPlan;
  change(found->second);
  return kFftSuccess;
}

}  // namespace

MAYA_API int cufftCreate(int* plan) {
  if (plan == nullptr) return kFftInvalidValue;
  Plans& all = plans();
  std::lock_guard<std::mutex> lock(all.mutex);
  try {
    all.by_number.emplace(all.next, Plan{});
  } catch (const std::bad_alloc&) {
    return kFftAllocFailed;
  }
  *plan = all.next++;
  return kFftSuccess;
}

MAYA_API int cufftDestroy(int plan) {
  Plans& all = plans();
  std::lock_guard<std::mutex> lock(all.mutex);
  return all.by_number.erase(plan) == 0 ? kInvalidPlan : kFftSuccess;
}

MAYA_API int cufftSetStream(int plan, CUstream stream) {
  return with_plan(plan, [stream](Plan& found) { found.stream = stream; });
}

MAYA_API int cufftSetAutoAllocation(int plan, int automatic) {
  return with_plan(plan, [automatic](Plan& found) { found.allocates_work_area = automatic != 0; });
}

MAYA_API int cufftGetVersion(int* version) {
  if (version == nullptr) return kFftInvalidValue;
  *version = kVersion.number();
  return kFftSuccess;
}

MAYA_API int cufftGetProperty(int type, int* value) {
  return get_property(kVersion, type, value) == kSuccess ? kFftSuccess : kFftInvalidValue;
}
