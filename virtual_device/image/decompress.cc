#include "virtual_device/image/decompress.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>

namespace maya::device {

namespace {

// Most that one packed byte can stand for: LZ4 length bytes count up to 255; a 4-byte zstd block repeats one byte 128
// Ki times.
constexpr uint64_t kLz4MaximumRatio = 256;
constexpr uint64_t kZstdMaximumRatio = 64 << 10;

}  // namespace

bool decompress(Compression compression, Bytes packed, uint64_t unpacked_bytes, std::vector<uint8_t>* unpacked) {
  unpacked->clear();
  if (unpacked_bytes == 0 || unpacked_bytes > kMaximumPayload_bytes || packed.empty()) return false;
  const uint64_t ratio = compression == Compression::kLz4 ? kLz4MaximumRatio : kZstdMaximumRatio;
  if (unpacked_bytes / ratio > packed.size()) return false;
  switch (compression) {
    case Compression::kNone:
      if (packed.size() != unpacked_bytes) return false;
      unpacked->assign(packed.begin(), packed.end());
      return true;
    case Compression::kLz4: {
      if (packed.size() > static_cast<uint64_t>(LZ4_MAX_INPUT_SIZE)) return false;
      unpacked->resize(unpacked_bytes);
      const int got =
          LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()), reinterpret_cast<char*>(unpacked->data()),
                              static_cast<int>(packed.size()), static_cast<int>(unpacked_bytes));
      return got >= 0 && static_cast<uint64_t>(got) == unpacked_bytes;
    }
    case Compression::kZstd: {
      unpacked->resize(unpacked_bytes);
      const size_t got = ZSTD_decompress(unpacked->data(), unpacked_bytes, packed.data(), packed.size());
      return ZSTD_isError(got) == 0 && got == unpacked_bytes;
    }
  }
  return false;
}

}  // namespace maya::device
