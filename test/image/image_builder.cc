#include "test/image/image_builder.h"

#include <elf.h>
#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <map>

namespace maya::test {

namespace {

using Buffer = std::vector<uint8_t>;

template <typename T>
void append(Buffer* buffer, T value) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  buffer->insert(buffer->end(), bytes, bytes + sizeof(value));
}

uint32_t append_string(Buffer* table, const std::string& text) {
  const auto at = static_cast<uint32_t>(table->size());
  table->insert(table->end(), text.begin(), text.end());
  table->push_back(0);
  return at;
}

struct Section {
  std::string name;
  uint32_t type = SHT_PROGBITS;
  Buffer bytes;
  uint64_t size = 0;  // for sections without bytes
  uint32_t link = 0, info = 0;
};

Buffer kernel_info(const KernelText& kernel) {
  Buffer info;
  // Ordinals backwards, as the compiler writes them.
  for (size_t i = kernel.parameters.size(); i-- > 0;) {
    append<uint8_t>(&info, 4);
    append<uint8_t>(&info, kernel.wide_parameters ? 0x45 : 0x17);
    append<uint16_t>(&info, 12);
    append<uint32_t>(&info, 0);
    append<uint16_t>(&info, static_cast<uint16_t>(i));
    append<uint16_t>(&info, kernel.parameters[i].first);
    append<uint32_t>(&info, kernel.wide_parameters ? kernel.parameters[i].second
                                                   : (uint32_t{kernel.parameters[i].second} << 18) | 0x1f000);
  }
  if (!kernel.parameters.empty()) {
    append<uint8_t>(&info, 3);
    append<uint8_t>(&info, 0x19);
    append<uint16_t>(&info, static_cast<uint16_t>(kernel.parameters.back().first + kernel.parameters.back().second));
  }
  const auto three = [&](uint8_t attribute, uint32_t x, uint32_t y, uint32_t z) {
    append<uint8_t>(&info, 4);
    append<uint8_t>(&info, attribute);
    append<uint16_t>(&info, 12);
    append<uint32_t>(&info, x);
    append<uint32_t>(&info, y);
    append<uint32_t>(&info, z);
  };
  if (kernel.max_threads != 0) three(0x05, kernel.max_threads, 1, 1);
  if (kernel.cluster[0] != 0) three(0x3d, kernel.cluster[0], kernel.cluster[1], kernel.cluster[2]);
  return info;
}

}  // namespace

