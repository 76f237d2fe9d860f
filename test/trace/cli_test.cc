// maya-trace as scripts see it: output against golden files, exit statuses, error lines. MAYA_UPDATE_GOLDEN=1 writes
// the golden files anew.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "test/trace/sample_trace.h"
#include "test/trace/trace_files.h"

using namespace maya::test;

namespace {

struct Run {
  int status;
  std::string output;
  std::string errors;
};

// Runs the command in `folder`, whose files are then named without their path.
Run maya_trace(const TemporaryFolder& folder, const std::string& arguments, const std::string& output = "out.txt") {
  const char* bin = std::getenv("MAYA_BIN_PATH");
  REQUIRE(bin != nullptr);
  const std::string command =
      "cd " + folder.path() + " && " + bin + "/maya-trace " + arguments + " > " + output + " 2> errors.txt";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(folder.path() + "/out.txt"),
          read_file(folder.path() + "/errors.txt")};
}

void check_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(std::getenv("MAYA_SOURCE_DIR")) + "/test/trace/golden/" + name;
  if (std::getenv("MAYA_UPDATE_GOLDEN") != nullptr) write_file(path, text);
  INFO(name);
  CHECK(read_file(path) == text);
}

}  // namespace

TEST_CASE("dump, stats and check against golden files") {
  TemporaryFolder folder;
  write_file(folder.path() + "/gpt.pb", golden_trace());
  for (const auto& [arguments, name] :
       {std::pair{"dump gpt.pb", "dump.txt"}, std::pair{"dump --json gpt.pb", "dump.jsonl"},
        std::pair{"dump --kind launch --limit 2 gpt.pb", "dump_launches.txt"}, std::pair{"stats gpt.pb", "stats.txt"},
        std::pair{"stats --json gpt.pb", "stats.json"}, std::pair{"check gpt.pb", "check.txt"},
        std::pair{"check --json gpt.pb", "check.json"}}) {
    const Run run = maya_trace(folder, arguments);
    CHECK(run.status == 0);
    CHECK(run.errors.empty());
    check_golden(name, run.output);
  }
}

TEST_CASE("check: 1 for damage with its offset, 0 for a killed process, the worst of several") {
  TemporaryFolder folder;
  const std::string good = golden_trace();
  write_file(folder.path() + "/good.pb", good);
  write_file(folder.path() + "/killed.pb", good + std::string(100, '\0'));
  write_file(folder.path() + "/damaged.pb", good + "xxx" + good);
  write_file(folder.path() + "/undefined.pb", encoded(chunk_header(0, 0, 1)) + encoded(process_header()) +
                                                  encoded(launch(3, 0, 1)) + encoded(process_end()));
  CHECK(maya_trace(folder, "check good.pb").status == 0);
  const Run killed = maya_trace(folder, "check killed.pb");
  CHECK(killed.status == 0);
  CHECK(killed.output.find("killed.pb: incomplete: the process did not end in order") == 0);
  const Run damaged = maya_trace(folder, "check damaged.pb");
  CHECK(damaged.status == 1);
  CHECK(damaged.output.find("damaged.pb: damaged at offset " + std::to_string(good.size()) +
                            ": no packet begins here; ") == 0);
  const Run undefined = maya_trace(folder, "check undefined.pb");
  CHECK(undefined.status == 1);
  CHECK(undefined.output.find("launch configuration 3 is used and not defined") != std::string::npos);
  CHECK(maya_trace(folder, "check good.pb damaged.pb killed.pb").status == 1);
  CHECK(maya_trace(folder, "check good.pb missing.pb damaged.pb").status == 3);
}

TEST_CASE("unusable input: one line, status 3") {
  TemporaryFolder folder;
  write_file(folder.path() + "/empty.pb", "");
  write_file(folder.path() + "/foreign.pb", "PK\x03\x04 something else");
  write_file(folder.path() + "/cut.pb", golden_trace().substr(0, 10));
  write_file(folder.path() + "/newer.pb", encoded(chunk_header(0, 0, 1)) + encoded(process_header(2)));
  for (const char* command : {"dump", "stats", "check", "pack"}) {
    const auto errors = [&](const std::string& file) {
      const Run run = maya_trace(folder, std::string(command) + " " + file);
      CHECK(run.status == 3);
      CHECK(std::count(run.errors.begin(), run.errors.end(), '\n') == 1);
      return run.errors;
    };
    CHECK(errors("missing.pb") ==
          "maya-trace: cannot be read: No such file or directory: missing.pb; give the path of a trace (.pb) that "
          "maya-run wrote\n");
    CHECK(errors(".") ==
          "maya-trace: cannot be read: Is a directory: .; give the path of a trace (.pb) that maya-run wrote\n");
    CHECK(errors("empty.pb") ==
          "maya-trace: the file is empty: empty.pb; nothing in it can be recovered; record it again\n");
    CHECK(errors("foreign.pb") ==
          "maya-trace: not a Maya trace: foreign.pb; give the path of a trace (.pb) that maya-run wrote\n");
    CHECK(errors("cut.pb") ==
          "maya-trace: damaged before the first whole packet, at offset 0: cut.pb; nothing in it can be recovered; "
          "record it again\n");
    CHECK(errors("newer.pb") ==
          "maya-trace: trace format 2 is newer than this Maya reads (1): newer.pb; read it with the Maya that wrote "
          "it, or a newer one\n");
  }
}

TEST_CASE("wrong usage: status 2; help and version: status 0") {
  TemporaryFolder folder;
  CHECK(maya_trace(folder, "").status == 2);
  CHECK(maya_trace(folder, "frobnicate x").status == 2);
  CHECK(maya_trace(folder, "dump").status == 2);
  const Run unknown = maya_trace(folder, "dump --colour x.pb");
  CHECK(unknown.status == 2);
  CHECK(unknown.errors.rfind("maya-trace: ", 0) == 0);
  CHECK(unknown.errors.find("--help") != std::string::npos);
  CHECK(maya_trace(folder, "pack -o x a b").status == 2);
  const Run help = maya_trace(folder, "--help");
  CHECK(help.status == 0);
  CHECK(help.output.find("maya-trace stats") != std::string::npos);
  CHECK(maya_trace(folder, "--version").output.rfind("maya-trace ", 0) == 0);
}

TEST_CASE("pack: in place, readable as before; output that cannot be written: status 4") {
  TemporaryFolder folder;
  write_file(folder.path() + "/a.pb", golden_trace());
  const std::string before = maya_trace(folder, "dump a.pb").output;
  CHECK(maya_trace(folder, "pack a.pb").status == 0);
  CHECK(maya_trace(folder, "dump a.pb").output == before);
  CHECK(maya_trace(folder, "check a.pb").status == 0);
  const Run unwritable = maya_trace(folder, "pack a.pb -o /nonexistent/b.pb");
  CHECK(unwritable.status == 4);
  CHECK(unwritable.errors.find("maya-trace: cannot write the packed trace: /nonexistent/b.pb: No such file") == 0);
  const Run taken = maya_trace(folder, "pack a.pb -o errors.txt");
  CHECK(taken.status == 4);
  if (std::filesystem::exists("/dev/full")) {
    const Run full = maya_trace(folder, "dump a.pb", "/dev/full");
    CHECK(full.status == 4);
    CHECK(full.errors.find("No space left on device") != std::string::npos);
  }
}
