#include "module_helpers.h"

using namespace maya::test;

namespace {

// "first": 40 registers (1,280 a warp: 48 warps fit 65,536), 1,200 bytes of shared memory, on an H100 with 132
// multiprocessors.
CUfunction function() {
  current_context();
  static const CUfunction made = [] {
    static const auto image = sample_cubin();
    CUmodule module = nullptr;
    CUfunction got = nullptr;
    if (cuModuleLoadData(&module, image.data()) == CUDA_SUCCESS) cuModuleGetFunction(&got, module, "first");
    return got;
  }();
  REQUIRE(made != nullptr);
  return made;
}

size_t two_kilobytes_a_warp(int threads) { return static_cast<size_t>(threads) / 32 * 2048; }

}  // namespace

TEST_CASE("active blocks", "[occupancy]") {
  int blocks = 0;
  REQUIRE(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function(), 256, 0) == CUDA_SUCCESS);
  CHECK(blocks == 6);  // 48 warps / 8
  REQUIRE(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, function(), 1024, 0,
                                                               CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) == CUDA_SUCCESS);
  CHECK(blocks == 1);
  REQUIRE(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function(), 256, 40 << 10) == CUDA_SUCCESS);
  CHECK(blocks == 5);  // 40,960 + 1,200 + 1,024 = 43,184 -> 43,264; 233,472 / 43,264
  CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function(), 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, function(), 32, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nullptr, 32, 0) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, function(), 32, 0, 8) ==
        CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("best block size", "[occupancy]") {
  int grid = 0, block = 0;
  REQUIRE(cuOccupancyMaxPotentialBlockSize(&grid, &block, function(), nullptr, 0, 0) == CUDA_SUCCESS);
  CHECK(block == 768);  // twice 24 warps fill the 48
  CHECK(grid == 264);
  REQUIRE(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, function(), two_kilobytes_a_warp, 0, 256, 0) ==
          CUDA_SUCCESS);
  CHECK(block <= 256);
  CHECK(grid % 132 == 0);
  CHECK(cuOccupancyMaxPotentialBlockSize(nullptr, &block, function(), nullptr, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuOccupancyMaxPotentialBlockSize(&grid, &block, function(), nullptr, 0, -1) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("available dynamic shared memory", "[occupancy]") {
  size_t bytes = 0;
  REQUIRE(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, function(), 2, 256) == CUDA_SUCCESS);
  CHECK(bytes == (48 << 10) - 1200);
  CHECK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, function(), 0, 256) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, function(), 99, 256) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("clusters", "[occupancy]") {
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 1024;
  config.blockDimY = config.blockDimZ = 1;
  int size = 0, clusters = 0;
  REQUIRE(cuOccupancyMaxPotentialClusterSize(&size, function(), &config) == CUDA_SUCCESS);
  CHECK(size == 8);  // the portable limit
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.x = 2;
  attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  REQUIRE(cuOccupancyMaxActiveClusters(&clusters, function(), &config) == CUDA_SUCCESS);
  CHECK(clusters == 66);
  attribute.value.clusterDim.x = 16;
  CHECK(cuOccupancyMaxActiveClusters(&clusters, function(), &config) == CUDA_ERROR_INVALID_CLUSTER_SIZE);
  CHECK(cuOccupancyMaxActiveClusters(&clusters, function(), nullptr) == CUDA_ERROR_INVALID_VALUE);
}
