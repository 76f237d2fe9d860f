// Waiting for a processor, beside the thread's own processor time (clock_gettime, CLOCK_THREAD_CPUTIME_ID): what passed
// while a thread worked is its processor time and its delays.
#include <sched.h>
#include <time.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "test/trace/sample_trace.h"
#include "test/trace/trace_files.h"
#include "trace_proto/loaded_trace.h"
#include "trace_proto/writer.h"

using namespace maya::test;
using namespace maya::trace;

namespace {

uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void work(uint64_t processor_ns) {
  const uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin < processor_ns) continue;
}

struct Seen {
  uint64_t passed_ns, processor_ns, delay_ns;
};

// A launch, 50 ms of work on processor 0 beside `rivals` threads that want it too, and a launch.
Seen work_beside(int rivals, bool records_delays, bool passed_over) {
  TemporaryFolder folder;
  std::string error;
  auto writer = Writer::create({folder.path(), "program-1", 64 << 10, records_delays}, &error);
  REQUIRE(writer != nullptr);
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < rivals; ++i)
    threads.emplace_back([&] {
      while (!stop) continue;
    });
  writer->packet(header_fields(), now_ns());
  work(1'000'000);
  const uint64_t begin_ns = now_ns(), processor_begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  writer->launch(1, 0, begin_ns);
  work(50'000'000);
  if (passed_over) writer->pass_over_delays();
  const uint64_t end_ns = now_ns(), processor_end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  writer->launch(1, 0, end_ns);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  sched_setaffinity(0, sizeof before, &before);
  const std::string path = writer->path();
  writer->packet(end_fields(), now_ns());
  writer->finish();
  const LoadResult loaded = load_trace(path);
  REQUIRE(loaded.traces.size() == 1);
  REQUIRE(loaded.traces[0].events.size() == 2);
  return {end_ns - begin_ns, processor_end_ns - processor_begin_ns, loaded.traces[0].events[1].delay_ns};
}

}  // namespace

TEST_CASE("what passed without the thread's own processor time is its delay") {
  const Seen seen = work_beside(2, true, false);
  CAPTURE(seen.passed_ns, seen.processor_ns, seen.delay_ns);
  CHECK(seen.passed_ns > 2 * seen.processor_ns);  // the rivals had their share
  CHECK(seen.passed_ns - seen.delay_ns > seen.processor_ns * 95 / 100);
  CHECK(seen.passed_ns - seen.delay_ns < seen.processor_ns * 110 / 100);
}

TEST_CASE("delays are left out where they are passed over, or where nobody asked for them") {
  CHECK(work_beside(2, true, true).delay_ns < 5'000'000);
  CHECK(work_beside(2, false, false).delay_ns == 0);
}

TEST_CASE("a delay that a definition carries belongs to the event after it") {
  maya::proto::Packet definition;
  definition.mutable_string()->set_id(9);
  definition.mutable_string()->set_text("name");
  definition.set_delay_ns(400);
  maya::proto::Packet delayed = launch(1, 10, 0);
  delayed.set_delay_ns(30);
  const std::string bytes = encoded(chunk_header(0, 0, 100)) + encoded(process_header()) + encoded(launch(1, 10, 0)) +
                            encoded(definition) + encoded(delayed) + encoded(launch(1, 10, 0)) + encoded(process_end());
  const LoadResult loaded = load_trace(bytes.data(), bytes.size());
  REQUIRE(loaded.traces.size() == 1);
  REQUIRE(loaded.traces[0].events.size() == 3);
  CHECK(loaded.traces[0].events[0].delay_ns == 0);
  CHECK(loaded.traces[0].events[1].delay_ns == 430);
  CHECK(loaded.traces[0].events[2].delay_ns == 0);
}
