#include "predictor/memory_replay.h"

#include <catch2/catch.hpp>

#include "predictor/numbers.h"
#include "test/predictor/trace_builder.h"

using namespace maya;
using namespace maya::predictor;
using maya::test::TraceBuilder;

namespace {

constexpr uint64_t kMiB = 1 << 20, kGiB = 1 << 30;

struct NoNames : OperationNames {
  std::string name_of(uint32_t event) const override { return event == 2 ? "kernel_a" : ""; }
};

// A device of 10 GiB with round figures.
device::DeviceProfile small_device() {
  device::DeviceProfile profile = *device::find_builtin_profile("h100-sxm");
  profile.name = "small";
  profile.total_memory_bytes = 10 * kGiB;
  profile.driver_reserve_bytes = 100 * kMiB;
  profile.context_bytes = 400 * kMiB;
  return profile;
}

MemoryReplay replay(const TraceBuilder& b, const device::DeviceProfile& profile, bool traced_device = true) {
  return replay_memory(b.load(), {&profile, traced_device}, NoNames());
}

}  // namespace

TEST_CASE("peak by layer at the instant of the peak") {
  TraceBuilder b;
  b.allocate(1, 600 * kMiB, proto::LAYER_CONTEXT);  // the traced device's context; the target's counts
  b.allocate(2, 2 * kGiB);
  b.allocate(3, 32 * kMiB, proto::LAYER_WORKSPACES);
  b.allocate(4, 3 * kGiB);  // the peak
  b.free(2);
  b.allocate(5, 1 * kGiB, proto::LAYER_COMMUNICATION);
  b.allocate(6, 5 * kGiB, proto::LAYER_ALLOCATIONS,
             proto::Allocation::HOST);  // pinned host memory takes none of the device's
  const MemoryReplay m = replay(b, small_device());
  CHECK(m.capacity_bytes == 10 * kGiB);
  CHECK(m.peak_bytes == 400 * kMiB + 5 * kGiB + 32 * kMiB);
  CHECK(m.peak_by_layer[proto::LAYER_CONTEXT] == 400 * kMiB);
  CHECK(m.peak_by_layer[proto::LAYER_ALLOCATIONS] == 5 * kGiB);
  CHECK(m.peak_by_layer[proto::LAYER_WORKSPACES] == 32 * kMiB);
  CHECK(m.peak_by_layer[proto::LAYER_COMMUNICATION] == 0);
  CHECK_FALSE(m.out_of_memory);
  CHECK_FALSE(m.first_failure);
  CHECK(m.needed_bytes == m.peak_bytes + 100 * kMiB);
  CHECK(m.points.back().layers[proto::LAYER_COMMUNICATION] == 1 * kGiB);
  // All built-in devices have at least 40 GB.
  CHECK(m.fits_on.size() == device::builtin_profiles().size());
}

TEST_CASE("modules and physical memory count, small allocations share the block of the first") {
  TraceBuilder b;
  proto::Packet module;
  module.mutable_module()->set_charged_bytes(6 * kMiB);
  b.packet(module);
  b.allocate(0x10, 20 * kMiB, proto::LAYER_ALLOCATIONS, proto::Allocation::PHYSICAL);
  b.free(0x10);
  proto::Packet shared;
  shared.mutable_allocation()->set_kind(proto::Allocation::DEVICE);
  shared.mutable_allocation()->set_bytes(512);
  b.packet(shared);  // charged nothing: it shares a block
  const MemoryReplay m = replay(b, small_device());
  CHECK(m.peak_by_layer[proto::LAYER_MODULES] == 6 * kMiB);
  CHECK(m.peak_by_layer[proto::LAYER_ALLOCATIONS] == 20 * kMiB);
  CHECK(m.points.back().layers[proto::LAYER_ALLOCATIONS] == 0);
}

TEST_CASE("a smaller device: the first allocation that does not fit") {
  TraceBuilder b("h200-sxm");
  b.allocate(1, 4 * kGiB);
  b.allocate(2, 3 * kGiB);
  b.launch("kernel_a", 1);  // event 2
  b.allocate(3, 4 * kGiB);
  b.allocate(4, 1 * kGiB);
  const MemoryReplay m = replay(b, small_device(), false);
  CHECK(m.out_of_memory);
  REQUIRE(m.first_failure);
  CHECK(m.first_failure->replayed);
  CHECK(m.first_failure->call == "cuMemAlloc");
  CHECK(m.first_failure->requested_bytes == 4 * kGiB);
  // 10 GiB - 100 MiB reserve - 400 MiB context - 7 GiB held
  CHECK(m.first_failure->free_bytes == 3 * kGiB - 500 * kMiB);
  CHECK(m.first_failure->operation == "kernel_a");
  CHECK(m.first_failure->largest_holders == std::vector<uint64_t>{4 * kGiB, 3 * kGiB});
  CHECK(m.peak_bytes == 12 * kGiB + 400 * kMiB);  // the replay goes on, so that the true need is known
}

