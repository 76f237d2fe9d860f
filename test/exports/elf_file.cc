#include "test/exports/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace maya::test {
namespace {

// A file mapped read-only: NVIDIA's libraries are hundreds of megabytes, of which little is looked at.
class Bytes {
 public:
  explicit Bytes(const std::string& path) : path_(path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status = {};
    if (file < 0 || fstat(file, &status) != 0) throw std::runtime_error("cannot read " + path);
    size_ = static_cast<uint64_t>(status.st_size);
    void* mapped = size_ == 0 ? MAP_FAILED : mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (mapped == MAP_FAILED) throw std::runtime_error("cannot map " + path);
    data_ = static_cast<const char*>(mapped);
  }
  ~Bytes() { munmap(const_cast<char*>(data_), size_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  template <typename T>
  T at(uint64_t offset) const {
    if (offset > size_ || size_ - offset < sizeof(T)) throw std::runtime_error(path_ + ": cut");
    T value;
    std::memcpy(&value, data_ + offset, sizeof value);
    return value;
  }

  std::string text(uint64_t offset) const {
    std::string result;
    for (char c; (c = at<char>(offset)) != '\0'; ++offset) result += c;
    return result;
  }

 private:
  std::string path_;
  const char* data_ = nullptr;
  uint64_t size_ = 0;
};

// Version nodes by their index, and the file that a needed node comes from.
struct VersionNode {
  std::string name, file;
};

std::map<unsigned, VersionNode> read_versions(const Bytes& bytes, const std::vector<Elf64_Shdr>& sections) {
  std::map<unsigned, VersionNode> versions;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_GNU_verdef && section.sh_type != SHT_GNU_verneed) continue;
    const uint64_t strings = sections.at(section.sh_link).sh_offset;
    uint64_t offset = section.sh_offset;
    for (uint32_t i = 0; i < section.sh_info; ++i) {
      if (section.sh_type == SHT_GNU_verdef) {
        const auto entry = bytes.at<Elf64_Verdef>(offset);
        const auto name = bytes.at<Elf64_Verdaux>(offset + entry.vd_aux);
        if ((entry.vd_flags & VER_FLG_BASE) == 0)
          versions[entry.vd_ndx & 0x7fff] = {bytes.text(strings + name.vda_name), ""};
        offset += entry.vd_next;
      } else {
        const auto entry = bytes.at<Elf64_Verneed>(offset);
        uint64_t aux = offset + entry.vn_aux;
        for (int j = 0; j < entry.vn_cnt; ++j) {
          const auto name = bytes.at<Elf64_Vernaux>(aux);
          versions[name.vna_other & 0x7fff] = {bytes.text(strings + name.vna_name),
                                               bytes.text(strings + entry.vn_file)};
          aux += name.vna_next;
        }
        offset += entry.vn_next;
      }
    }
  }
  return versions;
}

}  // namespace

ElfFile::ElfFile(const std::string& path) {
  const Bytes bytes(path);
  const auto header = bytes.at<Elf64_Ehdr>(0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_machine != EM_X86_64)
    throw std::runtime_error(path + ": not an x86-64 ELF file");
  for (int i = 0; i < header.e_phnum; ++i) {
    const auto segment = bytes.at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_GNU_RELRO) has_relro = true;
    if (segment.p_type == PT_GNU_STACK && (segment.p_flags & PF_X) != 0) has_executable_stack = true;
  }
  std::vector<Elf64_Shdr> sections;
  for (int i = 0; i < header.e_shnum; ++i)
    sections.push_back(bytes.at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
  const std::map<unsigned, VersionNode> versions = read_versions(bytes, sections);
  const Elf64_Shdr *symbols = nullptr, *symbol_versions = nullptr;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type == SHT_DYNSYM) symbols = &section;
    if (section.sh_type == SHT_GNU_versym) symbol_versions = &section;
    if (section.sh_type != SHT_DYNAMIC) continue;
    const uint64_t strings = sections.at(section.sh_link).sh_offset;
    for (uint64_t offset = 0; offset < section.sh_size; offset += sizeof(Elf64_Dyn)) {
      const auto entry = bytes.at<Elf64_Dyn>(section.sh_offset + offset);
      switch (entry.d_tag) {
        case DT_SONAME:
          soname = bytes.text(strings + entry.d_un.d_val);
          break;
        case DT_NEEDED:
          needed.push_back(bytes.text(strings + entry.d_un.d_val));
          break;
        case DT_RPATH:
        case DT_RUNPATH:
          has_run_path = true;
          break;
        case DT_TEXTREL:
          has_text_relocations = true;
          break;
        case DT_BIND_NOW:
          binds_now = true;
          break;
        case DT_FLAGS:
          binds_now = binds_now || (entry.d_un.d_val & DF_BIND_NOW) != 0;
          has_text_relocations = has_text_relocations || (entry.d_un.d_val & DF_TEXTREL) != 0;
          break;
        case DT_FLAGS_1:
          binds_now = binds_now || (entry.d_un.d_val & DF_1_NOW) != 0;
          break;
        default:
          break;
      }
    }
  }
  if (symbols == nullptr) return;
  const uint64_t strings = sections.at(symbols->sh_link).sh_offset;
  for (uint64_t i = 1; i < symbols->sh_size / sizeof(Elf64_Sym); ++i) {
    const auto symbol = bytes.at<Elf64_Sym>(symbols->sh_offset + i * sizeof(Elf64_Sym));
    const unsigned binding = ELF64_ST_BIND(symbol.st_info);
    if (binding == STB_LOCAL || symbol.st_shndx == SHN_ABS) continue;  // the nodes themselves are absolute symbols
    ElfSymbol result;
    result.name = bytes.text(strings + symbol.st_name);
    result.function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC || ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC;
    if (symbol_versions != nullptr) {
      const unsigned index = bytes.at<uint16_t>(symbol_versions->sh_offset + i * sizeof(uint16_t)) & 0x7fff;
      if (const auto found = versions.find(index); found != versions.end())
        result.version = found->second.name, result.file = found->second.file;
    }
    (symbol.st_shndx == SHN_UNDEF ? imports : exports).push_back(result);
  }
}

std::map<std::string, std::string> c_exports(const ElfFile& file) {
  std::map<std::string, std::string> result;
  for (const ElfSymbol& symbol : file.exports)
    if (symbol.name.rfind("_Z", 0) != 0) result[symbol.name] = symbol.version;
  return result;
}

}  // namespace maya::test
