// Comma-separated tables, plain or compressed with gzip, read row by row. Rows are RFC 4180: cells in double quotes may
// hold commas, line breaks and doubled quotes; lines end in LF or CRLF; a byte order mark is skipped. The first row
// names the columns. Not thread safe.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "predictor/core/operation_columns.h"

namespace maya::training {

class CsvReader : public ColumnSource {
 public:
  CsvReader() = default;
  ~CsvReader() override;
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  // Opens a file and reads its header. On failure `error` is one line that names the file.
  bool open(const std::string& path, std::string* error);

  const std::string& path() const { return path_; }
  const std::vector<std::string>& header() const { return header_; }
  // Index of a column; kMissing when the table lacks it.
  static constexpr int kMissing = -1;
  int column(std::string_view name) const;
  bool has_columns(std::initializer_list<std::string_view> names) const;

  // Reads the next row that is not empty. False at the end, and with `error` set for damaged compression, a quote that
  // is never closed, or a row whose number of cells is not the header's.
  bool next(std::string* error);
  uint64_t line() const { return row_line_; }  // where the row began; the header is line 1

  // Text of a cell of the current row, without surrounding blanks; empty for kMissing.
  std::string_view cell(int column) const;
  std::string_view value_of(std::string_view name) const override { return cell(column(name)); }
  // False unless the whole cell is a number (NaN and infinity are numbers).
  bool number(int column, double* value) const;
  // False unless the cell is a whole number from 0 on; "128.0" is one.
  bool whole(int column, int64_t* value) const;

  // "file: line N: what".
  std::string at(const std::string& what) const;

 private:
  int get();
  bool read_row(std::string* error);

  std::string path_;
  gzFile file_ = nullptr;
  std::vector<char> buffer_;
  size_t position_ = 0, filled_ = 0;
  bool failed_ = false;
  std::vector<std::string> header_;
  std::string text_;          // cells of the row, one after the other
  std::vector<size_t> ends_;  // end of each cell in text_
  uint64_t line_ = 1, row_line_ = 1;
};

// False unless all of `text` is a number.
bool parse_number(std::string_view text, double* value);

}  // namespace maya::training
