// Writes JSON text. Keys come out in the order in which they are given, so equal input gives equal bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace maya::predictor {

// A string in quotes. Control characters are escaped; bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

class JsonWriter {
 public:
  // indent 0: one line.
  explicit JsonWriter(int indent) : indent_(indent) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& text(std::string_view value);
  JsonWriter& integer(uint64_t value);
  JsonWriter& signed_integer(int64_t value);
  JsonWriter& number(double value, int digits);  // fixed notation; not finite: 0
  JsonWriter& boolean(bool value);
  JsonWriter& null();

  const std::string& str() const { return out_; }

 private:
  void before_value();
  void new_line();
  struct Level {
    bool array;
    bool empty = true;
  };
  int indent_;
  bool after_key_ = false;
  std::vector<Level> levels_;
  std::string out_;
};

}  // namespace maya::predictor
