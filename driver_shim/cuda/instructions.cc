#include "driver_shim/cuda/instructions.h"

#include <cstring>

#include "virtual_device/ptx/count.h"

namespace maya::cuda {
namespace {

// Device memory and arguments as they are at the launch.
class AtLaunch : public device::ptx::Surroundings {
 public:
  explicit AtLaunch(const device::Memory& memory) : memory_(memory) {}
  bool read(uint64_t address, uint32_t bytes, uint64_t* value) const override {
    if (!memory_.maybe_known(address) || !memory_.known(address, bytes)) return false;
    *value = 0;
    return memory_.read(value, address, bytes) == device::MemoryStatus::kOk;
  }
  uint64_t bytes_to_end(uint64_t address) const override { return memory_.bytes_to_end(address); }
  bool tensor_map(const void* argument, device::ptx::TensorMap* map) const override {
    return describe_tensor_map(argument, &map->tensor_bytes, &map->box_bytes);
  }

 private:
  const device::Memory& memory_;
};

}  // namespace

std::optional<device::KernelWork> counted_work(Driver& driver, Kernel& kernel, const device::Launch& launch) {
  if (kernel.info.ptx == nullptr) return std::nullopt;
  const device::ptx::Program* const program = kernel.info.ptx->program();
  if (program == nullptr) return std::nullopt;
  return device::ptx::count_work(*program, launch, AtLaunch(driver.memory()));
}

}  // namespace maya::cuda
