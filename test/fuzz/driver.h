// What fuzz targets on the driver's own interface share.
#pragma once

#include <cuda.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace maya::test {

[[noreturn]] inline void fail(const char* what, int code) {
  std::fprintf(stderr, "%s: %s: %d\n", program_invocation_short_name, what, code);
  std::abort();
}

inline void expect(CUresult status, const char* what) {
  if (status != CUDA_SUCCESS) fail(what, status);
}

inline size_t free_memory() {
  size_t free = 0, total = 0;
  expect(cuMemGetInfo(&free, &total), "cuMemGetInfo");
  return free;
}

}  // namespace maya::test
