#include "predictor/training/csv.h"

#include <charconv>
#include <cmath>

namespace maya::training {
namespace {

constexpr size_t kBufferBytes = 1 << 16;
constexpr int kEnd = -1;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

bool parse_number(std::string_view text, double* value) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return status == std::errc() && end == text.data() + text.size() && !text.empty();
}

CsvReader::~CsvReader() {
  if (file_ != nullptr) gzclose(file_);
}

bool CsvReader::open(const std::string& path, std::string* error) {
  path_ = path;
  file_ = gzopen(path.c_str(), "rbe");
  if (file_ == nullptr) {
    *error = path + ": cannot be read";
    return false;
  }
  buffer_.resize(kBufferBytes);
  std::string why;
  if (!read_row(&why)) {
    *error = why.empty() ? path + ": line 1: empty table: expected a header" : why;
    return false;
  }
  for (size_t i = 0; i < ends_.size(); ++i) header_.emplace_back(cell(static_cast<int>(i)));
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (header_.front().starts_with(kByteOrderMark)) header_.front().erase(0, kByteOrderMark.size());
  return true;
}

int CsvReader::column(std::string_view name) const {
  for (size_t i = 0; i < header_.size(); ++i)
    if (header_[i] == name) return static_cast<int>(i);
  return kMissing;
}

bool CsvReader::has_columns(std::initializer_list<std::string_view> names) const {
  for (std::string_view name : names)
    if (column(name) == kMissing) return false;
  return true;
}

int CsvReader::get() {
  if (position_ == filled_) {
    const int count = failed_ ? 0 : gzread(file_, buffer_.data(), static_cast<unsigned>(buffer_.size()));
    int code = Z_OK;
    if (count <= 0) gzerror(file_, &code);
    if (count < 0 || (code != Z_OK && code != Z_STREAM_END)) failed_ = true;
    position_ = 0;
    filled_ = count > 0 ? static_cast<size_t>(count) : 0;
    if (filled_ == 0) return kEnd;
  }
  return static_cast<unsigned char>(buffer_[position_++]);
}

bool CsvReader::read_row(std::string* error) {
  text_.clear();
  ends_.clear();
  row_line_ = line_;
  enum class State { kPlain, kQuoted, kMaybeClosed } state = State::kPlain;
  bool any = false;
  for (int c = get(); c != kEnd; c = get()) {
    any = true;
    if (c == '\n') ++line_;
    if (state == State::kQuoted) {
      if (c == '"')
        state = State::kMaybeClosed;
      else
        text_ += static_cast<char>(c);
      continue;
    }
    if (c == '"') {
      if (state == State::kMaybeClosed) text_ += '"';
      state = State::kQuoted;
      continue;
    }
    state = State::kPlain;
    if (c == '\n') {
      if (text_.ends_with('\r')) text_.pop_back();
      ends_.push_back(text_.size());
      return true;
    }
    if (c == ',')
      ends_.push_back(text_.size());
    else
      text_ += static_cast<char>(c);
  }
  if (failed_) {
    *error = at("damaged: the compressed data cannot be read further");
    return false;
  }
  if (state == State::kQuoted) {
    *error = at("a quoted cell is never closed");
    return false;
  }
  if (any) ends_.push_back(text_.size());
  return any;
}

bool CsvReader::next(std::string* error) {
  while (read_row(error)) {
    if (ends_.size() == 1 && text_.empty()) continue;
    if (ends_.size() == header_.size()) return true;
    *error = at("row of " + std::to_string(ends_.size()) + " cells: expected " + std::to_string(header_.size()) +
                ", as in the header");
    return false;
  }
  return false;
}

std::string_view CsvReader::cell(int column) const {
  if (column < 0 || static_cast<size_t>(column) >= ends_.size()) return {};
  const auto index = static_cast<size_t>(column);
  const size_t begin = index == 0 ? 0 : ends_[index - 1];
  return trimmed(std::string_view(text_).substr(begin, ends_[index] - begin));
}

bool CsvReader::number(int column, double* value) const { return parse_number(cell(column), value); }

bool CsvReader::whole(int column, int64_t* value) const {
  constexpr double kMost = 4e18;
  double real = 0;
  if (!number(column, &real) || !(real >= 0) || real > kMost || std::floor(real) != real) return false;
  *value = static_cast<int64_t>(real);
  return true;
}

std::string CsvReader::at(const std::string& what) const {
  return path_ + ": line " + std::to_string(row_line_) + ": " + what;
}

}  // namespace maya::training
