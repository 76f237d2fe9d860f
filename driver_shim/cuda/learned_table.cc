#include "driver_shim/cuda/learned_table.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "driver_shim/cuda/configuration.h"
#include "driver_shim/cuda/program_name.h"

namespace maya::cuda {
namespace {

std::string folder_of_tables() {
  if (const char* chosen = secure_getenv("MAYA_TABLES"); chosen != nullptr && *chosen != 0)
    return std::string(chosen) == "none" ? std::string() : chosen;
  static const char marker = 0;
  Dl_info self{};
  char path[PATH_MAX];
  if (dladdr(&marker, &self) == 0 || self.dli_fname == nullptr || realpath(self.dli_fname, path) == nullptr) return {};
  const std::string library(path);
  return library.substr(0, library.rfind('/')) + "/tables";
}

}  // namespace

const Table* learned_table() {
  const std::string folder = folder_of_tables();
  if (folder.empty()) return nullptr;
  const std::string path = folder + "/" + configuration().profile->name + ".table";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat status {};
  void* bytes = MAP_FAILED;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
    bytes = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (bytes == MAP_FAILED) return nullptr;
  static Table table;
  std::string error;
  if (open_table(bytes, static_cast<size_t>(status.st_size), &table, &error)) return &table;
  print_line(path + ": " + error + "; estimates are analytic");
  munmap(bytes, static_cast<size_t>(status.st_size));
  return nullptr;
}

}  // namespace maya::cuda
