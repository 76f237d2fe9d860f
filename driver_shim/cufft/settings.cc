// cuFFT: numbers of plans, their streams and work areas, sizes, versions.
#include "driver_shim/common/api.h"
#include "driver_shim/common/driver_access.h"
#include "driver_shim/cufft/plan.h"

using namespace maya::cufft;

MAYA_API int cufftCreate(int* plan) { return create(plan); }
MAYA_API int cufftDestroy(int plan) { return destroy(plan); }

MAYA_API int cufftSetStream(int plan, CUstream stream) {
  Plan* found = find(plan);
  if (found == nullptr) return kInvalidPlan;
  found->stream = stream;
  return kSuccess;
}

// "Must be called after cufftCreate and before any call that makes the plan."
MAYA_API int cufftSetAutoAllocation(int plan, int automatic) {
  Plan* found = find(plan);
  if (found == nullptr || found->made) return kInvalidPlan;
  found->allocates_work_area = automatic != 0;
  return kSuccess;
}

// "If the work area was auto-allocated, cuFFT frees the auto-allocated space."
MAYA_API int cufftSetWorkArea(int plan, void* work_area) {
  Plan* found = find(plan);
  if (found == nullptr || !found->made) return kInvalidPlan;
  if (found->own_work_area != 0) MAYA_DRIVER(cuMemFree_v2)(found->own_work_area);
  found->own_work_area = 0;
  found->work_area = work_area;
  return kSuccess;
}

MAYA_API int cufftGetSize(int plan, size_t* bytes) {
  const Plan* found = find(plan);
  if (found == nullptr || !found->made) return kInvalidPlan;
  if (bytes == nullptr) return kInvalidValue;
  *bytes = found->work_bytes;
  return kSuccess;
}
