// cuFFT: running plans.
#include <cuComplex.h>

#include "driver_shim/common/api.h"
#include "driver_shim/cufft/plan.h"

namespace maya::cufft {
namespace {

constexpr int kForward = -1, kInverse = 1;

// A plan without a work area of its own that was given none runs into no kernel's missing memory here, as transforms
// that need none do on a device.
int run(int number, const char* api, int type, const void* input, void* output, int direction) {
  const Plan* plan = find(number);
  if (plan == nullptr || !plan->made) return kInvalidPlan;
  if (plan->type != type) return kInvalidValue;
  return execute(*plan, api, input, output, direction);
}

}  // namespace
}  // namespace maya::cufft

using namespace maya::cufft;

MAYA_API int cufftExecC2C(int plan, cuComplex* input, cuComplex* output, int direction) {
  return run(plan, "cufftExecC2C", kC2C, input, output, direction);
}

MAYA_API int cufftExecR2C(int plan, float* input, cuComplex* output) {
  return run(plan, "cufftExecR2C", kR2C, input, output, kForward);
}

MAYA_API int cufftExecC2R(int plan, cuComplex* input, float* output) {
  return run(plan, "cufftExecC2R", kC2R, input, output, kInverse);
}

MAYA_API int cufftExecZ2Z(int plan, cuDoubleComplex* input, cuDoubleComplex* output, int direction) {
  return run(plan, "cufftExecZ2Z", kZ2Z, input, output, direction);
}

MAYA_API int cufftExecD2Z(int plan, double* input, cuDoubleComplex* output) {
  return run(plan, "cufftExecD2Z", kD2Z, input, output, kForward);
}

MAYA_API int cufftExecZ2D(int plan, cuDoubleComplex* input, double* output) {
  return run(plan, "cufftExecZ2D", kZ2D, input, output, kInverse);
}

// "direction is ignored for real-to-complex and complex-to-real transforms."
MAYA_API int cufftXtExec(int number, void* input, void* output, int direction) {
  const Plan* plan = find(number);
  if (plan == nullptr || !plan->made) return kInvalidPlan;
  const cudaDataType in = plan->transform.input_type, out = plan->transform.output_type;
  if (in != out) direction = in == plan->transform.execution_type ? kInverse : kForward;
  return execute(*plan, "cufftXtExec", input, output, direction);
}
