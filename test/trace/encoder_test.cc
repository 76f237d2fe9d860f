// Wire format: expected bytes are those of protobuf's own documentation
// (https://protobuf.dev/programming-guides/encoding/), and what libprotobuf makes of them.
#include "trace_proto/encoder.h"

#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "trace_proto/maya_trace.pb.h"

using maya::trace::Encoder;

namespace {

std::string bytes_of(const Encoder& encoder) { return {reinterpret_cast<const char*>(encoder.data()), encoder.size()}; }

}  // namespace

TEST_CASE("documented examples of the wire format") {
  Encoder integer;
  integer.integer(1, 150);
  CHECK(bytes_of(integer) == "\x08\x96\x01");
  Encoder text;
  text.text(2, "testing");
  CHECK(bytes_of(text) == "\x12\x07testing");
  Encoder packed;
  const uint64_t values[] = {3, 270, 86942};
  packed.packed(6, values, 3);
  CHECK(bytes_of(packed) == std::string("\x32\x06\x03\x8e\x02\x9e\xa7\x05"));
  Encoder inner, outer;
  inner.integer(1, 150);
  outer.message(3, inner);
  CHECK(bytes_of(outer) == "\x1a\x03\x08\x96\x01");
}

TEST_CASE("zigzag values as documented: -1 is 1, 1 is 2, -2 is 3") {
  const auto zigzag = [](int64_t value) {
    Encoder encoder;
    encoder.sint(1, value);
    return bytes_of(encoder);
  };
  CHECK(zigzag(-1) == "\x08\x01");
  CHECK(zigzag(1) == "\x08\x02");
  CHECK(zigzag(-2) == "\x08\x03");
  CHECK(zigzag(0x7fffffff) == "\x08\xfe\xff\xff\xff\x0f");
  CHECK(zigzag(std::numeric_limits<int64_t>::min()) == "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST_CASE("libprotobuf reads every kind of field back") {
  Encoder chunk;
  chunk.fixed32(1, 0x4159414d);
  chunk.fixed64(4, 0x0123456789abcdefull);
  Encoder operation;
  const uint64_t keys[] = {1, 300};
  const int64_t values[] = {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  operation.packed(4, keys, 2);
  operation.packed_sint(5, values, 2);
  operation.number(6, -1.5);
  maya::proto::ChunkHeader header;
  REQUIRE(header.ParseFromArray(chunk.data(), static_cast<int>(chunk.size())));
  CHECK(header.magic() == 0x4159414d);
  CHECK(header.time_ns() == 0x0123456789abcdefull);
  maya::proto::OperationDescriptor descriptor;
  REQUIRE(descriptor.ParseFromArray(operation.data(), static_cast<int>(operation.size())));
  CHECK(descriptor.keys(1) == 300);
  CHECK(descriptor.values(0) == std::numeric_limits<int64_t>::min());
  CHECK(descriptor.values(1) == std::numeric_limits<int64_t>::max());
  CHECK(descriptor.estimate_ns() == -1.5);
}

TEST_CASE("zero values are left out, an empty message is kept") {
  Encoder encoder, empty;
  encoder.integer(1, 0);
  encoder.sint(2, 0);
  encoder.fixed32(3, 0);
  encoder.fixed64(4, 0);
  encoder.number(5, 0);
  encoder.text(6, "");
  encoder.packed(7, nullptr, 0);
  CHECK(encoder.size() == 0);
  encoder.message(8, empty);
  CHECK(bytes_of(encoder) == std::string("\x42\x00", 2));
  CHECK_FALSE(encoder.truncated());
}

TEST_CASE("text that is not UTF-8 becomes question marks byte by byte, so that libprotobuf accepts it") {
  const auto stored = [](const std::string& text) {
    Encoder encoder;
    encoder.text(2, text);
    maya::proto::InternedString out;
    REQUIRE(out.ParseFromArray(encoder.data(), static_cast<int>(encoder.size())));
    return out.text();
  };
  CHECK(stored("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82") == "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82");
  CHECK(stored("a\xff\xfe z") == "a?? z");
  CHECK(stored("\xc0\x80") == "??");            // overlong
  CHECK(stored("\xed\xa0\x80") == "???");       // a surrogate
  CHECK(stored("\xf4\x90\x80\x80") == "????");  // above U+10FFFF
  CHECK(stored("cut \xe2\x82") == "cut ??");
}

TEST_CASE("what does not fit is left out whole, text is cut between characters") {
  Encoder encoder;
  encoder.text(2, std::string(Encoder::kCapacity_bytes - 40, 'x'));
  CHECK_FALSE(encoder.truncated());
  const size_t before = encoder.size();
  Encoder big;
  big.text(1, std::string(100, 'y'));
  encoder.message(3, big);
  CHECK(encoder.truncated());
  CHECK(encoder.size() == before);

  Encoder cut;
  std::string long_text;
  while (long_text.size() < 2 * Encoder::kCapacity_bytes) long_text += "\xe2\x82\xac";
  cut.text(2, long_text);
  CHECK(cut.truncated());
  maya::proto::InternedString out;
  REQUIRE(out.ParseFromArray(cut.data(), static_cast<int>(cut.size())));
  CHECK(out.text().size() % 3 == 0);
  CHECK(out.text().size() > Encoder::kCapacity_bytes - 64);
  CHECK(out.text().find('?') == std::string::npos);
  cut.integer(4, 7);
  cut.fixed64(4, 7);
  uint64_t values[3] = {1, 2, 3};
  cut.packed(5, values, 3);
  CHECK(cut.size() <= Encoder::kCapacity_bytes);
}
