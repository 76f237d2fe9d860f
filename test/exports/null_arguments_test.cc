// Every exported function of the compute libraries and of libcupti, called with arguments that are all zero: it must
// come back. Each library runs in a child process; a call that kills the child is named, and the sweep goes on behind
// it.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

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

// Calls names[first...]; returns the index of the one that ended the child, or names.size().
size_t sweep(const std::string& path, const std::vector<std::string>& names, size_t first) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    alarm(kSecondsPerSweep);
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    for (size_t i = first; library != nullptr && i < names.size(); ++i) {
      [[maybe_unused]] const ssize_t written = write(ends[1], &i, sizeof i);
      call_with_zeros(dlsym(library, names[i].c_str()));
    }
    _exit(library == nullptr ? 1 : 0);
  }
  close(ends[1]);
  size_t last = first, index = 0;
  while (read(ends[0], &index, sizeof index) == sizeof index) last = index;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? names.size() : last;
}

}  // namespace

TEST_CASE("Null arguments") {
  const char* variable = std::getenv("MAYA_LIBRARY_PATH");
  if (variable == nullptr) FAIL("MAYA_LIBRARY_PATH is not set: run through ctest");
  const std::string folder = variable;
  for (const char* file_name : {"libcublas.so.13",
                                "libcublasLt.so.13",
                                "libcudnn.so.9",
                                "libcudnn_graph.so.9",
                                "libcudnn_ops.so.9",
                                "libcudnn_cnn.so.9",
                                "libcudnn_adv.so.9",
                                "libcudnn_ext.so.9",
                                "libcusparse.so.12",
                                "libcusolver.so.12",
                                "libcusolverMg.so.12",
                                "libcufft.so.12",
                                "libcufftw.so.12",
                                "libcurand.so.10",
                                "libcusparseLt.so.0",
                                "libcufile.so.0",
                                "libnvshmem_host.so.3",
                                "libcupti.so.13",
                                "libcupti.so.12",
                                "fallback/libnvrtc.so.13",
                                "fallback/libnvJitLink.so.13",
                                "libcublas.so.12",
                                "libcublasLt.so.12",
                                "libcusolver.so.11",
                                "libcusolverMg.so.11",
                                "libcufft.so.11",
                                "libcufftw.so.11",
                                "fallback/libnvrtc.so.12",
                                "fallback/libnvJitLink.so.12"}) {
    const std::string path = folder + "/" + file_name;
    std::vector<std::string> names;
    for (const ElfSymbol& symbol : ElfFile(path).exports)
      if (symbol.function) names.push_back(symbol.name);
    REQUIRE_FALSE(names.empty());
    std::string killed;
    for (size_t next = 0; next < names.size();) {
      next = sweep(path, names, next);
      if (next < names.size()) killed += " " + names[next++];
    }
    INFO(file_name);
    CHECK(killed == "");
  }
}
