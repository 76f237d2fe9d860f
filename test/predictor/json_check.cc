#include "test/predictor/json_check.h"

#include <cstdlib>
#include <stdexcept>

namespace maya::test {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Json whole() {
    Json value = this->value();
    space();
    if (at_ != text_.size()) fail("text after the value");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("JSON: " + what + " at offset " + std::to_string(at_));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  void expect(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) fail("expected " + std::string(word));
    at_ += word.size();
  }

  Json value() {
    space();
    Json json;
    switch (peek()) {
      case '{':
        object(&json);
        break;
      case '[':
        array(&json);
        break;
      case '"':
        json.kind = Json::Kind::kText;
        json.text = string();
        break;
      case 't':
        expect("true");
        json.kind = Json::Kind::kBoolean;
        json.boolean = true;
        break;
      case 'f':
        expect("false");
        json.kind = Json::Kind::kBoolean;
        break;
      case 'n':
        expect("null");
        break;
      default:
        number(&json);
    }
    return json;
  }

  void object(Json* json) {
    json->kind = Json::Kind::kObject;
    expect("{");
    space();
    if (peek() == '}') return expect("}");
    while (true) {
      space();
      std::string name = string();
      space();
      expect(":");
      json->members.emplace_back(std::move(name), value());
      space();
      if (peek() == '}') return expect("}");
      expect(",");
    }
  }

  void array(Json* json) {
    json->kind = Json::Kind::kArray;
    expect("[");
    space();
    if (peek() == ']') return expect("]");
    while (true) {
      json->items.push_back(value());
      space();
      if (peek() == ']') return expect("]");
      expect(",");
    }
  }

  std::string string() {
    std::string out;
    expect("\"");
    while (peek() != '"') {
      if (at_ >= text_.size()) fail("string without an end");
      if (static_cast<unsigned char>(peek()) < 0x20) fail("control character in a string");
      if (peek() != '\\') {
        out += text_[at_++];
        continue;
      }
      ++at_;
      const char escape = peek();
      ++at_;
      if (escape == 'n') {
        out += '\n';
      } else if (escape == 'u') {
        if (text_.size() - at_ < 4) fail("short escape");
        out += static_cast<char>(std::strtoul(std::string(text_.substr(at_, 4)).c_str(), nullptr, 16));
        at_ += 4;
      } else if (escape == '"' || escape == '\\' || escape == '/') {
        out += escape;
      } else {
        fail("unknown escape");
      }
    }
    expect("\"");
    return out;
  }

  void number(Json* json) {
    const size_t begin = at_;
    const auto digits = [&] {
      if (peek() < '0' || peek() > '9') fail("expected a digit");
      while (peek() >= '0' && peek() <= '9') ++at_;
    };
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
    } else {
      digits();
    }
    if (peek() == '.') {
      ++at_;
      digits();
    }
    json->kind = Json::Kind::kNumber;
    json->number = std::strtod(std::string(text_.substr(begin, at_ - begin)).c_str(), nullptr);
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Json Json::parse(std::string_view text) { return Parser(text).whole(); }

const Json& Json::operator[](std::string_view name) const {
  for (const auto& [key, value] : members)
    if (key == name) return value;
  throw std::runtime_error("JSON: no member " + std::string(name));
}

bool Json::has(std::string_view name) const {
  for (const auto& [key, value] : members)
    if (key == name) return true;
  return false;
}

}  // namespace maya::test
