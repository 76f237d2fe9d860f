// The bytes of a trace file as one contiguous range, read from disk as they are needed and given back behind the
// reader. Not mapped from the file: a file that somebody cuts while it is read (its writer, when the traced process
// ends) would raise SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace maya::trace {

class InputBytes {
 public:
  InputBytes() = default;
  ~InputBytes();
  InputBytes(const InputBytes&) = delete;
  InputBytes& operator=(const InputBytes&) = delete;

  // False with errno set when the file cannot be opened or is no regular file.
  bool open(const std::string& path);
  void use_memory(const void* data, size_t size);

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }  // shrinks when the file turns out to be shorter
  // Makes bytes [0, end) readable as far as the file has them; true when all are there.
  bool ensure(size_t end) { return end <= available_ || read_up_to(end); }
  // Bytes before `position` will not be read again.
  void forget_before(size_t position);
  // Back to the start: what was forgotten is read again.
  void rewind();

 private:
  bool read_up_to(size_t end);

  int file_ = -1;
  bool owned_ = false;
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t mapped_bytes_ = 0;
  size_t available_ = 0;
  size_t forgotten_ = 0;
};

}  // namespace maya::trace
