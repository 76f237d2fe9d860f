// Every exported function of every replacement library, called with arguments that are all zero: it must come back,
// in a fresh process and with a device's context current. Each library runs in a child process; a call that kills the
// child is named, and the sweep goes on behind it. The libraries are those that lie in the build's folder, so a new one
// is swept without a word here. What the driver and the runtime answer in other states: test/cuda/sweep_test.cc,
// test/cudart/states_test.cc.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "test/exports/elf_file.h"

using namespace maya::test;

namespace {

constexpr unsigned kSecondsPerSweep = 60;

// More arguments than any of them takes; the calling convention lets the callee ignore the rest.
using Any = long (*)(long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long,
                     long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long,
                     long, long, long, long);

void call_with_zeros(void* function) {
  reinterpret_cast<Any>(function)(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                  0, 0, 0, 0, 0, 0, 0);
}

enum class State { kFresh, kContextCurrent };

// As a program comes by a context, with the driver of the same folder.
bool make_context_current(const std::string& folder) {
  void* driver = dlopen((folder + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (driver == nullptr) return false;
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto retain = reinterpret_cast<int (*)(void**, int)>(dlsym(driver, "cuDevicePrimaryCtxRetain"));
  const auto set_current = reinterpret_cast<int (*)(void*)>(dlsym(driver, "cuCtxSetCurrent"));
  void* context = nullptr;
  return init(0) == 0 && retain(&context, 0) == 0 && set_current(context) == 0;
}

// Calls names[first...]; returns the index of the one that ended the child, or names.size().
size_t sweep(const std::string& folder, const std::string& path, const std::vector<std::string>& names, State state,
             size_t first) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    for (const int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) signal(number, SIG_DFL);  // not Catch's
    setenv("MAYA_TRACE", "0", 1);
    alarm(kSecondsPerSweep);
    if (state == State::kContextCurrent && !make_context_current(folder)) _exit(1);
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) _exit(1);
    for (size_t i = first; i < names.size(); ++i) {
      [[maybe_unused]] const ssize_t written = write(ends[1], &i, sizeof i);
      call_with_zeros(dlsym(library, names[i].c_str()));
    }
    _exit(0);
  }
  close(ends[1]);
  size_t last = first, index = 0;
  while (read(ends[0], &index, sizeof index) == sizeof index) last = index;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? names.size() : last;
}

// What the dynamic loader alone calls, with arguments of its own making (rtld-audit(7)), and what stands before the C
// library's own functions: neither is an interface that a program calls with what it likes.
const std::set<std::string> kLoadersOwn = {"libmaya_audit.so", "libmaya_preload.so"};

// cudaCreateChannelDesc returns a struct: the caller passes where it goes, without which no body can do anything.
const std::set<std::string> kReturnStructs = {"cudaCreateChannelDesc"};

// By path below the folder; links left out.
std::vector<std::string> libraries(const std::string& folder) {
  std::vector<std::string> found;
  for (const char* part : {"", "fallback/"})
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/" + part)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_regular_file() && !entry.is_symlink() && name.find(".so") != std::string::npos &&
          kLoadersOwn.count(name) == 0)
        found.push_back(part + name);
    }
  return found;
}

// Functions that the sweep killed a child with, by library.
std::string killed_by(State state) {
  const char* variable = std::getenv("MAYA_LIBRARY_PATH");
  if (variable == nullptr) FAIL("MAYA_LIBRARY_PATH is not set: run through ctest");
  const std::string folder = variable;
  constexpr size_t kFewestLibraries = 40;
  const std::vector<std::string> all = libraries(folder);
  CHECK(all.size() >= kFewestLibraries);
  std::string killed;
  for (const std::string& library : all) {
    const std::string path = folder + "/" + library;
    std::vector<std::string> names;
    for (const ElfSymbol& symbol : ElfFile(path).exports)
      if (symbol.function && kReturnStructs.count(symbol.name) == 0) names.push_back(symbol.name);
    // cuDNN's parts that hold engines and heuristics export nothing that is a function.
    if (names.empty()) killed += library.rfind("libcudnn_", 0) == 0 ? "" : " nothing:" + library;
    for (size_t next = 0; next < names.size();) {
      next = sweep(folder, path, names, state, next);
      if (next < names.size()) killed += " " + library + ":" + names[next++];
    }
  }
  return killed;
}

}  // namespace

TEST_CASE("Null arguments in a fresh process") { CHECK(killed_by(State::kFresh) == ""); }

TEST_CASE("Null arguments with a context current") { CHECK(killed_by(State::kContextCurrent) == ""); }
