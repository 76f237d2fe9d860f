#include <time.h>

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "trace_proto/writer.h"

namespace {

int64_t system_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

TEST_CASE("the clock never steps back, in no thread, and stays on CLOCK_MONOTONIC's scale") {
  std::vector<std::thread> threads;
  std::atomic<int> steps_back{0};
  std::atomic<int64_t> worst_ns{0};
  maya::trace::now_ns();
  const int64_t until_ns = system_ns() + 1'500'000'000;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      uint64_t last = 0;
      while (true) {
        const int64_t before = system_ns();
        const uint64_t now = maya::trace::now_ns();
        const int64_t after = system_ns();
        if (now < last) ++steps_back;
        last = now;
        // Outside the bracket by how much? Preempted brackets are wide and so say little, but never wrongly.
        const int64_t ours = static_cast<int64_t>(now);
        const int64_t off = ours < before ? before - ours : ours > after ? ours - after : 0;
        if (off > worst_ns) worst_ns = off;
        if (after > until_ns) break;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(steps_back == 0);
  CHECK(worst_ns < 200'000);
}
