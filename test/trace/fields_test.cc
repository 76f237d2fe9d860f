// The hand-written constants against the descriptors that protoc made, in both directions.
#include <google/protobuf/descriptor.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <regex>
#include <string>

#include "test/trace/trace_files.h"
#include "trace_proto/maya_trace_fields.h"

namespace {

using Constants = std::map<std::string, std::map<std::string, int>>;  // struct -> constant -> number

Constants constants_in_header() {
  const char* root = std::getenv("MAYA_SOURCE_DIR");
  REQUIRE(root != nullptr);
  const std::string text = maya::test::read_file(std::string(root) + "/trace_proto/maya_trace_fields.h");
  Constants result;
  const std::regex structure(R"(struct (\w+) \{([^}]*)\})");
  const std::regex constant(R"((k\w+) = (\d+))");
  for (std::sregex_iterator s(text.begin(), text.end(), structure), end; s != end; ++s) {
    const std::string body = (*s)[2];
    for (std::sregex_iterator c(body.begin(), body.end(), constant); c != end; ++c)
      result[(*s)[1]][(*c)[1]] = std::stoi((*c)[2]);
  }
  return result;
}

// "dynamic_shared_bytes" and "HOST_TO_DEVICE" -> "kDynamicSharedBytes", "kHostToDevice".
std::string constant_name(const std::string& name) {
  std::string result = "k";
  bool upper = true;
  for (const char c : name) {
    if (c != '_') result += static_cast<char>(upper ? std::toupper(c) : std::tolower(c));
    upper = c == '_';
  }
  return result;
}

void add_enumeration(const google::protobuf::EnumDescriptor& enumeration, Constants* out) {
  const std::string message = enumeration.containing_type() != nullptr ? enumeration.containing_type()->name() : "";
  std::string prefix;
  for (const char c : enumeration.name()) prefix += static_cast<char>(std::toupper(c));
  prefix += '_';
  for (int i = 0; i < enumeration.value_count(); ++i) {
    std::string name = enumeration.value(i)->name();
    if (name.rfind(prefix, 0) == 0) name = name.substr(prefix.size());
    (*out)[message + enumeration.name()][constant_name(name)] = enumeration.value(i)->number();
  }
}

Constants constants_in_descriptors() {
  Constants result;
  const auto* file = maya::proto::Packet::descriptor()->file();
  for (int m = 0; m < file->message_type_count(); ++m) {
    const auto* message = file->message_type(m);
    for (int f = 0; f < message->field_count(); ++f)
      result[message->name()][constant_name(message->field(f)->name())] = message->field(f)->number();
    for (int e = 0; e < message->enum_type_count(); ++e) add_enumeration(*message->enum_type(e), &result);
  }
  for (int e = 0; e < file->enum_type_count(); ++e) add_enumeration(*file->enum_type(e), &result);
  return result;
}

}  // namespace

TEST_CASE("every field number and enumerator of the contract is a constant of the same value, and no other") {
  const Constants header = constants_in_header();
  const Constants descriptors = constants_in_descriptors();
  CHECK(header.size() == descriptors.size());
  for (const auto& [name, values] : descriptors) {
    INFO(name);
    REQUIRE(header.count(name) == 1);
    CHECK(header.at(name) == values);
  }
  CHECK(maya::trace::fields::Packet::kPadding == maya::proto::Packet::kPaddingFieldNumber);
}
