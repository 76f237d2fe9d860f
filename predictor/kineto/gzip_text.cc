#include "predictor/kineto/gzip_text.h"

#include <zlib.h>

namespace maya::predictor::kineto {
namespace {

constexpr unsigned kBuffer_bytes = 1 << 20;

gzFile file_of(void* file) { return static_cast<gzFile>(file); }

}  // namespace

GzipText::GzipText(const std::string& path) : file_(gzopen(path.c_str(), "rb")), buffer_(kBuffer_bytes) {
  if (file_ != nullptr) gzbuffer(file_of(file_), kBuffer_bytes);
}

GzipText::~GzipText() {
  if (file_ != nullptr) gzclose(file_of(file_));
}

bool GzipText::fill() {
  if (file_ == nullptr || !error_.empty()) return false;
  const int got = gzread(file_of(file_), buffer_.data(), kBuffer_bytes);
  at_ = 0;
  size_ = got > 0 ? static_cast<size_t>(got) : 0;
  int status = Z_OK;
  const char* const message = gzerror(file_of(file_), &status);
  // A compressed file that was cut gives what it holds, with this status.
  if (got < 0 || (got == 0 && status == Z_BUF_ERROR)) error_ = status == Z_BUF_ERROR ? "the file was cut" : message;
  return size_ > 0;
}

}  // namespace maya::predictor::kineto
