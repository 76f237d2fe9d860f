// A folder of made-up measurement files that goes away with the test, and shorthands for reading it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "predictor/training/measurement.h"
#include "predictor/training/report.h"

namespace maya::training {

class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  // Writes a file, folders above it included, and returns its path. Names ending in .gz are compressed.
  std::string write(const std::string& name, std::string_view content) const;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

struct ReadResult {
  bool ok = false;
  std::string error;
  std::vector<Measurement> measurements;
  Report report;
};
ReadResult read(const std::string& path, const std::string& device);

// The only measurement of a file of that name and content; fails the test when there is not exactly one.
Measurement only(const std::string& name, std::string_view content, const std::string& device);

}  // namespace maya::training
