#include "predictor/timeline.h"

#include <stdlib.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "test/predictor/json_check.h"
#include "test/predictor/trace_builder.h"

using namespace maya;
using namespace maya::predictor;
using maya::test::Json;
using maya::test::TraceBuilder;

namespace {

struct Fixture {
  std::filesystem::path folder;
  std::vector<trace::LoadedTrace> traces;
  Prediction prediction;

  Fixture() {
    std::string pattern = (std::filesystem::temp_directory_path() / "maya-timeline-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    folder = pattern;
    TraceBuilder b;
    add_training(&b, 3);
    traces.push_back(b.load());
    REQUIRE_FALSE(predict(traces, {}, &prediction));
  }
  ~Fixture() { std::filesystem::remove_all(folder); }
  std::string path(const std::string& name) const { return (folder / name).string(); }
};

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string read_compressed(const std::string& path) {
  std::string text(16 << 20, '\0');
  gzFile file = gzopen(path.c_str(), "rb");
  const int size = gzread(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  text.resize(static_cast<size_t>(size));
  return text;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "the timeline is JSON with tracks, arrows and a memory counter") {
  REQUIRE_FALSE(write_timeline(prediction, path("t.json")));
  const Json json = Json::parse(read(path("t.json")));
  std::map<std::string, size_t> phases;
  std::map<double, double> arrows;  // by id: start
  size_t kernels = 0, steps = 0;
  std::map<std::pair<double, double>, double> end_of_track;
  for (const Json& event : json["traceEvents"].items) {
    ++phases[event["ph"].text];
    if (event["ph"].text == "s") arrows[event["id"].number] = event["ts"].number;
    if (event["ph"].text == "f") CHECK(event["ts"].number >= arrows.at(event["id"].number));
    if (event["ph"].text != "X") continue;
    CHECK(event["dur"].number >= 0);
    if (event["cat"].text == "step") ++steps;
    if (event["cat"].text == "host" || event["cat"].text == "step") continue;
    ++kernels;
    double& end = end_of_track[{event["pid"].number, event["tid"].number}];
    CHECK(event["ts"].number >= end - 1e-6);  // a stream does one thing at a time
    end = event["ts"].number + event["dur"].number;
  }
  size_t work = 0;
  for (const uint32_t cost : prediction.ranks[0].costs.of_event) work += cost != kNone;
  CHECK(kernels == work);
  CHECK(steps == 3);
  CHECK(phases["s"] == work);
  CHECK(phases["f"] == work);
  CHECK(phases["C"] == prediction.ranks[0].memory.points.size());
  CHECK(phases["M"] >= 5);  // two processes, two threads, one stream
}

TEST_CASE_METHOD(Fixture, "NVTX ranges lie around the calls made in them") {
  TraceBuilder b;
  b.range(maya::proto::RangeMark::PUSH, "outer");
  add_training(&b, 1);
  b.range(maya::proto::RangeMark::PUSH, "inner");
  b.range(maya::proto::RangeMark::POP, "");
  b.range(maya::proto::RangeMark::POP, "");
  b.range(maya::proto::RangeMark::POP, "");  // one too many: left out
  b.range(maya::proto::RangeMark::MARK, "here");
  std::vector<trace::LoadedTrace> with_ranges;
  with_ranges.push_back(b.load());
  Prediction of_ranges;
  REQUIRE_FALSE(predict(with_ranges, {}, &of_ranges));
  REQUIRE_FALSE(write_timeline(of_ranges, path("r.json")));
  const Json json = Json::parse(read(path("r.json")));
  std::map<std::string, std::pair<double, double>> ranges;
  double first_call = 1e18, last_call = 0;
  size_t marks = 0;
  for (const Json& event : json["traceEvents"].items) {
    if (event["ph"].text == "i" && event["name"].text == "here") ++marks;
    if (event["ph"].text != "X") continue;
    const double begin = event["ts"].number, end = begin + event["dur"].number;
    if (event["cat"].text == "nvtx") ranges[event["name"].text] = {begin, end};
    if (event["cat"].text != "host") continue;
    first_call = std::min(first_call, begin);
    last_call = std::max(last_call, end);
  }
  REQUIRE(ranges.size() == 2);
  CHECK(marks == 1);
  CHECK(ranges["outer"].first <= first_call);
  CHECK(ranges["outer"].second >= last_call);
  CHECK(ranges["outer"].first <= ranges["inner"].first);
  CHECK(ranges["inner"].second <= ranges["outer"].second);
}

TEST_CASE_METHOD(Fixture, "compressed by the name, with the same content and equal bytes each time") {
  REQUIRE_FALSE(write_timeline(prediction, path("t.json")));
  REQUIRE_FALSE(write_timeline(prediction, path("a.json.gz")));
  REQUIRE_FALSE(write_timeline(prediction, path("b.json.gz")));
  CHECK(read_compressed(path("a.json.gz")) == read(path("t.json")));
  CHECK(read(path("a.json.gz")) == read(path("b.json.gz")));
  CHECK(std::filesystem::file_size(path("a.json.gz")) * 4 < std::filesystem::file_size(path("t.json")));
}

TEST_CASE_METHOD(Fixture, "memory over time is CSV") {
  REQUIRE_FALSE(write_memory_timeline(prediction, path("m.csv")));
  std::istringstream lines(read(path("m.csv")));
  std::string line;
  std::getline(lines, line);
  CHECK(line ==
        "rank,device,time_ms,total_bytes,context_bytes,modules_bytes,workspaces_bytes,communication_bytes,allocations_"
        "bytes");
  size_t count = 0;
  double last_ms = -1;
  uint64_t peak = 0;
  while (std::getline(lines, line)) {
    ++count;
    std::istringstream fields(line);
    std::vector<std::string> values;
    for (std::string value; std::getline(fields, value, ',');) values.push_back(value);
    REQUIRE(values.size() == 9);
    CHECK(std::stod(values[2]) >= last_ms);
    last_ms = std::stod(values[2]);
    uint64_t total = 0;
    for (size_t i = 4; i < 9; ++i) total += std::stoull(values[i]);
    CHECK(std::stoull(values[3]) == total);
    peak = std::max(peak, total);
  }
  CHECK(count == prediction.ranks[0].memory.points.size());
  CHECK(peak == prediction.ranks[0].memory.peak_bytes);
}

TEST_CASE_METHOD(Fixture, "what cannot be written is one line with path and reason") {
  const Failure missing = write_timeline(prediction, path("no/such/folder/t.json"));
  CHECK(missing.kind == FailureKind::kOutput);
  CHECK(missing.text.find("no/such/folder/t.json") != std::string::npos);
  CHECK(missing.text.find("No such file") != std::string::npos);
  if (!std::filesystem::exists("/dev/full")) return;
  CHECK(write_timeline(prediction, "/dev/full").text.find("No space left") != std::string::npos);
  std::filesystem::create_symlink("/dev/full", path("full.json.gz"));
  CHECK(write_timeline(prediction, path("full.json.gz")).text.find("No space left") != std::string::npos);
}
