// The folder where ranks meet: mode 0700, owned by this user.
#pragma once

#include <string>

namespace maya::nccl {

// XDG_RUNTIME_DIR/maya, or /tmp/maya-<uid> where that is not set or not usable; made when missing. False with *error
// when the folder is not this user's own or others may enter it.
bool meeting_folder(std::string* folder, std::string* error);

// Holds the folder's lock: one process at a time makes or removes meeting places.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  bool held() const { return descriptor_ >= 0; }
  // Removes meeting places that nobody serves any more: their process was killed.
  void sweep() const;

 private:
  const std::string folder_;
  int descriptor_ = -1;
};

}  // namespace maya::nccl
