#include "virtual_device/image/fat_binary.h"

namespace maya::device {

namespace {

struct ContainerHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t entries_bytes;
};
static_assert(sizeof(ContainerHeader) == 16);

struct EntryHeader {
  uint16_t kind;
  uint16_t version;
  uint32_t header_bytes;
  uint64_t stored_bytes;
  uint32_t compressed_bytes;
  uint32_t options_offset;
  uint16_t minor;
  uint16_t major;
  uint32_t architecture;
  uint32_t name_offset;
  uint32_t name_bytes;
  uint64_t flags;
  uint64_t zero;
  uint64_t unpacked_bytes;
};
static_assert(sizeof(EntryHeader) == 64);

constexpr uint64_t kFlagLz4 = 0x2000;
constexpr uint64_t kFlagZstd = 0x8000;
constexpr uint64_t kFlagSpecific = 0x100000;
constexpr uint64_t kFlagFamily = 0x200000;

// Families of architecture-specific features (PTX ISA, ".target"): members of one are listed together.
bool same_family(uint32_t of_image, uint32_t of_device) {
  return of_image / 10 == of_device / 10 && of_image <= of_device;
}

}  // namespace

bool parse_fat_binary(Bytes container, std::vector<FatBinaryEntry>* entries) {
  entries->clear();
  ContainerHeader header;
  if (!read_at(container, 0, &header) || header.magic != kFatBinaryMagic) return false;
  if (header.header_bytes < sizeof(ContainerHeader)) return false;
  const Bytes body = slice(container, header.header_bytes, header.entries_bytes);
  if (body.size() != header.entries_bytes) return false;
  uint64_t offset = 0;
  while (offset < body.size()) {
    EntryHeader entry;
    if (!read_at(body, offset, &entry)) return false;
    if (entry.header_bytes < sizeof(EntryHeader)) return false;
    const uint64_t left = body.size() - offset;
    if (entry.header_bytes > left || entry.stored_bytes > left - entry.header_bytes) return false;
    const Bytes stored = body.subspan(offset + entry.header_bytes, entry.stored_bytes);
    offset += entry.header_bytes + entry.stored_bytes;
    if (entry.kind != static_cast<uint16_t>(FatBinaryEntry::Kind::kPtx) &&
        entry.kind != static_cast<uint16_t>(FatBinaryEntry::Kind::kCubin))
      continue;
    FatBinaryEntry made;
    made.kind = static_cast<FatBinaryEntry::Kind>(entry.kind);
    made.architecture = entry.architecture;
    if ((entry.flags & kFlagFamily) != 0) {
      made.scope = ArchitectureScope::kFamily;
    } else if ((entry.flags & kFlagSpecific) != 0) {
      made.scope = ArchitectureScope::kSpecific;
    }
    if ((entry.flags & (kFlagLz4 | kFlagZstd)) != 0) {
      made.compression = (entry.flags & kFlagZstd) != 0 ? Compression::kZstd : Compression::kLz4;
      made.payload = slice(stored, 0, entry.compressed_bytes);
      made.unpacked_bytes = entry.unpacked_bytes;
      if (made.payload.size() != entry.compressed_bytes) return false;
    } else {
      made.payload = stored;
      made.unpacked_bytes = stored.size();
    }
    entries->push_back(made);
  }
  return true;
}

bool runs_on(FatBinaryEntry::Kind kind, uint32_t architecture, ArchitectureScope scope, uint32_t device_architecture) {
  switch (scope) {
    case ArchitectureScope::kSpecific:
      return architecture == device_architecture;
    case ArchitectureScope::kFamily:
      return same_family(architecture, device_architecture);
    case ArchitectureScope::kPlain:
      break;
  }
  if (kind == FatBinaryEntry::Kind::kPtx) return architecture <= device_architecture;
  return architecture / 10 == device_architecture / 10 && architecture <= device_architecture;
}

const FatBinaryEntry* choose_entry(const std::vector<FatBinaryEntry>& entries, uint32_t device_architecture) {
  const FatBinaryEntry* best = nullptr;
  const auto better = [](const FatBinaryEntry& a, const FatBinaryEntry& b) {
    if (a.kind != b.kind) return a.kind == FatBinaryEntry::Kind::kCubin;
    if (a.architecture != b.architecture) return a.architecture > b.architecture;
    return a.scope > b.scope;
  };
  for (const FatBinaryEntry& entry : entries) {
    if (!runs_on(entry.kind, entry.architecture, entry.scope, device_architecture)) continue;
    if (best == nullptr || better(entry, *best)) best = &entry;
  }
  return best;
}

}  // namespace maya::device
