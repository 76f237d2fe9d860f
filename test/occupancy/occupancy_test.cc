// Expected values are worked out by hand from the tables of the CUDA C++ programming guide ("Technical specifications
// per compute capability") and the rules of NVIDIA's occupancy calculator: registers in units of 256 a warp, shared
// memory in units of 128 bytes with 1 KiB reserved in each block.
#include "virtual_device/occupancy.h"

#include <catch2/catch.hpp>

using namespace maya::device;

namespace {

DeviceProfile hopper() {
  DeviceProfile profile;
  profile.compute_major = 9;
  profile.multiprocessors = 132;
  profile.shared_bytes_per_multiprocessor = 233472;  // 228 KiB
  profile.shared_bytes_per_block_optin = 232448;     // 227 KiB
  return profile;
}

DeviceProfile ampere() {
  DeviceProfile profile;
  profile.compute_major = 8;
  profile.multiprocessors = 108;
  profile.shared_bytes_per_multiprocessor = 167936;  // 164 KiB
  profile.shared_bytes_per_block_optin = 166912;     // 163 KiB
  return profile;
}

DeviceProfile ada() {
  DeviceProfile profile;
  profile.compute_major = 8;
  profile.compute_minor = 9;
  profile.multiprocessors = 142;
  profile.threads_per_multiprocessor = 1536;
  profile.blocks_per_multiprocessor = 24;
  profile.shared_bytes_per_multiprocessor = 102400;  // 100 KiB
  profile.shared_bytes_per_block_optin = 101376;     // 99 KiB
  return profile;
}

BlockNeeds needs(uint32_t threads, uint32_t registers, uint64_t dynamic_shared = 0, int32_t limit = -1) {
  BlockNeeds made;
  made.threads = threads;
  made.registers = registers;
  made.dynamic_shared_bytes = dynamic_shared;
  made.max_dynamic_shared_bytes = limit;
  return made;
}

}  // namespace

TEST_CASE("threads and blocks limit", "[occupancy]") {
  CHECK(active_blocks(hopper(), needs(1024, 32)) == 2);  // 64 warps / 32
  CHECK(active_blocks(hopper(), needs(256, 32)) == 8);   // 64 / 8
  CHECK(active_blocks(hopper(), needs(32, 16)) == 32);   // block limit
  CHECK(active_blocks(hopper(), needs(33, 16)) == 32);   // 64 / 2
  CHECK(active_blocks(ada(), needs(256, 32)) == 6);      // 48 / 8
  CHECK(active_blocks(ada(), needs(1024, 32)) == 1);     // 48 / 32
  CHECK(active_blocks(ada(), needs(32, 16)) == 24);
  CHECK(active_blocks(hopper(), needs(1025, 16)) == 0);
  CHECK(active_blocks(hopper(), needs(0, 16)) == 0);
}

TEST_CASE("registers limit", "[occupancy]") {
  // 128 registers x 32 = 4,096 a warp; a partition has 16,384: 4 warps, 16 on the multiprocessor; a block of 256 has 8.
  CHECK(active_blocks(hopper(), needs(256, 128)) == 2);
  // 33 registers: 1,056 rounded up to 1,280 a warp: 12 a partition, 48 in all; blocks of 8 warps.
  CHECK(active_blocks(hopper(), needs(256, 33)) == 6);
  // 255: 8,160 -> 8,192: 2 a partition, 8 in all.
  CHECK(active_blocks(hopper(), needs(128, 255)) == 2);
  CHECK(active_blocks(hopper(), needs(256, 255)) == 1);
  CHECK(active_blocks(hopper(), needs(512, 255)) == 0);  // 16 warps need 131,072 registers
  // 96: 3,072 a warp, 5 a partition, 20 in all; 20 / 6 warps.
  CHECK(active_blocks(hopper(), needs(192, 96)) == 3);
  CHECK(active_blocks(hopper(), needs(32, 256)) == 0);  // more than a thread can have
}

