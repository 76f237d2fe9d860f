// The container that nvcc writes: several images of the same code, one for each architecture, each possibly compressed.
//
// Layout, little endian, measured on containers built with nvcc 13 and on PyTorch's (design.md section 8):
//   container  u32 magic 0xBA55ED50, u16 version 1, u16 header bytes, u64 bytes of all entries
//   entry      u16 kind (1 PTX, 2 cubin), u16 version, u32 header bytes, u64 payload bytes as stored (padded), u32
//   payload bytes when
//              compressed, u32 offset of options, u16 minor and u16 major version of the image, u32 architecture, u32
//              and u32 object name, u64 flags, u64 zero, u64 payload bytes when unpacked
//   wrapper    u32 magic 0x466243B1, u32 version, pointer to the container, pointer (public header fatbinary_section.h)
#pragma once

#include <cstdint>
#include <vector>

#include "virtual_device/image/bytes.h"
#include "virtual_device/image/decompress.h"

namespace maya::device {

inline constexpr uint32_t kFatBinaryMagic = 0xBA55ED50;
inline constexpr uint32_t kFatBinaryWrapperMagic = 0x466243B1;

// Which devices an image may run on beside its exact architecture (CUDA C++ programming guide, "Compute capability"):
// plain images on later minor versions (cubin) or any later device (PTX); "a" only on its own; "f" within its family.
enum class ArchitectureScope : uint8_t { kPlain = 0, kFamily = 1, kSpecific = 2 };

struct FatBinaryEntry {
  enum class Kind : uint8_t { kPtx = 1, kCubin = 2 };
  Kind kind = Kind::kCubin;
  uint32_t architecture = 0;  // 90 for sm_90
  ArchitectureScope scope = ArchitectureScope::kPlain;
  Compression compression = Compression::kNone;
  Bytes payload;  // as stored, inside the container
  uint64_t unpacked_bytes = 0;
};

// Entries of other kinds are left out. False when the container is damaged; an entry that leaves the container is
// damage.
bool parse_fat_binary(Bytes container, std::vector<FatBinaryEntry>* entries);

// True when an image of `architecture` and `scope` runs on a device of compute capability `device_architecture` (major
// * 10 + minor).
bool runs_on(FatBinaryEntry::Kind kind, uint32_t architecture, ArchitectureScope scope, uint32_t device_architecture);

// The entry that a driver takes for the device: a cubin before PTX, the nearest architecture first, a more specific
// scope before a wider one. Null when none runs on it.
const FatBinaryEntry* choose_entry(const std::vector<FatBinaryEntry>& entries, uint32_t device_architecture);

}  // namespace maya::device
