#include "test/training/scratch_folder.h"

#include <unistd.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "predictor/training/sources/registry.h"

namespace maya::training {

ScratchFolder::ScratchFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "maya-training-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ScratchFolder::write(const std::string& name, std::string_view content) const {
  const std::filesystem::path path = path_ / name;
  std::filesystem::create_directories(path.parent_path());
  if (name.ends_with(".gz")) {
    gzFile file = gzopen(path.c_str(), "wb");
    REQUIRE(file != nullptr);
    REQUIRE(gzwrite(file, content.data(), static_cast<unsigned>(content.size())) == static_cast<int>(content.size()));
    REQUIRE(gzclose(file) == Z_OK);
  } else {
    std::ofstream(path, std::ios::binary) << content;
  }
  return path.string();
}

ReadResult read(const std::string& path, const std::string& device) {
  ReadResult result;
  result.ok = read_measurements(path, device, &result.measurements, &result.report, &result.error);
  return result;
}

Measurement only(const std::string& name, std::string_view content, const std::string& device) {
  const ScratchFolder folder;
  const ReadResult result = read(folder.write(name, content), device);
  INFO(result.error);
  INFO(result.report.text());
  REQUIRE(result.ok);
  REQUIRE(result.measurements.size() == 1);
  return result.measurements.front();
}

}  // namespace maya::training
