// The file below the writer: created exclusively, grown in windows whose disk space is allocated before they are
// mapped, so that storing into a window can never raise SIGBUS for lack of space. Not thread safe; the writer holds its
// lock around every call.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace maya::trace {

// The system calls that can fail because of the file system. Tests replace them to inject faults; each returns what the
// system call of that name does, with errno.
struct FileSystemCalls {
  int (*open)(const char* path, int flags, mode_t mode);
  int (*fallocate)(int file, off_t offset, off_t bytes);
  ssize_t (*pwrite)(int file, const void* data, size_t bytes, off_t offset);
  int (*ftruncate)(int file, off_t bytes);
  void* (*mmap)(size_t bytes, int file, off_t offset);  // shared, readable and writable
  int (*mkdir)(const char* path, mode_t mode);
  int (*close)(int file);
};
extern FileSystemCalls file_system_calls;  // the system's own at start

class TraceFile {
 public:
  TraceFile() = default;
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // Creates directory/base_name.pb, or -2, -3... when the name is taken. False on failure; *error then names the path
  // and the reason.
  bool create(const std::string& directory, const std::string& base_name, std::string* error);

  // Adds a window of `bytes` zero bytes at the end of the file, or of half, a quarter... but at least `least_bytes`
  // where there is no more room. Returns its address, null with errno set when it cannot be had; *got is its size.
  uint8_t* grow(size_t bytes, size_t least_bytes, size_t* got);

  uint64_t size() const { return size_bytes_; }
  // Cuts the file to `bytes` and closes it. Windows stay mapped; bytes behind `bytes` must not be touched any more.
  void cut_and_close(uint64_t bytes);
  // Closes the descriptor only (forked child).
  void close();
  const std::string& path() const { return path_; }

 private:
  bool allocate(uint64_t bytes);

  int file_ = -1;
  bool no_fallocate_ = false;
  uint64_t size_bytes_ = 0;
  std::string path_;
};

}  // namespace maya::trace
