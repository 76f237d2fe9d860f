// The requirements that the documentation of cuTensorMapEncodeTiled lists, each at its boundary.
#include <cstring>

#include "module_helpers.h"

using namespace maya::test;

namespace {

// A valid description of a 3-dimensional tensor of 16-bit floats, to be changed by a test.
struct Tiled {
  alignas(64) CUtensorMap map = {};
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  cuuint32_t rank = 3;
  uint64_t address = 0x7f0000000000;
  cuuint64_t dimensions[5] = {64, 32, 16, 2, 2};
  cuuint64_t strides[4] = {128, 4096, 65536, 131072};
  cuuint32_t box[5] = {64, 8, 4, 1, 1};
  cuuint32_t element_strides[5] = {1, 1, 1, 1, 1};
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;

  CUresult encode() {
    current_context();
    return cuTensorMapEncodeTiled(&map, type, rank, reinterpret_cast<void*>(address), dimensions, strides, box,
                                  element_strides, interleave, swizzle, promotion, fill);
  }
};

template <typename Change>
CUresult with(Change&& change) {
  Tiled tiled;
  change(tiled);
  return tiled.encode();
}

}  // namespace

TEST_CASE("equal arguments give equal descriptors, another address does not", "[tensormap]") {
  Tiled a, b;
  std::memset(&b.map, 0xaa, sizeof(b.map));
  REQUIRE(a.encode() == CUDA_SUCCESS);
  REQUIRE(b.encode() == CUDA_SUCCESS);
  CHECK(std::memcmp(&a.map, &b.map, sizeof(a.map)) == 0);
  b.address += 4096;
  REQUIRE(b.encode() == CUDA_SUCCESS);
  CHECK(std::memcmp(&a.map, &b.map, sizeof(a.map)) != 0);
  REQUIRE(cuTensorMapReplaceAddress(&a.map, reinterpret_cast<void*>(b.address)) == CUDA_SUCCESS);
  CHECK(std::memcmp(&a.map, &b.map, sizeof(a.map)) == 0);
  CHECK(cuTensorMapReplaceAddress(&a.map, reinterpret_cast<void*>(b.address + 8)) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuTensorMapReplaceAddress(nullptr, reinterpret_cast<void*>(b.address)) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("documented requirements", "[tensormap]") {
  const CUresult bad = CUDA_ERROR_INVALID_VALUE;
  CHECK(with([](Tiled& t) { t.rank = 0; }) == bad);
  CHECK(with([](Tiled& t) { t.rank = 5; }) == CUDA_SUCCESS);
  CHECK(with([](Tiled& t) { t.rank = 6; }) == bad);
  CHECK(with([](Tiled& t) { t.rank = 1; }) == CUDA_SUCCESS);
  CHECK(with([](Tiled& t) { t.rank = 2, t.interleave = CU_TENSOR_MAP_INTERLEAVE_16B; }) == bad);
  CHECK(with([](Tiled& t) { t.address += 8; }) == bad);
  CHECK(with([](Tiled& t) { t.address += 16; }) == CUDA_SUCCESS);
  CHECK(with([](Tiled& t) { t.dimensions[1] = 0; }) == bad);
  CHECK(with([](Tiled& t) { t.dimensions[1] = 1ull << 32; }) == CUDA_SUCCESS);
  CHECK(with([](Tiled& t) { t.dimensions[1] = (1ull << 32) + 1; }) == bad);
  CHECK(with([](Tiled& t) { t.strides[0] = 120; }) == bad);
  CHECK(with([](Tiled& t) { t.strides[0] = 1ull << 40; }) == bad);
  CHECK(with([](Tiled& t) { t.box[1] = 0; }) == bad);
  CHECK(with([](Tiled& t) { t.box[1] = 256; }) == CUDA_SUCCESS);
  CHECK(with([](Tiled& t) { t.box[1] = 257; }) == bad);
  CHECK(with([](Tiled& t) { t.box[0] = 4; }) == bad);   // 8 bytes: no multiple of 16
  CHECK(with([](Tiled& t) { t.box[0] = 72; }) == bad);  // 144 bytes: more than the swizzle of 128
  CHECK(with([](Tiled& t) { t.swizzle = CU_TENSOR_MAP_SWIZZLE_64B; }) == bad);
  CHECK(with([](Tiled& t) { t.swizzle = CU_TENSOR_MAP_SWIZZLE_NONE, t.box[0] = 256; }) == CUDA_SUCCESS);
  CHECK(with([](Tiled& t) { t.element_strides[2] = 0; }) == bad);
  CHECK(with([](Tiled& t) { t.element_strides[2] = 8; }) == CUDA_SUCCESS);
  CHECK(with([](Tiled& t) { t.element_strides[2] = 9; }) == bad);
  CHECK(with([](Tiled& t) { t.interleave = CU_TENSOR_MAP_INTERLEAVE_32B; }) == bad);  // needs the 32-byte swizzle
  CHECK(with([](Tiled& t) { t.interleave = CU_TENSOR_MAP_INTERLEAVE_32B, t.swizzle = CU_TENSOR_MAP_SWIZZLE_32B; }) ==
        CUDA_SUCCESS);
  CHECK(with([](Tiled& t) { t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA; }) == CUDA_SUCCESS);
  CHECK(with([](Tiled& t) {
          t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA, t.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
        }) == bad);
  CHECK(with([](Tiled& t) { t.type = static_cast<CUtensorMapDataType>(99); }) == bad);
  CHECK(with([](Tiled& t) { t.promotion = static_cast<CUtensorMapL2promotion>(9); }) == bad);
}

// The documentation asks for maps at multiples of 64 bytes. Programs keep theirs in memory from malloc (cuda.core
// inside Python objects), at multiples of 16, and run on devices.
TEST_CASE("A tensor map is taken wherever it is", "[tensormap]") {
  current_context();
  alignas(64) unsigned char room[3 * sizeof(CUtensorMap)] = {};
  Tiled t;
  REQUIRE(t.encode() == CUDA_SUCCESS);
  for (const size_t offset : {size_t{16}, size_t{8}, size_t{1}}) {
    auto* map = reinterpret_cast<CUtensorMap*>(room + offset);
    REQUIRE(cuTensorMapEncodeTiled(map, t.type, 3, reinterpret_cast<void*>(t.address), t.dimensions, t.strides, t.box,
                                   t.element_strides, t.interleave, t.swizzle, t.promotion, t.fill) == CUDA_SUCCESS);
    CHECK(std::memcmp(map, &t.map, sizeof(t.map)) == 0);
    CHECK(cuTensorMapReplaceAddress(map, reinterpret_cast<void*>(t.address + 32)) == CUDA_SUCCESS);
    CHECK(std::memcmp(map, &t.map, sizeof(t.map)) != 0);
  }
}

TEST_CASE("image to column maps", "[tensormap]") {
  Tiled t;
  int lower[3] = {-1, -1, 0}, upper[3] = {1, 1, 0};
  const auto encode = [&](cuuint32_t channels, cuuint32_t pixels) {
    current_context();
    return cuTensorMapEncodeIm2col(&t.map, t.type, t.rank, reinterpret_cast<void*>(t.address), t.dimensions, t.strides,
                                   lower, upper, channels, pixels, t.element_strides, t.interleave, t.swizzle,
                                   t.promotion, t.fill);
  };
  t.rank = 4;
  CHECK(encode(64, 1024) == CUDA_SUCCESS);
  CHECK(encode(64, 1025) == CUDA_ERROR_INVALID_VALUE);
  CHECK(encode(257, 64) == CUDA_ERROR_INVALID_VALUE);
  lower[0] = -129;  // rank 4: within [-128, 127]
  CHECK(encode(64, 64) == CUDA_ERROR_INVALID_VALUE);
  lower[0] = -1;
  t.rank = 2;
  CHECK(encode(64, 64) == CUDA_ERROR_INVALID_VALUE);
}
