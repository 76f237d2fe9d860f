#include "virtual_device/memory_known_bytes.h"

#include <catch2/catch.hpp>
#include <vector>

using maya::device::expand_fill;
using maya::device::fill_word;
using maya::device::KnownBytes;

namespace {

std::vector<unsigned char> expanded(uint64_t begin, uint64_t bytes, uint32_t word) {
  std::vector<unsigned char> out(bytes);
  expand_fill(out.data(), begin, bytes, word);
  return out;
}

}  // namespace

TEST_CASE("fill patterns start at their destination, whatever its alignment") {
  using Bytes = std::vector<unsigned char>;
  CHECK(expanded(8, 6, fill_word(8, 0x44332211, 4)) == Bytes{0x11, 0x22, 0x33, 0x44, 0x11, 0x22});
  CHECK(expanded(9, 6, fill_word(9, 0x44332211, 4)) == Bytes{0x11, 0x22, 0x33, 0x44, 0x11, 0x22});
  CHECK(expanded(11, 3, fill_word(11, 0x2211, 2)) == Bytes{0x11, 0x22, 0x11});
  CHECK(expanded(7, 3, fill_word(7, 0x1ff, 1)) == Bytes{0xff, 0xff, 0xff});
  // A cut of a fill goes on in phase: from address 10 on, the fill that began at 8.
  CHECK(expanded(10, 3, fill_word(8, 0x44332211, 4)) == Bytes{0x33, 0x44, 0x11});
}

TEST_CASE("pieces are cut and joined") {
  KnownBytes known;
  known.set_data(100, 200);
  known.set_fill(140, 160, 7);
  CHECK(known.pieces().size() == 3);
  CHECK(known.covers(100, 200));
  CHECK_FALSE(known.covers(99, 101));
  CHECK_FALSE(known.covers(199, 201));
  known.set_data(140, 160);
  CHECK(known.pieces().size() == 1);
  CHECK(known.erase(120, 130) == 10);
  CHECK(known.pieces().size() == 2);
  CHECK_FALSE(known.covers(100, 200));
  CHECK(known.any(115, 125));
  CHECK_FALSE(known.any(120, 130));
  CHECK(known.erase(0, 1000) == 90);
  CHECK(known.pieces().empty());
}

TEST_CASE("long data ranges stay apart, so that the budget can drop one without its neighbour") {
  KnownBytes known;
  known.set_data(0, 1 << 20);
  known.set_data(1 << 20, (1 << 20) + 4);
  CHECK(known.pieces().size() == 2);
}
