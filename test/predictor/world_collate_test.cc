// Traces of several ranks joined: what matches, what does not, and what the report says of it.
#include "predictor/world/collate.h"

#include <catch2/catch.hpp>

#include "test/predictor/world_traces.h"

using namespace maya;
using namespace maya::predictor;
using namespace maya::test;

namespace {

Collation collated(const std::vector<trace::LoadedTrace>& traces) {
  std::vector<uint32_t> chosen;
  for (uint32_t i = 0; i < traces.size(); ++i) chosen.push_back(i);
  return collate(traces, living_layout(traces, chosen));
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    CHECK(line.size() <= 98);  // the report indents them by two
    text += line + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("collectives match by communicator and number") {
  WorldTraces w(3);
  const uint64_t all = w.communicator({0, 1, 2}), pair = w.communicator({2, 0});
  w.collective(all, {0, 1, 2}, CollectiveKind::kAllReduce, 1024);
  w.collective(pair, {0, 2}, CollectiveKind::kAllGather, 64);
  w.collective(all, {0, 1, 2}, CollectiveKind::kAllReduce, 2048);
  const auto traces = w.load();
  const Collation c = collated(traces);
  CHECK(c.mismatches.empty());
  REQUIRE(c.world.communicators.size() == 2);
  CHECK(c.world.communicators[0].members == std::vector<int32_t>{0, 1, 2});
  CHECK(c.world.communicators[1].members == std::vector<int32_t>{2, 0});
  CHECK(c.world.communicators[1].member_classes == std::vector<uint32_t>{2, 0});
  REQUIRE(c.world.matches.size() == 3);
  CHECK(c.world.matches[0].participants.size() == 3);
  CHECK(c.world.matches[1].participants.size() == 2);
  REQUIRE(c.world.calls[0].size() == 3);
  CHECK(c.world.calls[0][2].sequence == 1);
  CHECK(c.world.calls[0][1].position == 1);
  CHECK(c.world.calls[0][2].match == c.world.calls[1][1].match);
}

TEST_CASE("members are learned from each other where the trace does not list them") {
  WorldTraces w(2);
  w.list_members = false;
  w.communicator({1, 0});
  const Collation c = collated(w.load());
  REQUIRE(c.world.communicators.size() == 1);
  CHECK(c.world.communicators[0].members == std::vector<int32_t>{1, 0});
}

TEST_CASE("nodes follow from the ranks' places") {
  WorldTraces w(4);
  w.gpus_per_node = 2;
  const uint64_t inside = w.communicator({0, 1}), across = w.communicator({0, 2}), all = w.communicator({0, 1, 2, 3});
  w.transfer(all, 1, 2, 8);
  w.transfer(all, 2, 3, 8);
  const Collation c = collated(w.load());
  (void)inside, (void)across;
  CHECK(c.world.communicators[0].nodes == 1);
  CHECK(c.world.communicators[1].nodes == 2);
  CHECK(c.world.communicators[2].nodes == 2);
  REQUIRE(c.world.matches.size() == 2);
  for (const Match& match : c.world.matches) {
    const Participant& sender = match.participants.front();
    CHECK(match.nodes == (w.rank_of(sender.rank_class) == 1 ? 2u : 1u));
  }
}

TEST_CASE("transfers match first in, first out, for each direction and pair") {
  WorldTraces w(2);
  const uint64_t pair = w.communicator({0, 1});
  w.send(pair, 0, 1, 100);
  w.send(pair, 0, 1, 200);
  w.receive(pair, 0, 1, 300);
  w.receive(pair, 1, 0, 100);
  w.send(pair, 1, 0, 300);
  w.receive(pair, 1, 0, 200);
  const Collation c = collated(w.load());
  CHECK(c.mismatches.empty());
  CHECK(c.world.matches.size() == 3);
  CHECK(c.world.calls[0][0].match == c.world.calls[1][0].match);
  CHECK(c.world.calls[0][1].match == c.world.calls[1][2].match);
  CHECK(c.world.calls[0][2].match == c.world.calls[1][1].match);
  CHECK(c.world.matches[c.world.calls[0][2].match].participants.front().rank_class == 1);  // the sender is first
}

TEST_CASE("different operations, sizes, types and roots are found") {
  WorldTraces w(4);
  const uint64_t all = w.communicator({0, 1, 2, 3});
  w.collective(all, {0, 1, 2, 3}, CollectiveKind::kAllReduce, 1 << 20);
  Mismatch::Kind expected = Mismatch::Kind::kOperation;
  std::string text;
  SECTION("operation") {
    w.collective(all, {0, 1, 3}, CollectiveKind::kAllReduce, 64);
    w.collective(all, {2}, CollectiveKind::kAllGather, 64);
    text =
        "ranks call different operations, communicator of 4\n"
        "  rank 0 and 2 like it, call 2: ncclAllReduce of 64 bytes of float32\n"
        "  rank 2, call 2: ncclAllGather of 64 bytes of float32\n";
  }
  SECTION("size") {
    expected = Mismatch::Kind::kCount;
    w.collective(all, {0, 1}, CollectiveKind::kAllReduce, 1 << 20);
    w.collective(all, {2, 3}, CollectiveKind::kAllReduce, 2 << 20);
    text =
        "ranks call it with different sizes, communicator of 4\n"
        "  rank 0 and 1 like it, call 2: ncclAllReduce of 1,048,576 bytes of float32\n"
        "  rank 2 and 1 like it, call 2: ncclAllReduce of 2,097,152 bytes of float32\n";
  }
  SECTION("type") {
    expected = Mismatch::Kind::kType;
    w.collective(all, {0, 1, 2}, CollectiveKind::kAllReduce, 64);
    w.type = DataType::kBfloat16;
    w.collective(all, {3}, CollectiveKind::kAllReduce, 64);
    text =
        "ranks call it with different types, communicator of 4\n"
        "  rank 0 and 2 like it, call 2: ncclAllReduce of 64 bytes of float32\n"
        "  rank 3, call 2: ncclAllReduce of 64 bytes of bfloat16\n";
  }
  SECTION("root") {
    expected = Mismatch::Kind::kRoot;
    w.collective(all, {0, 1, 2}, CollectiveKind::kBroadcast, 64, 0);
    w.collective(all, {3}, CollectiveKind::kBroadcast, 64, 1);
    text =
        "ranks call it with different roots, communicator of 4\n"
        "  rank 0 and 2 like it, call 2: ncclBroadcast of 64 bytes of float32, root rank 0\n"
        "  rank 3, call 2: ncclBroadcast of 64 bytes of float32, root rank 1\n";
  }
  SECTION("a call that some do not make") {
    expected = Mismatch::Kind::kMissingCall;
    w.collective(all, {0, 1}, CollectiveKind::kAllReduce, 64);
    w.collective(all, {0, 1}, CollectiveKind::kAllReduce, 64);
    text =
        "some ranks do not call it, communicator of 4; 1 more behind it\n"
        "  rank 0 and 1 like it, call 2: ncclAllReduce of 64 bytes of float32\n"
        "  rank 2 and 1 like it: no such call, 1 on this communicator of 4\n";
  }
  const auto traces = w.load();
  const Collation c = collated(traces);
  REQUIRE(c.mismatches.size() == 1);
  CHECK(c.mismatches[0].kind == expected);
  CHECK(c.mismatches[0].sequence == 1);
  CHECK(joined(mismatch_lines(c.world, c.mismatches[0])) == text);
}

TEST_CASE("ranks that were cut off are no mismatch; sends without receives are") {
  WorldTraces w(2);
  const uint64_t pair = w.communicator({0, 1});
  SECTION("cut off") {
    w.collective(pair, {0, 1}, CollectiveKind::kAllReduce, 64);
    w.collective(pair, {0}, CollectiveKind::kAllReduce, 64);
    w.send(pair, 0, 1, 8);
    w.rank(1).finished = false;
    CHECK(collated(w.load()).mismatches.empty());
  }
  SECTION("send") {
    w.transfer(pair, 0, 1, 8);
    w.send(pair, 0, 1, 8);
    const auto traces = w.load();
    const Collation c = collated(traces);
    REQUIRE(c.mismatches.size() == 1);
    CHECK(c.mismatches[0].kind == Mismatch::Kind::kUnmatchedSend);
    CHECK(joined(mismatch_lines(c.world, c.mismatches[0])) ==
          "a send that nobody receives, communicator of 2\n"
          "  rank 0, call 2: ncclSend of 8 bytes of float32 to rank 1\n"
          "  rank 1: no such call, 1 on this communicator of 2\n");
  }
  SECTION("sizes of a transfer") {
    w.send(pair, 0, 1, 8);
    w.receive(pair, 1, 0, 16);
    const Collation c = collated(w.load());
    REQUIRE(c.mismatches.size() == 1);
    CHECK(c.mismatches[0].kind == Mismatch::Kind::kCount);
  }
}

TEST_CASE("nobody waits for ranks without a trace") {
  WorldTraces w(4);
  const uint64_t all = w.communicator({0, 1, 2, 3});
  w.collective(all, {0, 1, 2, 3}, CollectiveKind::kAllReduce, 64);
  auto traces = w.load();
  traces.erase(traces.begin() + 2);
  const Collation c = collated(traces);
  CHECK(c.mismatches.empty());
  CHECK(missing_ranks(c.world.layout) == std::vector<int32_t>{2});
  REQUIRE(c.world.matches.size() == 1);
  CHECK(c.world.matches[0].participants.size() == 3);
}

TEST_CASE("in a world of twins communicators of one shape are one") {
  // Two pipeline stages of two ranks each: 0, 1 | 2, 3. Rank 0 and 3 ran. Transfers go 0 -> 2 and 1 -> 3.
  WorldTraces w(4);
  const uint64_t stage0 = w.communicator({0, 1}), stage1 = w.communicator({2, 3});
  const uint64_t pipe0 = w.communicator({0, 2}), pipe1 = w.communicator({1, 3});
  w.collective(stage0, {0}, CollectiveKind::kAllReduce, 64);
  w.collective(stage1, {3}, CollectiveKind::kAllReduce, 64);
  w.send(pipe0, 0, 2, 32);
  w.receive(pipe1, 3, 1, 32);
  auto all = w.load();
  std::vector<trace::LoadedTrace> traces;
  traces.push_back(std::move(all[0]));
  traces.push_back(std::move(all[3]));
  WorldLayout layout = living_layout(traces, std::vector<uint32_t>{0, 1});
  layout.twins = true;
  layout.classes[0].ranks = {0, 1};
  layout.classes[1].ranks = {3, 2};
  const Collation c = collate(traces, layout);
  CHECK(c.mismatches.empty());
  CHECK(missing_ranks(c.world.layout).empty());
  REQUIRE(c.world.matches.size() == 3);
  CHECK(c.world.communicators.size() == 3);  // one for each stage, one pipe
  // Within a stage the all-reduce waits for nobody else.
  CHECK(c.world.matches[c.world.calls[0][0].match].participants.size() == 1);
  CHECK(c.world.matches[c.world.calls[1][0].match].participants.size() == 1);
  CHECK(c.world.calls[0][1].match == c.world.calls[1][1].match);
}

TEST_CASE("in a world of twins a ring of one class matches itself") {
  WorldTraces w(4);
  const uint64_t ring = w.communicator({0, 1, 2, 3});
  w.group(1, [&] {
    w.send(ring, 0, 1, 32);
    w.receive(ring, 0, 3, 32);
  });
  auto all = w.load();
  std::vector<trace::LoadedTrace> traces;
  traces.push_back(std::move(all[0]));
  WorldLayout layout = living_layout(traces, std::vector<uint32_t>{0});
  layout.twins = true;
  layout.classes[0].ranks = {0, 1, 2, 3};
  const Collation c = collate(traces, layout);
  CHECK(c.mismatches.empty());
  REQUIRE(c.world.matches.size() == 1);
  CHECK(c.world.matches[0].participants.size() == 2);
  CHECK(c.world.calls[0][0].group == 1);
}
