// Ranks that die, never come, disagree, or belong to another job.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <random>
#include <thread>

#include "test/nccl/world.h"

using maya::test::names_in;
using maya::test::Rank;
using maya::test::seconds_now;
using maya::test::World;
using Numbers = std::vector<int64_t>;

namespace {

// Shared memory that could be ours: other programs of the machine come and go in the same folder.
std::vector<std::string> shared_memory() {
  std::vector<std::string> names = names_in("/dev/shm");
  std::erase_if(names, [](const std::string& name) {
    return name.find("maya") == std::string::npos && name.find("nccl") == std::string::npos;
  });
  return names;
}

// Calls until something goes wrong: then the communicator must say so. Never returns without an error while a rank is
// killed.
void train(Rank& me) {
  ncclComm_t comm = nullptr;
  const ncclResult_t begun = ncclCommInitRank(&comm, me.ranks, me.id, me.rank);
  if (begun != ncclSuccess) {
    // A rank that comes when the others have already given up waits for them in vain.
    EXPECT(begun == ncclRemoteError || begun == ncclSystemError);
    exit(me.failures == 0 ? 7 : 1);
  }
  int64_t* data = me.upload(Numbers(1000, 1));
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  for (;;) {
    const ncclResult_t issued = ncclAllReduce(data, data, 1000, ncclInt64, ncclMax, comm, stream);
    cudaStreamSynchronize(stream);
    ncclResult_t state = ncclSuccess;
    EXPECT(ncclCommGetAsyncError(comm, &state) == ncclSuccess);
    if (issued == ncclSuccess && state == ncclSuccess) continue;
    EXPECT(state == ncclRemoteError);
    EXPECT(ncclCommAbort(comm) == ncclSuccess);
    exit(me.failures == 0 ? 7 : 1);
  }
}

}  // namespace

TEST_CASE("a rank killed at a random point: the others end with the remote error, nothing is left over") {
  std::mt19937 random(5);
  const std::vector<std::string> shared_before = shared_memory();
  for (int run = 0; run < 20; ++run) {
    World world(4);
    world.set("MAYA_RENDEZVOUS_TIMEOUT", "5");
    const double start = seconds_now();
    world.start(train);
    usleep(static_cast<useconds_t>(random() % 400000));
    const size_t victim = random() % 4;
    kill(world.processes[victim], SIGKILL);
    const double killed = seconds_now();
    std::vector<int> expected(4, 7);
    expected[victim] = 128 + SIGKILL;
    INFO("run " << run << ", rank " << victim << " killed after " << killed - start << " s");
    CHECK(world.wait(20) == expected);
    CHECK(seconds_now() - killed < 10);
    CHECK(shared_memory() == shared_before);
    CHECK(names_in(world.folder + "/maya").empty());
  }
}

TEST_CASE("a rank that ends without a word is noticed by those who need it") {
  World world(3);
  world.start([](Rank& me) {
    ncclComm_t comm = me.join();
    int64_t* data = me.upload(Numbers{1});
    EXPECT(ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(data, 1) == Numbers{3});
    if (me.rank == 2) _exit(0);
    ncclResult_t state = ncclSuccess;
    usleep(300000);
    // Nothing waits for it yet.
    EXPECT(ncclCommGetAsyncError(comm, &state) == ncclSuccess);
    EXPECT(state == ncclSuccess);
    EXPECT(ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    const double start = seconds_now();
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    EXPECT(seconds_now() - start < 5);
    EXPECT(ncclCommGetAsyncError(comm, &state) == ncclSuccess);
    EXPECT(state == ncclRemoteError);
    EXPECT(ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr) == ncclRemoteError);
    EXPECT(ncclCommDestroy(comm) == ncclSuccess);
  });
  CHECK(world.wait(30) == std::vector<int>{0, 0, 0});
}

namespace {

// Two ranks of which the last ends without a word once both have used the communicator; the other then calls for it.
struct Widowed {
  explicit Widowed(Rank& rank, bool another_thread_asks = false)
      : me(rank), comm(me.join()), data(me.upload(Numbers(1000, 1))) {
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    EXPECT(reduce() == ncclSuccess);
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    if (another_thread_asks) std::thread([&] { EXPECT(state() == ncclSuccess); }).join();
    if (me.rank == 1) {
      if (another_thread_asks) usleep(200000);
      _exit(0);
    }
    EXPECT(reduce() == ncclSuccess);
  }
  ncclResult_t reduce() { return ncclAllReduce(data, data, 1000, ncclInt64, ncclSum, comm, stream); }
  ncclResult_t state() {
    ncclResult_t state = ncclInternalError;
    EXPECT(ncclCommGetAsyncError(comm, &state) == ncclSuccess);
    return state;
  }
  void until_told() {
    const double start = seconds_now();
    while (state() == ncclSuccess && seconds_now() - start < 10) usleep(20000);
    EXPECT(state() == ncclRemoteError);
  }

