// maya-run --world-size with shell programs: what the launcher sets, how ranks end, wrong usage.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>

namespace {

struct Result {
  int status;
  std::string output;
};

Result run(const std::string& arguments) {
  char folder[] = "/tmp/maya_world_XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string command =
      "cd " + std::string(folder) + " && { " + getenv("MAYA_BIN_PATH") + "/maya-run " + arguments + "; } > out 2>&1";
  const int status = system(command.c_str());
  std::stringstream text;
  text << std::ifstream(std::string(folder) + "/out").rdbuf();
  REQUIRE(system(("rm -r " + std::string(folder)).c_str()) == 0);
  return {WEXITSTATUS(status), text.str()};
}

bool contains(const Result& result, const std::string& text) { return result.output.find(text) != std::string::npos; }

}  // namespace

// A sanitizer's runtime cannot be loaded into an unmodified program.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("every rank gets torchrun's variables") {
  const Result result = run(
      "--world-size 4 --gpus-per-node 2 --ranks all -- sh -c "
      "'echo \"$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK $MASTER_ADDR $TORCHELASTIC_USE_AGENT_STORE "
      "devices $MAYA_DEVICES node $MAYA_GPUS_PER_NODE\"'");
  CHECK(result.status == 0);
  CHECK(contains(result, "0/4 0/2 0 127.0.0.1 True devices 2 node 2\n"));
  CHECK(contains(result, "3/4 1/2 1 127.0.0.1 True devices 2 node 2\n"));
}

TEST_CASE("the status of the first rank that fails; the others are ended") {
  const auto begin = std::chrono::steady_clock::now();
  const Result result =
      run("--world-size 3 --ranks all -- sh -c 'if [ $RANK = 1 ]; then exit 7; fi; sleep 600 & wait'");
  CHECK(result.status == 7);
  CHECK(contains(result, "maya-run: rank 1 ended with status 7"));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
}

TEST_CASE("a killed rank gives 128 and the signal") {
  CHECK(run("--world-size 1 --ranks all -- sh -c 'kill -9 $$'").status == 137);
}

TEST_CASE("a list runs these ranks alone, the first one's output shown, the others' in the trace folder") {
  const Result result =
      run("--world-size 64 --ranks 0,9,62-63 --jobs 2 --trace-dir t -- sh -c 'echo rank $RANK twins $MAYA_TWINS' "
          "&& cat t/rank9.log t/rank63.log");
  CHECK(result.status == 0);
  CHECK(contains(result, "rank 0 twins 1\n"));
  CHECK(contains(result, "rank 9 twins 1\n"));
  CHECK(contains(result, "rank 63 twins 1\n"));
}

#endif

TEST_CASE("wrong usage is refused with the thing and the remedy") {
  struct Case {
    const char *arguments, *message;
  };
  for (const Case& one :
       {Case{"--world-size 12 --gpus-per-node 8 -- true", "--world-size 12 is not divisible by --gpus-per-node 8"},
        Case{"--world-size 0 -- true", "--world-size is out of range: 0"},
        Case{"--ranks all -- true", "--ranks needs a world: give --world-size"},
        Case{"--world-size 4 --ranks 2,9 -- true", "--ranks is no list of ranks below 4: 2,9"},
        Case{"--world-size 4 --ranks 3-1 -- true", "--ranks is no list of ranks below 4: 3-1"},
        Case{"--world-size 4 --jobs 0 -- true", "--jobs is out of range: 0"},
        Case{"--world-size 4 --no-trace -- true", "--ranks auto needs traces"},
        Case{"--cluster nowhere -- true", "unknown cluster: nowhere; known are "}}) {
    const Result result = run(one.arguments);
    CAPTURE(one.arguments, result.output);
    CHECK(result.status == 2);
    CHECK(contains(result, one.message));
  }
}

TEST_CASE("a program that is not there") {
  const Result result = run("--world-size 2 --ranks all -- /nowhere/program");
  CHECK(result.status == 127);
  CHECK(contains(result, "program not found: /nowhere/program"));
}
