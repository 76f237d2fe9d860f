// Process states that cannot share a process: before initialisation, without a driver, after fork, at exit.
#include <stdlib.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

namespace {

struct Outcome {
  int status;
  std::string output;
};

Outcome run(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Outcome outcome{0, ""};
  char buffer[4096];
  for (size_t bytes; (bytes = fread(buffer, 1, sizeof buffer, pipe)) > 0;) outcome.output.append(buffer, bytes);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  return outcome;
}

Outcome state(const std::string& mode) { return run(std::string(MAYA_STATES) + " " + mode + " 2>/dev/null"); }

}  // namespace

TEST_CASE("registration loads nothing; counting devices and finding a kernel make no context; a launch does") {
  const Outcome outcome = state("registration");
  CHECK(outcome.status == 0);
  CHECK(outcome.output ==
        "driver_after_registration=0 driver_after_version=0 count=2 context_after_count=0 context_after_kernel=0 "
        "launch=0 context_after_launch=1\n");
}

TEST_CASE("without a driver: cudaErrorInsufficientDriver, version 0, and one line that names what is missing") {
  char folder[] = "/tmp/maya-cudart-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string place = folder;
  const std::string command = "cp " MAYA_CUDART " " + place + "/ && LD_LIBRARY_PATH=" + place +
                              " " MAYA_STATES " no-driver 2>" + place + "/errors; cat " + place + "/errors; rm -r " +
                              place;
  const Outcome outcome = run(command);
  CHECK(outcome.output.find("version=0,0 count=35 malloc=35 launch=35 last=35") != std::string::npos);
  CHECK(outcome.output.find("maya: cannot load " + place + "/libcuda.so.1") != std::string::npos);
  const size_t first = outcome.output.find("maya: ");
  CHECK(outcome.output.find("maya: ", first + 1) == std::string::npos);
}

TEST_CASE("a forked child of an initialised process is told so and never waits; the parent goes on") {
  CHECK(state("fork").output == "parent=0 child=0 parent_again=0\n");
  CHECK(state("fork-before-init").output == "child=0 parent=0\n");
}

TEST_CASE("calls from exit handlers, static and thread-local destructors") {
  for (int i = 0; i < 20; ++i) {
    const Outcome outcome = state("exit");
    CHECK(outcome.status == 0);
    CHECK(outcome.output == "launch=0\n");
  }
}

TEST_CASE("every entry point with null arguments gives a documented code") {
  for (const char* mode :
       {"sweep-before-init", "sweep-after-init", "sweep-with-context", "sweep-after-fork", "sweep-at-exit"}) {
    INFO(mode);
    const Outcome outcome = state(mode);
    CHECK(outcome.status == 0);
    CHECK(outcome.output == "bad=0\n");
  }
}
