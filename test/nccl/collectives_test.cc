// Values of collectives and point-to-point calls between processes, and the order in which they may be issued.
#include <unistd.h>

#include <catch2/catch.hpp>

#include "test/nccl/world.h"

using maya::test::Rank;
using maya::test::seconds_now;
using maya::test::World;
using Numbers = std::vector<int64_t>;

TEST_CASE("every collective, out of place and in place") {
  World world(4);
  CHECK(world.run([](Rank& me) {
    ncclComm_t comm = me.join();
    const int64_t r = me.rank;
    int64_t* in = me.upload(Numbers{r, 10 + r, 20 + r, 30 + r});
    int64_t* out = me.upload(Numbers(16, -1));
    EXPECT(ncclAllReduce(in, out, 4, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 4) == Numbers{6, 46, 86, 126});
    EXPECT(ncclReduce(in, out, 4, ncclInt64, ncclMax, 2, comm, nullptr) == ncclSuccess);
    if (r == 2) EXPECT(me.download(out, 4) == Numbers{3, 13, 23, 33});
    EXPECT(ncclReduceScatter(in, out, 1, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 1) == Numbers{6 + 40 * r});
    EXPECT(ncclAllGather(in, out, 2, ncclInt64, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 8) == Numbers{0, 10, 1, 11, 2, 12, 3, 13});
    EXPECT(ncclBroadcast(in, out, 2, ncclInt64, 3, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 2) == Numbers{3, 13});
    EXPECT(ncclAlltoAll(in, out, 1, ncclInt64, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 4) == Numbers{10 * r, 10 * r + 1, 10 * r + 2, 10 * r + 3});
    EXPECT(ncclGather(in, out, 1, ncclInt64, 1, comm, nullptr) == ncclSuccess);
    if (r == 1) EXPECT(me.download(out, 4) == Numbers{0, 1, 2, 3});
    EXPECT(ncclScatter(in, out, 1, ncclInt64, 1, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 1) == Numbers{10 * r + 1});
    // In place, as the NCCL documentation defines it per collective.
    int64_t* place = me.upload(Numbers{r, r, r, r});
    EXPECT(ncclAllGather(place + r, place, 1, ncclInt64, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(place, 4) == Numbers{0, 1, 2, 3});
    EXPECT(ncclReduceScatter(place, place + r, 1, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(place + r, 1) == Numbers{4 * r});
    EXPECT(ncclBcast(place + r, 1, ncclInt64, 2, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(place + r, 1) == Numbers{8});
    EXPECT(ncclReduce(in, in, 1, ncclInt64, ncclSum, 0, comm, nullptr) == ncclSuccess);
    if (r == 0) EXPECT(me.download(in, 1) == Numbers{6});
    ncclCommDestroy(comm);
  }));
}

TEST_CASE("sends meet receives first in first out, grouped or not") {
  World world(3);
  CHECK(world.run([](Rank& me) {
    ncclComm_t comm = me.join();
    const int next = (me.rank + 1) % 3, previous = (me.rank + 2) % 3;
    int64_t* in = me.upload(Numbers{me.rank * 100, me.rank * 100 + 1});
    int64_t* out = me.upload(Numbers(4, -1));
    ncclGroupStart();
    EXPECT(ncclSend(in, 2, ncclInt64, next, comm, nullptr) == ncclSuccess);
    EXPECT(ncclRecv(out, 2, ncclInt64, previous, comm, nullptr) == ncclSuccess);
    EXPECT(ncclGroupEnd() == ncclSuccess);
    EXPECT(me.download(out, 2) == Numbers{previous * 100, previous * 100 + 1});
    // Two sends before either is received; small sends return before their receive is there.
    EXPECT(ncclSend(in, 1, ncclInt64, next, comm, nullptr) == ncclSuccess);
    EXPECT(ncclSend(in + 1, 1, ncclInt64, next, comm, nullptr) == ncclSuccess);
    EXPECT(cudaStreamSynchronize(nullptr) == cudaSuccess);
    EXPECT(ncclRecv(out + 1, 1, ncclInt64, previous, comm, nullptr) == ncclSuccess);
    EXPECT(ncclRecv(out, 1, ncclInt64, previous, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 2) == Numbers{previous * 100 + 1, previous * 100});
    ncclGroupStart();
    EXPECT(ncclSend(in, 1, ncclInt64, me.rank, comm, nullptr) == ncclSuccess);
    EXPECT(ncclRecv(out, 1, ncclInt64, me.rank, comm, nullptr) == ncclSuccess);
    EXPECT(ncclGroupEnd() == ncclSuccess);
    EXPECT(me.download(out, 1) == Numbers{me.rank * 100});
    ncclCommDestroy(comm);
  }));
}

TEST_CASE("known and unknown bytes keep apart") {
  World world(2);
  CHECK(world.run([](Rank& me) {
    ncclComm_t comm = me.join();
    // Rank 1 knows only the first of its two numbers.
    int64_t *in = nullptr, *out = me.upload(Numbers(4, -1));
    cudaMalloc(reinterpret_cast<void**>(&in), 16);
    const int64_t numbers[] = {7 + me.rank, 17};
    cudaMemcpy(in, numbers, me.rank == 0 ? 16 : 8, cudaMemcpyHostToDevice);
    EXPECT(ncclAllGather(in, out, 2, ncclInt64, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 4) == Numbers{7, 17, 8, 0});
    EXPECT(ncclAllReduce(in, out, 2, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(out, 2) == Numbers{15, 0});
    ncclCommDestroy(comm);
  }));
}

TEST_CASE("payloads travel up to their limit") {
  World world(2);
  world.set("MAYA_COLLECTIVE_BYTES", "4096");
  CHECK(world.run([](Rank& me) {
    ncclComm_t comm = me.join();
    for (const size_t count : {512, 513}) {
      int64_t* data = me.upload(Numbers(count, me.rank + 1));
      EXPECT(ncclAllReduce(data, data, count, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
      EXPECT(me.download(data, count) == Numbers(count, count == 512 ? 3 : 0));
    }
    ncclCommDestroy(comm);
  }));
}

TEST_CASE("ranks may issue calls of different communicators in different orders") {
  World world(4);
  CHECK(world.run([](Rank& me) {
    ncclComm_t a = me.join(), b = nullptr;
    EXPECT(ncclCommSplit(a, 0, me.rank, &b, nullptr) == ncclSuccess);
    cudaStream_t streams[2];
    for (cudaStream_t& stream : streams) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    int64_t* data[] = {me.upload(Numbers{1}), me.upload(Numbers{10})};
    for (int round = 0; round < 50; ++round) {
      for (int i = 0; i < 2; ++i) {
        const int which = (i + me.rank) % 2;
        EXPECT(ncclAllReduce(data[which], data[which], 1, ncclInt64, ncclMax, which == 0 ? a : b, streams[which]) ==
               ncclSuccess);
      }
      // Also the order of waiting differs, and with it who reads before all have posted.
      for (int i = 0; i < 2; ++i) EXPECT(cudaStreamSynchronize(streams[(i + me.rank / 2) % 2]) == cudaSuccess);
    }
    EXPECT(me.download(data[0], 1) == Numbers{1});
    EXPECT(me.download(data[1], 1) == Numbers{10});
    ncclCommDestroy(b);
    ncclCommDestroy(a);
  }));
}

TEST_CASE("a chain of calls: each takes the result of the one before") {
  World world(2);
  CHECK(world.run([](Rank& me) {
    ncclComm_t comm = me.join();
    int64_t* data = me.upload(Numbers{1});
    for (int i = 0; i < 20; ++i) EXPECT(ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    EXPECT(me.download(data, 1) == Numbers{1 << 20});
    ncclCommDestroy(comm);
  }));
}

TEST_CASE("synchronising waits for the other ranks, issuing does not") {
  World world(2);
  CHECK(world.run([](Rank& me) {
    ncclComm_t comm = me.join();
    int64_t* data = me.upload(Numbers{1});
    int64_t* large = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&large), 64 << 20);
    cudaStream_t stream, other;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaEvent_t event;
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, stream);
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    if (me.rank == 1) usleep(400000);
    const double start = seconds_now();
    // Bytes that do not travel are waited for too: programs use such calls as barriers.
    EXPECT(ncclAllReduce(large, large, 8 << 20, ncclInt64, ncclSum, comm, stream) == ncclSuccess);
    EXPECT(cudaEventRecord(event, stream) == cudaSuccess);
    EXPECT(cudaStreamSynchronize(other) == cudaSuccess);
    if (me.rank == 0) {
      EXPECT(seconds_now() - start < 0.2);
      EXPECT(cudaEventQuery(event) == cudaErrorNotReady);
      EXPECT(cudaStreamQuery(stream) == cudaErrorNotReady);
    }
    EXPECT(cudaStreamWaitEvent(other, event, 0) == cudaSuccess);
    EXPECT(cudaStreamSynchronize(other) == cudaSuccess);
    if (me.rank == 0) EXPECT(seconds_now() - start > 0.3);
    ncclCommDestroy(comm);
  }));
}

TEST_CASE("results do not overwrite what came after them") {
  World world(2);
  CHECK(world.run([](Rank& me) {
    ncclComm_t comm = me.join();
    int64_t* data = me.upload(Numbers{1, 2, 3});
    if (me.rank == 1) usleep(200000);
    EXPECT(ncclAllReduce(data, data, 3, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    EXPECT(cudaMemsetAsync(data + 1, 0, 8, nullptr) == cudaSuccess);
    EXPECT(me.download(data, 3) == Numbers{2, 0, 6});
    // Memory that was freed and given out again.
    EXPECT(ncclAllReduce(data, data, 3, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    cudaFree(data);
    int64_t* again = me.upload(Numbers{5, 5, 5});
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    EXPECT(me.download(again, 3) == Numbers{5, 5, 5});
    ncclCommDestroy(comm);
  }));
}

TEST_CASE("collectives of a captured graph travel with every launch") {
  World world(2);
  CHECK(world.run([](Rank& me) {
    ncclComm_t comm = me.join();
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    int64_t* data = me.upload(Numbers{1, 5});
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    EXPECT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    EXPECT(ncclAllReduce(data, data, 1, ncclInt64, ncclSum, comm, stream) == ncclSuccess);
    EXPECT(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    EXPECT(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
    EXPECT(me.download(data, 2) == Numbers{1, 5});
    for (int i = 0; i < 3; ++i) EXPECT(cudaGraphLaunch(executable, stream) == cudaSuccess);
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    EXPECT(me.download(data, 2) == Numbers{8, 5});
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    ncclCommDestroy(comm);
  }));
}
