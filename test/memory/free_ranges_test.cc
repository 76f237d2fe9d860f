#include "virtual_device/memory_free_ranges.h"

#include <array>
#include <catch2/catch.hpp>

using maya::device::FreeRanges;

TEST_CASE("the smallest range that fits is taken, at its lowest address") {
  FreeRanges ranges(0, 100);
  uint64_t a = 0, b = 0, c = 0;
  REQUIRE(ranges.take(40, 1, &a));
  REQUIRE(ranges.take(10, 1, &b));
  REQUIRE(ranges.take(50, 1, &c));
  CHECK(a == 0);
  CHECK(b == 40);
  CHECK(c == 50);
  CHECK(ranges.largest() == 0);
  ranges.give_back(a, 40);
  ranges.give_back(c, 50);
  uint64_t d = 0;
  REQUIRE(ranges.take(35, 1, &d));  // free: [0, 40) and [50, 100)
  CHECK(d == 0);
}

TEST_CASE("neighbours join, in every order of giving back") {
  for (const auto& order :
       {std::array{0, 1, 2}, std::array{0, 2, 1}, std::array{1, 0, 2}, std::array{2, 1, 0}, std::array{1, 2, 0}}) {
    FreeRanges ranges(1000, 30);
    uint64_t begin[3];
    for (uint64_t& b : begin) REQUIRE(ranges.take(10, 1, &b));
    for (const int i : order) ranges.give_back(begin[i], 10);
    CHECK(ranges.largest() == 30);
  }
}

TEST_CASE("alignment leaves the head free") {
  FreeRanges ranges(4, 100);
  uint64_t begin = 0;
  REQUIRE(ranges.take(16, 16, &begin));
  CHECK(begin == 16);
  CHECK(ranges.take_at(4, 12));
  CHECK_FALSE(ranges.take_at(4, 1));
}

TEST_CASE("an exact place is refused when any of it is in use") {
  FreeRanges ranges(0, 64);
  CHECK(ranges.take_at(32, 8));
  CHECK_FALSE(ranges.take_at(30, 4));
  CHECK_FALSE(ranges.take_at(60, 8));
  CHECK(ranges.take_at(40, 24));
  CHECK(ranges.largest() == 32);
}
