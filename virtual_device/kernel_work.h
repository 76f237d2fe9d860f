// What a launch asks of the device, counted from the kernel's instructions (virtual_device/ptx).
#pragma once

#include <array>
#include <cstdint>

namespace maya::device {

// What the tensor cores multiply; the peak that applies. Numbers are part of the trace format.
enum class MatrixType : uint8_t { kHalf = 0, kTf32 = 1, kEightBits = 2, kFourBits = 3, kDouble = 4 };
inline constexpr int kMatrixTypes = 5;

struct KernelWork {
  // Distinct bytes of device memory, as far as the addresses tell: what DRAM moves when every byte is moved once.
  double read_bytes = 0;
  double written_bytes = 0;
  double requested_bytes = 0;                // between L2 and the multiprocessors, reads and writes, in whole sectors
  double instructions = 0;                   // of warps
  double functions = 0;                      // of threads, on the special function unit
  std::array<double, kMatrixTypes> flops{};  // of the tensor cores, two for a multiplication and an addition
  // Between 0 and 1: how far all of it may be off either way, where loops run as often as data say that are not known.
  // 1: nothing bounds the loops.
  double uncertainty = 0;
};

}  // namespace maya::device
