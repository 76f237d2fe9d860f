// Whatever a kernel's arguments hold, its effects stay within what is allocated and end soon: programs pass garbage in
// padding, and a kernel of another version may lay out its parameters otherwise at the same sizes.
#include <random>

#include "cuda_12_kernels.h"
#include "launch_helpers.h"
#include "torch_kernels.h"

using namespace maya::test;

namespace {

class HostileArguments {
 public:
  HostileArguments(const TorchKernel& kernel, std::vector<Address> addresses, uint32_t seed)
      : kernel_(kernel), addresses_(std::move(addresses)), random_(seed) {
    uint32_t offset = 0;
    for (const uint32_t size : kernel.parameter_bytes) {
      const uint32_t alignment = size >= 8 ? 8 : size;
      offset = (offset + alignment - 1) / alignment * alignment;
      layout_.push_back({offset, size});
      offset += size;
    }
  }

  const std::vector<maya::device::KernelParameter>& layout() const { return layout_; }

  // Words that are small numbers, addresses, or anything.
  std::vector<Parameter> make() {
    std::vector<Parameter> parameters;
    for (const uint32_t size : kernel_.parameter_bytes) {
      Parameter parameter;
      for (uint32_t at = 0; at + 8 <= size; at += 8) parameter.at(at, word());
      if (size % 8 != 0) {
        const uint64_t last = word();
        for (uint32_t k = 0; k < size % 8; ++k) parameter.at(size / 8 * 8 + k, static_cast<uint8_t>(last >> (8 * k)));
      }
      parameters.push_back(parameter);
    }
    return parameters;
  }

 private:
  uint64_t word() {
    const auto small = [this] { return uint64_t{random_() % 9}; };
    switch (random_() % 8) {
      case 0:
        return uint64_t{random_()} << 32 | random_();
      case 1:
        return ~uint64_t{0} - small();
      case 2:
      case 3:
        return addresses_[random_() % addresses_.size()] + 8 * small();
      default:
        return small() << 32 | small();
    }
  }

  const TorchKernel& kernel_;
  std::vector<Address> addresses_;
  std::mt19937 random_;
  std::vector<maya::device::KernelParameter> layout_;
};

}  // namespace

TEST_CASE("arguments of any content are harmless", "[effects]") {
  auto memory = make_memory();
  std::vector<Address> addresses;
  for (int i = 0; i < 4; ++i) addresses.push_back(allocate(*memory, 4096));
  uint32_t seed = 1;
  std::vector<TorchKernel> kernels = torch_kernels();
  for (const TorchKernel& kernel : cuda_12_kernels()) kernels.push_back(kernel);
  for (const TorchKernel& kernel : kernels) {
    INFO(kernel.name);
    HostileArguments arguments(kernel, addresses, seed++);
    const TestKernel launched(kernel.name, arguments.layout());
    for (int round = 0; round < 40; ++round) {
      for (const Address address : addresses) put<uint64_t>(*memory, address, std::vector<uint64_t>(512, 2));
      launched.launch(*memory, arguments.make(), 1 + static_cast<uint32_t>(round % 3), 32);
    }
  }
  CHECK(memory->host_bytes_used() < (64u << 20));
}
