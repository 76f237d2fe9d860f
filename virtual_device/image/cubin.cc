// Cubin reader. A cubin is an ELF file of machine 190; what is used of it is in design.md section 8.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "virtual_device/image/device_launch.h"
#include "virtual_device/image/kernel_image.h"
#include "virtual_device/occupancy.h"
#include "virtual_device/ptx/program.h"

namespace maya::device {

namespace {

constexpr uint16_t kMachineCuda = 190;    // EM_CUDA
constexpr uint8_t kSymbolEntry = 0x10;    // st_other of a kernel
constexpr uint8_t kSymbolManaged = 0x04;  // st_other of a __managed__ variable
constexpr uint32_t kHopper = 90;
constexpr uint32_t kReservedShared_bytes = 1024;  // part of .nv.shared from sm_90 on

// Records of .nv.info: u8 format, u8 attribute, then u16 value (formats 2 and 3) or u16 size and that many bytes
// (format 4).
constexpr uint8_t kFormatSized = 4;
constexpr uint8_t kMaxThreads = 0x05;
constexpr uint8_t kRequiredBlock = 0x10;
constexpr uint8_t kFrameBytes = 0x11;
constexpr uint8_t kParameter = 0x17;
constexpr uint8_t kParameterBytes = 0x19;
constexpr uint8_t kRegisterCount = 0x2f;
constexpr uint8_t kCluster = 0x3d;
constexpr uint8_t kParameterV2 = 0x45;

// A kernel takes at most 32,764 bytes of parameters (CUDA programming guide), so no more parameters than that.
constexpr uint32_t kMaximumParameters = 32764;

// Sources longer than this are left: kernels that compilers generate have some hundred kilobytes.
constexpr uint64_t kMostSource_bytes = 16u << 20;

struct Section {
  Elf64_Shdr header;
  std::string_view name;
};

struct InfoRecord {
  uint8_t format, attribute;
  uint16_t value;
  Bytes payload;
};

template <typename Visitor>
void for_each_record(Bytes info, Visitor&& visit) {
  uint64_t offset = 0;
  while (offset + 4 <= info.size()) {
    InfoRecord record{info[offset], info[offset + 1], 0, {}};
    std::memcpy(&record.value, info.data() + offset + 2, sizeof(record.value));
    offset += 4;
    if (record.format == kFormatSized) {
      record.payload = slice(info, offset, record.value);
      if (record.payload.size() != record.value) return;
      offset += record.value;
    }
    visit(record);
  }
}

class Cubin {
 public:
  explicit Cubin(Bytes data) : data_(data) {}

  ImageStatus parse(KernelImage* image) {
    if (!read_headers() || !read_symbols()) return ImageStatus::kDamaged;
    image->kind = FatBinaryEntry::Kind::kCubin;
    image->architecture = architecture();
    if (image->architecture == 0) return ImageStatus::kDamaged;
    for (uint32_t i = 0; i < symbol_count_; ++i) {
      const Elf64_Sym symbol = symbol_at(i);
      const uint8_t type = ELF64_ST_TYPE(symbol.st_info);
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections_.size()) continue;
      const std::string_view name = string_at(symbol_names_, symbol.st_name);
      if (name.empty()) continue;
      if (type == STT_FUNC && (symbol.st_other & kSymbolEntry) != 0) {
        kernel_of_symbol_[i] = static_cast<uint32_t>(image->kernels.size());
        add_kernel(name, symbol, image);
      } else if (type == STT_OBJECT) {
        add_global(name, symbol, image);
      }
    }
    read_global_info(image);
    read_device_launches(image);
    const std::shared_ptr<const std::string> text = text_of_source();
    for (ImageKernel& kernel : image->kernels) {
      KernelInfo& info = kernel.info;
      info.max_threads = std::min(info.max_threads, threads_by_registers(info.registers));
      if (text != nullptr) info.ptx = std::make_shared<const ptx::Source>(text, info.name);
    }
    return ImageStatus::kOk;
  }

