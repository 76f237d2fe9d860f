// Communicators of one process: values that really travel, documented error codes (NCCL documentation, "API").
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdlib.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace {

const int kEnvironment = [] {
  setenv("MAYA_DEVICES", "4", 1);
  setenv("MAYA_TRACE", "0", 1);
  return 0;
}();

template <typename T>
T* upload(const std::vector<T>& values) {
  void* p = nullptr;
  REQUIRE(cudaMalloc(&p, values.size() * sizeof(T)) == cudaSuccess);
  REQUIRE(cudaMemcpy(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
  return static_cast<T*>(p);
}

template <typename T>
std::vector<T> download(const T* p, size_t count) {
  std::vector<T> values(count);
  REQUIRE(cudaMemcpy(values.data(), p, count * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
  return values;
}

// Four devices of one process, each with buffers, as torch.nn.DataParallel uses NCCL.
struct World {
  static constexpr int kRanks = 4;
  World() { REQUIRE(ncclCommInitAll(comms, kRanks, nullptr) == ncclSuccess); }
  ~World() {
    for (ncclComm_t comm : comms) ncclCommDestroy(comm);
  }
  template <typename Call>
  ncclResult_t all(Call&& call) {
    ncclGroupStart();
    for (int r = 0; r < kRanks; ++r) {
      cudaSetDevice(r);
      if (const ncclResult_t result = call(r); result != ncclSuccess) return result;
    }
    return ncclGroupEnd();
  }
  ncclComm_t comms[kRanks] = {};
};

}  // namespace

TEST_CASE("one rank: results are its own data") {
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  ncclComm_t comm;
  REQUIRE(ncclCommInitRank(&comm, 1, id, 0) == ncclSuccess);
  int count = 0, rank = -1, device = -1;
  CHECK(ncclCommCount(comm, &count) == ncclSuccess);
  CHECK(ncclCommUserRank(comm, &rank) == ncclSuccess);
  CHECK(ncclCommCuDevice(comm, &device) == ncclSuccess);
  CHECK((count == 1 && rank == 0 && device == 0));
  float* in = upload<float>({1, 2, 3});
  float* out = upload<float>({0, 0, 0});
  REQUIRE(ncclAllReduce(in, out, 3, ncclFloat, ncclSum, comm, nullptr) == ncclSuccess);
  CHECK(download(out, 3) == std::vector<float>{1, 2, 3});
  SECTION("send and receive to itself pair inside a group") {
    float* other = upload<float>({9, 9, 9});
    ncclGroupStart();
    CHECK(ncclSend(in, 3, ncclFloat, 0, comm, nullptr) == ncclSuccess);
    CHECK(ncclRecv(other, 3, ncclFloat, 0, comm, nullptr) == ncclSuccess);
    CHECK(ncclGroupEnd() == ncclSuccess);
    CHECK(download(other, 3) == std::vector<float>{1, 2, 3});
  }
  SECTION("documented refusals") {
    CHECK(ncclAllReduce(in, out, 3, ncclNumTypes, ncclSum, comm, nullptr) == ncclInvalidArgument);
    CHECK(ncclBroadcast(in, out, 3, ncclFloat, 1, comm, nullptr) == ncclInvalidArgument);
    CHECK(ncclAllReduce(nullptr, out, 3, ncclFloat, ncclSum, comm, nullptr) == ncclInvalidArgument);
    CHECK(ncclAllReduce(in, out, 3, ncclFloat, ncclSum, nullptr, nullptr) == ncclInvalidArgument);
    CHECK(std::string(ncclGetLastError(nullptr)) != "");
    CHECK(ncclGroupEnd() == ncclInvalidUsage);
  }
  CHECK(ncclCommDestroy(comm) == ncclSuccess);
  CHECK(ncclCommCount(comm, &count) == ncclInvalidArgument);
}

// PyTorch times a batch of sends and receives by events around ncclGroupEnd.
TEST_CASE("the calls of a group are launched at its end, on the device that was current") {
  World world;
  constexpr size_t kCount = 64 << 20;  // of floats
  std::vector<float*> data(4);
  cudaEvent_t before, inside, after;
  for (int r = 0; r < 4; ++r) {
    REQUIRE(cudaSetDevice(r) == cudaSuccess);
    REQUIRE(cudaMalloc(&data[r], kCount * sizeof(float)) == cudaSuccess);
  }
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  for (cudaEvent_t* event : {&before, &inside, &after}) REQUIRE(cudaEventCreate(event) == cudaSuccess);
  REQUIRE(cudaEventRecord(before, nullptr) == cudaSuccess);
  REQUIRE(ncclGroupStart() == ncclSuccess);
  for (int r = 0; r < 4; ++r) {
    REQUIRE(cudaSetDevice(r) == cudaSuccess);
    REQUIRE(ncclAllReduce(data[r], data[r], kCount, ncclFloat, ncclSum, world.comms[r], nullptr) == ncclSuccess);
  }
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  REQUIRE(cudaEventRecord(inside, nullptr) == cudaSuccess);
  REQUIRE(cudaSetDevice(3) == cudaSuccess);
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  int device = -1;
  CHECK((cudaGetDevice(&device) == cudaSuccess && device == 3));
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  REQUIRE(cudaEventRecord(after, nullptr) == cudaSuccess);
  REQUIRE(cudaEventSynchronize(after) == cudaSuccess);
  float nothing = -1, all = -1;
  REQUIRE(cudaEventElapsedTime(&nothing, before, inside) == cudaSuccess);
  REQUIRE(cudaEventElapsedTime(&all, inside, after) == cudaSuccess);
  // A ring moves 2 * 3 / 4 * 256 MiB a rank, at most at the 450 GB/s of an H100's NVLink: 0.89 ms.
  CHECK(all > 0.89f);
  CHECK(nothing < all / 2);
  for (cudaEvent_t event : {before, inside, after}) cudaEventDestroy(event);
  for (float* one : data) cudaFree(one);
}

TEST_CASE("ranks that do not come in time are named") {
  setenv("MAYA_RENDEZVOUS_TIMEOUT", "1", 1);
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  ncclComm_t comm;
  CHECK(ncclCommInitRank(&comm, 3, id, 1) == ncclSystemError);
  CHECK(comm == nullptr);
  CHECK(std::string(ncclGetLastError(nullptr)).find("rank 0 and 2 did not come in time") != std::string::npos);
  unsetenv("MAYA_RENDEZVOUS_TIMEOUT");
}

TEST_CASE("collectives over four devices carry values") {
  World world;
  std::vector<int64_t*> in(4), out(4);
  for (int r = 0; r < 4; ++r) {
    REQUIRE(cudaSetDevice(r) == cudaSuccess);
    in[r] = upload<int64_t>({r, 10 + r, 20 + r, 30 + r});
    out[r] = upload<int64_t>(std::vector<int64_t>(16, -1));
  }
  SECTION("all-reduce: sum of 0..3 is 6, of 10..13 is 46") {
    REQUIRE(world.all([&](int r) {
      return ncclAllReduce(in[r], out[r], 4, ncclInt64, ncclSum, world.comms[r], nullptr);
    }) == ncclSuccess);
    for (int r = 0; r < 4; ++r) CHECK(download(out[r], 4) == std::vector<int64_t>{6, 46, 86, 126});
  }
  SECTION("in place") {
    REQUIRE(world.all([&](int r) {
      return ncclAllReduce(in[r], in[r], 4, ncclInt64, ncclMax, world.comms[r], nullptr);
    }) == ncclSuccess);
    for (int r = 0; r < 4; ++r) CHECK(download(in[r], 4) == std::vector<int64_t>{3, 13, 23, 33});
  }
  SECTION("all-gather") {
    REQUIRE(world.all([&](int r) { return ncclAllGather(in[r], out[r], 1, ncclInt64, world.comms[r], nullptr); }) ==
            ncclSuccess);
    for (int r = 0; r < 4; ++r) CHECK(download(out[r], 4) == std::vector<int64_t>{0, 1, 2, 3});
  }
  SECTION("reduce-scatter: rank r gets column r's sum") {
    REQUIRE(world.all([&](int r) {
      return ncclReduceScatter(in[r], out[r], 1, ncclInt64, ncclSum, world.comms[r], nullptr);
    }) == ncclSuccess);
    const int64_t sums[] = {6, 46, 86, 126};
    for (int r = 0; r < 4; ++r) CHECK(download(out[r], 1)[0] == sums[r]);
  }
  SECTION("broadcast from rank 2") {
    REQUIRE(world.all([&](int r) { return ncclBroadcast(in[r], out[r], 2, ncclInt64, 2, world.comms[r], nullptr); }) ==
            ncclSuccess);
    for (int r = 0; r < 4; ++r) CHECK(download(out[r], 2) == std::vector<int64_t>{2, 12});
  }
  SECTION("all-to-all transposes") {
    REQUIRE(world.all([&](int r) { return ncclAlltoAll(in[r], out[r], 1, ncclInt64, world.comms[r], nullptr); }) ==
            ncclSuccess);
    for (int r = 0; r < 4; ++r)
      CHECK(download(out[r], 4) == std::vector<int64_t>{10 * r, 10 * r + 1, 10 * r + 2, 10 * r + 3});
  }
  SECTION("ring of sends and receives") {
    REQUIRE(world.all([&](int r) {
      ncclSend(in[r], 1, ncclInt64, (r + 1) % 4, world.comms[r], nullptr);
      return ncclRecv(out[r], 1, ncclInt64, (r + 3) % 4, world.comms[r], nullptr);
    }) == ncclSuccess);
    for (int r = 0; r < 4; ++r) CHECK(download(out[r], 1)[0] == (r + 3) % 4);
  }
  SECTION("an unknown contribution makes the result unknown, which reads as zero") {
    cudaSetDevice(1);
    cudaFree(in[1]);
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&in[1]), 32) == cudaSuccess);
    REQUIRE(world.all([&](int r) {
      return ncclAllReduce(in[r], out[r], 4, ncclInt64, ncclSum, world.comms[r], nullptr);
    }) == ncclSuccess);
    for (int r = 0; r < 4; ++r) CHECK(download(out[r], 4) == std::vector<int64_t>(4, 0));
  }
  SECTION("ranks that disagree are no error, as on a device; the result is unknown") {
    CHECK(world.all([&](int r) {
      return ncclAllReduce(in[r], out[r], r == 3 ? 3 : 4, ncclInt64, ncclSum, world.comms[r], nullptr);
    }) == ncclSuccess);
    for (int r = 0; r < 4; ++r) CHECK(download(out[r], 3) == std::vector<int64_t>(3, 0));
  }
}

TEST_CASE("reductions in 16-bit types") {
  World world;
  std::vector<uint16_t*> data(4);
  SECTION("bfloat16: 1 + 2 + 3 + 4 = 10, averaged 2.5 = 0x4020") {
    const uint16_t values[] = {0x3f80, 0x4000, 0x4040, 0x4080};
    for (int r = 0; r < 4; ++r) cudaSetDevice(r), data[r] = upload<uint16_t>({values[r]});
    REQUIRE(world.all([&](int r) {
      return ncclAllReduce(data[r], data[r], 1, ncclBfloat16, ncclAvg, world.comms[r], nullptr);
    }) == ncclSuccess);
    CHECK(download(data[2], 1)[0] == 0x4020);
  }
  SECTION("float16: product of 1.5, 2, 0.5 and -4 is -6 = 0xc600") {
    const uint16_t values[] = {0x3e00, 0x4000, 0x3800, 0xc400};
    for (int r = 0; r < 4; ++r) cudaSetDevice(r), data[r] = upload<uint16_t>({values[r]});
    REQUIRE(world.all([&](int r) {
      return ncclAllReduce(data[r], data[r], 1, ncclFloat16, ncclProd, world.comms[r], nullptr);
    }) == ncclSuccess);
    CHECK(download(data[0], 1)[0] == 0xc600);
  }
}
