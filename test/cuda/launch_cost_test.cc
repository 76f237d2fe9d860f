// The steady state of the launch path: no system call, no heap allocation (reliability.md figure 16). Runs in processes
// of its own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose runtimes allocate and make system calls
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "driver_shim/common/maya_table.h"
#include "test/cuda/counted_allocations.h"
#include "test/cuda/driver_helpers.h"

namespace {

struct Ready {
  CUfunction nothing = nullptr;
  CUfunction scale = nullptr;
  CUdeviceptr data = 0;
  uint32_t count = 16;
  bool good = false;
};

Ready make_ready() {
  Ready ready;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  ready.good = cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
               cuCtxSetCurrent(context) == CUDA_SUCCESS &&
               cuModuleLoadData(&module, driver_test::kPtx) == CUDA_SUCCESS &&
               cuModuleGetFunction(&ready.nothing, module, "nothing") == CUDA_SUCCESS &&
               cuModuleGetFunction(&ready.scale, module, "scale") == CUDA_SUCCESS &&
               cuMemAlloc_v2(&ready.data, 64) == CUDA_SUCCESS;
  return ready;
}

// Launches two kernels `count` times each. False when one fails.
bool launch_many(Ready& ready, int count) {
  void* parameters[] = {&ready.data, &ready.count};
  for (int i = 0; i < count; ++i) {
    if (cuLaunchKernel(ready.nothing, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr) != CUDA_SUCCESS) return false;
    if (cuLaunchKernel(ready.scale, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr) != CUDA_SUCCESS) return false;
  }
  return true;
}

// From here on the process dies by SIGSYS at any system call but exit_group, and clock_gettime: the clock compares
// itself with the system's at most once a second, which is no system call where the kernel offers its vDSO.
bool forbid_system_calls() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

// Without a trace, because a full chunk needs system calls.
TEST_CASE("A launch that was made before makes no system call") {
  CHECK(driver_test::in_child([] {
          setenv("MAYA_TRACE", "0", 1);
          Ready ready = make_ready();
          if (!ready.good || !launch_many(ready, 10)) return 1;
          if (!forbid_system_calls()) return 2;
          return launch_many(ready, 10000) ? 0 : 3;
        }) == 0);
}

TEST_CASE("With a trace, system calls are made for full chunks only") {
  CHECK(driver_test::in_child([] {
          Ready ready = make_ready();
          if (!ready.good || !launch_many(ready, 10)) return 1;
          if (!forbid_system_calls()) return 2;
          // Far less than the 64 KiB of a chunk at 24 bytes a launch.
          return launch_many(ready, 500) ? 0 : 3;
        }) == 0);
}

TEST_CASE("A launch that was made before allocates nothing") {
  CHECK(driver_test::in_child([] {
          Ready ready = make_ready();
          if (!ready.good || !launch_many(ready, 10)) return 1;
          const uint64_t before = driver_test::allocations.load();
          if (!launch_many(ready, 20000)) return 2;
          return driver_test::allocations.load() == before ? 0 : 3;
        }) == 0);
}

#endif
