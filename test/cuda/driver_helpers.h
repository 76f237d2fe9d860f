// Shared by the driver's tests.
#pragma once

#include <cuda.h>
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace driver_test {

// One line of entries.txt.
struct Entry {
  std::string name;
  int since = 0;
  std::string status;
};

inline std::vector<Entry> entries() {
  std::ifstream in(MAYA_ENTRIES);
  std::vector<Entry> result;
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    Entry entry;
    std::string second;
    if (!(words >> entry.name >> second) || entry.name[0] == '#' || second == "=") continue;
    entry.since = std::stoi(second);
    words >> entry.status;
    result.push_back(entry);
  }
  REQUIRE(result.size() > 600);
  return result;
}

// Runs `body` in a forked child that had no driver before, and returns its wait status. The child ends by
// _exit(body()).
inline int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// Makes the primary context of a device current for the life of the object, and restores what was current before.
class CurrentContext {
 public:
  explicit CurrentContext(int device = 0) : device_(device) {
    REQUIRE(cuInit(0) == CUDA_SUCCESS);
    REQUIRE(cuDevicePrimaryCtxRetain(&context_, device) == CUDA_SUCCESS);
    REQUIRE(cuCtxPushCurrent_v2(context_) == CUDA_SUCCESS);
  }
  ~CurrentContext() {
    cuCtxPopCurrent_v2(nullptr);
    cuDevicePrimaryCtxRelease_v2(device_);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  CUcontext get() const { return context_; }

 private:
  int device_;
  CUcontext context_ = nullptr;
};

// A kernel without parameters and one with a pointer and a count, as PTX text: needs no compiler.
inline constexpr const char* kPtx = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry scale(.param .u64 scale_param_0, .param .u32 scale_param_1)
{ .reg .b32 %r<2>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [scale_param_0]; mov.u32 %r1, %clock; st.global.b32 [%rd1], %r1; ret; }
.visible .entry small() .maxntid 64, 1, 1 { ret; }
)";

class Module {
 public:
  Module() { REQUIRE(cuModuleLoadData(&module_, kPtx) == CUDA_SUCCESS); }
  ~Module() { cuModuleUnload(module_); }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  CUfunction function(const char* name) const {
    CUfunction found = nullptr;
    REQUIRE(cuModuleGetFunction(&found, module_, name) == CUDA_SUCCESS);
    return found;
  }

 private:
  CUmodule module_ = nullptr;
};

}  // namespace driver_test
