// What the trace says about communicators and groups.
#include "trace_proto/loaded_trace.h"

#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "test/nccl/world.h"

using maya::Key;
using maya::test::names_in;
using maya::test::Rank;
using maya::test::World;
using maya::trace::EventKind;

TEST_CASE("communicators have members, names and parents; groups and nodes are recorded") {
  char made[] = "/tmp/maya-nccl-trace-XXXXXX";
  const std::string folder = mkdtemp(made);
  World world(4);
  world.set("MAYA_TRACE", "1");
  world.set("MAYA_TRACE_DIR", folder);
  world.set("MAYA_GPUS_PER_NODE", "2");
  CHECK(world.run([](Rank& me) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.commName = "world";
    ncclComm_t comm = nullptr, odd_even = nullptr;
    // Rank in the communicator: the reverse of RANK.
    EXPECT(ncclCommInitRankConfig(&comm, 4, me.id, 3 - me.rank, &config) == ncclSuccess);
    EXPECT(ncclCommSplit(comm, me.rank % 2, me.rank, &odd_even, nullptr) == ncclSuccess);
    int64_t* data = me.upload(std::vector<int64_t>(8, 1));
    EXPECT(ncclAllReduce(data, data, 8, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    ncclGroupStart();
    ncclGroupStart();
    const int peer = 3 - (me.rank ^ 1);
    EXPECT(ncclSend(data, 2, ncclInt64, peer, comm, nullptr) == ncclSuccess);
    EXPECT(ncclGroupEnd() == ncclSuccess);
    EXPECT(ncclRecv(data, 2, ncclInt64, peer, comm, nullptr) == ncclSuccess);
    EXPECT(ncclGroupEnd() == ncclSuccess);
    ncclGroupStart();
    EXPECT(ncclAllGather(data, data, 1, ncclInt64, odd_even, nullptr) == ncclSuccess);
    EXPECT(ncclGroupEnd() == ncclSuccess);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    ncclCommDestroy(odd_even);
    ncclCommDestroy(comm);
  }));
  const std::vector<std::string> files = names_in(folder);
  REQUIRE(files.size() == 4);
  uint64_t unique = 0;
  for (const std::string& file : files) {
    const auto loaded = maya::trace::load_trace(folder + "/" + file);
    REQUIRE(loaded.traces.size() == 1);
    const auto& trace = loaded.traces[0];
    const int rank = trace.process.rank();
    REQUIRE(trace.communicators.size() == 4);  // two made, two ended
    const auto& whole = trace.communicators[0];
    CHECK(whole.name() == "world");
    CHECK(static_cast<int>(whole.rank()) == 3 - rank);
    CHECK(std::vector<int>(whole.world_ranks().begin(), whole.world_ranks().end()) == std::vector<int>{3, 2, 1, 0});
    CHECK(whole.parent() == 0);
    if (unique == 0) unique = whole.unique();
    CHECK(whole.unique() == unique);
    const auto& part = trace.communicators[1];
    CHECK(part.parent() == unique);
    CHECK(std::vector<int>(part.world_ranks().begin(), part.world_ranks().end()) ==
          std::vector<int>{rank % 2, rank % 2 + 2});
    CHECK((trace.communicators[2].destroyed() && trace.communicators[3].destroyed()));

    std::vector<uint32_t> groups;
    std::vector<int64_t> nodes;
    for (const auto& event : trace.events)
      if (event.kind == EventKind::kOperation) {
        groups.push_back(event.group);
        nodes.push_back(trace.operations[event.index].record.get(Key::kNodes));
        CHECK(trace.operations[event.index].record.get(Key::kGroupCall) == 0);
      }
    REQUIRE(groups.size() == 4);
    CHECK(groups[0] == 0);
    CHECK((groups[1] != 0 && groups[1] == groups[2]));
    CHECK((groups[3] != 0 && groups[3] != groups[1]));
    CHECK(nodes == std::vector<int64_t>{2, 1, 1, 2});
    unlink((folder + "/" + file).c_str());
  }
  rmdir(folder.c_str());
}
