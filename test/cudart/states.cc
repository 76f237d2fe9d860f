// One process state a run, for states_test.cc: `cudart_states MODE` prints what it saw as words and exits 0.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "test/cudart/fat_binary.h"

namespace {

char stub;
test::Wrapper wrapper;
std::vector<unsigned char> container;
void** handle = nullptr;

void register_program() {
  container = test::ptx_container(test::kPtx);
  wrapper.data = container.data();
  handle = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterFunction(handle, &stub, nullptr, "plain", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  __cudaRegisterFatBinaryEnd(handle);
}

cudaError_t launch() {
  void* pointer = nullptr;
  unsigned count = 0;
  void* arguments[] = {&pointer, &count};
  return cudaLaunchKernel(&stub, dim3(1), dim3(32), arguments, 0, nullptr);
}

// Whether device 0 has a primary context; asks the driver that the runtime loaded, without loading it.
int context_active() {
  Dl_info self;
  dladdr(reinterpret_cast<void*>(&cudaFree), &self);
  const std::string path(self.dli_fname);
  void* driver = dlopen((path.substr(0, path.rfind('/')) + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return -1;
  const auto get = reinterpret_cast<decltype(&cuDevicePrimaryCtxGetState)>(dlsym(driver, "cuDevicePrimaryCtxGetState"));
  unsigned flags = 0;
  int active = -1;
  get(0, &flags, &active);
  return active;
}

bool mapped(const char* library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(library) != std::string::npos) return true;
  return false;
}

// Every exported function with nothing but zeros. Left out: cudaCreateChannelDesc, which returns a struct through a
// pointer.
int sweep() {
  std::ifstream in(MAYA_ENTRIES);
  int bad = 0;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name, since;
    if (!(words >> name >> since) || name[0] == '#' || since == "=" || name == "cudaCreateChannelDesc") continue;
    using Entry = intptr_t (*)(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                               intptr_t, intptr_t, intptr_t);
    const auto entry = reinterpret_cast<Entry>(dlsym(RTLD_DEFAULT, name.c_str()));
    if (entry == nullptr) {
      printf("missing:%s ", name.c_str());
      ++bad;
      continue;
    }
    const intptr_t answer = entry(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    static auto& kept = *new std::vector<intptr_t>;  // the handle of a registered binary is the caller's
    if (name == "__cudaRegisterFatBinary") kept.push_back(answer);
    const auto status = static_cast<int>(answer);
    if (name.compare(0, 4, "cuda") == 0 && name.find("cudaGetError") != 0 &&
        strcmp(cudaGetErrorName(static_cast<cudaError_t>(status)), "unrecognized error code") == 0) {
      printf("%s:%d ", name.c_str(), status);
      ++bad;
    }
  }
  return bad;
}

int run_in_child(int (*body)()) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int result = body();
    fflush(stdout);
    _exit(result);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// Calls from exit handlers, static destructors and thread-local destructors.
void at_exit_calls() {
  void* pointer = nullptr;
  const cudaError_t allocated = cudaMalloc(&pointer, 4096);
  launch();
  cudaDeviceSynchronize();
  cudaFree(pointer);
  cudaGetLastError();
  if (cudaGetErrorName(allocated) == nullptr) abort();
}
struct StaticDestructor {
  ~StaticDestructor() {
    at_exit_calls();
    __cudaUnregisterFatBinary(handle);
    at_exit_calls();
  }
};
struct ThreadLocalDestructor {
  bool used = false;
  ~ThreadLocalDestructor() { at_exit_calls(); }
};

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  setenv("MAYA_TRACE", "0", 0);
  setenv("MAYA_DEVICES", "2", 0);
  if (mode == "registration") {
    register_program();
    printf("driver_after_registration=%d", mapped("libcuda.so"));
    int version = 0;
    cudaRuntimeGetVersion(&version);
    printf(" driver_after_version=%d", mapped("libcuda.so"));
    int count = 0;
    cudaGetDeviceCount(&count);
    printf(" count=%d context_after_count=%d", count, context_active());
    cudaKernel_t kernel = nullptr;
    __cudaGetKernel(&kernel, &stub);
    printf(" context_after_kernel=%d", context_active());
    const cudaError_t launched = launch();
    printf(" launch=%d context_after_launch=%d\n", launched, context_active());
  } else if (mode == "no-driver") {
    // Our runtime alone in a folder: no libcuda.so.1 beside it.
    int value = -1;
    const cudaError_t asked = cudaDriverGetVersion(&value);
    printf("version=%d,%d", asked, value);
    printf(" count=%d", cudaGetDeviceCount(&value));
    void* pointer = nullptr;
    printf(" malloc=%d", cudaMalloc(&pointer, 16));
    register_program();
    printf(" launch=%d", launch());
    printf(" last=%d\n", cudaGetLastError());
  } else if (mode == "fork") {
    register_program();
    printf("parent=%d", launch());
    printf(" child=%d", run_in_child([] {
             void* pointer = nullptr;
             int count = 0;
             const bool expected = cudaMalloc(&pointer, 16) == cudaErrorInitializationError &&
                                   launch() == cudaErrorInitializationError &&
                                   cudaGetDeviceCount(&count) == cudaErrorInitializationError &&
                                   cudaDeviceSynchronize() == cudaErrorInitializationError &&
                                   cudaGetLastError() == cudaErrorInitializationError;
             return expected ? 0 : 1;
           }));
    printf(" parent_again=%d\n", launch());
  } else if (mode == "fork-before-init") {
    register_program();
    printf("child=%d", run_in_child([] { return static_cast<int>(launch()); }));
    printf(" parent=%d\n", launch());
  } else if (mode == "exit") {
    static StaticDestructor destroyed_last;
    register_program();
    atexit(&at_exit_calls);
    printf("launch=%d\n", launch());
    std::thread([] {
      static thread_local ThreadLocalDestructor at_thread_end;
      at_thread_end.used = true;
      launch();
    }).join();
  } else if (mode == "sweep-before-init") {
    printf("bad=%d\n", sweep());
  } else if (mode == "sweep-after-init") {
    int count = 0;
    cudaGetDeviceCount(&count);
    printf("bad=%d\n", sweep());
  } else if (mode == "sweep-with-context") {
    cudaFree(nullptr);
    printf("bad=%d\n", sweep());
  } else if (mode == "sweep-after-fork") {
    cudaFree(nullptr);
    printf("bad=%d\n", run_in_child(&sweep));
  } else if (mode == "sweep-at-exit") {
    cudaFree(nullptr);
    atexit([] { printf("bad=%d\n", sweep()); });
  } else {
    fprintf(stderr, "cudart_states: unknown mode: %s\n", mode.c_str());
    return 2;
  }
  return 0;
}