  Rank& me;
  ncclComm_t comm;
  int64_t* data;
  cudaStream_t stream = nullptr;
};

}  // namespace

// NCCL User Guide, "Asynchronous errors and error handling": the operation does not end by itself, the program aborts.
TEST_CASE("a wait for a rank that is gone lasts until a thread that asks for the error aborts, whatever waits") {
  std::vector<int64_t> back(1000);
  const std::vector<std::function<void(Rank&, Widowed&)>> waits = {
      [](Rank& me, Widowed& w) { EXPECT(cudaStreamSynchronize(w.stream) == cudaSuccess); },
      [](Rank& me, Widowed&) { EXPECT(cudaDeviceSynchronize() == cudaSuccess); },
      [&](Rank& me, Widowed& w) {
        EXPECT(cudaMemcpyAsync(back.data(), w.data, 8000, cudaMemcpyDeviceToHost, w.stream) == cudaSuccess);
        EXPECT(cudaStreamSynchronize(w.stream) == cudaSuccess);
      },
      // As PyTorch does: a stream that waits for the collective's, and a copy up from pageable memory on it.
      [&](Rank& me, Widowed& w) {
        cudaEvent_t event;
        cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
        cudaStream_t other;
        cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
        EXPECT(cudaEventRecord(event, w.stream) == cudaSuccess);
        EXPECT(cudaStreamWaitEvent(other, event, 0) == cudaSuccess);
        EXPECT(cudaMemcpyAsync(w.data, back.data(), 8000, cudaMemcpyHostToDevice, other) == cudaSuccess);
        EXPECT(cudaStreamSynchronize(other) == cudaSuccess);
      },
      [](Rank& me, Widowed& w) {
        cudaEvent_t event;
        cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
        EXPECT(cudaEventRecord(event, w.stream) == cudaSuccess);
        EXPECT(cudaEventQuery(event) == cudaErrorNotReady);
        EXPECT(cudaEventSynchronize(event) == cudaSuccess);
      },
      [](Rank&, Widowed& w) {
        while (cudaStreamQuery(w.stream) == cudaErrorNotReady) usleep(1000);
      }};
  for (const auto& wait : waits) {
    World world(2);
    world.start([&](Rank& me) {
      Widowed w(me);
      std::atomic<bool> aborted{false};
      std::thread watchdog([&] {
        w.until_told();
        sleep(2);
        aborted = true;
        EXPECT(ncclCommAbort(w.comm) == ncclSuccess);
      });
      wait(me, w);
      EXPECT(aborted);
      watchdog.join();
    });
    CHECK(world.wait(30) == std::vector<int>{0, 0});
  }
}

TEST_CASE("one thread asks the stream and the communicator in turn, as NCCL's documentation shows") {
  World world(2);
  world.start([](Rank& me) {
    Widowed w(me);
    for (;;) {
      EXPECT(cudaStreamQuery(w.stream) == cudaErrorNotReady);
      const ncclResult_t state = w.state();
      if (state != ncclSuccess) {
        EXPECT(state == ncclRemoteError);
        break;
      }
      usleep(1000);
    }
    EXPECT(cudaStreamQuery(w.stream) == cudaErrorNotReady);
    EXPECT(ncclCommAbort(w.comm) == ncclSuccess);
    EXPECT(cudaStreamQuery(w.stream) == cudaSuccess);
    EXPECT(me.download(w.data, 1) == Numbers{0});  // the sum never came
  });
  CHECK(world.wait(30) == std::vector<int>{0, 0});
}

TEST_CASE("no wait for a rank that is gone is for ever") {
  const std::vector<std::function<void(Rank&, Widowed&)>> programs = {
      // Another thread asks, and never acts.
      [](Rank& me, Widowed& w) {
        std::thread([&] { w.until_told(); }).join();
        EXPECT(cudaStreamSynchronize(w.stream) == cudaSuccess);
      },
      // Another thread used to ask.
      [](Rank& me, Widowed& w) { EXPECT(cudaStreamSynchronize(w.stream) == cudaSuccess); },
      // Queries only.
      [](Rank&, Widowed& w) {
        while (cudaStreamQuery(w.stream) == cudaErrorNotReady) usleep(1000);
      }};
  for (size_t i = 0; i < programs.size(); ++i) {
    INFO("program " << i);
    World world(2);
    world.set("MAYA_RENDEZVOUS_TIMEOUT", "2");
    world.start([&](Rank& me) {
      Widowed w(me, i == 1);
      const double start = seconds_now();
      programs[i](me, w);
      EXPECT(seconds_now() - start > 1);
      EXPECT(seconds_now() - start < 15);
      EXPECT(w.state() == ncclRemoteError);
      EXPECT(w.reduce() == ncclRemoteError);
      EXPECT(ncclCommDestroy(w.comm) == ncclSuccess);
    });
    CHECK(world.wait(30) == std::vector<int>{0, 0});
  }
}

