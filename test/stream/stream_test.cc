// Virtual clocks of streams: which work follows which, by the CUDA programming guide ("Default Stream").
#include "virtual_device/stream.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "virtual_device/context.h"

using maya::device::Context;
using maya::device::Stream;
using maya::device::StreamGroup;

namespace {

constexpr uint32_t kNonBlocking = 1;

struct Streams {
  Context context{0, 0, true, 1};
  Stream legacy{&context, 0, 0, 0, true};
  Stream blocking{&context, 1, 0, 0, false};
  Stream other{&context, 2, 0, 0, false};
  Stream free{&context, 3, kNonBlocking, 0, false};
};

}  // namespace

TEST_CASE("Work of the legacy default stream follows that of blocking streams, and they follow it") {
  Streams s;
  CHECK(s.blocking.enqueue(0, 100, 0) == 100);
  CHECK(s.other.enqueue(0, 300, 0) == 300);
  CHECK(s.free.enqueue(0, 1000, 0) == 1000);
  CHECK(s.legacy.enqueue(0, 10, 0) == 310);
  CHECK(s.blocking.enqueue(0, 5, 1) == 316);   // with a gap
  CHECK(s.free.enqueue(0, 1, 0) == 1001);      // takes no part
  CHECK(s.legacy.enqueue(400, 10, 0) == 410);  // no earlier than asked for
  CHECK(s.context.all_ready_ns() == 1001);
  CHECK(s.legacy.ready_ns() == 410);
  s.other.wait_until(5000);  // for an event
  CHECK(s.legacy.ready_ns() == 5000);
  CHECK(s.context.all_ready_ns() == 5000);
  CHECK(s.context.busy_ns->load() == 100 + 300 + 1000 + 10 + 5 + 1 + 10);
}

TEST_CASE("The end of a stream that was destroyed still counts") {
  Streams s;
  {
    Stream gone(&s.context, 4, 0, 0, false), free_gone(&s.context, 5, kNonBlocking, 0, false);
    gone.enqueue(0, 700, 0);
    free_gone.enqueue(0, 900, 0);
  }
  CHECK(s.legacy.enqueue(0, 1, 0) == 701);
  CHECK(s.context.all_ready_ns() == 900);
}

TEST_CASE("A thread that is alone gets the same times") {
  Streams a, b;
  for (int i = 0; i < 50; ++i) {
    const uint64_t earliest = static_cast<uint64_t>(i) * 37 % 11 * 100, duration = 10 + static_cast<uint64_t>(i);
    for (const auto& [one, two] : {std::pair(&a.legacy, &b.legacy), std::pair(&a.blocking, &b.blocking),
                                   std::pair(&a.free, &b.free), std::pair(&a.other, &b.other)})
      REQUIRE(one->enqueue(earliest, duration, 3) == two->enqueue_alone(earliest, duration, 3));
  }
  CHECK(a.context.all_ready_ns() == b.context.all_ready_ns());
  CHECK(a.context.busy_ns->load() == b.context.busy_ns->load());
}

// Work that was enqueued before the question, as the program orders it, is always in the answer, whoever else asks or
// moves meanwhile.
TEST_CASE("A group forgets no stream that has moved, with many threads that ask") {
  constexpr int kThreads = 4, kSteps = 20000;
  StreamGroup group;
  std::vector<std::unique_ptr<std::atomic<uint64_t>>> clocks;
  for (int i = 0; i < kThreads; ++i) {
    clocks.push_back(std::make_unique<std::atomic<uint64_t>>(0));
    group.add(clocks.back().get());
  }
  std::atomic<int> missed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      std::atomic<uint64_t>& clock = *clocks[static_cast<size_t>(i)];
      for (uint64_t now = 1; now <= kSteps; ++now) {
        clock.store(now, std::memory_order_relaxed);
        group.moved();
        if (group.latest_ns() < now) ++missed;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(missed == 0);
  CHECK(group.latest_ns() == kSteps);
}
