// What one image (cubin or PTX text) contains: its kernels and its global variables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "virtual_device/image/bytes.h"
#include "virtual_device/image/fat_binary.h"
#include "virtual_device/kernel.h"

namespace maya::device {

// A `__device__`, `__constant__` or `__managed__` variable.
struct GlobalVariable {
  std::string name;
  uint64_t bytes = 0;
  uint64_t alignment = 1;
  bool constant = false;
  bool managed = false;
  bool initial_known = true;     // false: the initial value refers to addresses
  std::vector<uint8_t> initial;  // empty: zeros
};

struct ImageKernel {
  KernelInfo info;
  uint64_t code_bytes = 0;  // of its section; 0 for PTX
};

struct KernelImage {
  FatBinaryEntry::Kind kind = FatBinaryEntry::Kind::kCubin;
  uint32_t architecture = 0;
  ArchitectureScope scope = ArchitectureScope::kPlain;
  std::vector<ImageKernel> kernels;
  std::vector<GlobalVariable> globals;
};

enum class ImageStatus : uint8_t { kOk, kDamaged, kNoBinaryForDevice, kBadPtx, kUnsupportedPtxVersion, kNotAnImage };

// Reads a whole cubin. Untrusted input: any byte may be anything.
ImageStatus parse_cubin(Bytes cubin, KernelImage* image);
// Reads PTX text. Untrusted input.
ImageStatus parse_ptx(std::string_view text, KernelImage* image);

// Reads a fat binary, a cubin or PTX text; of a fat binary only the image that fits the device is unpacked.
// device_architecture: compute capability as major * 10 + minor.
ImageStatus load_image(Bytes data, uint32_t device_architecture, KernelImage* image);

// Bytes of an image of which only the start address is known, as CUDA's module functions get it: from its own headers;
// for text up to its NUL. Follows a fat binary wrapper to its container. Empty when it is none of these.
Bytes image_at(const void* start);

}  // namespace maya::device
