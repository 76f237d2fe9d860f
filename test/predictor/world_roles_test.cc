// Which ranks stand for which (predictor/world/roles.h), on hand-made traces of ranks that ran alone.
#include <catch2/catch.hpp>
#include <functional>
#include <numeric>

#include "predictor/world/roles.h"
#include "test/predictor/trace_builder.h"

using namespace maya;
using namespace maya::predictor;
using maya::test::TraceBuilder;

namespace {

constexpr uint32_t kWorld = 1, kGroup = 2;

void communicator(TraceBuilder* builder, uint32_t id, int rank, const std::vector<int>& members) {
  proto::Packet packet;
  auto* const made = packet.mutable_communicator();
  made->set_id(id);
  made->set_unique(id);
  made->set_rank(static_cast<uint32_t>(std::find(members.begin(), members.end(), rank) - members.begin()));
  made->set_ranks(static_cast<uint32_t>(members.size()));
  made->set_twins(true);
  for (const int member : members) made->add_world_ranks(member);
  builder->packet(packet);
}

void transfer(TraceBuilder* builder, CollectiveKind kind, uint32_t id, int peer) {
  OperationRecord record(Family::kPointToPoint, kind == CollectiveKind::kSend ? "ncclSend" : "ncclRecv");
  record.set(Key::kCollective, static_cast<int64_t>(kind)).set(Key::kBytes, 1 << 20).set(Key::kCommunicator, id);
  record.set(Key::kPeer, peer);
  builder->operation(record);
}

void all_reduce(TraceBuilder* builder, uint32_t id, int64_t bytes) {
  OperationRecord record(Family::kCollective, "ncclAllReduce");
  record.set(Key::kBytes, bytes).set(Key::kCommunicator, id);
  builder->operation(record);
}

std::vector<int> grid(int start, int stride, int count) {
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(start + i * stride);
  return ranks;
}

using Body = std::function<void(TraceBuilder*, int rank)>;

trace::LoadedTrace run_rank(int rank, int world, const Body& body) {
  TraceBuilder builder;
  builder.header().set_rank(rank);
  builder.header().set_world_size(world);
  builder.header().set_gpus_per_node(8);
  builder.header().set_twins(true);
  communicator(&builder, kWorld, rank, grid(0, 1, world));
  body(&builder, rank);
  return builder.load();
}

// What maya-run does: runs until nothing more is asked for.
std::vector<trace::LoadedTrace> run_all(int world, const Body& body, int checks, int most) {
  std::vector<trace::LoadedTrace> traces;
  std::vector<RankSummary> summaries;
  for (std::vector<int32_t> next = {0}; !next.empty(); next = next_ranks(summaries, world, checks, most))
    for (const int32_t rank : next) {
      traces.push_back(run_rank(rank, world, body));
      summaries.push_back(summarize(traces.back()));
    }
  return traces;
}

size_t ranks_in(const WorldLayout& layout) {
  size_t count = 0;
  for (const RankClass& one : layout.classes) count += one.ranks.size();
  return count;
}

// A pipeline of `stages`, outermost in the grid (Megatron's and torchtitan's order), with a data-parallel group inside.
Body pipeline(int world, int stages) {
  return [=](TraceBuilder* builder, int rank) {
    const int stride = world / stages, stage = rank / stride;
    communicator(builder, kGroup, rank, grid(rank % stride, stride, stages));
    if (stage > 0) transfer(builder, CollectiveKind::kRecv, kGroup, stage - 1);
    for (int layer = 0; layer <= stage; ++layer) builder->gemm(256, 256, 256);
    if (stage + 1 < stages) transfer(builder, CollectiveKind::kSend, kGroup, stage + 1);
    all_reduce(builder, kWorld, 1 << 20);
  };
}

}  // namespace

TEST_CASE("data parallelism has one role: rank 0 and two checks run, whatever the world's size") {
  for (const int world : {8, 1024, 16384}) {
    const auto traces = run_all(
        world, [](TraceBuilder* builder, int) { all_reduce(builder, kWorld, 1 << 20); }, 2, 16);
    CHECK(traces.size() == 3);
    const WorldLayout layout = twin_layout(traces);
    REQUIRE(layout.classes.size() == 1);
    CHECK(layout.classes[0].ranks.size() == static_cast<size_t>(world));
    CHECK(layout.classes[0].ranks[0] == 0);
    CHECK(layout.classes[0].checked == 2);
    CHECK(layout.memberships[0][0].members.size() == static_cast<size_t>(world));
  }
}

