// A file that a command writes: plain, or compressed where its name ends in .gz. Errors are kept and reported by
// close().
#pragma once

#include <string>
#include <string_view>

#include "predictor/failure.h"

namespace maya::predictor {

class OutputFile {
 public:
  // Does not fail here; see close().
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);  // buffered; does nothing once something has gone wrong
  Failure close();                    // the first thing that went wrong since the constructor, naming path and reason

 private:
  void flush();
  void keep_error(const std::string& reason);
  std::string path_;
  std::string buffer_;
  void* compressed_ = nullptr;  // gzFile
  int descriptor_ = -1;
  Failure failure_;
};

}  // namespace maya::predictor
