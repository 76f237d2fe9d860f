// A kernel from PTX text with its arguments, and surroundings in which chosen numbers are known.
#pragma once

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include "virtual_device/image/kernel_image.h"
#include "virtual_device/ptx/count.h"

namespace maya::test {

class KnownNumbers : public device::ptx::Surroundings {
 public:
  std::map<uint64_t, uint64_t> numbers;
  std::optional<device::ptx::TensorMap> map;

  bool read(uint64_t address, uint32_t, uint64_t* value) const override {
    const auto found = numbers.find(address);
    if (found == numbers.end()) return false;
    *value = found->second;
    return true;
  }
  uint64_t bytes_to_end(uint64_t) const override { return 0; }
  bool tensor_map(const void*, device::ptx::TensorMap* out) const override {
    if (map) *out = *map;
    return map.has_value();
  }
};

class PtxKernel {
 public:
  explicit PtxKernel(const std::string& text) : text_(text) {
    REQUIRE(device::parse_ptx(text_, &image_) == device::ImageStatus::kOk);
    REQUIRE(image_.kernels.size() == 1);
    launch.kernel = &image_.kernels[0].info;
    values_.resize(launch.kernel->parameters.size());
    for (auto& value : values_) value.resize(256);
    for (auto& value : values_) pointers_.push_back(value.data());
    launch.arguments = pointers_.data();
    program_ = device::ptx::read_program(text_, launch.kernel->name);
    REQUIRE(program_ != nullptr);
  }
  PtxKernel(const PtxKernel&) = delete;

  template <typename Value>
  PtxKernel& argument(size_t index, Value value) {
    std::memcpy(values_[index].data(), &value, sizeof value);
    return *this;
  }
  PtxKernel& grid(uint32_t x, uint32_t y, uint32_t block) {
    launch.grid[0] = x;
    launch.grid[1] = y;
    launch.block[0] = block;
    return *this;
  }
  std::optional<device::KernelWork> count() const { return device::ptx::count_work(*program_, launch, surroundings); }

  device::Launch launch;
  KnownNumbers surroundings;

 private:
  std::string text_;
  device::KernelImage image_;
  std::vector<std::vector<char>> values_;
  std::vector<void*> pointers_;
  std::unique_ptr<const device::ptx::Program> program_;
};

inline std::string ptx_module(const std::string& parameters, const std::string& body) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(" + parameters + ")\n{\n" + body + "\n}\n";
}

}  // namespace maya::test
