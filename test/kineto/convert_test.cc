// Conversion of profiler traces: what the events become, and replays calculated by hand.
#include <catch2/catch.hpp>

#include "predictor/kineto/convert.h"
#include "predictor/predict.h"
#include "test/kineto/kineto_file.h"
#include "trace_proto/loaded_trace.h"

using namespace maya::test;
using namespace maya;
using predictor::kineto::Conversion;
using trace::EventKind;

namespace {

struct Converted {
  Conversion conversion;
  trace::LoadResult loaded;
  const trace::LoadedTrace& trace() const { return loaded.traces.front(); }
  std::vector<const trace::Event*> of(EventKind kind) const {
    std::vector<const trace::Event*> found;
    for (const trace::Event& event : trace().events)
      if (event.kind == kind) found.push_back(&event);
    return found;
  }
};

Converted converted(const std::string& events) {
  Converted result;
  const auto failure = predictor::kineto::convert(read(file_of(events)), "", &result.conversion);
  REQUIRE(failure.text.empty());
  result.loaded = trace::load_trace(result.conversion.bytes.data(), result.conversion.bytes.size());
  REQUIRE(result.loaded.traces.size() == 1);
  CHECK(result.trace().complete);
  CHECK(result.trace().damage.empty());
  return result;
}

// Simulated start of every piece of work in order of the trace, nanoseconds after that of the first.
std::vector<int64_t> replayed(const Converted& c) {
  predictor::Options options;
  options.durations = predictor::Durations::kMeasured;
  predictor::Prediction prediction;
  const auto failure = predict(c.loaded.traces, options, &prediction);
  REQUIRE(failure.text.empty());
  std::vector<int64_t> starts;
  for (size_t i = 0; i < c.trace().events.size(); ++i)
    if (c.trace().events[i].measured_ns != 0)
      starts.push_back(static_cast<int64_t>(prediction.ranks[0].simulation.work_start_ns[i]));
  const int64_t first = starts.front();
  for (int64_t& start : starts) start -= first;
  return starts;
}

}  // namespace