Buffer build_cubin(uint32_t architecture, const std::vector<KernelText>& kernels,
                   const std::vector<VariableText>& variables, uint8_t abi) {
  std::vector<Section> sections(1);  // the first is empty
  Section names{".shstrtab", SHT_STRTAB, {0}}, strings{".strtab", SHT_STRTAB, {0}},
      symbols{".symtab", SHT_SYMTAB, {}, 0, 2};
  symbols.bytes.resize(sizeof(Elf64_Sym));
  sections.push_back(names);
  sections.push_back(strings);
  sections.push_back(symbols);
  Buffer global_info;
  const auto add_symbol = [&](const std::string& name, uint8_t type, uint8_t other, size_t section, uint64_t value,
                              uint64_t size) {
    Elf64_Sym symbol = {};
    symbol.st_name = append_string(&sections[2].bytes, name);
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, type);
    symbol.st_other = other;
    symbol.st_shndx = static_cast<uint16_t>(section);
    symbol.st_value = value;
    symbol.st_size = size;
    const auto index = static_cast<uint32_t>(sections[3].bytes.size() / sizeof(symbol));
    append(&sections[3].bytes, symbol);
    return index;
  };
  std::map<std::string, std::pair<size_t, uint32_t>> functions;  // section and symbol
  for (const KernelText& kernel : kernels) {
    const size_t text = sections.size();
    sections.push_back({".text." + kernel.name, SHT_PROGBITS, Buffer(kernel.code_bytes, 0x90)});
    const uint32_t symbol =
        add_symbol(kernel.name, STT_FUNC, kernel.device_function ? 0 : 0x10, text, 0, kernel.code_bytes);
    functions[kernel.name] = {text, symbol};
    sections.push_back({".nv.info." + kernel.name, 0x70000000, kernel_info(kernel), 0, 3, static_cast<uint32_t>(text)});
    const uint32_t reserved = architecture >= 90 ? 1024 : 0;
    if (kernel.static_shared_bytes != 0)
      sections.push_back({".nv.shared." + kernel.name,
                          SHT_NOBITS,
                          {},
                          kernel.static_shared_bytes + reserved,
                          0,
                          static_cast<uint32_t>(text)});
    append<uint8_t>(&global_info, 4);
    append<uint8_t>(&global_info, 0x2f);
    append<uint16_t>(&global_info, 8);
    append<uint32_t>(&global_info, symbol);
    append<uint32_t>(&global_info, kernel.registers);
  }
  for (const KernelText& kernel : kernels) {
    if (kernel.calls.empty()) continue;
    Section relocations{
        ".rela.text." + kernel.name, SHT_RELA, {}, 0, 3, static_cast<uint32_t>(functions[kernel.name].first)};
    for (const std::string& callee : kernel.calls) {
      const auto found = functions.find(callee);
      const uint32_t symbol =
          found != functions.end() ? found->second.second : add_symbol(callee, STT_FUNC, 0, SHN_UNDEF, 0, 0);
      append(&relocations.bytes, Elf64_Rela{0, ELF64_R_INFO(symbol, 0x4b), 0});
    }
    sections.push_back(relocations);
  }
  Section initialised{".nv.global.init", SHT_PROGBITS, {}}, zeroed{".nv.global", SHT_NOBITS, {}, 0},
      constants{".nv.constant3", SHT_PROGBITS, {}};
  const size_t first = sections.size();
  for (const VariableText& variable : variables) {
    const uint8_t other = variable.managed ? 4 : 0;
    Buffer initial = variable.initial;
    const uint32_t bytes = variable.bytes != 0 ? variable.bytes : static_cast<uint32_t>(initial.size());
    initial.resize(bytes);
    if (variable.constant || !variable.initial.empty()) {
      Section& section = variable.constant ? constants : initialised;
      add_symbol(variable.name, STT_OBJECT, other, first + (variable.constant ? 2 : 0), section.bytes.size(), bytes);
      section.bytes.insert(section.bytes.end(), initial.begin(), initial.end());
    } else {
      add_symbol(variable.name, STT_OBJECT, other, first + 1, zeroed.size, bytes);
      zeroed.size += bytes;
    }
  }
  sections.push_back(initialised);
  sections.push_back(zeroed);
  sections.push_back(constants);
  sections.push_back({".nv.info", 0x70000000, global_info, 0, 3});

  Buffer file(sizeof(Elf64_Ehdr));
  std::vector<Elf64_Shdr> headers;
  for (Section& section : sections)
    if (!section.name.empty()) section.size = section.size != 0 ? section.size : section.bytes.size();
  std::vector<uint32_t> name_offsets;
  for (const Section& section : sections)
    name_offsets.push_back(section.name.empty() ? 0 : append_string(&sections[1].bytes, section.name));
  sections[1].size = sections[1].bytes.size();
  sections[2].size = sections[2].bytes.size();
  sections[3].size = sections[3].bytes.size();
  for (size_t i = 0; i < sections.size(); ++i) {
    Elf64_Shdr header = {};
    header.sh_name = name_offsets[i];
    header.sh_type = i == 0 ? SHT_NULL : sections[i].type;
    header.sh_offset = file.size();
    header.sh_size = sections[i].size;
    header.sh_link = sections[i].link;
    header.sh_info = sections[i].info;
    header.sh_addralign = 4;
    file.insert(file.end(), sections[i].bytes.begin(), sections[i].bytes.end());
    headers.push_back(header);
  }
  file.resize((file.size() + 7) / 8 * 8);
  Elf64_Ehdr elf = {};
  std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_ident[EI_DATA] = ELFDATA2LSB;
  elf.e_ident[EI_VERSION] = EV_CURRENT;
  elf.e_ident[EI_OSABI] = 0x41;
  elf.e_ident[EI_ABIVERSION] = abi;
  elf.e_type = ET_EXEC;
  elf.e_machine = 190;
  elf.e_version = 1;
  elf.e_shoff = file.size();
  elf.e_flags = abi >= 8 ? (0x6000002u | (architecture << 8)) : (0x00500500u | architecture);
  elf.e_ehsize = sizeof(Elf64_Ehdr);
  elf.e_shentsize = sizeof(Elf64_Shdr);
  elf.e_shnum = static_cast<uint16_t>(headers.size());
  elf.e_shstrndx = 1;
  for (const Elf64_Shdr& header : headers) append(&file, header);
  std::memcpy(file.data(), &elf, sizeof(elf));
  return file;
}

Buffer build_fat_binary(const std::vector<EntryText>& entries) {
  Buffer body;
  for (const EntryText& entry : entries) {
    Buffer stored = entry.payload;
    const bool zstd = (entry.flags & 0x8000) != 0, lz4 = (entry.flags & 0x2000) != 0;
    if (zstd) {
      stored.resize(ZSTD_compressBound(entry.payload.size()));
      stored.resize(ZSTD_compress(stored.data(), stored.size(), entry.payload.data(), entry.payload.size(), 3));
    } else if (lz4) {
      stored.resize(static_cast<size_t>(LZ4_compressBound(static_cast<int>(entry.payload.size()))));
      stored.resize(static_cast<size_t>(LZ4_compress_default(
          reinterpret_cast<const char*>(entry.payload.data()), reinterpret_cast<char*>(stored.data()),
          static_cast<int>(entry.payload.size()), static_cast<int>(stored.size()))));
    }
    const auto compressed = static_cast<uint32_t>(zstd || lz4 ? stored.size() : 0);
    stored.resize((stored.size() + 7) / 8 * 8);
    append<uint16_t>(&body, entry.kind);
    append<uint16_t>(&body, 0x101);
    append<uint32_t>(&body, 64);
    append<uint64_t>(&body, stored.size());
    append<uint32_t>(&body, compressed);
    append<uint32_t>(&body, 0);
    append<uint16_t>(&body, 8);
    append<uint16_t>(&body, 1);
    append<uint32_t>(&body, entry.architecture);
    append<uint64_t>(&body, 0);
    append<uint64_t>(&body, entry.flags);
    append<uint64_t>(&body, 0);
    append<uint64_t>(&body, zstd || lz4 ? entry.payload.size() : 0);
    body.insert(body.end(), stored.begin(), stored.end());
  }
  Buffer file;
  append<uint32_t>(&file, 0xBA55ED50);
  append<uint16_t>(&file, 1);
  append<uint16_t>(&file, 16);
  append<uint64_t>(&file, body.size());
  file.insert(file.end(), body.begin(), body.end());
  return file;
}

Buffer text_bytes(const std::string& text) {
  Buffer bytes(text.begin(), text.end());
  bytes.push_back(0);
  return bytes;
}

}  // namespace maya::test
