#include "predictor/output_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

namespace maya::predictor {
namespace {

constexpr size_t kBuffer_bytes = 1 << 20;
// zlib's fastest but one: timelines are read once or twice.
constexpr char kCompressedMode[] = "wb3";

bool ends_in_gz(const std::string& path) { return path.size() > 3 && path.compare(path.size() - 3, 3, ".gz") == 0; }

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path) {
  descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    keep_error(std::strerror(errno));
    return;
  }
  if (!ends_in_gz(path)) return;
  compressed_ = gzdopen(descriptor_, kCompressedMode);
  if (compressed_ == nullptr) keep_error("out of memory");
}

OutputFile::~OutputFile() {
  if (compressed_ != nullptr) {
    gzclose(static_cast<gzFile>(compressed_));
  } else if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void OutputFile::keep_error(const std::string& reason) {
  if (!failure_) failure_ = {FailureKind::kOutput, "cannot write: " + path_ + ": " + reason + "; choose another file"};
}

void OutputFile::flush() {
  std::string_view rest = buffer_;
  while (!failure_ && !rest.empty()) {
    ssize_t written = 0;
    if (compressed_ != nullptr) {
      written = gzwrite(static_cast<gzFile>(compressed_), rest.data(), static_cast<unsigned>(rest.size()));
      if (written <= 0) keep_error(errno != 0 ? std::strerror(errno) : "compression failed");
    } else {
      written = ::write(descriptor_, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) keep_error(std::strerror(errno));
    }
    if (written > 0) rest.remove_prefix(static_cast<size_t>(written));
  }
  buffer_.clear();
}

void OutputFile::write(std::string_view text) {
  if (failure_) return;
  buffer_ += text;
  if (buffer_.size() >= kBuffer_bytes) flush();
}

Failure OutputFile::close() {
  flush();
  errno = 0;
  if (compressed_ != nullptr) {
    const int status = gzclose(static_cast<gzFile>(compressed_));
    compressed_ = nullptr;
    descriptor_ = -1;
    if (status != Z_OK) keep_error(errno != 0 ? std::strerror(errno) : "compression failed");
  } else if (descriptor_ >= 0) {
    if (::close(descriptor_) != 0) keep_error(std::strerror(errno));
    descriptor_ = -1;
  }
  return failure_;
}

}  // namespace maya::predictor
