// Payload compression of fat binary entries.
#pragma once

#include <cstdint>
#include <vector>

#include "virtual_device/image/bytes.h"

namespace maya::device {

enum class Compression : uint8_t { kNone = 0, kLz4 = 1, kZstd = 2 };

// Largest payload that is unpacked; a bigger size is taken as damage. The largest image in PyTorch 2.15 has 43 MB.
inline constexpr uint64_t kMaximumPayload_bytes = 1ull << 30;

// Unpacks `packed` into exactly `unpacked_bytes` bytes. False when the data is damaged, of another size or too large.
bool decompress(Compression compression, Bytes packed, uint64_t unpacked_bytes, std::vector<uint8_t>* unpacked);

}  // namespace maya::device
