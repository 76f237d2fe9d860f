#include "trace_proto/input_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace maya::trace {
namespace {

constexpr size_t kReadStep_bytes = 4 << 20;
constexpr size_t kForgetStep_bytes = 64 << 20;

}  // namespace

InputBytes::~InputBytes() {
  if (owned_) munmap(const_cast<uint8_t*>(data_), mapped_bytes_);
  if (file_ >= 0) close(file_);
}

bool InputBytes::open(const std::string& path) {
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file_ < 0) return false;
  struct stat status {};
  if (fstat(file_, &status) != 0) return false;
  if (!S_ISREG(status.st_mode)) {
    errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    return false;
  }
  size_ = status.st_size;
  if (size_ == 0) return true;
  void* space = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return false;
  data_ = static_cast<const uint8_t*>(space);
  mapped_bytes_ = size_;
  owned_ = true;
  return true;
}

void InputBytes::use_memory(const void* data, size_t size) {
  data_ = static_cast<const uint8_t*>(data);
  size_ = available_ = size;
}

bool InputBytes::read_up_to(size_t end) {
  const size_t wanted = std::min(std::max(end, available_ + kReadStep_bytes), size_);
  while (owned_ && available_ < wanted) {
    const ssize_t got = pread(file_, const_cast<uint8_t*>(data_) + available_, wanted - available_, available_);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      size_ = available_;
      break;
    }
    available_ += got;
  }
  return end <= available_;
}

void InputBytes::forget_before(size_t position) {
  if (!owned_ || position < forgotten_ + kForgetStep_bytes) return;
  const size_t whole = position / kForgetStep_bytes * kForgetStep_bytes;
  madvise(const_cast<uint8_t*>(data_) + forgotten_, whole - forgotten_, MADV_DONTNEED);
  forgotten_ = whole;
}

void InputBytes::rewind() {
  if (forgotten_ == 0) return;
  available_ = 0;
  forgotten_ = 0;
}

}  // namespace maya::trace