TEST_CASE("a failure that the run met decides, with the run's own figures") {
  TraceBuilder b;
  b.allocate(1, 4 * kGiB);
  b.fail_allocation(20 * kGiB, 5'500'000'000);
  const MemoryReplay m = replay(b, small_device());
  CHECK(m.out_of_memory);
  REQUIRE(m.first_failure);
  CHECK_FALSE(m.first_failure->replayed);
  CHECK(m.first_failure->requested_bytes == 20 * kGiB);
  CHECK(m.first_failure->free_bytes == 5'500'000'000);
  CHECK(m.first_failure->capacity_bytes == 11'000'000'000);
  CHECK(m.first_failure->layers[proto::LAYER_WORKSPACES] == 400);
  CHECK(m.first_failure->largest_holders == std::vector<uint64_t>{7'000, 5'000, 3'000});
  CHECK(m.peak_is_lower_bound);
  CHECK(m.needed_bytes == 24 * kGiB + 500 * kMiB);
  CHECK(m.fits_on.size() > 0);
}

TEST_CASE("a memory manager that asks again: the figures of the last attempt count") {
  TraceBuilder b;
  b.allocate(1, 2 * kGiB);
  b.allocate(2, 4 * kGiB);
  b.fail_allocation(20 * kGiB, 1'000);
  b.free(1);
  b.fail_allocation(20 * kGiB, 2'000);
  b.allocate(3, 1 * kGiB);              // the program goes on with less
  b.fail_allocation(21 * kGiB, 3'000);  // another matter
  const MemoryReplay m = replay(b, small_device());
  REQUIRE(m.first_failure);
  CHECK(m.first_failure->free_bytes == 2'000);
}

TEST_CASE("a failure after which the memory was got is survived") {
  TraceBuilder b;
  b.allocate(1, 6 * kGiB);
  b.fail_allocation(5 * kGiB, 1'000);
  b.free(1);
  b.allocate(2, 5 * kGiB);
  const MemoryReplay m = replay(b, small_device());
  CHECK_FALSE(m.out_of_memory);
  CHECK(m.failures_survived == 1);
}

TEST_CASE("a failure of the traced device is none on a larger one") {
  TraceBuilder b("a100-sxm-40");
  b.allocate(1, 30 * kGiB);
  b.fail_allocation(20 * kGiB, 1'000);
  const MemoryReplay larger = replay(b, *device::find_builtin_profile("h200-sxm"), false);
  CHECK_FALSE(larger.out_of_memory);
  CHECK(larger.peak_is_lower_bound);
  const MemoryReplay smaller = replay(b, small_device(), false);
  CHECK(smaller.out_of_memory);
  CHECK(smaller.first_failure->replayed);
  for (const std::string& device : larger.fits_on) CHECK(device != "a100-sxm-40");
}

TEST_CASE("--memory of the traced run: a limit is the capacity, unlimited lets the replay find the failure") {
  TraceBuilder b;
  b.header().set_memory_limit_bytes(5 * kGiB);
  b.allocate(1, 12 * kGiB);
  const MemoryReplay limited = replay(b, small_device());
  CHECK(limited.capacity_bytes == 5 * kGiB);
  CHECK_FALSE(limited.out_of_memory);  // it did run there
  b.header().set_memory_limit_bytes(UINT64_MAX);
  const MemoryReplay unlimited = replay(b, small_device());
  CHECK(unlimited.capacity_bytes == 10 * kGiB);
  CHECK(unlimited.out_of_memory);
  CHECK(unlimited.first_failure->requested_bytes == 12 * kGiB);
}

TEST_CASE("sizes that no memory has do not overflow") {
  TraceBuilder b;
  for (uint64_t i = 0; i < 4; ++i) {
    proto::Packet packet;
    packet.mutable_allocation()->set_charged_bytes(UINT64_MAX);
    packet.mutable_allocation()->set_bytes(UINT64_MAX);
    packet.mutable_allocation()->set_address(i);
    b.packet(packet);
  }
  const MemoryReplay m = replay(b, small_device(), false);
  CHECK(m.peak_bytes == UINT64_MAX);
  CHECK(m.out_of_memory);
  CHECK(m.fits_on.empty());
}
