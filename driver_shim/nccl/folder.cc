#include "driver_shim/nccl/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <vector>

namespace maya::nccl {
namespace {

bool is_private(const std::string& folder) {
  struct stat status;
  return lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & 077) == 0;
}

bool make_private(const std::string& folder) {
  return (mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) && is_private(folder);
}

}  // namespace

bool meeting_folder(std::string* folder, std::string* error) {
  constexpr size_t kLongest = 70;  // a socket's path has room for 107 characters, the name takes 33
  if (const char* runtime = secure_getenv("XDG_RUNTIME_DIR"); runtime != nullptr && runtime[0] == '/') {
    *folder = std::string(runtime) + "/maya";
    if (folder->size() <= kLongest && make_private(*folder)) return true;
  }
  *folder = "/tmp/maya-" + std::to_string(geteuid());
  if (make_private(*folder)) return true;
  *error = "the folder " + *folder + " cannot be made, or is not this user's alone (mode 0700)";
  return false;
}

FolderLock::FolderLock(const std::string& folder) : folder_(folder) {
  if (!make_private(folder_)) return;
  const int opened = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) return;
  int status;
  do status = flock(opened, LOCK_EX);
  while (status != 0 && errno == EINTR);
  if (status == 0)
    descriptor_ = opened;
  else
    close(opened);
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

void FolderLock::sweep() const {
  DIR* directory = opendir(folder_.c_str());
  if (directory == nullptr) return;
  std::vector<std::string> names;
  while (const dirent* entry = readdir(directory))
    if (strlen(entry->d_name) == 32) names.emplace_back(entry->d_name);
  closedir(directory);
  for (const std::string& name : names) {
    const std::string path = folder_ + "/" + name;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) continue;
    memcpy(address.sun_path, path.data(), path.size());
    const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0) return;
    if (connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno == ECONNREFUSED)
      unlink(path.c_str());
    close(probe);
  }
}

}  // namespace maya::nccl