TEST_CASE("a pipeline has one role a stage, found by its transfers") {
  const auto traces = run_all(64, pipeline(64, 4), 2, 16);
  CHECK(traces.size() == 6);  // four stages, two checks
  const WorldLayout layout = twin_layout(traces);
  REQUIRE(layout.classes.size() == 4);
  CHECK(ranks_in(layout) == 64);
  for (const RankClass& one : layout.classes) {
    REQUIRE(one.ranks.size() == 16);
    for (const int32_t rank : one.ranks) CHECK(rank / 16 == one.ranks[0] / 16);
  }
}

TEST_CASE("never more ranks run than allowed; a stage that did not run is like its neighbour") {
  CHECK(run_all(8192, pipeline(8192, 16), 2, 16).size() == 16);
  const auto traces = run_all(64, pipeline(64, 8), 2, 4);
  CHECK(traces.size() == 4);
  CHECK(ranks_in(twin_layout(traces)) == 64);
}

TEST_CASE("a ring of transfers that all ranks do alike has one role") {
  const auto ring = [](TraceBuilder* builder, int rank) {
    transfer(builder, CollectiveKind::kSend, kWorld, (rank + 1) % 8);
    transfer(builder, CollectiveKind::kRecv, kWorld, (rank + 7) % 8);
  };
  const auto traces = run_all(8, ring, 2, 16);
  CHECK(traces.size() == 3);  // rank 0, the next, the last: their operations are equal
  CHECK(twin_layout(traces).classes.size() == 1);
}

TEST_CASE("an exchange of all with all in one group is no pipeline") {
  const auto exchange = [](TraceBuilder* builder, int rank) {
    for (int peer = 0; peer < 4; ++peer) {
      for (const CollectiveKind kind : {CollectiveKind::kSend, CollectiveKind::kRecv}) {
        OperationRecord record(Family::kPointToPoint, kind == CollectiveKind::kSend ? "ncclSend" : "ncclRecv");
        record.set(Key::kCollective, static_cast<int64_t>(kind)).set(Key::kBytes, 64 << 10);
        record.set(Key::kCommunicator, kWorld).set(Key::kPeer, peer);
        builder->operation(record);
      }
    }
    (void)rank;
  };
  // Outside of a group every call stands alone, so this one does look like transfers between some.
  CHECK_FALSE(summarize(run_rank(0, 4, exchange)).transfers.empty());
}

TEST_CASE("a rank that does more than its twins is a class of its own") {
  const auto logs = [](TraceBuilder* builder, int rank) {
    all_reduce(builder, kWorld, 1 << 20);
    if (rank == 0) builder->gemm(64, 64, 64);
  };
  const WorldLayout layout = twin_layout(run_all(32, logs, 2, 16));
  REQUIRE(layout.classes.size() == 2);
  CHECK(layout.classes[0].ranks == std::vector<int32_t>{0});
  CHECK(layout.classes[1].ranks.size() == 31);
  CHECK(layout.classes[1].checked == 1);
}

TEST_CASE("small collectives, copies and peers do not tell ranks apart; sizes of large ones do") {
  const auto small = [](TraceBuilder* builder, int rank) {
    all_reduce(builder, kWorld, 100 + rank);
    builder->copy(proto::Copy::HOST_TO_DEVICE, static_cast<uint64_t>(64 + rank), true, true);
  };
  CHECK(summarize(run_rank(0, 8, small)).fingerprint == summarize(run_rank(5, 8, small)).fingerprint);
  const auto large = [](TraceBuilder* builder, int rank) { all_reduce(builder, kWorld, (1 << 20) + rank); };
  CHECK(summarize(run_rank(0, 8, large)).fingerprint != summarize(run_rank(5, 8, large)).fingerprint);
}

TEST_CASE("ids of streams depend on the device and tell nobody apart") {
  const auto on_stream = [](TraceBuilder* builder, int rank) {
    builder->stream = rank == 0 ? 0 : 7;
    builder->gemm(128, 128, 128);
    builder->stream = rank == 0 ? 3 : 12;
    all_reduce(builder, kWorld, 1 << 20);
  };
  CHECK(summarize(run_rank(0, 8, on_stream)).fingerprint == summarize(run_rank(5, 8, on_stream)).fingerprint);
}