 private:
  bool read_headers() {
    if (!read_at(data_, 0, &header_)) return false;
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB) return false;
    if (header_.e_machine != kMachineCuda || header_.e_shentsize != sizeof(Elf64_Shdr)) return false;
    const Bytes table = slice(data_, header_.e_shoff, static_cast<uint64_t>(header_.e_shnum) * sizeof(Elf64_Shdr));
    if (table.empty()) return false;
    sections_.resize(header_.e_shnum);
    for (size_t i = 0; i < sections_.size(); ++i)
      std::memcpy(&sections_[i].header, table.data() + i * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr));
    if (header_.e_shstrndx >= sections_.size()) return false;
    const Bytes names = contents(sections_[header_.e_shstrndx]);
    for (size_t i = 0; i < sections_.size(); ++i) {
      sections_[i].name = string_at(names, sections_[i].header.sh_name);
      by_name_.emplace(sections_[i].name, i);
    }
    return true;
  }

  bool read_symbols() {
    for (const Section& section : sections_) {
      if (section.header.sh_type != SHT_SYMTAB) continue;
      symbols_ = contents(section);
      symbol_count_ = static_cast<uint32_t>(symbols_.size() / sizeof(Elf64_Sym));
      if (section.header.sh_link >= sections_.size()) return false;
      symbol_names_ = contents(sections_[section.header.sh_link]);
      return true;
    }
    return true;
  }

  uint32_t architecture() const {
    return header_.e_ident[EI_ABIVERSION] >= 8 ? (header_.e_flags >> 8) & 0xff : header_.e_flags & 0xff;
  }

  Elf64_Sym symbol_at(uint32_t index) const {
    Elf64_Sym symbol;
    std::memcpy(&symbol, symbols_.data() + static_cast<size_t>(index) * sizeof(symbol), sizeof(symbol));
    return symbol;
  }

  // Bytes of a section in the file; empty for sections without any.
  Bytes contents(const Section& section) const {
    if (section.header.sh_type == SHT_NOBITS) return {};
    return slice(data_, section.header.sh_offset, section.header.sh_size);
  }

  const Section* section_named(std::string_view prefix, std::string_view name) {
    scratch_.assign(prefix);
    scratch_.append(name);
    const auto found = by_name_.find(scratch_);
    return found == by_name_.end() ? nullptr : &sections_[found->second];
  }

  void add_kernel(std::string_view name, const Elf64_Sym& symbol, KernelImage* image) {
    ImageKernel kernel;
    KernelInfo& info = kernel.info;
    info.name = name;
    info.architecture = image->architecture;
    info.ptx_version = image->architecture;
    info.layout_known = true;
    const Section& text = sections_[symbol.st_shndx];
    kernel.code_bytes = text.header.sh_type == SHT_NOBITS ? 0 : contents(text).size();
    if (image->architecture < 90) info.registers = text.header.sh_info >> 24;
    if (const Section* shared = section_named(".nv.shared.", name)) {
      uint64_t bytes = shared->header.sh_size;
      if (info.architecture >= kHopper) bytes -= std::min<uint64_t>(bytes, kReservedShared_bytes);
      info.static_shared_bytes = static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX));
    }
    if (const Section* constants = section_named(".nv.constant3", ""))
      info.constant_bytes = static_cast<uint32_t>(std::min<uint64_t>(constants->header.sh_size, UINT32_MAX));
    if (const Section* section = section_named(".nv.info.", name)) read_kernel_info(contents(*section), &info);
    image->kernels.push_back(std::move(kernel));
  }

  void read_kernel_info(Bytes bytes, KernelInfo* info) {
    struct Ordered {
      uint16_t ordinal;
      KernelParameter parameter;
    };
    std::vector<Ordered> parameters;
    uint32_t end = 0;
    for_each_record(bytes, [&](const InfoRecord& record) {
      switch (record.attribute) {
        case kParameter:
        case kParameterV2: {
          uint16_t ordinal, offset;
          uint32_t packed;
          if (!read_at(record.payload, 4, &ordinal) || !read_at(record.payload, 6, &offset) ||
              !read_at(record.payload, 8, &packed) || parameters.size() >= kMaximumParameters)
            return;
          const uint32_t size = record.attribute == kParameter ? packed >> 18 : packed & 0xffff;
          parameters.push_back({ordinal, {offset, size}});
          end = std::max(end, offset + size);
          return;
        }
        case kParameterBytes:
          info->parameter_bytes = record.value;
          return;
        case kMaxThreads: {
          uint32_t x, y, z;
          if (!read_at(record.payload, 0, &x) || !read_at(record.payload, 4, &y) || !read_at(record.payload, 8, &z))
            return;
          const uint64_t threads = static_cast<uint64_t>(x & 0xffff) * (y & 0xffff) * (z & 0xffff);
          if (threads != 0) info->max_threads = static_cast<uint32_t>(std::min<uint64_t>(threads, 1024));
          return;
        }
        case kRequiredBlock:
        case kCluster: {
          uint32_t* target = record.attribute == kCluster ? info->required_cluster : info->required_block;
          for (int i = 0; i < 3; ++i) read_at(record.payload, 4 * i, &target[i]);
          return;
        }
        default:
          return;
      }
    });
    std::sort(parameters.begin(), parameters.end(), [](const Ordered& a, const Ordered& b) {
      return a.ordinal != b.ordinal ? a.ordinal < b.ordinal : a.parameter.offset < b.parameter.offset;
    });
    info->parameters.reserve(parameters.size());
    for (const Ordered& entry : parameters) info->parameters.push_back(entry.parameter);
    if (info->parameter_bytes < end) info->parameter_bytes = end;
  }

  // Registers and stack frames stand in the section for the whole file, by symbol number.
  void read_global_info(KernelImage* image) {
    const Section* section = section_named(".nv.info", "");
    if (section == nullptr) return;
    for_each_record(contents(*section), [&](const InfoRecord& record) {
      uint32_t symbol, value;
      if (!read_at(record.payload, 0, &symbol) || !read_at(record.payload, 4, &value)) return;
      const auto found = kernel_of_symbol_.find(symbol);
      if (found == kernel_of_symbol_.end()) return;
      KernelInfo& info = image->kernels[found->second].info;
      if (record.attribute == kRegisterCount) info.registers = std::min<uint32_t>(value, 255);
      if (record.attribute == kFrameBytes) info.local_bytes = value;
    });
  }

  // Calls of functions stand in the relocations of their callers' code, which stay when an image is linked.
  void read_device_launches(KernelImage* image) const {
    if (!mentions_device_launch({reinterpret_cast<const char*>(symbol_names_.data()), symbol_names_.size()})) return;
    constexpr std::string_view kPrefix = ".rela.text.";
    DeviceCalls calls;
    for (const Section& section : sections_) {
      if (section.header.sh_type != SHT_RELA || !section.name.starts_with(kPrefix)) continue;
      const Bytes bytes = contents(section);
      Elf64_Rela entry;
      for (uint64_t at = 0; read_at(bytes, at, &entry); at += sizeof entry) {
        const uint64_t index = ELF64_R_SYM(entry.r_info);
        if (index >= symbol_count_) continue;
        const Elf64_Sym symbol = symbol_at(static_cast<uint32_t>(index));
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
          calls.add(section.name.substr(kPrefix.size()), string_at(symbol_names_, symbol.st_name));
      }
    }
    for (ImageKernel& kernel : image->kernels) kernel.info.device_launch = calls.launcher_of(kernel.info.name);
  }

  // What ptxas keeps with line numbers (-lineinfo): the PTX that the code was made of, lines ended by NUL.
  std::shared_ptr<const std::string> text_of_source() {
    const Section* section = section_named(".nv_debug_ptx_txt", "");
    const Bytes bytes = section == nullptr ? Bytes() : contents(*section);
    if (bytes.empty() || bytes.size() > kMostSource_bytes) return nullptr;
    auto text = std::make_shared<std::string>(bytes.begin(), bytes.end());
    std::replace(text->begin(), text->end(), '\0', '\n');
    return text;
  }

  void add_global(std::string_view name, const Elf64_Sym& symbol, KernelImage* image) {
    const Section& section = sections_[symbol.st_shndx];
    const bool constant = section.name.starts_with(".nv.constant3");
    if (!constant && section.name != ".nv.global" && section.name != ".nv.global.init") return;
    if (symbol.st_size == 0 || symbol.st_size > kMaximumPayload_bytes) return;
    GlobalVariable variable;
    variable.name = name;
    variable.bytes = symbol.st_size;
    variable.alignment = std::clamp<uint64_t>(section.header.sh_addralign, 1, 512);
    variable.constant = constant;
    variable.managed = (symbol.st_other & kSymbolManaged) != 0;
    const Bytes initial = slice(contents(section), symbol.st_value, symbol.st_size);
    if (std::any_of(initial.begin(), initial.end(), [](uint8_t byte) { return byte != 0; }))
      variable.initial.assign(initial.begin(), initial.end());
    image->globals.push_back(std::move(variable));
  }

  Bytes data_;
  Elf64_Ehdr header_ = {};
  std::vector<Section> sections_;
  std::unordered_map<std::string_view, size_t> by_name_;
  std::unordered_map<uint32_t, uint32_t> kernel_of_symbol_;
  Bytes symbols_, symbol_names_;
  uint32_t symbol_count_ = 0;
  std::string scratch_;
};

}  // namespace

ImageStatus parse_cubin(Bytes cubin, KernelImage* image) {
  *image = {};
  const ImageStatus status = Cubin(cubin).parse(image);
  if (status != ImageStatus::kOk) *image = {};
  return status;
}

}  // namespace maya::device
