#include "trace_proto/trace_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace maya::trace {
namespace {

int system_open(const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); }
int system_fallocate(int file, off_t offset, off_t bytes) { return ::fallocate(file, 0, offset, bytes); }
ssize_t system_pwrite(int file, const void* data, size_t bytes, off_t offset) {
  return ::pwrite(file, data, bytes, offset);
}
int system_ftruncate(int file, off_t bytes) { return ::ftruncate(file, bytes); }
void* system_mmap(size_t bytes, int file, off_t offset) {
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
}
int system_mkdir(const char* path, mode_t mode) { return ::mkdir(path, mode); }
int system_close(int file) { return ::close(file); }

constexpr int kMaxSameNames = 10000;

template <class Call>
auto retry_interrupted(Call call) {
  decltype(call()) result;
  int tries = 0;
  do {
    result = call();
  } while (result == -1 && errno == EINTR && ++tries < 1000);
  return result;
}

// Growing beyond RLIMIT_FSIZE raises SIGXFSZ, which ends the program: ask first.
bool within_size_limit(uint64_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

}  // namespace

FileSystemCalls file_system_calls = {system_open, system_fallocate, system_pwrite, system_ftruncate,
                                     system_mmap, system_mkdir,     system_close};

TraceFile::~TraceFile() { close(); }

bool TraceFile::create(const std::string& directory, const std::string& base_name, std::string* error) {
  if (file_system_calls.mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST) {
    *error = "cannot create the trace directory: " + directory + ": " + std::strerror(errno);
    return false;
  }
  for (int number = 1; number <= kMaxSameNames; ++number) {
    path_ = directory + "/" + base_name + (number == 1 ? "" : "-" + std::to_string(number)) + ".pb";
    file_ = retry_interrupted([&] {
      return file_system_calls.open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    });
    if (file_ >= 0) return true;
    if (errno != EEXIST) break;
  }
  *error = "cannot create the trace file: " + path_ + ": " + std::strerror(errno);
  return false;
}

bool TraceFile::allocate(uint64_t bytes) {
  if (!within_size_limit(size_bytes_ + bytes)) {
    errno = EFBIG;
    return false;
  }
  if (!no_fallocate_) {
    if (retry_interrupted([&] { return file_system_calls.fallocate(file_, size_bytes_, bytes); }) == 0) return true;
    if (errno != EOPNOTSUPP && errno != ENOSYS) return false;
    no_fallocate_ = true;
  }
  // File systems without fallocate: written zeros have their disk space too.
  alignas(64) static const uint8_t zeros[1 << 16] = {};
  for (uint64_t done = 0; done < bytes;) {
    const size_t part = std::min<uint64_t>(sizeof zeros, bytes - done);
    const ssize_t written =
        retry_interrupted([&] { return file_system_calls.pwrite(file_, zeros, part, size_bytes_ + done); });
    if (written <= 0) {
      if (written == 0) errno = ENOSPC;
      return false;
    }
    done += written;
  }
  return true;
}

uint8_t* TraceFile::grow(size_t bytes, size_t least_bytes, size_t* got) {
  for (; bytes >= least_bytes; bytes /= 2) {
    if (!allocate(bytes)) {
      const int reason = errno;
      retry_interrupted([&] { return file_system_calls.ftruncate(file_, size_bytes_); });
      errno = reason;
      if (reason != ENOSPC && reason != EFBIG && reason != EDQUOT) return nullptr;
      continue;
    }
    void* address = file_system_calls.mmap(bytes, file_, size_bytes_);
    if (address == MAP_FAILED) {
      const int reason = errno;
      retry_interrupted([&] { return file_system_calls.ftruncate(file_, size_bytes_); });
      errno = reason;
      return nullptr;
    }
    size_bytes_ += bytes;
    *got = bytes;
    return static_cast<uint8_t*>(address);
  }
  return nullptr;
}

void TraceFile::cut_and_close(uint64_t bytes) {
  if (file_ < 0) return;
  retry_interrupted([&] { return file_system_calls.ftruncate(file_, bytes); });
  size_bytes_ = bytes;
  close();
}

void TraceFile::close() {
  if (file_ >= 0) file_system_calls.close(file_);
  file_ = -1;
}

}  // namespace maya::trace
