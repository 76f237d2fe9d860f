// Every type and reduction across processes. Even ranks give 1, odd ranks 2: the sum is 1.5 N, the product 2^(N/2), the
// maximum 2, the minimum 1, the average 1.5 (1 for integers). Codes of narrow floats are from the formats' definitions
// (IEEE 754 binary16; bfloat16; Open Compute Project OFP8 E4M3 with bias 7 and E5M2 with bias 15).
#include <string.h>

#include <catch2/catch.hpp>
#include <map>

#include "test/nccl/world.h"

using maya::test::Rank;
using maya::test::World;

namespace {

const std::map<double, uint16_t> kHalf = {{1, 0x3c00}, {1.5, 0x3e00}, {2, 0x4000},  {3, 0x4200},
                                          {4, 0x4400}, {6, 0x4600},   {12, 0x4a00}, {16, 0x4c00}};
const std::map<double, uint16_t> kBfloat = {{1, 0x3f80}, {1.5, 0x3fc0}, {2, 0x4000},  {3, 0x4040},
                                            {4, 0x4080}, {6, 0x40c0},   {12, 0x4140}, {16, 0x4180}};
const std::map<double, uint16_t> kE4m3 = {{1, 0x38}, {1.5, 0x3c}, {2, 0x40},  {3, 0x44},
                                          {4, 0x48}, {6, 0x4c},   {12, 0x54}, {16, 0x58}};
const std::map<double, uint16_t> kE5m2 = {{1, 0x3c}, {1.5, 0x3e}, {2, 0x40},  {3, 0x42},  {4, 0x44},
                                          {6, 0x46}, {12, 0x4a},  {16, 0x4c}, {10, 0x49}, {1.25, 0x3d}};

template <typename T>
std::vector<unsigned char> bytes_of(T value) {
  std::vector<unsigned char> bytes(sizeof value);
  memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::vector<unsigned char> encode(ncclDataType_t type, double value) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return bytes_of(static_cast<uint8_t>(value));
    case ncclInt32:
    case ncclUint32:
      return bytes_of(static_cast<uint32_t>(value));
    case ncclInt64:
    case ncclUint64:
      return bytes_of(static_cast<uint64_t>(value));
    case ncclFloat16:
      return bytes_of(kHalf.at(value));
    case ncclFloat32:
      return bytes_of(static_cast<float>(value));
    case ncclFloat64:
      return bytes_of(value);
    case ncclBfloat16:
      return bytes_of(kBfloat.at(value));
    case ncclFloat8e4m3:
      return bytes_of(static_cast<uint8_t>(kE4m3.at(value)));
    default:
      return bytes_of(static_cast<uint8_t>(kE5m2.at(value)));
  }
}

bool is_integer(int type) { return type <= ncclUint64; }

}  // namespace

TEST_CASE("every type and reduction, 2, 4 and 8 processes") {
  const int ranks = GENERATE(2, 4, 8);
  World world(ranks);
  CHECK(world.run([&](Rank& me) {
    ncclComm_t comm = me.join();
    for (int type = 0; type < ncclNumTypes; ++type)
      for (int operation = 0; operation < ncclNumOps; ++operation) {
        const double n = me.ranks;
        double sums[] = {1.5 * n, static_cast<double>(1 << (me.ranks / 2)), 2, 1, is_integer(type) ? 1 : 1.5};
        // E5M2 has two bits of mantissa, and every step is rounded to even: 1, 3, 4, 6, 7, 8, 8, 10.
        if (type == ncclFloat8e5m2 && me.ranks == 8) {
          sums[ncclSum] = 10;
          sums[ncclAvg] = 1.25;
        }
        unsigned char* data = me.upload(encode(static_cast<ncclDataType_t>(type), me.rank % 2 == 0 ? 1 : 2));
        EXPECT(ncclAllReduce(data, data, 1, static_cast<ncclDataType_t>(type), static_cast<ncclRedOp_t>(operation),
                             comm, nullptr) == ncclSuccess);
        const auto expected = encode(static_cast<ncclDataType_t>(type), sums[operation]);
        EXPECT(me.download(data, expected.size()) == expected);
        cudaFree(data);
      }
    EXPECT(ncclCommDestroy(comm) == ncclSuccess);
  }));
}

TEST_CASE("sums that are scaled before") {
  World world(2);
  CHECK(world.run([](Rank& me) {
    ncclComm_t comm = me.join();
    // 0.5 x 3 + 0.5 x 5 = 4; the scalar of rank 1 lies in device memory.
    const float half = 0.5f;
    float* in_device = me.upload(std::vector<float>{0.5f});
    ncclRedOp_t operation;
    EXPECT(ncclRedOpCreatePreMulSum(&operation, me.rank == 0 ? const_cast<float*>(&half) : in_device, ncclFloat,
                                    me.rank == 0 ? ncclScalarHostImmediate : ncclScalarDevice, comm) == ncclSuccess);
    float* data = me.upload(std::vector<float>{me.rank == 0 ? 3.0f : 5.0f});
    EXPECT(ncclAllReduce(data, data, 1, ncclFloat, operation, comm, nullptr) == ncclSuccess);
    EXPECT(ncclAllReduce(data, data, 1, ncclHalf, operation, comm, nullptr) == ncclInvalidArgument);
    EXPECT(me.download(data, 1)[0] == 4.0f);
    EXPECT(ncclRedOpDestroy(operation, comm) == ncclSuccess);
    EXPECT(ncclRedOpDestroy(operation, comm) == ncclInvalidArgument);
    ncclCommDestroy(comm);
  }));
}
