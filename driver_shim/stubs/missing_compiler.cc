// What the stand-ins for NVRTC and nvJitLink say when one of their functions is called: the real library is not
// installed. They need no driver, so nothing is counted in the trace.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "driver_shim/common/entry_table.h"

namespace maya::shim {

void report_unsupported(const char* library, const char* entry_point, const char* status_name) {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  const char* package = std::strstr(library, "nvrtc") != nullptr ? "nvidia-cuda-nvrtc" : "nvidia-nvjitlink";
  const char* release = std::strstr(library, ".so.12") != nullptr ? "-cu12" : "";
  char line[256];
  const int length = std::snprintf(
      line, sizeof line,
      "maya: %s is not installed: %s returned %s; install NVIDIA's compiler, for example with pip install %s%s\n",
      library, entry_point, status_name, package, release);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, length);
}

}  // namespace maya::shim
