// A kernel as its image describes it. Immutable once published, shared between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace maya::device {

namespace ptx {
class Source;
}

struct KernelParameter {
  uint32_t offset = 0;
  uint32_t size = 0;
};

struct KernelInfo {
  std::string name;                         // mangled
  std::vector<KernelParameter> parameters;  // in order of ordinal
  uint32_t parameter_bytes = 0;
  uint32_t registers = 0;  // per thread
  uint32_t static_shared_bytes = 0;
  uint32_t local_bytes = 0;
  uint32_t constant_bytes = 0;
  uint32_t max_threads = 1024;
  uint32_t required_block[3] = {0, 0, 0};  // 0: not required
  uint32_t required_cluster[3] = {0, 0, 0};
  uint32_t architecture = 0;  // 90 for sm_90
  uint32_t ptx_version = 0;
  bool layout_known = false;  // parameters came from the image
  // The function by which it launches kernels or graphs itself (device_launch.h); empty: it does not.
  std::string device_launch;
  // Its instructions, where the image shows them; null otherwise.
  std::shared_ptr<const ptx::Source> ptx;
};

// A kernel launch with its argument values. `arguments[i]` points at the i-th parameter's bytes (CUDA's kernelParams
// form).
struct Launch {
  const KernelInfo* kernel = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  uint32_t cluster[3] = {0, 0, 0};
  bool cooperative = false;
  void** arguments = nullptr;
};

}  // namespace maya::device
