#include "virtual_device/size.h"

#include <catch2/catch.hpp>

using maya::device::parse_size;

TEST_CASE("sizes as people write them") {
  uint64_t bytes = 7;
  const auto parsed = [&](const char* text) { return parse_size(text, &bytes) ? bytes : ~0ull; };
  CHECK(parsed("0") == 0);
  CHECK(parsed("1073741824") == 1073741824);
  CHECK(parsed("40GiB") == 42949672960);  // 40 * 1024^3
  CHECK(parsed("40G") == 42949672960);
  CHECK(parsed("80gb") == 80000000000);  // 80 * 1000^3
  CHECK(parsed("1.5k") == 1536);
  CHECK(parsed("2TiB") == 2199023255552);
  CHECK(parsed("512B") == 512);
}

TEST_CASE("what is not a size is refused and leaves the value alone") {
  for (const char* text : {"", "lots", "-1", "1X", "1Gi B", "GiB", "1e3", "nan", "inf", "99999999T", "1GiBB"}) {
    uint64_t bytes = 7;
    INFO(text);
    CHECK_FALSE(parse_size(text, &bytes));
    CHECK(bytes == 7);
  }
}
