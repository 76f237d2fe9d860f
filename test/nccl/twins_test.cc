// Worlds whose other ranks are absent: each is this one's twin, and nobody is met.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

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

namespace {

// One rank of a world of four, all others absent, that finds in `folder` what ranks before it sent.
bool run_alone(int rank, const std::string& folder, const std::string& ended, const std::function<void(Rank&)>& body) {
  World world(1);
  world.set("MAYA_TWINS", "1");
  world.set("RANK", std::to_string(rank));
  world.set("WORLD_SIZE", "4");
  world.set("MAYA_TWIN_FOLDER", folder);
  world.set("MAYA_TWINS_BEFORE", ended);
  return world.run([&](Rank& me) {
    me.rank = rank;
    me.ranks = 4;
    body(me);
  });
}

struct Folder {
  Folder() {
    char made[] = "/tmp/maya-kept-XXXXXX";
    name = mkdtemp(made);
  }
  ~Folder() { std::filesystem::remove_all(name); }
  std::string name;
};

// The group {first, first + 1} of the world, as PyTorch announces it.
ncclComm_t join_pair(Rank& me) {
  const int first = me.rank / 2 * 2;
  setenv("MAYA_GROUP_RANKS", (std::to_string(first) + ":1:2").c_str(), 1);
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  EXPECT(ncclGetUniqueId(&id) == ncclSuccess);
  EXPECT(ncclCommInitRank(&comm, 2, id, me.rank % 2) == ncclSuccess);
  unsetenv("MAYA_GROUP_RANKS");
  return comm;
}

// What NCCL documents for ncclBroadcast, ncclScatter, ncclSend and ncclRecv: the root's or sender's bytes.
void check_roots(Rank& me) {
  ncclComm_t comm = me.join();
  for (int step = 0; step < 3; ++step) {
    int64_t* flags = me.upload(me.rank == 1 ? Numbers{7, step} : Numbers{-1, -1});
    EXPECT(ncclBroadcast(flags, flags, 2, ncclInt64, 1, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(flags, 2) == Numbers{7, step});
    int64_t* in = me.upload(Numbers{10, 11, 12, 13});
    int64_t* out = me.upload(Numbers{-1});
    EXPECT(ncclScatter(me.rank == 1 ? in : nullptr, out, 1, ncclInt64, 1, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 1) == Numbers{10 + me.rank});
    ncclGroupStart();  // a scatter as PyTorch makes it
    for (int peer = 0; peer < 4 && me.rank == 1; ++peer)
      EXPECT(ncclSend(in + peer, 1, ncclInt64, peer, comm, nullptr) == ncclSuccess);
    EXPECT(ncclRecv(out, 1, ncclInt64, 1, comm, nullptr) == ncclSuccess);
    EXPECT(ncclGroupEnd() == ncclSuccess);
    EXPECT(me.download(out, 1) == Numbers{10 + me.rank});
  }
  ncclCommDestroy(comm);
}

}  // namespace

TEST_CASE("an absent root's broadcast, scatter and sends give what it sent when it ran, as among living ranks") {
  World living(4);
  CHECK(living.run(check_roots));
  const Folder folder;
  CHECK(run_alone(1, folder.name, "", check_roots));
  CHECK(run_alone(0, folder.name, "1", check_roots));
  CHECK(run_alone(3, folder.name, "0,1", check_roots));
}

TEST_CASE("a root that never ran sends what a rank in its place of a group of the same shape sent") {
  const Folder folder;
  const auto body = [](Rank& me) {
    ncclComm_t comm = join_pair(me);
    int64_t* value = me.upload(me.rank % 2 == 0 ? Numbers{40 + me.rank} : Numbers{-1});
    EXPECT(ncclBroadcast(value, value, 1, ncclInt64, 0, comm, nullptr) == ncclSuccess);
    const Numbers expected = me.rank % 2 == 0 ? Numbers{40 + me.rank} : Numbers{40};  // rank 2 never ran: rank 0's
    EXPECT(me.download(value, 1) == expected);
    ncclCommDestroy(comm);
  };
  CHECK(run_alone(0, folder.name, "", body));
  CHECK(run_alone(3, folder.name, "0", body));
}

TEST_CASE("what the absent root did not know is not known to the receiver: it reads as zero, as among living ranks") {
  const auto body = [](Rank& me) {
    ncclComm_t comm = me.join();
    int64_t* fresh = nullptr;
    EXPECT(cudaMalloc(reinterpret_cast<void**>(&fresh), 16) == cudaSuccess);  // never written
    int64_t* value = me.rank == 0 ? fresh : me.upload(Numbers{5, 5});
    EXPECT(ncclBroadcast(value, value, 2, ncclInt64, 0, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(value, 2) == Numbers{0, 0});
    ncclCommDestroy(comm);
  };
  World living(4);
  CHECK(living.run(body));
  const Folder folder;
  CHECK(run_alone(0, folder.name, "", body));
  CHECK(run_alone(2, folder.name, "0", body));
}

TEST_CASE("a rank waits for a root that was started before it and still runs") {
  const Folder folder;
  fclose(fopen((folder.name + "/running-0").c_str(), "w"));
  World root(1), receiver(1);
  const auto prepare = [&](World& world, int rank) {
    world.set("MAYA_TWINS", "1");
    world.set("RANK", std::to_string(rank));
    world.set("WORLD_SIZE", "4");
    world.set("MAYA_TWIN_FOLDER", folder.name);
  };
  prepare(root, 0);
  prepare(receiver, 2);
  const auto body = [](Rank& me) {
    ncclComm_t comm = nullptr;
    const int rank = atoi(getenv("RANK"));
    EXPECT(ncclCommInitRank(&comm, 4, me.id, rank) == ncclSuccess);
    if (rank == 0) usleep(300'000);
    int64_t* value = me.upload(Numbers{rank == 0 ? 9 : -1});
    EXPECT(ncclBroadcast(value, value, 1, ncclInt64, 0, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(value, 1) == Numbers{9});
    ncclCommDestroy(comm);
  };
  receiver.start(body);
  root.start(body);
  CHECK(root.wait(60) == std::vector<int>{0});
  CHECK(receiver.wait(60) == std::vector<int>{0});
}

TEST_CASE("a root that was started before and ended without sending is not waited for") {
  const Folder folder;
  fclose(fopen((folder.name + "/sent-0").c_str(), "w"));
  CHECK(run_alone(2, folder.name, "", [](Rank& me) {
    ncclComm_t comm = me.join();
    int64_t* value = me.upload(Numbers{5});
    EXPECT(ncclBroadcast(value, value, 1, ncclInt64, 0, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(value, 1) == Numbers{5});  // nothing is known of the root: this rank's own
    ncclCommDestroy(comm);
  }));
}
