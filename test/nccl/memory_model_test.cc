// The model of NCCL's device memory against what others measured (sources in memory_model.h).
#include "driver_shim/nccl/memory_model.h"

#include <catch2/catch.hpp>

#include "test/nccl/world.h"

using namespace maya::nccl;
using maya::test::Rank;
using maya::test::World;

namespace {
constexpr double kMiB = 1 << 20;
constexpr Platform kH100{9, true}, kA100{8, true};
}  // namespace

TEST_CASE("one connection: the allocations that NCCL's log shows") {
  CHECK(receiver_bytes(MemorySettings()) == 10485760);
  CHECK(sender_bytes(MemorySettings()) == 2 * 2097152);
  MemorySettings larger;
  larger.buffer_bytes = 16 << 20;  // 524288 + 4915200 + 16777216 = 22216704, 11 granules of 2 MiB
  CHECK(receiver_bytes(larger) == 11u << 21);
}

TEST_CASE("8 H100: 1.06 GB with a context before, 4.34 GB after the first all-to-all (NCCL issue 1685)") {
  const MemorySettings settings;
  const double before = 613 * kMiB + static_cast<double>(kCommunicator_bytes + kFirstCommunicator_bytes +
                                                         ring_bytes(kH100, settings, 8, 1));
  CHECK(before == Approx(1.06e9).epsilon(0.01));
  const double after =
      before + 7 * static_cast<double>(send_bytes(kH100, settings, 1) + receive_bytes(kH100, settings, 1));
  CHECK(after == Approx(4.34e9).epsilon(0.01));
}

TEST_CASE("2 A100 take 544 MB, 3 and 4 take 144 MB more (NCCL issue 964, NCCL 2.18: everything at once)") {
  const MemorySettings settings;
  const auto all = [&](int ranks) {
    return static_cast<double>(ring_bytes(kA100, settings, ranks, 1) + tree_bytes(kA100, settings, ranks, 1)) / kMiB;
  };
  // That version had no granules of its own for control words: 12 MiB where this one has 14.
  CHECK(all(3) - all(2) == Approx(144).epsilon(0.2));
  CHECK(all(4) == all(3));
  CHECK(400 + all(2) == Approx(544).epsilon(0.05));  // beside a context of about 400 MB
}

TEST_CASE("channels follow the settings") {
  MemorySettings settings;
  settings.max_channels = 8;
  CHECK(collective_channels(kH100, settings, 8, 1) == 8);
  CHECK(peer_channels(kH100, settings, 1) == 8);
  CHECK(collective_channels(kH100, MemorySettings(), 16, 2) == 16);
  CHECK(peer_channels(kH100, MemorySettings(), 2) == 2);
}

TEST_CASE("free memory goes down with the first call of each kind and comes back") {
  World world(2);
  CHECK(world.run([](Rank& me) {
    size_t total = 0, free[6] = {};
    cudaFree(nullptr);
    ncclComm_t comm = nullptr, first = nullptr;
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    EXPECT(ncclCommInitRank(&first, 1, id, 0) == ncclSuccess);
    int64_t* data = me.upload(std::vector<int64_t>{1});
    cudaMemGetInfo(&free[0], &total);
    comm = me.join();
    cudaMemGetInfo(&free[1], &total);
    EXPECT(free[0] - free[1] == kCommunicator_bytes);
    ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr);
    cudaMemGetInfo(&free[2], &total);
    EXPECT(free[1] - free[2] == 24 * 14 * kMiB);
    ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr);
    if (me.rank == 0)
      ncclSend(data, 1, ncclInt64, 1, comm, nullptr);
    else
      ncclRecv(data, 1, ncclInt64, 0, comm, nullptr);
    cudaMemGetInfo(&free[3], &total);
    EXPECT(free[2] - free[3] == (me.rank == 0 ? 32 * 4 * kMiB : 32 * 10 * kMiB));
    uint64_t charged = 0;
    EXPECT(ncclCommMemStats(comm, ncclStatGpuMemTotal, &charged) == ncclSuccess);
    EXPECT(charged == free[0] - free[3]);
    ncclCommDestroy(comm);
    cudaMemGetInfo(&free[4], &total);
    EXPECT(free[4] == free[0]);
  }));
}
