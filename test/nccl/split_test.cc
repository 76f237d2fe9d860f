// Communicators made from others, and the ways to begin one.
#include <unistd.h>

#include <catch2/catch.hpp>

#include "test/nccl/world.h"

using maya::test::Rank;
using maya::test::World;
using Numbers = std::vector<int64_t>;

namespace {

// Ranks of the first communicator, in the order of `comm`.
Numbers members(Rank& me, ncclComm_t comm) {
  int count = 0;
  EXPECT(ncclCommCount(comm, &count) == ncclSuccess);
  int64_t* own = me.upload(Numbers{me.rank});
  int64_t* all = me.upload(Numbers(static_cast<size_t>(count), -1));
  EXPECT(ncclAllGather(own, all, 1, ncclInt64, comm, nullptr) == ncclSuccess);
  return me.download(all, static_cast<size_t>(count));
}

}  // namespace

TEST_CASE("split by colour, ordered by key") {
  World world(8);
  CHECK(world.run([](Rank& me) {
    ncclComm_t whole = me.join(), part = nullptr, none = whole, half = nullptr;
    EXPECT(ncclCommSplit(whole, me.rank % 3, -me.rank, &part, nullptr) == ncclSuccess);
    const Numbers expected[] = {{6, 3, 0}, {7, 4, 1}, {5, 2}};
    EXPECT(members(me, part) == expected[me.rank % 3]);
    EXPECT(ncclCommSplit(whole, me.rank == 5 ? NCCL_SPLIT_NOCOLOR : 7, 0, &none, nullptr) == ncclSuccess);
    if (me.rank == 5)
      EXPECT(none == nullptr);
    else
      EXPECT(members(me, none) == Numbers{0, 1, 2, 3, 4, 6, 7});
    // A split of a split.
    EXPECT(ncclCommSplit(part, me.rank < 4 ? 0 : 1, me.rank, &half, nullptr) == ncclSuccess);
    const Numbers halves[][2] = {{{0, 3}, {6}}, {{1}, {4, 7}}, {{2}, {5}}};
    EXPECT(members(me, half) == halves[me.rank % 3][me.rank < 4 ? 0 : 1]);
    EXPECT(members(me, whole) == Numbers{0, 1, 2, 3, 4, 5, 6, 7});
  }));
}

TEST_CASE("shrink leaves ranks out, also ones that are gone") {
  World world(4);
  world.start([](Rank& me) {
    ncclComm_t whole = me.join(), less = nullptr;
    int excluded[] = {2};
    EXPECT(members(me, whole) == Numbers{0, 1, 2, 3});
    if (me.rank == 2) _exit(0);
    int64_t* data = me.upload(Numbers{1});
    ncclAllReduce(data, data, 1, ncclInt64, ncclSum, whole, nullptr);
    cudaDeviceSynchronize();
    ncclResult_t error = ncclSuccess;
    EXPECT(ncclCommGetAsyncError(whole, &error) == ncclSuccess);
    EXPECT(error == ncclRemoteError);
    EXPECT(ncclCommShrink(whole, excluded, 1, &less, nullptr, NCCL_SHRINK_DEFAULT) == ncclRemoteError);
    EXPECT(ncclCommShrink(whole, excluded, 1, &less, nullptr, NCCL_SHRINK_ABORT) == ncclSuccess);
    EXPECT(members(me, less) == Numbers{0, 1, 3});
    ncclCommAbort(whole);
    ncclCommDestroy(less);
  });
  CHECK(world.wait(60) == std::vector<int>{0, 0, 0, 0});
}

TEST_CASE("grow takes new ranks in") {
  World world(4);
  ncclUniqueId first;
  ncclGetUniqueId(&first);
  int pipes[2];
  REQUIRE(pipe(pipes) == 0);
  CHECK(world.run([&](Rank& me) {
    ncclComm_t small = nullptr, whole = nullptr;
    ncclUniqueId id;
    if (me.rank < 2) {
      EXPECT(ncclCommInitRank(&small, 2, first, me.rank) == ncclSuccess);
      if (me.rank == 0) {
        EXPECT(ncclCommGetUniqueId(small, &id) == ncclSuccess);
        ncclUniqueId second;
        EXPECT(ncclCommGetUniqueId(small, &second) == ncclInvalidUsage);
        for (int i = 0; i < 2; ++i) EXPECT(write(pipes[1], &id, sizeof id) == sizeof id);
      }
      EXPECT(ncclCommGrow(small, 4, me.rank == 0 ? &id : nullptr, -1, &whole, nullptr) == ncclSuccess);
    } else {
      EXPECT(read(pipes[0], &id, sizeof id) == sizeof id);
      EXPECT(ncclCommGrow(nullptr, 4, &id, me.rank, &whole, nullptr) == ncclSuccess);
    }
    EXPECT(members(me, whole) == Numbers{0, 1, 2, 3});
  }));
  close(pipes[0]);
  close(pipes[1]);
}

