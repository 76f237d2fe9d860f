#include "virtual_device/image/kernel_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace maya::device {

namespace {

bool is_elf(Bytes data) { return data.size() >= SELFMAG && std::memcmp(data.data(), ELFMAG, SELFMAG) == 0; }

// PTX text begins with white space, a comment or `.version`.
bool may_be_text(Bytes data) {
  if (data.empty()) return false;
  const uint8_t first = data[0];
  return first == '.' || first == '/' || first == '\n' || first == '\r' || first == ' ' || first == '\t';
}

std::string_view as_text(Bytes data) {
  const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  return text.substr(0, std::min(text.size(), text.find('\0')));
}

ImageStatus parse_plain(Bytes data, KernelImage* image) {
  if (is_elf(data)) return parse_cubin(data, image);
  if (may_be_text(data)) return parse_ptx(as_text(data), image);
  return ImageStatus::kNotAnImage;
}

// End of an ELF file by its headers: of the section header table and of each section.
uint64_t elf_bytes(const uint8_t* start) {
  Elf64_Ehdr header;
  std::memcpy(&header, start, sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr)) return 0;
  if (header.e_shoff > kMaximumPayload_bytes) return 0;
  uint64_t end = header.e_shoff + static_cast<uint64_t>(header.e_shnum) * sizeof(Elf64_Shdr);
  end = std::max(end, header.e_phoff + static_cast<uint64_t>(header.e_phnum) * header.e_phentsize);
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, start + header.e_shoff + i * sizeof(section), sizeof(section));
    if (section.sh_type == SHT_NOBITS) continue;
    if (section.sh_offset > kMaximumPayload_bytes || section.sh_size > kMaximumPayload_bytes) return 0;
    end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end <= kMaximumPayload_bytes ? end : 0;
}

}  // namespace

ImageStatus load_image(Bytes data, uint32_t device_architecture, KernelImage* image) {
  *image = {};
  uint32_t magic = 0;
  if (read_at(data, 0, &magic) && magic == kFatBinaryMagic) {
    std::vector<FatBinaryEntry> entries;
    if (!parse_fat_binary(data, &entries)) return ImageStatus::kDamaged;
    const FatBinaryEntry* entry = choose_entry(entries, device_architecture);
    if (entry == nullptr) return ImageStatus::kNoBinaryForDevice;
    ImageStatus status;
    if (entry->compression == Compression::kNone) {
      status = parse_plain(entry->payload, image);
    } else {
      std::vector<uint8_t> unpacked;
      if (!decompress(entry->compression, entry->payload, entry->unpacked_bytes, &unpacked))
        return ImageStatus::kDamaged;
      status = parse_plain(unpacked, image);
    }
    if (status == ImageStatus::kNotAnImage) status = ImageStatus::kDamaged;
    image->scope = entry->scope;
    return status;
  }
  const ImageStatus status = parse_plain(data, image);
  if (status != ImageStatus::kOk) return status;
  if (!runs_on(image->kind, image->architecture, image->scope, device_architecture))
    return ImageStatus::kNoBinaryForDevice;
  return status;
}

Bytes image_at(const void* start) {
  if (start == nullptr) return {};
  const uint8_t* bytes = static_cast<const uint8_t*>(start);
  // A text may be shorter than a magic number, so the first byte decides whether more is read.
  if (bytes[0] == 0) return {};
  if (may_be_text({bytes, 1})) return {bytes, std::strlen(reinterpret_cast<const char*>(bytes))};
  const uint32_t wrapper_magic = kFatBinaryWrapperMagic, container_magic = kFatBinaryMagic;
  if (std::memcmp(bytes, &wrapper_magic, sizeof(wrapper_magic)) == 0) {
    const uint8_t* container;
    std::memcpy(&container, bytes + 8, sizeof(container));
    if (container == nullptr) return {};
    bytes = container;
  }
  if (std::memcmp(bytes, &container_magic, sizeof(container_magic)) == 0) {
    uint16_t header_bytes;
    uint64_t entries_bytes;
    std::memcpy(&header_bytes, bytes + 6, sizeof(header_bytes));
    std::memcpy(&entries_bytes, bytes + 8, sizeof(entries_bytes));
    if (entries_bytes > 8 * kMaximumPayload_bytes) return {};
    return {bytes, header_bytes + entries_bytes};
  }
  if (std::memcmp(bytes, ELFMAG, SELFMAG) == 0) return {bytes, elf_bytes(bytes)};
  return {};
}

}  // namespace maya::device
