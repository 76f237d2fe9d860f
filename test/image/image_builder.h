// Builds small cubins and fat binaries, byte by byte, after the description in design.md section 8, so that tests need
// no CUDA toolkit.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace maya::test {

struct KernelText {
  std::string name;
  std::vector<std::pair<uint16_t, uint16_t>> parameters;  // offset, size in order of ordinal
  uint32_t registers = 32;
  uint32_t static_shared_bytes = 0;
  uint32_t max_threads = 0;  // 0: no launch bound
  uint32_t cluster[3] = {0, 0, 0};
  uint32_t code_bytes = 256;
  bool wide_parameters = false;         // records of the form for more than 4 KB
  std::vector<std::string> calls = {};  // functions: relocations of its code
  bool device_function = false;         // no kernel
};

struct VariableText {
  std::string name;
  std::vector<uint8_t> initial;  // empty: zeros
  uint32_t bytes = 0;
  bool constant = false;
  bool managed = false;
};

// abi 8: architecture in bits 8 to 15 of e_flags; 7: in bits 0 to 7.
std::vector<uint8_t> build_cubin(uint32_t architecture, const std::vector<KernelText>& kernels,
                                 const std::vector<VariableText>& variables = {}, uint8_t abi = 8);

struct EntryText {
  uint16_t kind = 2;  // 1 PTX, 2 cubin
  uint32_t architecture = 90;
  uint64_t flags = 0x11;  // 0x2000 LZ4, 0x8000 zstd: the payload is then compressed here; 0x100000 "a", 0x200000 "f"
  std::vector<uint8_t> payload;
};
std::vector<uint8_t> build_fat_binary(const std::vector<EntryText>& entries);

std::vector<uint8_t> text_bytes(const std::string& text);

}  // namespace maya::test
