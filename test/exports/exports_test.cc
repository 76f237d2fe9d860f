// Names and version nodes of every replacement library against NVIDIA's own (MAYA_NVIDIA_DIR: a folder with NVIDIA's
// wheels of CUDA 13.2, searched through; MAYA_NVIDIA_12_DIR: the same of CUDA 12.9), and against what the shared
// objects of installed PyTorch wheels import (MAYA_TORCH_DIR: the package folder of torch 2.15.0;
// MAYA_OLDER_TORCH_DIRS: those of other versions, separated by colons). Where these variables are not set the
// comparison is skipped with a message; CI sets all.
//
// Names of C++ internals (they begin with _Z) that NVIDIA's libraries let slip out are no interface: they are left out
// on both sides.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "test/exports/elf_file.h"

namespace fs = std::filesystem;
using namespace maya::test;

namespace {

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

bool is_shared_object(const fs::path& path) { return path.filename().string().find(".so") != std::string::npos; }

// All of our libraries, those that only stand in included; links such as libcuda.so left out.
std::vector<fs::path> our_libraries() {
  const char* folder = variable("MAYA_LIBRARY_PATH");
  if (folder == nullptr) FAIL("MAYA_LIBRARY_PATH is not set: run through ctest");
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (!entry.is_symlink() && entry.is_regular_file() && is_shared_object(entry.path())) paths.push_back(entry.path());
  return paths;
}

std::string join(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += " " + name;
  return text;
}

// Names of `left` that `right` has not, or has in another node.
std::set<std::string> missing(const std::map<std::string, std::string>& left,
                              const std::map<std::string, std::string>& right) {
  std::set<std::string> names;
  for (const auto& [name, version] : left) {
    const auto found = right.find(name);
    if (found == right.end() || found->second != version) names.insert(name + "@" + version);
  }
  return names;
}

// Shared objects under `folder` by file name.
std::map<std::string, fs::path> shared_objects(const std::string& folder) {
  std::map<std::string, fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && is_shared_object(entry.path()))
      found.emplace(entry.path().filename().string(), entry.path());
  return found;
}

// What the shared objects of a PyTorch package import from NVIDIA's libraries.
struct Imports {
  std::map<std::string, int> checked;       // symbols by library
  std::set<std::string> absent;             // symbols, with their nodes, that none of ours exports
  std::set<std::string> unknown_libraries;  // sonames of NVIDIA's that none of ours has

  explicit Imports(const std::string& folder) {
    std::map<std::string, std::map<std::string, std::string>> ours;  // by soname
    for (const fs::path& path : our_libraries()) ours[path.filename().string()] = c_exports(ElfFile(path.string()));
    // Libraries without version nodes, by the names that are theirs.
    const std::pair<std::string, std::string> unversioned[] = {
        {"nccl", "libnccl.so.2"}, {"cusparseLt", "libcusparseLt.so.0"}, {"cuFile", "libcufile.so.0"}};
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file() || entry.path().extension().string().find(".so") == std::string::npos) continue;
      const ElfFile file(entry.path().string());
      for (const std::string& needed : file.needed)  // torch 2.4 and 2.5 carry cuSPARSELt in their own folder
        if (is_nvidias(needed) && ours.count(needed) == 0 && !fs::exists(entry.path().parent_path() / needed))
          unknown_libraries.insert(needed);
      for (const ElfSymbol& symbol : file.imports) {
        std::string library = symbol.file;
        if (symbol.version.empty())
          for (const auto& [prefix, soname] : unversioned)
            if (symbol.name.rfind(prefix, 0) == 0) library = soname;
        const auto found = ours.find(library);
        if (found == ours.end()) continue;
        const auto exported = found->second.find(symbol.name);
        if (exported == found->second.end() || exported->second != symbol.version)
          absent.insert(symbol.name + "@" + symbol.version);
        ++checked[library];
      }
    }
  }

  static bool is_nvidias(const std::string& soname) {
    for (const char* prefix :
         {"libcu", "libnccl", "libnvrtc", "libnvJitLink", "libnvidia", "libnvshmem", "libnvToolsExt"})
      if (soname.rfind(prefix, 0) == 0) return true;
    return false;
  }
};

}  // namespace

