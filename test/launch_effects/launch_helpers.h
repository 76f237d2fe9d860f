// A kernel by its name as found in PyTorch 2.15's cubins, launched on emulated memory.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "virtual_device/launch_effects.h"
#include "virtual_device/ptx/program.h"

namespace maya::test {

using device::Address;
using device::Memory;

inline std::unique_ptr<Memory> make_memory() {
  Memory::Options options;
  options.capacity_bytes = 8ull << 30;
  auto memory = Memory::create(options);
  REQUIRE(memory != nullptr);
  return memory;
}

inline Address allocate(Memory& memory, uint64_t bytes) {
  device::Allocation allocation;
  REQUIRE(memory.allocate(0, bytes, device::Layer::kAllocations, nullptr, &allocation) == device::MemoryStatus::kOk);
  return allocation.base;
}

template <typename T>
void put(Memory& memory, Address address, const std::vector<T>& values) {
  REQUIRE(memory.write(address, values.data(), values.size() * sizeof(T)) == device::MemoryStatus::kOk);
}

template <typename T>
std::vector<T> get(Memory& memory, Address address, size_t count) {
  std::vector<T> values(count);
  REQUIRE(memory.read(values.data(), address, count * sizeof(T)) == device::MemoryStatus::kOk);
  return values;
}

// The bytes of one parameter, put together piece by piece.
class Parameter {
 public:
  template <typename T>
  Parameter& add(T value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(T));
    return *this;
  }
  Parameter& pad_to(size_t size) {
    bytes_.resize(size);
    return *this;
  }
  // At an offset, growing when needed.
  template <typename T>
  Parameter& at(size_t offset, T value) {
    if (bytes_.size() < offset + sizeof(T)) bytes_.resize(offset + sizeof(T));
    std::memcpy(bytes_.data() + offset, &value, sizeof(T));
    return *this;
  }
  std::vector<uint8_t>& bytes() { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

template <typename T>
Parameter value(T v) {
  return Parameter().add(v);
}

class TestKernel {
 public:
  // Parameter sizes in order; offsets are irrelevant to effects but for alignment to 8, which is taken from them when
  // given. `entry`: the kernel in PTX, from its name on, when its image shows its instructions.
  TestKernel(const std::string& name, std::vector<device::KernelParameter> parameters, const std::string& entry = {}) {
    if (!entry.empty())
      info_.ptx = std::make_shared<const device::ptx::Source>(
          std::make_shared<const std::string>(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry " +
                                              entry),
          name);
    info_.name = name;
    info_.parameters = std::move(parameters);
    info_.layout_known = true;
    behavior_ = device::classify(info_);
  }

  void launch(Memory& memory, std::vector<Parameter> parameters, uint32_t grid = 1, uint32_t block = 128,
              uint32_t grid_y = 1) const {
    REQUIRE(parameters.size() == info_.parameters.size());
    std::vector<void*> arguments;
    for (size_t i = 0; i < parameters.size(); ++i) {
      REQUIRE(parameters[i].bytes().size() <= info_.parameters[i].size);
      parameters[i].pad_to(info_.parameters[i].size);
      arguments.push_back(parameters[i].bytes().data());
    }
    device::Launch launch;
    launch.kernel = &info_;
    launch.grid[0] = grid;
    launch.grid[1] = grid_y;
    launch.block[0] = block;
    launch.arguments = arguments.data();
    // As the driver does: so every test of an effect also tests what the effect says of its pointers.
    const std::vector<device::PointerSlot>& watched = device::watched_pointers(*behavior_);
    if (!device::watches_pointers(*behavior_) ||
        device::may_have_effects(watched.data(), watched.size(), launch.arguments, memory))
      device::apply_effects(*behavior_, launch, memory);
  }

  const std::vector<device::ScalarSlot>& scalars() const { return device::shape_scalars(*behavior_); }

 private:
  device::KernelInfo info_;
  device::KernelBehaviorPtr behavior_;
};

}  // namespace maya::test
