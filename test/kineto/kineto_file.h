// Small profiler traces, written by hand.
#pragma once

#include <string>

#include "predictor/kineto/kineto_trace.h"

namespace maya::test {

class Folder {
 public:
  Folder();
  ~Folder();
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const;
  std::string write_compressed(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
};

std::string read_whole(const std::string& path);

// Events as the profiler writes them; times in microseconds, `args` further arguments: ", \"bytes\": 8".
std::string call(const std::string& name, int thread, double ts, double dur, int correlation);
std::string kernel(const std::string& name, int stream, double ts, double dur, int correlation,
                   const std::string& args = "");
std::string copy(const std::string& name, int stream, double ts, double dur, int correlation, long bytes);
std::string op(const std::string& name, int thread, double ts, double dur, const std::string& args);
std::string step(int number, int thread, double ts, double dur);

// The file around events, which are joined by commas; of an A100 of 40 GB.
std::string file_of(const std::string& events);

// Reads the text through a file; a test failure when it cannot be read.
predictor::kineto::KinetoTrace read(const std::string& text);

}  // namespace maya::test
