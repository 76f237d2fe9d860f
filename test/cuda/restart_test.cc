// The restart in place: once, with the same arguments, and not when it would lose something.
#include <algorithm>

#include "test/cuda/driver_helpers.h"

namespace {

struct Outcome {
  std::string text;  // standard output and error
  int status = -1;
};

Outcome start(const std::string& variables, const std::string& arguments) {
  const std::string command = "env -u LD_LIBRARY_PATH -u LD_AUDIT " + variables +
                              " " MAYA_RESTART_PROGRAM " " MAYA_FAKE_RUNTIME " " MAYA_DRIVER " " + arguments + " 2>&1";
  Outcome outcome;
  FILE* out = popen(command.c_str(), "r");
  REQUIRE(out != nullptr);
  char buffer[512];
  for (size_t got = 0; (got = fread(buffer, 1, sizeof buffer, out)) > 0;) outcome.text.append(buffer, got);
  outcome.status = WEXITSTATUS(pclose(out));
  return outcome;
}

size_t times(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

}  // namespace

#if !defined(__SANITIZE_ADDRESS__)  // whose runtime refuses to run beside an audit library
TEST_CASE("With NVIDIA's runtime mapped, the program is started once more, with its arguments") {
  const Outcome outcome = start("", "'one argument'");
  INFO(outcome.text);
  CHECK(outcome.status == 7);
  CHECK(times(outcome.text, "starting the program again") == 1);
  CHECK(outcome.text.find("driver loaded restarted yes audit yes arguments 4 last one argument") != std::string::npos);
}
#endif

TEST_CASE("No restart where it is forbidden, or would lose something; the line names maya-run") {
  for (const auto& [variables, arguments] :
       {std::pair{"MAYA_RESTART=0", "x"}, {"MAYA_RESTARTED=1", "x"}, {"A=b", "thread"}}) {
    const Outcome outcome = start(variables, arguments);
    INFO(outcome.text);
    CHECK(outcome.status == 7);
    CHECK(times(outcome.text, "starting the program again") == 0);
    CHECK(times(outcome.text, "maya-run") == 1);
    CHECK(outcome.text.find("driver loaded") != std::string::npos);
    CHECK(outcome.text.find("audit no") != std::string::npos);
  }
}