TEST_CASE("shared memory limits", "[occupancy]") {
  // 48 KiB + 1 KiB reserved: 228 / 49 = 4.
  CHECK(active_blocks(hopper(), needs(128, 32, 48 << 10)) == 4);
  // 164 / 49 = 3.
  CHECK(active_blocks(ampere(), needs(128, 32, 48 << 10)) == 3);
  // Above 48 KiB only after the attribute was set.
  CHECK(active_blocks(hopper(), needs(128, 32, 100 << 10)) == 0);
  CHECK(active_blocks(hopper(), needs(128, 32, 100 << 10, 100 << 10)) == 2);  // 228 / 101
  CHECK(active_blocks(hopper(), needs(128, 32, 227 << 10, 227 << 10)) == 1);
  CHECK(active_blocks(hopper(), needs(128, 32, (227 << 10) + 1, (227 << 10) + 1)) == 0);
  // More than the attribute allows.
  CHECK(active_blocks(hopper(), needs(128, 32, 64 << 10, 60 << 10)) == 0);
  // Static and dynamic parts add up: 16,000 + 16,000 + 1,024 = 33,024 bytes, 7 times in 233,472.
  BlockNeeds both = needs(128, 32, 16000);
  both.static_shared_bytes = 16000;
  CHECK(active_blocks(hopper(), both) == 7);
}

TEST_CASE("a preferred carveout limits, unless one block needs more", "[occupancy]") {
  BlockNeeds block = needs(128, 32, 7 << 10);  // 8 KiB with the reserved part
  block.carveout_percent = 25;                 // 57 KiB of 228: the next size is 64 KiB
  CHECK(active_blocks(hopper(), block) == 8);
  block.dynamic_shared_bytes = 48 << 10;
  block.carveout_percent = 0;  // 49 KiB: 64 KiB hold it
  CHECK(active_blocks(hopper(), block) == 1);
}

TEST_CASE("best block size", "[occupancy]") {
  uint32_t threads = 0, blocks = 0;
  const auto none = [](uint32_t) -> uint64_t { return 0; };
  // 32 registers fill all 64 warps: the largest size that does is 1,024, twice.
  best_block(hopper(), needs(1, 32), 0, none, &threads, &blocks);
  CHECK(threads == 1024);
  CHECK(blocks == 264);
  // On 48 warps 1,024 threads fill 32; 768 fill 48.
  best_block(ada(), needs(1, 32), 0, none, &threads, &blocks);
  CHECK(threads == 768);
  CHECK(blocks == 284);
  best_block(hopper(), needs(1, 32), 200, none, &threads, &blocks);
  CHECK(threads <= 200);
  // Nothing fits.
  best_block(
      hopper(), needs(1, 32), 0, [](uint32_t) -> uint64_t { return 1 << 20; }, &threads, &blocks);
  CHECK(threads == 0);
  CHECK(blocks == 0);
}

TEST_CASE("dynamic shared memory that is left", "[occupancy]") {
  // Two blocks: 114 KiB each, less the reserved KiB; capped by the default limit of 48 KiB until the attribute is set.
  CHECK(available_dynamic_shared(hopper(), needs(128, 32), 2) == 48 << 10);
  CHECK(available_dynamic_shared(hopper(), needs(128, 32, 0, 227 << 10), 2) == 113 << 10);
  CHECK(available_dynamic_shared(hopper(), needs(128, 32, 0, 227 << 10), 1) == 227 << 10);
  CHECK(available_dynamic_shared(hopper(), needs(128, 32), 0) == 0);
}

TEST_CASE("clusters", "[occupancy]") {
  // One block of 1,024 threads with 64 registers on a multiprocessor: 132 of them, 16 to a cluster's group and 4 in the
  // last.
  CHECK(active_clusters(hopper(), needs(1024, 64), 1) == 132);
  CHECK(active_clusters(hopper(), needs(1024, 64), 2) == 66);
  CHECK(active_clusters(hopper(), needs(1024, 64), 8) == 16);
  CHECK(active_clusters(hopper(), needs(1024, 64), 0) == 0);
}

TEST_CASE("block size that registers allow", "[occupancy]") {
  CHECK(threads_by_registers(0) == 1024);
  CHECK(threads_by_registers(64) == 1024);
  CHECK(threads_by_registers(65) == 896);  // 2,080 rounded up to 2,304 a warp: 28 of them
  CHECK(threads_by_registers(128) == 512);
  CHECK(threads_by_registers(255) == 256);
}
