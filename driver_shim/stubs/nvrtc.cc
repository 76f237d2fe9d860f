// NVRTC where NVIDIA's is not installed: the texts of its results.
#include "driver_shim/common/api.h"

namespace {

constexpr const char* kNames[] = {"NVRTC_SUCCESS",
                                  "NVRTC_ERROR_OUT_OF_MEMORY",
                                  "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                  "NVRTC_ERROR_INVALID_INPUT",
                                  "NVRTC_ERROR_INVALID_PROGRAM",
                                  "NVRTC_ERROR_INVALID_OPTION",
                                  "NVRTC_ERROR_COMPILATION",
                                  "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
                                  "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
                                  "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
                                  "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
                                  "NVRTC_ERROR_INTERNAL_ERROR (NVRTC is not installed)"};

}  // namespace

MAYA_API const char* nvrtcGetErrorString(int result) {
  constexpr int kCount = sizeof kNames / sizeof kNames[0];
  return result < 0 || result >= kCount ? "NVRTC_ERROR unknown" : kNames[result];
}
