// Windows, properties, teams, suspended communicators.
#include <stddef.h>

#include <catch2/catch.hpp>

#include <nccl_device.h>  // needs size_t before it

#include "test/nccl/world.h"

using maya::test::Rank;
using maya::test::World;

// Four ranks on two nodes of two.
TEST_CASE("properties and teams") {
  World world(4);
  world.set("MAYA_GPUS_PER_NODE", "2");
  CHECK(world.run([](Rank& me) {
    ncclComm_t comm = me.join();
    ncclCommProperties_t properties = NCCL_COMM_PROPERTIES_INITIALIZER;
    EXPECT(ncclCommQueryProperties(comm, &properties) == ncclSuccess);
    EXPECT(properties.rank == me.rank && properties.nRanks == 4 && properties.cudaDev == me.rank);
    EXPECT(properties.nLsaTeams == 2 && !properties.deviceApiSupport && !properties.hostRmaSupport);
    properties.magic = 0;
    EXPECT(ncclCommQueryProperties(comm, &properties) == ncclInvalidArgument);
    const ncclTeam_t world_team = ncclTeamWorld(comm), node = ncclTeamLsa(comm), rail = ncclTeamRail(comm);
    EXPECT(world_team.nRanks == 4 && world_team.rank == me.rank && world_team.stride == 1);
    EXPECT(node.nRanks == 2 && node.rank == me.rank % 2 && node.stride == 1);
    EXPECT(rail.nRanks == 2 && rail.rank == me.rank / 2 && rail.stride == 2);
    // The other rank of the node, and the one with the same place in the other node.
    EXPECT(ncclTeamRankToWorld(comm, node, 1 - node.rank) == (me.rank ^ 1));
    EXPECT(ncclTeamRankToWorld(comm, rail, 1 - rail.rank) == (me.rank ^ 2));
    EXPECT(ncclTeamRankToLsa(comm, node, 1 - node.rank) == 1 - node.rank);
    ncclCommDestroy(comm);
  }));
}

TEST_CASE("windows are registered, with their documented refusals") {
  World world(1);
  CHECK(world.run([](Rank& me) {
    ncclComm_t comm = me.join();
    void *buffer = nullptr, *user = nullptr, *registration = nullptr;
    EXPECT(ncclMemAlloc(&buffer, 1 << 20) == ncclSuccess);
    ncclWindow_t window = nullptr;
    EXPECT(ncclCommWindowRegister(comm, buffer, 1 << 20, &window, NCCL_WIN_COLL_SYMMETRIC) == ncclSuccess);
    EXPECT(ncclWinGetUserPtr(comm, window, &user) == ncclSuccess);
    EXPECT(user == buffer);
    EXPECT(ncclCommWindowDeregister(comm, window) == ncclSuccess);
    EXPECT(ncclCommWindowDeregister(comm, window) == ncclInvalidArgument);
    EXPECT(ncclCommWindowRegister(comm, static_cast<char*>(buffer) + 256, 4096, &window, 0) == ncclInvalidArgument);
    EXPECT(ncclCommWindowRegister(comm, buffer, 4096, &window, 8) == ncclInvalidArgument);
    EXPECT(ncclCommRegister(comm, buffer, 4096, &registration) == ncclSuccess);
    EXPECT(ncclCommDeregister(comm, registration) == ncclSuccess);
    EXPECT(ncclMemFree(buffer) == ncclSuccess);
    EXPECT(ncclMemFree(buffer) == ncclUnhandledCudaError);
    ncclCommDestroy(comm);
  }));
}

TEST_CASE("suspended communicators give their memory back and take no calls") {
  World world(2);
  CHECK(world.run([](Rank& me) {
    ncclComm_t comm = me.join();
    int64_t* data = me.upload(std::vector<int64_t>{1});
    EXPECT(ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    size_t total = 0, before = 0, suspended = 0, after = 0;
    cudaMemGetInfo(&before, &total);
    EXPECT(ncclCommResume(comm) == ncclInvalidUsage);
    EXPECT(ncclCommSuspend(comm, 0) == ncclInvalidArgument);
    EXPECT(ncclCommSuspend(comm, NCCL_SUSPEND_MEM) == ncclSuccess);
    cudaMemGetInfo(&suspended, &total);
    uint64_t bytes = 0, is_suspended = 0;
    EXPECT(ncclCommMemStats(comm, ncclStatGpuMemSuspend, &bytes) == ncclSuccess);
    EXPECT(ncclCommMemStats(comm, ncclStatGpuMemSuspended, &is_suspended) == ncclSuccess);
    EXPECT(suspended - before == bytes && is_suspended == 1);
    EXPECT(ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr) == ncclInvalidUsage);
    EXPECT(ncclCommResume(comm) == ncclSuccess);
    cudaMemGetInfo(&after, &total);
    EXPECT(after == before);
    EXPECT(ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(data, 1)[0] == 4);
    ncclCommDestroy(comm);
  }));
}
