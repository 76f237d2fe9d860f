// Reading profiler traces: spellings, exact times, and input that is none.
#include <catch2/catch.hpp>

#include "test/kineto/kineto_file.h"

using namespace maya::test;
using maya::predictor::Failure;
using maya::predictor::kineto::KinetoTrace;
using maya::predictor::kineto::WorkKind;

namespace {

std::string failure_of(const std::string& text) {
  const Folder folder;
  KinetoTrace trace;
  const Failure failure = read_kineto(folder.write("t.json", text), &trace);
  CHECK(failure.text.find('\n') == std::string::npos);
  std::string line = failure.text;
  const size_t at = line.find(folder.path(""));
  if (at != std::string::npos) line.erase(at, folder.path("").size());
  return line;
}

const std::string kGood =
    file_of(call("cudaLaunchKernel", 5, 10, 4, 77) + "," + kernel("void f<int>(int*)", 7, 20, 5.5, 77));

}  // namespace

TEST_CASE("work, calls, device and rank") {
  const KinetoTrace trace = read(kGood);
  REQUIRE(trace.work.size() == 1);
  CHECK(trace.work[0].kind == WorkKind::kKernel);
  CHECK(trace.names[trace.work[0].name] == "void f<int>(int*)");
  CHECK(trace.work[0].start_ns == 20'000);
  CHECK(trace.work[0].duration_ns == 5'500);
  CHECK(trace.work[0].stream == 7);
  CHECK(trace.work[0].grid[0] == 8);
  CHECK(trace.work[0].block[0] == 128);
  CHECK(trace.work[0].registers == 32);
  REQUIRE(trace.calls.size() == 1);
  CHECK(trace.calls[0].correlation == trace.work[0].correlation);
  CHECK(trace.calls[0].end_ns() == 14'000);
  CHECK(trace.gpu == "NVIDIA A100-SXM4-40GB");
  CHECK(trace.rank == 3);
  CHECK(trace.world_size == 8);
}

TEST_CASE("times are exact where a double would round") {
  // 1712195495519689.123 us needs 61 bits; a double has 53 and would give a multiple of 0.25 us.
  const KinetoTrace trace = read(
      "[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1712195495519689.123, \"dur\": 2.0005, \"args\": "
      "{}},"
      " {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1712195495519689, \"dur\": 3, \"args\": {}},"
      " {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": \"12.5\", \"dur\": 1e1, \"args\": {}}]");
  REQUIRE(trace.work.size() == 3);
  CHECK(trace.work[0].start_ns == 1'712'195'495'519'689'123u);
  CHECK(trace.work[0].duration_ns == 2'000);
  CHECK(trace.work[1].start_ns == 1'712'195'495'519'689'000u);
  CHECK(trace.work[2].start_ns == 12'500);
  CHECK(trace.work[2].duration_ns == 10'000);
}

TEST_CASE("older spellings") {
  const KinetoTrace trace = read(
      "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"Kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": \"stream 7\", "
      "\"ts\": 5, \"dur\": 2, "
      "\"args\": {\"device\": \"0\", \"stream\": \"7\", \"correlation\": \"9\", \"grid\": [2, 3, 4]}},"
      "{\"ph\": \"X\", \"cat\": \"Memcpy\", \"name\": \"Memcpy DtoH (Device -> Pinned)\", \"ts\": 9, \"dur\": 2, "
      "\"args\": {\"bytes\": 64}},"
      "{\"ph\": \"X\", \"cat\": \"Memset\", \"name\": \"Memset (Device)\", \"ts\": 12, \"dur\": 2, \"args\": {}},"
      "{\"ph\": \"X\", \"cat\": \"Runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 2, \"ts\": 1, "
      "\"dur\": 2, \"args\": {\"correlation\": 9}},"
      "{\"ph\": \"X\", \"cat\": \"Operator\", \"name\": \"ProfilerStep#4\", \"pid\": 1, \"tid\": 2, \"ts\": 0, "
      "\"dur\": 20}]}");
  REQUIRE(trace.work.size() == 3);
  CHECK(trace.work[0].correlation == 9);
  CHECK(trace.work[0].stream == 7);
  CHECK(trace.work[0].grid[2] == 4);
  CHECK(trace.work[1].kind == WorkKind::kCopy);
  CHECK(trace.work[1].bytes == 64);
  CHECK(trace.work[2].kind == WorkKind::kFill);
  CHECK(trace.calls.size() == 1);
  CHECK(trace.steps.size() == 1);
  CHECK(trace.gpu.empty());
}

TEST_CASE("shapes of operators; flow events, frames and operators without shapes are passed over") {
  const KinetoTrace trace = read(
      file_of(kernel("k", 7, 1, 1, 1) + "," +
              op("aten::mm", 5, 1, 2,
                 "\"Input Dims\": [[2, 3], [3, 4], [], [[1], [2]]], \"Input type\": [\"float\", \"float\", \"\", "
                 "\"TensorList\"]") +
              "," + op("aten::empty", 5, 1, 2, "\"External id\": 3") +
              ",{\"ph\": \"s\", \"cat\": \"ac2g\", \"id\": 1, \"ts\": 3}, {\"ph\": \"M\", \"name\": \"process_name\", "
              "\"args\": {\"name\": \"python\"}},"
              "{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"f\", \"ts\": 1, \"dur\": 2, \"args\": {}}"));
  REQUIRE(trace.operators.size() == 1);
  CHECK(trace.operators[0].shapes == std::vector<std::vector<int64_t>>{{2, 3}, {3, 4}, {}, {}});
  CHECK(trace.names[trace.operators[0].types[0]] == "float");
}

TEST_CASE("compressed files; a cut one is told") {
  const Folder folder;
  KinetoTrace trace;
  CHECK_FALSE(read_kineto(folder.write_compressed("t.json.gz", kGood), &trace));
  CHECK(trace.work.size() == 1);
  const std::string bytes = read_whole(folder.path("t.json.gz"));
  const Failure failure = read_kineto(folder.write("cut.json.gz", bytes.substr(0, bytes.size() / 2)), &trace);
  CHECK(failure.text ==
        "damaged file: " + folder.path("cut.json.gz") + ": the file was cut; export the profiler's trace again");
}

TEST_CASE("input that cannot be used: one clear line") {
  CHECK(failure_of("") == "not whole JSON: t.json: damaged or cut at byte 1; export the profiler's trace again");
  CHECK(failure_of("hello").find("not whole JSON: t.json") == 0);
  CHECK(failure_of("{\"a\": 1}") ==
        "no profiler trace: t.json: it has no traceEvents; give a file that torch.profiler exported");
  CHECK(failure_of("{\"traceEvents\": {}}").find("no profiler trace") == 0);
  CHECK(failure_of(file_of(call("cudaLaunchKernel", 1, 2, 3, 4))) ==
        "no work on a device: t.json: no kernel, copy or fill with a time; profile with ProfilerActivity.CUDA");
  CHECK(
      failure_of("[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": {}, \"dur\": -4}]") ==
      "no work on a device: t.json: no kernel, copy or fill with a time (1 events without a usable one); profile with "
      "ProfilerActivity.CUDA");
  KinetoTrace trace;
  CHECK(read_kineto("/nowhere/t.json", &trace).text ==
        "no such file: /nowhere/t.json; give a trace that torch.profiler exported (*.json, *.json.gz)");
}

TEST_CASE("every cut and every changed byte gives a trace or an error line") {
  const Folder folder;
  for (size_t length = 0; length < kGood.size(); ++length) {
    KinetoTrace trace;
    CHECK(read_kineto(folder.write("cut.json", kGood.substr(0, length)), &trace));
  }
  for (size_t at = 0; at < kGood.size(); ++at) {
    for (const char byte : {'\0', '"', '[', '}', '9', '\xff'}) {
      std::string changed = kGood;
      changed[at] = byte;
      KinetoTrace trace;
      const Failure failure = read_kineto(folder.write("changed.json", changed), &trace);
      CHECK((failure || !trace.work.empty()));
    }
  }
}
