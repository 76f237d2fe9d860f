// What the tests need to know of a shared object, read from its bytes: names with their version nodes, needed
// libraries, and properties that a loader cares about. x86-64 only. Throws std::runtime_error on anything that is not
// such a file.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace maya::test {

struct ElfSymbol {
  std::string name;
  std::string version;  // node; empty when unversioned
  std::string file;     // of an import: soname that the node comes from; may be empty
  bool function = false;
};

struct ElfFile {
  explicit ElfFile(const std::string& path);

  std::string soname;
  std::vector<std::string> needed;
  std::vector<ElfSymbol> exports;
  std::vector<ElfSymbol> imports;
  bool has_run_path = false;  // DT_RPATH or DT_RUNPATH
  bool binds_now = false;
  bool has_relro = false;
  bool has_text_relocations = false;
  bool has_executable_stack = false;
};

// Names of the exports with their version nodes, without the mangled names of C++ internals.
std::map<std::string, std::string> c_exports(const ElfFile& file);

}  // namespace maya::test
