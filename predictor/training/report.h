// What became of the rows of measurement files: how many were used, left out on purpose, or refused. Not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace maya::training {

class Report {
 public:
  // `rows` of `file` were read by the source of that name, `used` of them went into measurements.
  void read(const std::string& source, const std::string& file, uint64_t rows, uint64_t used);
  // Rows that are left out on purpose, counted by source and reason.
  void leave_out(const std::string& source, const std::string& reason, uint64_t rows = 1);
  // A bad row: `example` is its one-line error. Counted by file and reason; the first example is kept.
  void refuse(const std::string& file, const std::string& reason, const std::string& example);
  // Files that no source knows, or that hold nothing for the device.
  void skip(const std::string& file, const std::string& reason);
  // Anything else worth knowing about a file.
  void note(const std::string& file, const std::string& what);
  // Rows of one operation that disagree: the largest factor between two of them is kept by source.
  void disagree(const std::string& source, double factor);

  uint64_t rows_used() const;
  uint64_t rows_refused() const;
  uint64_t files_skipped() const { return skipped_.size(); }

  // A few lines a person reads: one a source with its files and rows, then what was left out, refused and skipped.
  std::string text() const;

 private:
  struct Source {
    uint64_t files = 0, rows = 0, used = 0, disagreements = 0;
    double largest_factor = 1;
  };
  struct Refused {
    uint64_t rows = 0;
    std::string example;
  };
  std::map<std::string, Source> sources_;
  std::map<std::pair<std::string, std::string>, uint64_t> left_out_;
  std::map<std::pair<std::string, std::string>, Refused> refused_;
  std::vector<std::pair<std::string, std::string>> skipped_, notes_;
};

}  // namespace maya::training
