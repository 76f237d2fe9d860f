// A strict JSON reader for tests: does the text follow RFC 8259, and what stands at a path?
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace maya::test {

struct Json {
  enum class Kind { kNull, kBoolean, kNumber, kText, kArray, kObject };
  Kind kind = Kind::kNull;
  bool boolean = false;
  double number = 0;
  std::string text;
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> members;  // in order

  // Throws std::runtime_error where the text is not JSON.
  static Json parse(std::string_view text);
  // The member of that name; throws when there is none.
  const Json& operator[](std::string_view name) const;
  const Json& operator[](size_t index) const { return items.at(index); }
  bool has(std::string_view name) const;
};

}  // namespace maya::test
