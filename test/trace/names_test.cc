// Long kernel names in lines for people; names of every key of an operation.
#include <catch2/catch.hpp>

#include "cli/trace/definitions.h"
#include "predictor/core/operation.h"

using maya::key_name;
using maya::cli::trace::abbreviated;

TEST_CASE("a long name keeps its beginning and its end, whole characters only") {
  CHECK(abbreviated("void short_kernel(float*)") == "void short_kernel(float*)");
  const std::string name = std::string(100, 'b') + std::string(500, 'm') + std::string(40, 'e');
  CHECK(abbreviated(name) == std::string(100, 'b') + "..." + std::string(40, 'e'));
  std::string accents;
  for (int i = 0; i < 200; ++i) accents += "\xe2\x82\xac";  // the euro sign: 3 bytes
  const std::string cut = abbreviated(accents);
  CHECK(cut.size() == 99 + 3 + 39);
  CHECK(cut.substr(96, 9) == "\xe2\x82\xac...\xe2\x82\xac");
}

TEST_CASE("keys are named as in operation.h") {
  CHECK(key_name(static_cast<uint32_t>(maya::Key::kM)) == "m");
  CHECK(key_name(static_cast<uint32_t>(maya::Key::kTypeA)) == "type_a");
  CHECK(key_name(static_cast<uint32_t>(maya::Key::kSeqKv)) == "seq_kv");
  CHECK(key_name(static_cast<uint32_t>(maya::Key::kGroupCall)) == "group_call");
  CHECK(key_name(60000) == "key60000");
}