TEST_CASE("not blocking: the state goes from in progress to success") {
  World world(2);
  CHECK(world.run([](Rank& me) {
    if (me.rank == 1) usleep(200000);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.commName = "pair";
    ncclComm_t comm = nullptr;
    ncclResult_t state = ncclCommInitRankConfig(&comm, 2, me.id, me.rank, &config);
    EXPECT(state == ncclInProgress || state == ncclSuccess);
    EXPECT(comm != nullptr);
    int64_t* data = me.upload(Numbers{me.rank + 1});
    if (me.rank == 0) EXPECT(ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr) == ncclInvalidArgument);
    while (state == ncclInProgress) {
      usleep(1000);
      EXPECT(ncclCommGetAsyncError(comm, &state) == ncclSuccess);
    }
    EXPECT(state == ncclSuccess);
    EXPECT(ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(data, 1) == Numbers{3});
    EXPECT(ncclCommFinalize(comm) == ncclSuccess);
    EXPECT(ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr) == ncclInvalidUsage);
    EXPECT(ncclCommDestroy(comm) == ncclSuccess);
  }));
}

TEST_CASE("a split that is not blocking succeeds at once; colors may have any sign, as PyTorch's hashes have") {
  World world(2);
  CHECK(world.run([](Rank& me) {
    ncclComm_t all = me.join(), comm = nullptr;
    if (me.rank == 1) usleep(200000);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    EXPECT(ncclCommSplit(all, -1091263299, me.rank, &comm, &config) == ncclSuccess);
    EXPECT(comm != nullptr);
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) EXPECT(ncclCommGetAsyncError(comm, &state) == ncclSuccess);
    EXPECT(state == ncclSuccess);
    int64_t* data = me.upload(Numbers{me.rank + 1});
    EXPECT(ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(data, 1) == Numbers{3});
    ncclComm_t none = nullptr;
    EXPECT(ncclCommSplit(all, NCCL_SPLIT_NOCOLOR, 0, &none, &config) == ncclSuccess);
    EXPECT(none == nullptr);
    EXPECT(ncclCommDestroy(comm) == ncclSuccess);
    EXPECT(ncclCommDestroy(all) == ncclSuccess);
  }));
}

TEST_CASE("several unique ids; several communicators begun in one group") {
  World world(2);
  ncclUniqueId ids[2];
  for (ncclUniqueId& id : ids) ncclGetUniqueId(&id);
  CHECK(world.run([&](Rank& me) {
    ncclComm_t both = nullptr, group[2] = {};
    EXPECT(ncclCommInitRankScalable(&both, 2, me.rank, 2, ids, nullptr) == ncclSuccess);
    EXPECT(members(me, both) == Numbers{0, 1});
    ncclGroupStart();
    // In different orders.
    for (int i = 0; i < 2; ++i) {
      const int which = (i + me.rank) % 2;
      EXPECT(ncclCommInitRank(&group[which], 2, which == 0 ? me.id : ids[1], 1 - me.rank) == ncclSuccess);
    }
    EXPECT(ncclGroupEnd() == ncclSuccess);
    for (ncclComm_t comm : group) EXPECT(members(me, comm) == Numbers{1, 0});
    EXPECT(ncclCommInitRankScalable(&both, 2, me.rank, 0, ids, nullptr) == ncclInvalidArgument);
  }));
}

TEST_CASE("revoked communicators take no calls and can be shrunk") {
  World world(2);
  CHECK(world.run([](Rank& me) {
    ncclComm_t comm = me.join(), alone = nullptr;
    EXPECT(ncclCommRevoke(comm, 1) == ncclInvalidArgument);
    EXPECT(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT) == ncclSuccess);
    int64_t* data = me.upload(Numbers{1});
    EXPECT(ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr) == ncclInvalidUsage);
    int excluded[] = {1 - me.rank};
    EXPECT(ncclCommShrink(comm, excluded, 1, &alone, nullptr, NCCL_SHRINK_DEFAULT) == ncclSuccess);
    EXPECT(members(me, alone) == Numbers{me.rank});
    EXPECT(ncclCommFinalize(comm) == ncclInvalidUsage);
    EXPECT(ncclCommDestroy(comm) == ncclSuccess);
  }));
}
