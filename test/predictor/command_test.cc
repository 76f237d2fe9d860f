// maya-predict as a command: exit statuses, error lines, outputs. Runs the built binary.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "test/predictor/json_check.h"
#include "test/predictor/trace_builder.h"
#include "test/predictor/world_traces.h"

using namespace maya;
using maya::test::Json;
using maya::test::TraceBuilder;
namespace fs = std::filesystem;

namespace {

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Result {
  int status;
  std::string out, err;
};

struct Command {
  fs::path folder;

  Command() {
    std::string pattern = (fs::temp_directory_path() / "maya-predict-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    folder = pattern;
  }
  ~Command() { fs::remove_all(folder); }

  std::string file(const std::string& name, const std::string& bytes) const {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return (folder / name).string();
  }
  std::string path(const std::string& name) const { return (folder / name).string(); }

  // Runs maya-predict with these shell words.
  Result run(const std::string& arguments) const {
    const char* bin = std::getenv("MAYA_BIN_PATH");
    REQUIRE(bin != nullptr);
    const std::string command =
        "'" + std::string(bin) + "/maya-predict' " + arguments + " >'" + path("out") + "' 2>'" + path("err") + "'";
    const int raw = std::system(command.c_str());
    REQUIRE(WIFEXITED(raw));
    return {WEXITSTATUS(raw), read(folder / "out"), read(folder / "err")};
  }

  // One line on standard error, of the agreed form, that names `thing`; nothing on standard output.
  void check_error(const std::string& arguments, int status, const std::string& thing) const {
    const Result result = run(arguments);
    INFO(arguments << "\n" << result.err);
    CHECK(result.status == status);
    CHECK(result.out.empty());
    CHECK(result.err.rfind("maya-predict: ", 0) == 0);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK(result.err.find(thing) != std::string::npos);
  }
};

std::string training(int steps = 3) {
  TraceBuilder b;
  add_training(&b, steps);
  return b.bytes();
}

}  // namespace

TEST_CASE_METHOD(Command, "text for people, JSON for scripts") {
  const std::string trace = file("a.pb", training());
  const Result text = run(trace);
  CHECK(text.status == 0);
  CHECK(text.err.empty());
  CHECK(text.out.find("Step time") != std::string::npos);
  CHECK(text.out.find('\033') == std::string::npos);
  const Result json = run(trace + " --json");
  CHECK(json.status == 0);
  CHECK(Json::parse(json.out)["steps"]["count"].number == 3);
  CHECK(run(trace + " --json").out == json.out);
}

TEST_CASE_METHOD(Command, "another device") {
  const std::string trace = file("a.pb", training());
  const Json here = Json::parse(run(trace + " --json").out),
             there = Json::parse(run(trace + " --json --device a100-sxm-40").out);
  CHECK(there["device"].text == "a100-sxm-40");
  CHECK(there["step_time_ms"]["median"].number > here["step_time_ms"]["median"].number);
  CHECK(there["memory"]["capacity_bytes"].number < here["memory"]["capacity_bytes"].number);
  check_error(trace + " --device gtx-260", 2, "h100-sxm h100-pcie");
  check_error(trace + " --device gtx-260", 2, "gtx-260");
  check_error(trace + " --device " + file("bad.profile", "no_such_key = 1\n"), 2, "bad.profile");
  check_error(trace + " --device " + path("missing.profile"), 2, "missing.profile");
}

TEST_CASE_METHOD(Command, "folders, several files, files of helpers") {
  TraceBuilder helper;
  file("run/a.pb", training());
  file("run/b.pb", helper.bytes());
  file("run/notes.txt", "not a trace");
  const Result result = run(path("run") + " --json");
  CHECK(result.status == 0);
  CHECK(Json::parse(result.out)["ranks"].number == 1);
  CHECK(run(path("run/a.pb") + " " + path("run/b.pb") + " --json").out == result.out);
  // Concatenated files are a trace too.
  CHECK(Json::parse(run(file("both.pb", training() + helper.bytes()) + " --json").out)["ranks"].number == 1);
}

TEST_CASE_METHOD(Command, "traces of different runs are not mixed") {
  TraceBuilder other;
  other.header().set_run_id("run-2");
  add_training(&other, 3);
  file("mixed/a.pb", training());
  file("mixed/b.pb", other.bytes());
  check_error(path("mixed"), 3, "run-1");
  check_error(path("mixed"), 3, "run-2");
  TraceBuilder helper;
  helper.header().set_run_id("run-3");
  CHECK(run(path("mixed/a.pb") + " " + file("helper.pb", helper.bytes())).status == 0);
}

TEST_CASE_METHOD(Command, "input that cannot be used: status 3") {
  check_error(path("missing.pb"), 3, "missing.pb");
  fs::create_directories(folder / "empty");
  check_error(path("empty"), 3, "empty");
  check_error(file("foreign.pb", "GIF89a and more that is no trace"), 3, "foreign.pb");
  check_error(file("zero.pb", ""), 3, "zero.pb");
  check_error(file("damaged.pb", training().substr(0, 7)), 3, "damaged.pb");
  TraceBuilder newer;
  newer.header().set_format(99);
  newer.launch("a", 1);
  check_error(file("newer.pb", newer.bytes()), 3, "99");
  if (geteuid() != 0) {
    const std::string secret = file("secret.pb", training());
    fs::permissions(secret, fs::perms::none);
    check_error(secret, 3, "secret.pb");
  }
}

TEST_CASE_METHOD(Command, "a cut trace predicts what is there and says that it is cut") {
  const std::string whole = training(6);
  for (const size_t part : {4, 2}) {
    const Result result = run(file("cut.pb", whole.substr(0, whole.size() * (part - 1) / part)) + " --json");
    CHECK(result.status == 0);
    const Json json = Json::parse(result.out);
    CHECK_FALSE(json["complete"].boolean);
    REQUIRE_FALSE(json["warnings"].items.empty());
    CHECK(json["warnings"][0].text.find("incomplete") != std::string::npos);
  }
}

TEST_CASE_METHOD(Command, "wrong usage: status 2") {
  const std::string trace = file("a.pb", training());
  check_error("", 2, "TRACE");
  check_error(trace + " --no-such-option", 2, "--no-such-option");
  check_error(trace + " --host-scale fast", 2, "--host-scale");
  check_error(trace + " --host-scale -1", 2, "--host-scale");
  for (const char* spread : {"wide", "-0.1", "0.21", "nan"})
    check_error(trace + " --device-spread " + spread, 2, "--device-spread");
  for (const char* scale : {"gemm", "gemm=", "=2", "gemm=fast", "gemm=-1", "gemm=0", "gemm=nan", "gemm=1001"})
    check_error(trace + " --kernel-scale " + scale, 2, "--kernel-scale");
  check_error(trace + " --fail-on heat", 2, "--fail-on");
}

TEST_CASE_METHOD(Command, "output that cannot be written: status 4") {
  const std::string trace = file("a.pb", training());
  check_error(trace + " --timeline " + path("no/folder/t.json"), 4, "no/folder/t.json");
  check_error(trace + " --memory-timeline " + path("no/folder/m.csv"), 4, "no/folder/m.csv");
  if (!fs::exists("/dev/full")) return;
  const char* bin = std::getenv("MAYA_BIN_PATH");
  const int raw = std::system(("'" + std::string(bin) + "/maya-predict' " + trace + " >/dev/full 2>/dev/null").c_str());
  CHECK(WEXITSTATUS(raw) == 4);
}

TEST_CASE_METHOD(Command, "timelines are written") {
  const std::string trace = file("a.pb", training());
  const Result result = run(trace + " --timeline " + path("t.json") + " --memory-timeline " + path("m.csv"));
  CHECK(result.status == 0);
  CHECK(Json::parse(read(folder / "t.json"))["traceEvents"].items.size() > 100);
  CHECK(read(folder / "m.csv").rfind("rank,device,", 0) == 0);
}

TEST_CASE_METHOD(Command, "--fail-on oom") {
  TraceBuilder b;
  add_training(&b, 2);
  b.allocate(77, 60ull << 30);
  const std::string trace = file("a.pb", b.bytes());
  CHECK(run(trace + " --fail-on oom").status == 0);
  CHECK(run("--fail-on oom " + trace).status == 0);  // the option takes one word
  const Result smaller = run(trace + " --fail-on oom --json --device a100-sxm-40");
  CHECK(smaller.status == 1);
  const Json memory = Json::parse(smaller.out)["memory"];
  CHECK(memory["verdict"].text == "out_of_memory");
  CHECK(memory["first_failure"]["call"].text == "cuMemAlloc");
  CHECK(memory["first_failure"]["requested_bytes"].number == static_cast<double>(60ull << 30));
  CHECK(memory["first_failure"]["operation"].kind == Json::Kind::kText);
  CHECK(run(trace + " --device a100-sxm-40").status == 0);
}

TEST_CASE_METHOD(Command, "host scale, explanations, cluster, help, version") {
  const std::string trace = file("a.pb", training());
  const double once = Json::parse(run(trace + " --json").out)["step_time_ms"]["median"].number;
  CHECK(Json::parse(run(trace + " --json --host-scale 50").out)["step_time_ms"]["median"].number > once);
  CHECK(Json::parse(run("--kernel-scale gemm=20 " + trace + " --json").out)["step_time_ms"]["median"].number > once);
  CHECK(run(trace + " --kernel-scale gemm=0.5 --explain gemm").out.find("what if  0.500 times") != std::string::npos);
  CHECK(run(trace + " --explain gemm").out.find("bound by") != std::string::npos);
  CHECK(Json::parse(run(trace + " --json --explain 'cublas*'").out)["explain"].items.size() >= 2);
  CHECK(Json::parse(run(trace + " --json --cluster dgx-h100").out)["cluster"].text == "dgx-h100");
  check_error(trace + " --cluster my-network", 2, "unknown cluster: my-network");
  const std::string description = file("wrong.cluster", "parent = dgx-h100\nno_such_key = 1\n");
  check_error(trace + " --cluster " + description, 2, "no_such_key");
  CHECK(run("--list-clusters").out.find("dgx-h100") != std::string::npos);
  CHECK(run("--help").out.find("Examples:") != std::string::npos);
  CHECK(run("--help").status == 0);
  CHECK(run("--version").out.rfind("maya-predict ", 0) == 0);
}

TEST_CASE_METHOD(Command, "worlds: --fail-on deadlock and mismatch, timelines of chosen ranks, traces of two runs") {
  test::WorldTraces crossing(2);
  const uint64_t pair = crossing.communicator({0, 1});
  for (int r = 0; r < 2; ++r) {
    crossing.send(pair, r, 1 - r, 64);
    crossing.receive(pair, r, 1 - r, 64);
  }
  const std::string deadlock = file("deadlock.pb", crossing.rank(0).bytes() + crossing.rank(1).bytes());
  CHECK(run(deadlock).status == 0);
  CHECK(run(deadlock + " --fail-on oom,mismatch").status == 0);
  CHECK(run(deadlock + " --fail-on oom,deadlock").status == 1);
  test::WorldTraces differing(2);
  const uint64_t two = differing.communicator({0, 1});
  differing.collective(two, {0}, CollectiveKind::kAllReduce, 64);
  differing.collective(two, {1}, CollectiveKind::kAllGather, 64);
  const std::string mismatch = file("mismatch.pb", differing.rank(0).bytes() + differing.rank(1).bytes());
  CHECK(run(mismatch + " --fail-on mismatch").status == 1);
  CHECK(run(mismatch + " --fail-on deadlock").status == 0);
  check_error(deadlock + " --timeline " + path("t.json") + " --timeline-ranks 7", 2, "no such rank");
  CHECK(run(deadlock + " --timeline " + path("t.json") + " --timeline-ranks 1").status == 0);
  differing.rank(1).header().set_run_id("run-2");
  const std::string mixed = file("mixed.pb", differing.rank(0).bytes() + differing.rank(1).bytes());
  check_error(mixed, 3, "traces of 2 different runs");
}
