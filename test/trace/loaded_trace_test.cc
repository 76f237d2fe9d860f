#include "trace_proto/loaded_trace.h"

#include <catch2/catch.hpp>

#include "test/trace/sample_trace.h"
#include "test/trace/trace_files.h"

using namespace maya::test;
using namespace maya::trace;

TEST_CASE("definitions are resolved and events are in time order over threads") {
  const std::string bytes = golden_trace();
  const LoadResult result = load_trace(bytes.data(), bytes.size());
  REQUIRE(result.status == ReadStatus::kOk);
  REQUIRE(result.traces.size() == 1);
  const LoadedTrace& trace = result.traces[0];
  CHECK(trace.complete);
  CHECK(trace.process.program() == "gpt.py");
  CHECK(trace.threads == 2);
  REQUIRE(trace.kernels.size() == 1);
  CHECK(trace.kernels[0].name == "_Z9transformILi4EEvPfi");
  CHECK(trace.kernels[0].parameter_offsets == std::vector<uint32_t>{0, 8});
  REQUIRE(trace.configurations.size() == 1);
  CHECK(trace.configurations[0].kernel == 0);
  CHECK(trace.configurations[0].grid[0] == 128);
  REQUIRE(trace.configurations[0].scalars.size() == 1);
  CHECK(trace.configurations[0].scalars[0].offset == 8);
  CHECK(trace.configurations[0].scalars[0].size == 4);
  CHECK(trace.configurations[0].scalars[0].value == 4096);
  REQUIRE(trace.operations.size() == 1);
  CHECK(trace.operations[0].record.family == maya::Family::kGemm);
  CHECK(trace.operations[0].record.get(maya::Key::kK) == 3072);
  CHECK(std::string(trace.operations[0].record.api) == "cublasGemmEx");

  uint64_t last_ns = 0;
  std::vector<EventKind> kinds;
  for (const Event& event : trace.events) {
    CHECK(event.time_ns >= last_ns);
    last_ns = event.time_ns;
    kinds.push_back(event.kind);
  }
  using K = EventKind;
  // The launch of thread 1 at 5.00005 s stands before the end of the 4.29 s pause of thread 0.
  CHECK(kinds == std::vector<K>{K::kStream, K::kAllocation, K::kCopy, K::kFill, K::kRange, K::kLaunch, K::kLaunch,
                                K::kLaunch, K::kOperation, K::kEventCall, K::kLaunch, K::kSynchronization,
                                K::kAllocationFailure, K::kFree, K::kNotice});
  CHECK(trace.events[2].own_ns == 300);
  CHECK(trace.events[2].stream == 1);
  CHECK(trace.events[10].thread == 1);
  CHECK(trace.events[11].wait_ns == 12345);
  CHECK(trace.copies[trace.events[2].index].bytes() == 4096);
  CHECK(trace.last_time_ns == 9'300'001'000);
}

TEST_CASE("equal times keep the order of threads, then of the thread") {
  const std::string bytes = encoded(chunk_header(1, 0, 100)) + encoded(process_header()) + encoded(launch(1, 11, 0)) +
                            encoded(launch(1, 12, 0)) + encoded(chunk_header(0, 1, 100)) + encoded(launch(1, 1, 0)) +
                            encoded(launch(1, 2, 0)) + encoded(process_end());
  const LoadResult result = load_trace(bytes.data(), bytes.size());
  REQUIRE(result.traces.size() == 1);
  std::vector<uint32_t> streams;
  for (const Event& event : result.traces[0].events) streams.push_back(event.stream);
  CHECK(streams == std::vector<uint32_t>{1, 2, 11, 12});
}

TEST_CASE("a definition may follow its use; a missing one is said to be missing") {
  std::string bytes = golden_trace();
  // The definitions of process 0 moved behind everything else, into a chunk of their own.
  const std::string late =
      encoded(chunk_header(0, 0, 1)) + encoded(process_header()) + encoded(launch(5, 0, 1)) + encoded(launch(6, 0, 1));
  maya::proto::Packet kernel, configuration, name;
  configuration.mutable_configuration()->set_id(5);
  configuration.mutable_configuration()->set_kernel(3);
  kernel.mutable_kernel()->set_id(3);
  kernel.mutable_kernel()->set_name(8);
  name.mutable_string()->set_id(8);
  name.mutable_string()->set_text("late");
  bytes = late + encoded(configuration) + encoded(kernel) + encoded(name) + encoded(process_end());
  const LoadResult result = load_trace(bytes.data(), bytes.size());
  REQUIRE(result.traces.size() == 1);
  const LoadedTrace& trace = result.traces[0];
  REQUIRE(trace.events.size() == 2);
  REQUIRE(trace.events[0].index == 0);
  CHECK(trace.kernels[trace.configurations[0].kernel].name == "late");
  CHECK(trace.events[1].index == kNoDefinition);
}

TEST_CASE("each process of a concatenated file is a trace with its own ids and its own state") {
  const std::string one = golden_trace();
  const std::string open_end = encoded(chunk_header(0, 0, 1)) + encoded(process_header()) + encoded(launch(1, 0, 1));
  const std::string bytes = open_end + one;
  const LoadResult result = load_trace(bytes.data(), bytes.size());
  REQUIRE(result.traces.size() == 2);
  CHECK_FALSE(result.traces[0].complete);
  CHECK(result.traces[0].configurations.empty());
  CHECK(result.traces[1].complete);
  CHECK(result.traces[1].configurations.size() == 1);
}

TEST_CASE("inputs that cannot be used") {
  CHECK(load_trace("/nonexistent/file.pb").status == ReadStatus::kMissing);
  CHECK(load_trace("text", 4).status == ReadStatus::kForeign);
  CHECK_FALSE(load_trace("text", 4).error.empty());
}

TEST_CASE("ids of any size, in any order; of two definitions of one id the first holds") {
  std::string bytes = encoded(chunk_header(0, 0, 1)) + encoded(process_header());
  const uint32_t ids[] = {0xffffffff, 5, 0x80000000, 1, 900, 100'000, 2};
  uint32_t grid = 1;
  for (const uint32_t id : ids) {
    maya::proto::Packet packet;
    packet.mutable_configuration()->set_id(id);
    packet.mutable_configuration()->set_grid_x(grid++);
    bytes += encoded(packet);
  }
  maya::proto::Packet again;
  again.mutable_configuration()->set_id(900);
  again.mutable_configuration()->set_grid_x(77);
  bytes += encoded(again);
  for (const uint32_t id : ids) bytes += encoded(launch(id, 0, 1));
  bytes += encoded(launch(3, 0, 1)) + encoded(process_end());
  const LoadResult result = load_trace(bytes.data(), bytes.size());
  REQUIRE(result.traces.size() == 1);
  const LoadedTrace& trace = result.traces[0];
  CHECK(trace.configurations.size() == 7);
  REQUIRE(trace.events.size() == 8);
  for (uint32_t i = 0; i < 7; ++i) {
    REQUIRE(trace.events[i].index < 7);
    CHECK(trace.configurations[trace.events[i].index].grid[0] == i + 1);
  }
  CHECK(trace.events[7].index == kNoDefinition);
}

TEST_CASE("measured times of launches and of other calls, alone and beside other fields") {
  maya::proto::Packet only = launch(1, 0, 10);
  only.set_measured_ns(123'456);
  only.set_call_ns(5'000);
  only.set_start_ns(-70);  // the profiler's clocks disagree
  maya::proto::Packet fill;
  fill.set_delta_ns(1);
  fill.set_stream(2);
  fill.set_measured_ns(1ull << 40);
  fill.set_start_ns(9'000);
  fill.mutable_fill()->set_bytes(8);
  maya::proto::Packet configuration;
  configuration.mutable_configuration()->set_id(1);
  configuration.mutable_configuration()->set_operation(4);
  maya::proto::Packet operation;
  operation.mutable_operation_descriptor()->set_id(4);
  const std::string bytes = encoded(chunk_header(0, 0, 100)) + encoded(process_header()) + encoded(configuration) +
                            encoded(operation) + encoded(only) + encoded(fill) + encoded(launch(1, 0, 10)) +
                            encoded(process_end());
  const LoadResult result = load_trace(bytes.data(), bytes.size());
  REQUIRE(result.traces.size() == 1);
  const LoadedTrace& trace = result.traces[0];
  CHECK(trace.damage.empty());
  REQUIRE(trace.events.size() == 3);
  CHECK(trace.events[0].kind == EventKind::kLaunch);
  CHECK(trace.events[0].measured_ns == 123'456);
  CHECK(trace.events[0].call_ns == 5'000);
  CHECK(trace.events[0].start_ns == -70);
  CHECK(trace.events[1].measured_ns == 1ull << 40);
  CHECK(trace.events[1].start_ns == 9'000);
  CHECK(trace.events[1].call_ns == 0);
  CHECK(trace.events[2].measured_ns == 0);
  CHECK(trace.configurations[0].operation == 0);
  // Two bytes of tag each, and 3, 2 and 2 of value: 13 bytes more than the plain launch.
  CHECK(only.ByteSizeLong() == launch(1, 0, 10).ByteSizeLong() + 13);
}

TEST_CASE("a cut measurement is damage, not a number") {
  maya::proto::Packet packet = launch(1, 0, 10);
  packet.set_measured_ns(1 << 20);
  std::string body = packet.SerializeAsString();
  body.back() = static_cast<char>(0x80);  // the varint goes on behind the packet's end
  const std::string framed = std::string("\x0a") + static_cast<char>(body.size()) + body;
  const std::string bytes =
      encoded(chunk_header(0, 0, 100)) + encoded(process_header()) + framed + encoded(process_end());
  const LoadResult result = load_trace(bytes.data(), bytes.size());
  REQUIRE(result.traces.size() == 1);
  CHECK(result.traces[0].events.empty());
  CHECK_FALSE(result.traces[0].damage.empty());
}
