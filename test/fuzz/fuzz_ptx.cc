// PTX text as an image carries it: reading a kernel's instructions and running a launch of it never fails, whatever the
// text.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "virtual_device/image/kernel_image.h"
#include "virtual_device/ptx/count.h"

namespace {

class Nothing : public maya::device::ptx::Surroundings {
 public:
  bool read(uint64_t, uint32_t, uint64_t*) const override { return false; }
  uint64_t bytes_to_end(uint64_t) const override { return 1 << 20; }
  bool tensor_map(const void*, maya::device::ptx::TensorMap* map) const override {
    *map = {1 << 20, 1 << 10};
    return true;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  maya::device::KernelImage image;
  if (maya::device::parse_ptx(text, &image) != maya::device::ImageStatus::kOk) return 0;
  for (const maya::device::ImageKernel& kernel : image.kernels) {
    const auto program = maya::device::ptx::read_program(text, kernel.info.name);
    if (program == nullptr) continue;
    std::vector<std::vector<uint64_t>> values;
    std::vector<void*> arguments;
    for (const maya::device::KernelParameter& parameter : kernel.info.parameters)
      values.emplace_back(parameter.size / 8 + 1, 0x7000'0000'0000);
    for (auto& value : values) arguments.push_back(value.data());
    maya::device::Launch launch;
    launch.kernel = &kernel.info;
    launch.grid[0] = 3;
    launch.block[0] = 48;
    launch.arguments = arguments.data();
    maya::device::ptx::count_work(*program, launch, Nothing());
  }
  return 0;
}
