// The exported names and their version node, against entries.txt, which lists NVIDIA's.
#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>

namespace {

// Defined dynamic symbols of a 64-bit shared object -> version node. Absolute symbols, which name the nodes themselves,
// are left out.
std::map<std::string, std::string> exported(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(in)), {});
  REQUIRE(file.size() > sizeof(Elf64_Ehdr));
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(file.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(file.data() + header->e_shoff);
  const Elf64_Shdr *symbols = nullptr, *versions = nullptr, *definitions = nullptr;
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type == SHT_DYNSYM) symbols = &sections[i];
    if (sections[i].sh_type == SHT_GNU_versym) versions = &sections[i];
    if (sections[i].sh_type == SHT_GNU_verdef) definitions = &sections[i];
  }
  REQUIRE(symbols != nullptr);
  REQUIRE(versions != nullptr);
  REQUIRE(definitions != nullptr);
  std::map<unsigned, std::string> nodes;
  const char* strings = file.data() + sections[definitions->sh_link].sh_offset;
  size_t offset = definitions->sh_offset;
  for (unsigned i = 0; i < definitions->sh_info; ++i) {
    const auto* definition = reinterpret_cast<const Elf64_Verdef*>(file.data() + offset);
    const auto* name = reinterpret_cast<const Elf64_Verdaux*>(file.data() + offset + definition->vd_aux);
    nodes[definition->vd_ndx] = strings + name->vda_name;
    offset += definition->vd_next;
  }
  std::map<std::string, std::string> result;
  const auto* table = reinterpret_cast<const Elf64_Sym*>(file.data() + symbols->sh_offset);
  const auto* version = reinterpret_cast<const uint16_t*>(file.data() + versions->sh_offset);
  const char* names = file.data() + sections[symbols->sh_link].sh_offset;
  for (size_t i = 1; i < symbols->sh_size / sizeof(Elf64_Sym); ++i)
    if (table[i].st_shndx != SHN_UNDEF && table[i].st_shndx != SHN_ABS)
      result[names + table[i].st_name] = nodes[version[i] & 0x7fff];
  return result;
}

// Names of entries.txt -> status word.
std::map<std::string, std::string> listed() {
  std::ifstream in(MAYA_ENTRIES);
  std::map<std::string, std::string> result;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name, since, status;
    if (words >> name >> since >> status && name[0] != '#' && since != "=") result[name] = status;
  }
  return result;
}

}  // namespace

TEST_CASE("exactly the listed names are exported, all under the node libcudart.so.13") {
  const auto names = exported(MAYA_CUDART);
  const auto list = listed();
  CHECK(names.size() == 452);  // design.md section 9: NVIDIA's cudart exports 452
  for (const auto& [name, node] : names) {
    INFO(name);
    CHECK(node == "libcudart.so.13");
    CHECK(list.count(name) == 1);
  }
  for (const auto& [name, status] : list) {
    INFO(name);
    CHECK(names.count(name) == 1);
    CHECK((status == "emulated" || status == "inert" || status == "inert*" || status == "unsupported"));
  }
}

TEST_CASE("the same names as NVIDIA's library, where there is one") {
  const char* path = getenv("MAYA_NVIDIA_CUDART");
  if (path == nullptr) {
    WARN("skipped: MAYA_NVIDIA_CUDART does not name NVIDIA's libcudart.so.13");
    return;
  }
  CHECK(exported(path) == exported(MAYA_CUDART));
}
