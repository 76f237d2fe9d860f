// Worlds whose other ranks are absent: each is this one's twin, and nobody is met.
#include <catch2/catch.hpp>

#include "test/nccl/world.h"

using maya::test::names_in;
using maya::test::Rank;
using maya::test::World;
using Numbers = std::vector<int64_t>;

TEST_CASE("absent ranks answer as twins") {
  World world(1);
  world.set("MAYA_TWINS", "1");
  world.set("RANK", "3");
  world.set("WORLD_SIZE", "64");
  CHECK(world.run([](Rank& me) {
    ncclComm_t comm = nullptr;
    EXPECT(ncclCommInitRank(&comm, 64, me.id, 3) == ncclSuccess);
    int64_t* in = me.upload(Numbers{2});
    int64_t* out = me.upload(Numbers(64, -1));
    EXPECT(ncclAllReduce(in, out, 1, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 1) == Numbers{128});
    EXPECT(ncclAllReduce(in, out, 1, ncclInt64, ncclMin, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 1) == Numbers{2});
    EXPECT(ncclAllReduce(in, out, 1, ncclInt64, ncclAvg, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 1) == Numbers{2});
    EXPECT(ncclAllGather(in, out, 1, ncclInt64, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 64) == Numbers(64, 2));
    // A twin sends its chunk for rank 3.
    Numbers chunks;
    for (int i = 0; i < 64; ++i) chunks.push_back(i);
    int64_t* many = me.upload(chunks);
    EXPECT(ncclAlltoAll(many, out, 1, ncclInt64, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 64) == Numbers(64, 3));
    EXPECT(ncclReduceScatter(many, out, 1, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 1) == Numbers{3 * 64});
    // A broadcast from an absent rank leaves the twin's buffer, which is this one's.
    EXPECT(ncclBroadcast(out, out, 1, ncclInt64, 9, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 1) == Numbers{3 * 64});
    EXPECT(ncclRecv(out, 2, ncclInt64, 2, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 2) == Numbers{0, 0});
    EXPECT(ncclSend(many + 8, 2, ncclInt64, 4, comm, nullptr) == ncclSuccess);
    EXPECT(ncclRecv(out, 2, ncclInt64, 2, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 2) == Numbers{8, 9});
    EXPECT(ncclCommDestroy(comm) == ncclSuccess);
  }));
  CHECK(names_in(world.folder + "/maya").empty());
}

// PyTorch gathers tensors of different sizes with one broadcast per root in a group.
TEST_CASE("broadcasts of all roots in one group are a gather") {
  World world(1);
  world.set("MAYA_TWINS", "1");
  CHECK(world.run([](Rank& me) {
    ncclComm_t comm = nullptr;
    EXPECT(ncclCommInitRank(&comm, 4, me.id, 2) == ncclSuccess);
    int64_t* in = me.upload(Numbers{42});
    int64_t* out = me.upload(Numbers(4, -1));
    ncclGroupStart();
    for (int root = 0; root < 4; ++root)
      EXPECT(ncclBroadcast(in, out + root, 1, ncclInt64, root, comm, nullptr) == ncclSuccess);
    EXPECT(ncclGroupEnd() == ncclSuccess);
    EXPECT(me.download(out, 4) == Numbers(4, 42));
    ncclCommDestroy(comm);
  }));
}