TEST_CASE("a communicator whose rank is gone is destroyed without waiting for it") {
  World world(2);
  world.start([](Rank& me) {
    Widowed w(me);
    w.until_told();
    std::thread([&] { EXPECT(w.state() == ncclRemoteError); }).join();
    const double start = seconds_now();
    EXPECT(ncclCommDestroy(w.comm) == ncclSuccess);
    EXPECT(cudaStreamSynchronize(w.stream) == cudaSuccess);
    EXPECT(seconds_now() - start < 5);
  });
  CHECK(world.wait(30) == std::vector<int>{0, 0});
}

TEST_CASE("a rank that never comes is named after the time-out by all others") {
  World world(3);
  world.set("MAYA_RENDEZVOUS_TIMEOUT", "1");
  world.start([](Rank& me) {
    if (me.rank == 1) _exit(0);
    ncclComm_t comm = nullptr;
    const ncclResult_t result = ncclCommInitRank(&comm, me.ranks, me.id, me.rank);
    EXPECT(result == ncclSystemError || result == ncclRemoteError);
    EXPECT(comm == nullptr);
    if (result == ncclSystemError)
      EXPECT(std::string(ncclGetLastError(nullptr)).find("rank 1 did not come in time") != std::string::npos);
  });
  CHECK(world.wait(10) == std::vector<int>{0, 0, 0});
  CHECK(names_in(world.folder + "/maya").empty());
}

TEST_CASE("two jobs at once do not meet") {
  World one(2), other(2);
  const auto body = [](int64_t number) {
    return [number](Rank& me) {
      ncclComm_t comm = me.join();
      int64_t* data = me.upload(Numbers{0});
      for (int i = 0; i < 100; ++i) {
        cudaMemcpy(data, &number, 8, cudaMemcpyHostToDevice);
        ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr);
        EXPECT(me.download(data, 1) == Numbers{2 * number});
      }
      ncclCommDestroy(comm);
    };
  };
  one.start(body(5));
  other.start(body(7));
  CHECK(one.wait(60) == std::vector<int>{0, 0});
  CHECK(other.wait(60) == std::vector<int>{0, 0});
}

