// A driver with a current context on device 0 (the default, an H100), and small images for it.
#pragma once

#include <cuda.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "test/image/image_builder.h"

namespace maya::test {

inline CUcontext current_context() {
  static const CUcontext context = [] {
    CUcontext made = nullptr;
    if (cuInit(0) != CUDA_SUCCESS) return made;
    cuDevicePrimaryCtxRetain(&made, 0);
    cuCtxSetCurrent(made);
    return made;
  }();
  REQUIRE(context != nullptr);
  REQUIRE(cuCtxSetCurrent(context) == CUDA_SUCCESS);
  return context;
}

// Kernels "first" (pointer, int; 40 registers, 1,200 bytes of shared memory) and "second"; variables of each kind.
inline std::vector<uint8_t> sample_cubin(uint32_t architecture = 90) {
  KernelText first{"first", {{0, 8}, {8, 4}}}, second{"second", {}};
  first.registers = 40;
  first.static_shared_bytes = 1200;
  return build_cubin(architecture, {first, second},
                     {{"counter", {7, 0, 0, 0}},
                      {"table", {}, 400},
                      {"limits", {1, 2, 3, 4}, 4, true},
                      {"both", {9, 0, 0, 0}, 4, false, true}});
}

inline std::vector<uint8_t> sample_fat_binary() {
  return build_fat_binary({{2, 80, 0x8011, sample_cubin(80)}, {2, 90, 0x8011, sample_cubin(90)}});
}

}  // namespace maya::test