TEST_CASE("Replacement libraries need the C library's family only and are hardened") {
  const std::set<std::string> allowed = {"libc.so.6",       "ld-linux-x86-64.so.2", "libm.so.6",
                                         "libpthread.so.0", "libdl.so.2",           "librt.so.1"};
  const std::vector<fs::path> libraries = our_libraries();
  REQUIRE(libraries.size() >= 20);
  for (const fs::path& path : libraries) {
    INFO(path.filename().string());
    const ElfFile file(path.string());
    CHECK(file.soname == path.filename().string());
    CHECK_FALSE(file.has_run_path);
    CHECK_FALSE(file.has_text_relocations);
    CHECK_FALSE(file.has_executable_stack);
    CHECK(file.has_relro);
    CHECK(file.binds_now);
#ifndef MAYA_SANITIZED
    for (const std::string& needed : file.needed) CHECK(allowed.count(needed) == 1);
#endif
  }
}

TEST_CASE("Exported names and version nodes are NVIDIA's: all, and none extra") {
  const char* folder = variable("MAYA_NVIDIA_DIR");
  if (folder == nullptr) {
    WARN("MAYA_NVIDIA_DIR is not set: skipped");
    return;
  }
  const std::map<std::string, fs::path> theirs = shared_objects(folder);
  int compared = 0;
  for (const fs::path& path : our_libraries()) {
    const auto found = theirs.find(path.filename().string());
    if (found == theirs.end()) continue;
    INFO(path.filename().string());
    const auto mine = c_exports(ElfFile(path.string())), real = c_exports(ElfFile(found->second.string()));
    CHECK(join(missing(real, mine)) == "");
    CHECK(join(missing(mine, real)) == "");
    ++compared;
  }
  CHECK(compared >= 20);
}

TEST_CASE("Exported names of CUDA 12's libraries are NVIDIA's: none extra where the soname is CUDA 12's own") {
  const char* folder = variable("MAYA_NVIDIA_12_DIR");
  if (folder == nullptr) {
    WARN("MAYA_NVIDIA_12_DIR is not set: skipped");
    return;
  }
  // Sonames that both releases have: one library of ours has the names of both.
  const std::set<std::string> shared = {"libcusparse.so.12", "libcurand.so.10", "libcufile.so.0", "libcusparseLt.so.0"};
  const std::map<std::string, fs::path> theirs = shared_objects(folder);
  int compared = 0;
  for (const fs::path& path : our_libraries()) {
    const std::string name = path.filename().string();
    const auto found = theirs.find(name);
    if (found == theirs.end()) continue;
    INFO(name);
    const auto mine = c_exports(ElfFile(path.string())), real = c_exports(ElfFile(found->second.string()));
    CHECK(join(missing(real, mine)) == "");
    if (shared.count(name) == 0) CHECK(join(missing(mine, real)) == "");
    ++compared;
  }
  CHECK(compared >= 4);
}

TEST_CASE("Every symbol that PyTorch's shared objects import from NVIDIA's libraries is exported with its node") {
  const char* folder = variable("MAYA_TORCH_DIR");
  if (folder == nullptr) {
    WARN("MAYA_TORCH_DIR is not set: skipped");
    return;
  }
  Imports imports(folder);
  CHECK(join(imports.absent) == "");
  // Figures of torch 2.15.0 (design.md section 9), as lower bounds.
  const std::pair<const char*, int> expected[] = {{"libcublas.so.13", 164},  {"libcublasLt.so.13", 16},
                                                  {"libcudnn.so.9", 84},     {"libcusolver.so.12", 135},
                                                  {"libcusparse.so.12", 98}, {"libnccl.so.2", 51}};
  for (const auto& [library, count] : expected) {
    INFO(library);
    CHECK(imports.checked[library] >= count);
  }
}

TEST_CASE("The same of PyTorch wheels built with CUDA 12") {
  const char* folders = variable("MAYA_OLDER_TORCH_DIRS");
  if (folders == nullptr) {
    WARN("MAYA_OLDER_TORCH_DIRS is not set: skipped");
    return;
  }
  std::istringstream list(folders);
  for (std::string folder; std::getline(list, folder, ':');) {
    INFO(folder);
    Imports imports(folder);
    CHECK(join(imports.absent) == "");
    CHECK(join(imports.unknown_libraries) == "");
    CHECK(imports.checked["libcudart.so.12"] >= 90);
    CHECK(imports.checked["libcublas.so.12"] >= 100);
  }
}