TEST_CASE("calls that differ are no error, give unknown results, and later calls go on") {
  World world(2);
  CHECK(world.run([](Rank& me) {
    ncclComm_t comm = me.join();
    int64_t* data = me.upload(Numbers{1, 1});
    EXPECT(ncclAllReduce(data, data, me.rank == 0 ? 2 : 1, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(data, 1) == Numbers{0});
    EXPECT((me.rank == 0 ? ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr)
                         : ncclAllReduce(data, data, 1, ncclInt64, ncclMax, comm, nullptr)) == ncclSuccess);
    EXPECT(me.download(data, 1) == Numbers{0});
    cudaMemset(data, 0, 8);
    EXPECT(ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    ncclResult_t state = ncclInternalError;
    EXPECT(ncclCommGetAsyncError(comm, &state) == ncclSuccess);
    EXPECT(state == ncclSuccess);
    ncclCommDestroy(comm);
  }));
}

TEST_CASE("ranks that disagree about their number, and a rank that is there twice") {
  World world(3);
  world.set("MAYA_RENDEZVOUS_TIMEOUT", "2");
  world.start([](Rank& me) {
    ncclComm_t comm = nullptr;
    usleep(static_cast<useconds_t>(me.rank) * 200000);
    const ncclResult_t result = ncclCommInitRank(&comm, me.rank == 1 ? 4 : 3, me.id, me.rank == 2 ? 0 : me.rank);
    EXPECT(result == (me.rank == 0 ? ncclSystemError : ncclInvalidUsage));
  });
  CHECK(world.wait(10) == std::vector<int>{0, 0, 0});
}

TEST_CASE("a communicator that one thread aborts lets go of the others, whatever they wait in") {
  World world(2);
  CHECK(world.run([](Rank& me) {
    ncclComm_t all = me.join();
    int64_t* data = me.upload(Numbers(1000, 1));
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEvent_t event;
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    const auto reduce = [&](ncclComm_t comm) {
      return ncclAllReduce(data, data, 1000, ncclInt64, ncclMax, comm, stream);
    };
    std::vector<int64_t> back(1000);
    const std::vector<std::function<void(ncclComm_t)>> waits = {
        [&](ncclComm_t) { EXPECT(cudaStreamSynchronize(stream) == cudaSuccess); },
        [&](ncclComm_t) { EXPECT(cudaDeviceSynchronize() == cudaSuccess); },
        [&](ncclComm_t) { EXPECT(cudaMemcpy(back.data(), data, 8000, cudaMemcpyDeviceToHost) == cudaSuccess); },
        [&](ncclComm_t) {
          EXPECT(cudaEventRecord(event, stream) == cudaSuccess);
          EXPECT(cudaEventSynchronize(event) == cudaSuccess);
        },
        [&](ncclComm_t) {
          while (cudaStreamQuery(stream) == cudaErrorNotReady) usleep(1000);
        },
        // Until there is no room for more, and then none because the communicator is gone.
        [&](ncclComm_t comm) {
          ncclResult_t result = ncclSuccess;
          while (result == ncclSuccess) result = reduce(comm);
          EXPECT(result == ncclInvalidUsage || result == ncclInvalidArgument);
          EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
        },
        // As a watchdog does that asks for the state while the program aborts.
        [&](ncclComm_t comm) {
          ncclResult_t state = ncclSuccess;
          while (ncclCommGetAsyncError(comm, &state) == ncclSuccess) EXPECT(state == ncclSuccess);
          EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
        }};
    for (const auto& wait : waits) {
      ncclComm_t comm = nullptr;
      EXPECT(ncclCommSplit(all, 0, me.rank, &comm, nullptr) == ncclSuccess);
      EXPECT(reduce(comm) == ncclSuccess);
      EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
      if (me.rank == 0) {  // the other rank never calls
        EXPECT(reduce(comm) == ncclSuccess);
        std::thread other([&] {
          usleep(100000);
          EXPECT(ncclCommAbort(comm) == ncclSuccess);
        });
        const double start = seconds_now();
        wait(comm);
        EXPECT(seconds_now() - start < 20);
        other.join();
      }
      EXPECT(reduce(all) == ncclSuccess);
      EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
      if (me.rank == 1) EXPECT(ncclCommAbort(comm) == ncclSuccess);
    }
    ncclCommDestroy(all);
  }));
}

TEST_CASE("communicators aborted by two threads at once, and used by a third") {
  World world(2);
  CHECK(world.run([](Rank& me) {
    ncclComm_t all = me.join();
    int64_t* data = me.upload(Numbers{1});
    for (int i = 0; i < 50; ++i) {
      ncclComm_t comm = nullptr;
      EXPECT(ncclCommSplit(all, 0, me.rank, &comm, nullptr) == ncclSuccess);
      const auto abort = [&] {
        const ncclResult_t result = ncclCommAbort(comm);
        EXPECT(result == ncclSuccess || result == ncclInvalidArgument);
      };
      std::thread one(abort), two(abort);
      int count = 0;
      ncclResult_t state;
      ncclCommCount(comm, &count);
      ncclCommGetAsyncError(comm, &state);
      ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr);
      one.join();
      two.join();
      EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    }
    ncclCommDestroy(all);
  }));
}

TEST_CASE("two ranks on one device are refused, as NCCL does, unless they are on different machines") {
  const auto begin_on = [](int device, ncclResult_t expected) {
    return [=](Rank& me) {
      EXPECT(cudaSetDevice(device < 0 ? me.rank : device) == cudaSuccess);
      if (getenv("TEST_HOSTS") != nullptr) setenv("NCCL_HOSTID", me.rank == 0 ? "one" : "other", 1);
      ncclComm_t comm = nullptr;
      EXPECT(ncclCommInitRank(&comm, me.ranks, me.id, me.rank) == expected);
      EXPECT((comm != nullptr) == (expected == ncclSuccess));
      if (expected == ncclSuccess) return;
      const std::string text = ncclGetLastError(nullptr);
      EXPECT(text.find("Duplicate GPU detected : rank " + std::to_string(me.rank)) != std::string::npos);
    };
  };
  SECTION("one machine") {
    World world(2);
    CHECK(world.run(begin_on(0, ncclInvalidUsage)));
  }
  SECTION("as many devices as ranks") {
    World world(2);
    CHECK(world.run(begin_on(-1, ncclSuccess)));
  }
  SECTION("the same number in each process, of a different device") {
    World world(2);
    world.set("TEST_VISIBLE", "1");
    CHECK(world.run(begin_on(0, ncclSuccess)));
  }
  SECTION("machines told apart by NCCL_HOSTID") {
    World world(2);
    world.set("TEST_HOSTS", "1");
    CHECK(world.run(begin_on(0, ncclSuccess)));
  }
  SECTION("nodes of the launcher") {
    World world(2);
    world.set("LOCAL_WORLD_SIZE", "1");
    CHECK(world.run(begin_on(0, ncclSuccess)));
  }
}