TEST_CASE("kernels queued on a stream follow each other after the gap of the device") {
  const Converted c = converted(call("cudaLaunchKernel", 1, 10, 5, 1) + "," + call("cudaLaunchKernel", 1, 18, 5, 2) +
                                "," + kernel("a", 7, 17, 100, 1) + "," + kernel("b", 7, 118.5, 50, 2));
  CHECK(c.conversion.device == "a100-sxm-40");
  CHECK(c.trace().process.device_name() == "a100-sxm-40");
  CHECK(c.trace().process.rank() == 3);
  const auto launches = c.of(EventKind::kLaunch);
  REQUIRE(launches.size() == 2);
  CHECK(launches[0]->measured_ns == 100'000);
  CHECK(launches[0]->start_ns == 7'000);
  CHECK(launches[0]->call_ns == 5'000);
  CHECK(launches[1]->time_ns - launches[0]->time_ns == 8'000);
  CHECK(launches[1]->start_ns == 100'500);
  // a starts 2 us after its call returned, b 1.8 us (queued_gap_ns of an A100) after a ended: 100 + 1.8.
  CHECK(replayed(c) == std::vector<int64_t>{0, 101'800});
}

TEST_CASE("kernels of a slow host start after their calls, with its real gaps") {
  const Converted c =
      converted(call("cudaLaunchKernel", 1, 10, 5, 1) + "," + call("cudaLaunchKernel", 1, 60, 9, 2) + "," +
                call("cudaEventQuery", 1, 30, 20, 9) + "," + kernel("a", 7, 17, 4, 1) + "," + kernel("b", 7, 71, 4, 2));
  // Returns at 15 and at 69: 54 us between the starts.
  CHECK(replayed(c) == std::vector<int64_t>{0, 54'000});
}

TEST_CASE("a copy that holds its call up: the wait is told from the call's own time, and what follows waits for it") {
  const Converted c = converted(call("cudaLaunchKernel", 1, 10, 5, 1) + "," + kernel("a", 7, 17, 100, 1) + "," +
                                call("cudaMemcpyAsync", 1, 20, 110, 2) + "," +
                                copy("Memcpy DtoH (Device -> Pageable)", 7, 119, 6, 2, 4096) + "," +
                                call("cudaLaunchKernel", 1, 140, 5, 3) + "," + kernel("b", 7, 147, 10, 3));
  const auto copies = c.of(EventKind::kCopy);
  REQUIRE(copies.size() == 1);
  CHECK(copies[0]->wait_ns == 105'000);  // from 20 until 125
  CHECK(copies[0]->call_ns == 5'000);    // until 130
  CHECK_FALSE(c.trace().copies[0].asynchronous());
  CHECK(c.trace().copies[0].pageable());
  CHECK(c.trace().copies[0].kind() == proto::Copy::DEVICE_TO_HOST);
  // The copy starts at 100 + 1.8 and lasts 6; the call returns 5 later, the next one is made 10 after that, lasts 5,
  // and its kernel starts 2 after its return: 101.8 + 6 + 5 + 10 + 5 + 2.
  CHECK(replayed(c) == std::vector<int64_t>{0, 101'800, 129'800});
}

TEST_CASE("a synchronisation waits for the thread's stream; one of an idle stream is host time") {
  const Converted c =
      converted(call("cudaLaunchKernel", 1, 10, 5, 1) + "," + kernel("a", 7, 17, 100, 1) + "," +
                call("cudaStreamSynchronize", 1, 20, 100, 2) + "," + call("cudaDeviceSynchronize", 1, 125, 3, 3));
  const auto waits = c.of(EventKind::kSynchronization);
  REQUIRE(waits.size() == 2);
  CHECK(waits[0]->wait_ns == 97'000);
  CHECK(waits[0]->call_ns == 3'000);
  CHECK(waits[1]->wait_ns == 0);
  CHECK(waits[1]->call_ns == 3'000);
  CHECK(c.trace().synchronizations[1].scope() == proto::Synchronization::DEVICE);
}

TEST_CASE("an unexplained delay is a wait for the work on another stream that ended just before") {
  const std::string first = call("cudaLaunchKernel", 1, 10, 5, 1) + "," + kernel("a", 7, 17, 100, 1) + "," +
                            call("cudaLaunchKernel", 1, 20, 5, 2) + ",";
  const Converted waits = converted(first + kernel("b", 20, 119, 10, 2));
  CHECK(waits.conversion.waits_inferred == 1);
  CHECK(waits.conversion.waits_recorded == 0);
  REQUIRE(waits.trace().event_calls.size() == 2);
  CHECK(waits.trace().event_calls[0].call() == proto::EventCall::RECORD);
  CHECK(waits.trace().event_calls[1].call() == proto::EventCall::WAIT);
  CHECK(replayed(waits) == std::vector<int64_t>{0, 100'000});
  // It ended 33 us before: that was no reason.
  CHECK(converted(first + kernel("b", 20, 150, 10, 2)).conversion.waits_inferred == 0);
  // Started while the other ran: no wait.
  CHECK(converted(first + kernel("b", 20, 60, 10, 2)).conversion.waits_inferred == 0);
}

TEST_CASE("a recorded stream wait makes the thread's next stream wait for its last work, binding or not") {
  const Converted c = converted(call("cudaLaunchKernel", 1, 10, 5, 1) + "," + kernel("a", 7, 17, 5, 1) + "," +
                                call("cudaStreamWaitEvent", 1, 16, 1, 9) + "," + call("cudaLaunchKernel", 1, 40, 5, 2) +
                                "," + kernel("b", 20, 47, 10, 2));
  CHECK(c.conversion.waits_recorded == 1);
  // Contradicted by the order on the device: b began before a ended.
  const Converted d = converted(call("cudaLaunchKernel", 1, 10, 5, 1) + "," + kernel("a", 7, 17, 50, 1) + "," +
                                call("cudaStreamWaitEvent", 1, 16, 1, 9) + "," + call("cudaLaunchKernel", 1, 40, 5, 2) +
                                "," + kernel("b", 20, 47, 10, 2));
  CHECK(d.conversion.waits_recorded == 0);
}

TEST_CASE("newer profilers name the streams of a wait") {
  const std::string sync =
      "{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"name\": \"Stream Wait Event\", \"pid\": 0, \"tid\": 20, \"ts\": 31, "
      "\"dur\": 0, \"args\": "
      "{\"wait_on_stream\": 7, \"wait_on_cuda_event_record_corr_id\": 8, \"stream\": 20, \"correlation\": 9, "
      "\"device\": 0}}";
  // The event was recorded behind a, and before c was enqueued on the same stream.
  const Converted c = converted(call("cudaLaunchKernel", 1, 10, 2, 1) + "," + kernel("a", 7, 17, 5, 1) + "," +
                                call("cudaEventRecord", 1, 13, 1, 8) + "," + call("cudaLaunchKernel", 1, 15, 2, 2) +
                                "," + kernel("c", 7, 24, 50, 2) + "," + call("cudaStreamWaitEvent", 1, 30, 1, 9) + "," +
                                sync + "," + call("cudaLaunchKernel", 1, 40, 5, 3) + "," + kernel("b", 20, 47, 10, 3));
  CHECK(c.conversion.waits_recorded == 1);
  CHECK(c.conversion.waits_inferred == 0);
  CHECK(replayed(c)[2] < 74'000);  // b does not wait for c
}

TEST_CASE("work from before the profile is enqueued before what follows on its stream") {
  // a and b were launched before; the call of c is older than their starts.
  const Converted c = converted(kernel("a", 7, 100, 50, 900) + "," + kernel("b", 7, 152, 50, 901) + "," +
                                call("cudaLaunchKernel", 1, 90, 5, 1) + "," + kernel("c", 7, 204, 10, 1));
  CHECK(c.conversion.work_without_call == 2);
  CHECK(replayed(c) == std::vector<int64_t>{0, 51'800, 103'600});
}

TEST_CASE("the nodes of a graph follow each other faster") {
  const Converted c = converted(call("cudaGraphLaunch", 1, 10, 50, 1) + "," + kernel("a", 7, 62, 10, 1) + "," +
                                kernel("b", 7, 73, 10, 1) + "," + kernel("c", 7, 84, 10, 1) + "," +
                                call("cudaLaunchKernel", 1, 61, 5, 2) + "," + kernel("d", 7, 96, 10, 2));
  REQUIRE(c.trace().graph_launches.size() == 1);
  CHECK(c.trace().graph_launches[0].nodes() == 3);
  CHECK(c.trace().graph_launches[0].nodes_follow());
  // 1.14 us between nodes, 1.8 us before the next kernel.
  CHECK(replayed(c) == std::vector<int64_t>{0, 11'140, 22'280, 34'080});
}

TEST_CASE("gaps that the profiler showed are the trace's own") {
  std::string events;
  for (int i = 0; i < 30; ++i) {  // called at 10, 12, ...; each kernel lasts 100 and the next starts 3 us after it
    events += call("cudaLaunchKernel", 1, 10 + 2 * i, 1, i + 1) + ",";
    events += kernel("a", 7, 20 + 103.0 * i, 100, i + 1) + (i < 29 ? "," : "");
  }
  const Converted c = converted(events);
  CHECK(c.trace().process.queued_gap_ns() == Approx(3'000));
  CHECK(c.trace().process.queued_copy_gap_ns() == 0);
  CHECK(replayed(c).back() == 29 * 103'000);
}

TEST_CASE("NCCL kernels are collectives, whose wait for other ranks is part of the measured time") {
  const Converted c = converted(
      call("cudaLaunchKernel", 1, 10, 5, 1) + "," +
      kernel(
          "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 20, 17, 400, 1,
          ", \"In msg nelems\": 1000, \"dtype\": \"BFloat16\", \"Group size\": 4, \"Collective name\": \"allreduce\""));
  REQUIRE(c.trace().operations.size() == 1);
  const OperationRecord& record = c.trace().operations[0].record;
  CHECK(record.family == Family::kCollective);
  CHECK(record.get(Key::kCollective) == static_cast<int64_t>(CollectiveKind::kAllReduce));
  CHECK(record.get(Key::kBytes) == 2000);
  CHECK(record.get(Key::kRanks) == 4);
  CHECK(std::string(record.api) == "ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
  CHECK(c.of(EventKind::kOperation)[0]->measured_ns == 400'000);
}

TEST_CASE("a library kernel carries the shape of its operator") {
  const Converted c =
      converted(op("aten::addmm", 1, 5, 30,
                   "\"Input Dims\": [[512], [1024, 256], [256, 512], [], []], \"Input type\": [\"c10::BFloat16\", "
                   "\"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\", \"Scalar\"]") +
                "," + call("cudaLaunchKernel", 1, 10, 5, 1) + "," +
                kernel("sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128", 7, 17, 40, 1) + "," +
                call("cudaLaunchKernel", 1, 20, 5, 2) + "," + kernel("splitKreduce_kernel", 7, 60, 5, 2));
  REQUIRE(c.trace().operations.size() == 1);
  const OperationRecord& record = c.trace().operations[0].record;
  CHECK(record.family == Family::kGemm);
  CHECK(record.get(Key::kM) == 512);
  CHECK(record.get(Key::kN) == 1024);
  CHECK(record.get(Key::kK) == 256);
  CHECK(record.get(Key::kTransA) == 1);
  CHECK(record.get(Key::kTransB) == 0);
  size_t with_shape = 0;
  for (const trace::Configuration& configuration : c.trace().configurations)
    with_shape += configuration.operation != trace::kNoDefinition;
  CHECK(with_shape == 1);  // the longer of the two
}

TEST_CASE("a device without a profile must be named") {
  std::string text = file_of(kernel("a", 7, 17, 100, 1));
  const std::string a100 = "NVIDIA A100-SXM4-40GB";
  text.replace(text.find(a100), a100.size(), "NVIDIA Z1");
  Conversion conversion;
  const auto failure = predictor::kineto::convert(read(text), "", &conversion);
  CHECK(failure.text.find("unknown device: NVIDIA Z1; choose one with --device: h100-sxm") != std::string::npos);
  CHECK_FALSE(predictor::kineto::convert(read(text), "h100-sxm", &conversion));
  CHECK(conversion.device == "h100-sxm");
}

TEST_CASE("steps of the profiler are the steps of the prediction; equal input gives equal bytes") {
  std::string events = step(1, 1, 0, 100) + "," + step(2, 1, 100, 100) + "," + step(3, 1, 200, 100);
  for (int i = 0; i < 3; ++i)
    events += "," + call("cudaLaunchKernel", 1, 10 + 100 * i, 5, i + 1) + "," + kernel("a", 7, 17 + 100 * i, 40, i + 1);
  const Converted c = converted(events);
  predictor::Options options;
  options.durations = predictor::Durations::kMeasured;
  predictor::Prediction prediction;
  REQUIRE_FALSE(predict(c.loaded.traces, options, &prediction));
  CHECK(prediction.ranks[0].steps.found_by == predictor::FoundBy::kNvtx);
  CHECK(prediction.ranks[0].median_ns == Approx(100'000).margin(5));
  CHECK(prediction.ranks[0].provenance[static_cast<size_t>(Provenance::kMeasured)] == 1);
  CHECK(converted(events).conversion.bytes == c.conversion.bytes);
}
