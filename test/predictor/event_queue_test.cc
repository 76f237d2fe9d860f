// The event queue and the short list beside the standard library's containers, on random use.
#include "predictor/event_queue.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <vector>

#include "predictor/short_list.h"

using namespace maya::predictor;

namespace {

// Events come out as from a std::multimap, which keeps the order of insertion among equal times. `spread_ns`: how far
// ahead events are scheduled at most; `ahead`: how many wait at a time.
void compare(uint32_t seed, uint64_t spread_ns, size_t ahead) {
  std::mt19937_64 random(seed);
  EventQueue queue;
  std::multimap<uint64_t, uint32_t> reference;
  uint64_t now_ns = 0;
  uint32_t scheduled = 0;
  for (int step = 0; step < 20'000; ++step) {
    const bool more = step < 15'000 && (reference.size() < ahead || random() % 2 == 0);
    if (more) {
      // Every fourth at the present time, as work that takes none.
      const uint64_t time_ns = random() % 4 == 0 ? now_ns : now_ns + random() % spread_ns;
      queue.schedule(time_ns, scheduled % kMostPrograms, scheduled, static_cast<What>(scheduled % 6));
      reference.emplace(time_ns, scheduled++);
      continue;
    }
    REQUIRE(queue.empty() == reference.empty());
    if (reference.empty()) continue;
    const ScheduledEvent event = queue.take();
    const auto first = reference.begin();
    REQUIRE(event.time_ns == first->first);
    REQUIRE(event.index == first->second);
    REQUIRE(event.program == first->second % kMostPrograms);
    REQUIRE(event.what == first->second % 6);
    now_ns = event.time_ns;
    reference.erase(first);
  }
}

}  // namespace

TEST_CASE("events come in the order of time, those of one time as they were scheduled") {
  uint32_t seed = 0;
  for (const uint64_t spread_ns : {uint64_t{1}, uint64_t{3}, uint64_t{50}, uint64_t{100'000}, uint64_t{1} << 40})
    for (const size_t ahead : {1, 3, 50, 3'000}) compare(++seed, spread_ns, ahead);
}

TEST_CASE("no event comes before one that was taken, however early it was meant, and none is lost at the end of time") {
  EventQueue queue;
  queue.schedule(100, 0, 1, What::kCall);
  CHECK(queue.take().time_ns == 100);
  queue.schedule(~uint64_t{0}, 0, 2, What::kEnd);
  queue.schedule(101, 0, 3, What::kCall);
  queue.schedule(99, 0, 4, What::kCall);
  CHECK(queue.take().index == 4);
  CHECK(queue.take().index == 3);
  CHECK(queue.take().index == 2);
  CHECK(queue.empty());
}

TEST_CASE("a short list is a vector, inside and outside of the object") {
  std::mt19937 random(7);
  ShortList<uint32_t, 3> list;
  std::vector<uint32_t> reference;
  for (uint32_t step = 0; step < 20'000; ++step) {
    const bool grow = reference.empty() || (reference.size() < 8 && random() % 2 == 0);
    const size_t at = random() % (reference.size() + (grow ? 1 : 0));
    if (grow) {
      list.insert(list.begin() + at, step);
      reference.insert(reference.begin() + static_cast<ptrdiff_t>(at), step);
    } else {
      list.erase(list.begin() + at);
      reference.erase(reference.begin() + static_cast<ptrdiff_t>(at));
    }
    REQUIRE(std::vector<uint32_t>(list.begin(), list.end()) == reference);
  }
}
