// The k-th allocation fails, for k = 0, 1, 2... until a whole run succeeds (reliability.md figure 6): no crash, only
// valid results. Each run is a process of its own: initialisation, context, module, memory, launch, and everything
// destroyed.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose runtimes have their own allocators
#include <fcntl.h>

#include "test/cuda/counted_allocations.h"
#include "test/cuda/driver_helpers.h"

namespace {

bool valid(CUresult result) {
  const char* name = nullptr;
  return cuGetErrorName(result, &name) == CUDA_SUCCESS;
}

// The exit status of a run: 0 went through, 1 some call failed with a valid result, 2 an invalid one.
int one_run() {
  CUcontext context = nullptr, made = nullptr;
  CUmodule module = nullptr;
  CUfunction scale = nullptr;
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUgraph graph = nullptr, clone = nullptr;
  CUgraphNode child = nullptr;
  CUgraphExec executable = nullptr;
  uint32_t count = 4;
  void* parameters[] = {&memory, &count};
  const CUresult results[] = {
      cuInit(0),
      cuDevicePrimaryCtxRetain(&context, 0),
      cuCtxSetCurrent(context),
      cuCtxCreate_v2(&made, 0, 0),
      cuModuleLoadData(&module, driver_test::kPtx),
      cuModuleGetFunction(&scale, module, "scale"),
      cuMemAlloc_v2(&memory, 4096),
      cuMemsetD8_v2(memory, 1, 4096),
      cuStreamCreate(&stream, 0),
      cuEventCreate(&event, 0),
      cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr),
      cuEventRecord(event, stream),
      cuStreamSynchronize(stream),
      cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
      cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr),
      cuMemsetD8Async(memory, 2, 4096, stream),
      cuStreamEndCapture(stream, &graph),
      cuGraphClone(&clone, graph),
      cuGraphAddChildGraphNode(&child, graph, nullptr, 0, clone),
      cuGraphInstantiateWithFlags(&executable, graph, 0),
      cuGraphLaunch(executable, stream),
      cuGraphExecDestroy(executable),
      cuGraphDestroy(graph),
      cuGraphDestroy(clone),
      cuEventDestroy_v2(event),
      cuStreamDestroy_v2(stream),
      cuMemFree_v2(memory),
      cuModuleUnload(module),
      cuCtxDestroy_v2(made),
      cuDevicePrimaryCtxRelease_v2(0),
  };
  int status = 0;
  for (const CUresult result : results) {
    if (!valid(result)) return 2;
    if (result != CUDA_SUCCESS) status = 1;
  }
  return status;
}

// Runs with the k-th request failing until a run is over before its k-th request. Returns the number of runs that
// crashed or gave an invalid result.
int all_runs(std::atomic<int64_t>& countdown, int* runs) {
  int bad = 0;
  for (*runs = 0; *runs < 20000; ++*runs) {
    const int status = driver_test::in_child([&] {
      const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
      dup2(nothing, STDERR_FILENO);
      countdown.store(*runs);
      const int outcome = one_run();
      const bool over = countdown.load() >= 0;
      countdown.store(-1);
      return over ? 100 : outcome;
    });
    if (WIFEXITED(status) && WEXITSTATUS(status) == 100) break;
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 2) {
      ++bad;
      WARN("request " << *runs << ": wait status " << status);
    }
  }
  return bad;
}

}  // namespace

TEST_CASE("Every heap allocation may fail") {
  int runs = 0;
  CHECK(all_runs(driver_test::fail_malloc_at, &runs) == 0);
  CHECK(runs > 50);
}

TEST_CASE("Every memory mapping may fail") {
  int runs = 0;
  CHECK(all_runs(driver_test::fail_mmap_at, &runs) == 0);
  CHECK(runs > 3);
}

#endif
