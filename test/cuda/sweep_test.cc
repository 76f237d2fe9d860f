// Every exported function called with all arguments zero, in five states of the process (reliability.md figure 3): it
// must return, and return a value that is one of CUresult's.
#include <dlfcn.h>
#include <fcntl.h>

#include <algorithm>

#include "test/cuda/driver_helpers.h"

using driver_test::Entry;

namespace {

using AnyFunction = CUresult (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                 uint64_t, uint64_t, uint64_t, uint64_t);

CUresult call_with_zeros(const std::string& name) {
  const auto function = reinterpret_cast<AnyFunction>(dlsym(RTLD_DEFAULT, name.c_str()));
  return function == nullptr ? CUDA_SUCCESS : function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

void quiet() {
  const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nothing, STDERR_FILENO);
}

// What the sweep found: number of calls whose value is no CUresult, in the exit status (at most 100).
int sweep(const std::vector<Entry>& entries, const std::function<void()>& restore_state, bool skip_init) {
  int bad = 0;
  for (const Entry& entry : entries) {
    if (skip_init && entry.name == "cuInit") continue;
    restore_state();
    const CUresult result = call_with_zeros(entry.name);
    const char* text = nullptr;
    if (cuGetErrorName(result, &text) != CUDA_SUCCESS) ++bad;
  }
  return bad < 100 ? bad : 100;
}

void make_context_current() {
  CUcontext context = nullptr;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
}

// Calls that a child of a process with a driver still makes with success: they need no device.
bool works_in_child(const std::string& name) { return name.rfind("cuProfiler", 0) == 0; }

std::vector<Entry> at_exit_entries;
void sweep_at_exit() { _exit(sweep(at_exit_entries, make_context_current, false)); }

}  // namespace

TEST_CASE("Null arguments before cuInit") {
  const std::vector<Entry> all = driver_test::entries();
  CHECK(driver_test::in_child([&] {
          quiet();
          return sweep(
              all, [] {}, true);
        }) == 0);
}

TEST_CASE("Null arguments after cuInit") {
  const std::vector<Entry> all = driver_test::entries();
  CHECK(driver_test::in_child([&] {
          quiet();
          cuInit(0);
          return sweep(
              all, [] { cuCtxSetCurrent(nullptr); }, false);
        }) == 0);
}

TEST_CASE("Null arguments with a context current") {
  const std::vector<Entry> all = driver_test::entries();
  CHECK(driver_test::in_child([&] {
          quiet();
          return sweep(all, make_context_current, false);
        }) == 0);
}

TEST_CASE("Null arguments after a fork") {
  const std::vector<Entry> all = driver_test::entries();
  CHECK(driver_test::in_child([&] {
          quiet();
          make_context_current();
          return WEXITSTATUS(driver_test::in_child([&] {
            alarm(60);
            return sweep(
                all, [] {}, false);
          }));
        }) == 0);
}

TEST_CASE("Null arguments in an exit handler") {
  at_exit_entries = driver_test::entries();
  const pid_t child = fork();
  if (child == 0) {
    quiet();
    make_context_current();
    atexit(&sweep_at_exit);
    exit(101);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("Emulated functions say NOT_INITIALIZED before cuInit and in a forked child") {
  // Those that need no device, by their documentation.
  const std::vector<std::string> free_of_state = {"cuInit",           "cuDriverGetVersion", "cuGetErrorName",
                                                  "cuGetErrorString", "cuGetProcAddress",   "cuGetProcAddress_v2",
                                                  "cuGetExportTable"};
  const auto count_others = [&] {
    int others = 0;
    for (const Entry& entry : driver_test::entries()) {
      if (entry.status != "emulated" ||
          std::find(free_of_state.begin(), free_of_state.end(), entry.name) != free_of_state.end())
        continue;
      if (works_in_child(entry.name)) continue;
      const CUresult result = call_with_zeros(entry.name);
      if (result == CUDA_ERROR_NOT_INITIALIZED) continue;
      ++others;
      printf("%s: %d\n", entry.name.c_str(), static_cast<int>(result));
    }
    fflush(stdout);
    return others < 100 ? others : 100;
  };
  CHECK(driver_test::in_child(count_others) == 0);
  CHECK(driver_test::in_child([&] {
          make_context_current();
          return WEXITSTATUS(driver_test::in_child(count_others));
        }) == 0);
}
