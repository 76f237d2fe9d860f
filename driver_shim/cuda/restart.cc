// Restart in place. With plain LD_LIBRARY_PATH and NVIDIA's wheels installed, the wheels' RPATH wins and NVIDIA's
// runtime is mapped before this library. It cannot work on an emulated driver, so the program is started once more,
// with an audit library that hands out ours.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "driver_shim/cuda/configuration.h"
#include "driver_shim/cuda/program_name.h"

namespace maya::cuda {
namespace {

constexpr const char* kMarker = "MAYA_RESTARTED";

std::string folder_of(const char* path) {
  char whole[PATH_MAX];
  if (realpath(path, whole) == nullptr) return {};
  const std::string_view text(whole);
  return std::string(text.substr(0, text.rfind('/')));
}

std::string own_folder() {
  Dl_info self{};
  if (dladdr(kMarker, &self) == 0 || self.dli_fname == nullptr) return {};
  return folder_of(self.dli_fname);
}

// Libraries that hold a copy of NVIDIA's runtime. Wheels also carry renamed copies: libcudart-c64a25f3.so.12,
// libcudart.3eda8113.so.13.
bool holds_runtime(std::string_view file) {
  for (const std::string_view name : {"libcudart", "libcublas", "libcublasLt", "libcudnn", "libnccl", "libcurand",
                                      "libcufft", "libcusparse", "libcusolver", "libcupti"}) {
    if (file.substr(0, name.size()) != name || file.find(".so") == std::string_view::npos) continue;
    const std::string_view rest = file.substr(name.size());
    if (rest[0] == '.' || rest[0] == '-' || (name == "libcudnn" && rest[0] == '_')) return true;
  }
  return false;
}

struct Search {
  std::string own;
  std::string found;  // path of a mapped library of NVIDIA's
};

int look_at(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const std::string_view path = object->dlpi_name == nullptr ? "" : object->dlpi_name;
  if (!holds_runtime(path.substr(path.rfind('/') + 1)) || folder_of(object->dlpi_name) == search.own) return 0;
  search.found = path;
  return 1;
}

bool one_thread() {
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return false;
  int count = 0;
  while (const dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count == 1;
}

// Whether the program itself comes from standard input: an interpreter without a script.
bool program_on_stdin(const std::vector<std::string>& arguments) {
  const size_t slash = arguments[0].rfind('/');
  const std::string name = slash == std::string::npos ? arguments[0] : arguments[0].substr(slash + 1);
  if (name.rfind("python", 0) != 0) return false;
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "-") return true;
    if (arguments[i].empty() || arguments[i][0] != '-' || arguments[i][1] == 'c' || arguments[i][1] == 'm')
      return false;
    if (arguments[i] == "-W" || arguments[i] == "-X") ++i;
  }
  return true;
}

// False when what was read from standard input cannot be read again.
bool rewind_stdin(const std::vector<std::string>& arguments) {
  struct stat status {};
  if (fstat(STDIN_FILENO, &status) != 0 || !program_on_stdin(arguments)) return true;
  return S_ISREG(status.st_mode) && lseek(STDIN_FILENO, 0, SEEK_SET) == 0;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> new_environment(const std::string& audit) {
  std::vector<std::string> result;
  std::string value = "LD_AUDIT=" + audit;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (strncmp(*entry, "LD_AUDIT=", 9) == 0)
      value += std::string(":") + (*entry + 9);
    else
      result.emplace_back(*entry);
  }
  result.push_back(value);
  result.push_back(std::string(kMarker) + "=1");
  return result;
}

void explain(const std::string& library, const char* reason) {
  print_line(library + " is NVIDIA's and does not work on an emulated device (" + reason +
             "); run the program with maya-run");
}

void restart(const Search& search) {
  if (const char* wanted = secure_getenv("MAYA_RESTART"); wanted != nullptr && strcmp(wanted, "0") == 0)
    return explain(search.found, "MAYA_RESTART=0 forbids a restart in place");
  if (getauxval(AT_SECURE) != 0) return explain(search.found, "a set-user-ID program is not restarted");
  if (getenv(kMarker) != nullptr) return explain(search.found, "it was loaded again after a restart");
  const std::string audit = search.own + "/libmaya_audit.so";
  if (access(audit.c_str(), R_OK) != 0) return explain(search.found, "libmaya_audit.so is missing beside libcuda.so.1");
  std::vector<std::string> arguments = command_line();
  if (arguments.empty()) return explain(search.found, "/proc/self/cmdline cannot be read");
  if (!one_thread()) return explain(search.found, "other threads run already, so no restart");
  if (!rewind_stdin(arguments)) return explain(search.found, "the program was read from a pipe, so no restart");
  char executable[PATH_MAX] = {};
  if (readlink("/proc/self/exe", executable, sizeof executable - 1) <= 0 || access(executable, X_OK) != 0)
    strcpy(executable, "/proc/self/exe");
  print_line(search.found +
             " is NVIDIA's and does not work on an emulated device; starting the program again with Maya's libraries");
  std::vector<std::string> environment = new_environment(audit);
  execve(executable, pointers(arguments).data(), pointers(environment).data());
  explain(search.found, "the restart failed");
}

__attribute__((constructor)) void restart_when_needed() {
  try {
    Search search;
    search.own = own_folder();
    if (!search.own.empty() && dl_iterate_phdr(&look_at, &search) != 0) restart(search);
  } catch (...) {
  }
}

}  // namespace
}  // namespace maya::cuda
