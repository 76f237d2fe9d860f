// PTX reader: module directives, kernel signatures and global variables (PTX ISA, chapters 4 to 11). Instructions are
// skipped, except for the shared and local variables that kernels declare.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "virtual_device/image/device_launch.h"
#include "virtual_device/image/kernel_image.h"
#include "virtual_device/image/ptx_text.h"
#include "virtual_device/ptx/program.h"

namespace maya::device {

namespace {

// Newest PTX that is known here: 9.x belongs to CUDA 13.
constexpr int kNewestPtxMajor = 9;
constexpr uint32_t kMaximumParameter_bytes = 32764;
// The text does not say how many registers the compiler in the driver would give a kernel.
constexpr uint32_t kRegistersOfText = 32;

struct Variable {
  std::string_view name;
  uint32_t element_bytes = 0;
  uint64_t bytes = 0;
  uint64_t alignment = 1;
  bool managed = false;
};

class Ptx {
 public:
  explicit Ptx(std::string_view text) : tokens_(text), follow_calls_(mentions_device_launch(text)) {}

  ImageStatus parse(KernelImage* image) {
    image->kind = FatBinaryEntry::Kind::kPtx;
    if (!tokens_.take(".version")) return ImageStatus::kBadPtx;
    const std::string_view version = tokens_.take();
    int major = 0;
    const auto parsed = std::from_chars(version.data(), version.data() + version.size(), major);
    if (parsed.ec != std::errc() || parsed.ptr == version.data() + version.size() || *parsed.ptr != '.')
      return ImageStatus::kBadPtx;
    if (major > kNewestPtxMajor) return ImageStatus::kUnsupportedPtxVersion;
    if (!tokens_.take(".target") || !read_target(image)) return ImageStatus::kBadPtx;
    while (!tokens_.at_end()) {
      if (tokens_.is(".entry")) {
        if (!read_entry(image)) return ImageStatus::kBadPtx;
      } else if (tokens_.is(".func")) {
        if (!skip_function()) return ImageStatus::kBadPtx;
      } else if (tokens_.is(".extern")) {
        tokens_.advance();
        if (!tokens_.is(".func") && !skip_to_semicolon()) return ImageStatus::kBadPtx;
      } else if (tokens_.is(".global") || tokens_.is(".const")) {
        if (!read_global(image)) return ImageStatus::kBadPtx;
      } else if (tokens_.is("{")) {
        if (!skip_braces(nullptr, {})) return ImageStatus::kBadPtx;
      } else {
        tokens_.advance();
      }
    }
    if (follow_calls_)
      for (ImageKernel& kernel : image->kernels) kernel.info.device_launch = calls_.launcher_of(kernel.info.name);
    return ImageStatus::kOk;
  }

 private:
  bool read_target(KernelImage* image) {
    std::string_view target = tokens_.take();
    if (!target.starts_with("sm_")) return false;
    target.remove_prefix(3);
    const auto parsed = std::from_chars(target.data(), target.data() + target.size(), image->architecture);
    if (parsed.ec != std::errc() || image->architecture == 0 || image->architecture > 999) return false;
    const std::string_view suffix(parsed.ptr, static_cast<size_t>(target.data() + target.size() - parsed.ptr));
    if (suffix == "a") {
      image->scope = ArchitectureScope::kSpecific;
    } else if (suffix == "f") {
      image->scope = ArchitectureScope::kFamily;
    } else if (!suffix.empty()) {
      return false;
    }
    return true;
  }

  // After a state space: .align N, .attribute(.managed), vector and element type, name, array bounds.
  bool read_variable(Variable* variable) {
    uint32_t vector = 1;
    bool unsized = false;
    while (tokens_.now().starts_with(".")) {
      const std::string_view word = tokens_.take();
      if (word == ".align") {
        const auto alignment = ptx_number(tokens_.take());
        if (!alignment || !std::has_single_bit(*alignment) || *alignment > 512) return false;
        variable->alignment = *alignment;
      } else if (word == ".attribute") {
        if (!tokens_.take("(")) return false;
        while (!tokens_.at_end() && !tokens_.is(")")) variable->managed |= tokens_.take() == ".managed";
        if (!tokens_.take(")")) return false;
      } else if (word == ".v2" || word == ".v4" || word == ".v8") {
        vector = static_cast<uint32_t>(word[2] - '0');
      } else if (const uint32_t bytes = ptx_type_bytes(word); bytes != 0) {
        variable->element_bytes = bytes;
      }
    }
    if (variable->element_bytes == 0) return false;
    variable->name = tokens_.take();
    uint64_t count = vector;
    while (tokens_.take("[")) {
      if (tokens_.take("]")) {
        unsized = true;
        continue;
      }
      const auto bound = ptx_number(tokens_.take());
      if (!bound || *bound > kMaximumPayload_bytes || !tokens_.take("]")) return false;
      count *= *bound;
      if (count > kMaximumPayload_bytes) return false;
    }
    variable->bytes = unsized ? 0 : count * variable->element_bytes;
    variable->alignment = std::max<uint64_t>(variable->alignment, variable->element_bytes);
    return !variable->name.empty() && variable->bytes <= kMaximumPayload_bytes;
  }

  bool read_entry(KernelImage* image) {
    tokens_.advance();
    ImageKernel kernel;
    KernelInfo& info = kernel.info;
    info.name = tokens_.take();
    info.architecture = image->architecture;
    info.ptx_version = image->architecture;
    info.registers = kRegistersOfText;
    info.layout_known = true;
    if (info.name.empty()) return false;
    if (tokens_.take("(")) {
      while (!tokens_.is(")")) {
        if (tokens_.at_end()) return false;
        if (!tokens_.take(".param") || !read_parameter(&info)) return false;
        if (!tokens_.take(",") && !tokens_.is(")")) return false;
      }
      tokens_.advance();
    }
    while (!tokens_.at_end() && !tokens_.is("{") && !tokens_.is(";")) {
      const std::string_view directive = tokens_.take();
      uint32_t dimensions[3] = {1, 1, 1};
      if (directive == ".maxntid") {
        read_dimensions(dimensions);
        const uint64_t threads = static_cast<uint64_t>(dimensions[0]) * dimensions[1] * dimensions[2];
        if (threads != 0) info.max_threads = static_cast<uint32_t>(std::min<uint64_t>(threads, 1024));
      } else if (directive == ".reqntid") {
        read_dimensions(dimensions);
        std::copy(dimensions, dimensions + 3, info.required_block);
      } else if (directive == ".reqnctapercluster") {
        read_dimensions(dimensions);
        std::copy(dimensions, dimensions + 3, info.required_cluster);
      } else if (directive == ".maxnreg") {
        if (const auto registers = ptx_number(tokens_.now()))
          info.registers = static_cast<uint32_t>(std::min<uint64_t>(*registers, 255));
      }
    }
    if (tokens_.take(";")) return true;  // a declaration
    if (!skip_braces(&info, info.name)) return false;
    image->kernels.push_back(std::move(kernel));
    return true;
  }

  // `x [, y [, z]]`, each at most 16 bits.
  void read_dimensions(uint32_t* dimensions) {
    for (int i = 0; i < 3; ++i) {
      const auto value = ptx_number(tokens_.now());
      if (!value) return;
      dimensions[i] = static_cast<uint32_t>(std::min<uint64_t>(*value, 0xffff));
      tokens_.advance();
      if (!tokens_.take(",")) return;
    }
  }

  bool read_parameter(KernelInfo* info) {
    Variable variable;
    uint64_t alignment = 0;
    // `.param .u64 .ptr .global .align 16 name`: here .align speaks of what the pointer points at.
    bool pointer = false;
    while (tokens_.now().starts_with(".")) {
      const std::string_view word = tokens_.take();
      if (word == ".ptr") {
        pointer = true;
      } else if (word == ".align") {
        const auto value = ptx_number(tokens_.take());
        if (!value || !std::has_single_bit(*value) || *value > 512) return false;
        if (!pointer) alignment = *value;
      } else if (const uint32_t bytes = ptx_type_bytes(word); bytes != 0) {
        variable.element_bytes = bytes;
      }
    }
    if (variable.element_bytes == 0) return false;
    tokens_.advance();  // its name
    uint64_t size = variable.element_bytes;
    if (tokens_.take("[")) {
      const auto bound = ptx_number(tokens_.take());
      if (!bound || *bound > kMaximumParameter_bytes || !tokens_.take("]")) return false;
      size *= *bound;
    }
    alignment = std::max<uint64_t>(alignment, variable.element_bytes);
    const uint64_t offset = (info->parameter_bytes + alignment - 1) / alignment * alignment;
    if (offset + size > kMaximumParameter_bytes) return false;
    info->parameters.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(size)});
    info->parameter_bytes = static_cast<uint32_t>(offset + size);
    return true;
  }

  // At `{`: to behind its `}`. Adds up declared shared and local variables when `info` is given. Notes what `caller`
  // calls.
  bool skip_braces(KernelInfo* info, std::string_view caller) {
    if (!tokens_.take("{")) return false;
    bool in_call = false;
    for (int depth = 1; depth > 0;) {
      if (tokens_.at_end()) return false;
      const std::string_view token = tokens_.take();
      if (token == "{") {
        ++depth;
      } else if (token == "}") {
        --depth;
      } else if (follow_calls_ && (in_call || token == "call" || token.starts_with("call."))) {
        if (in_call) calls_.add(caller, token);
        in_call = token != ";";
      } else if (info != nullptr && (token == ".shared" || token == ".local")) {
        Variable variable;
        if (!read_variable(&variable)) return false;
        uint32_t& total = token == ".shared" ? info->static_shared_bytes : info->local_bytes;
        const uint64_t start = (total + variable.alignment - 1) / variable.alignment * variable.alignment;
        total = static_cast<uint32_t>(std::min<uint64_t>(start + variable.bytes, UINT32_MAX / 2));
      }
    }
    return true;
  }

  bool skip_function() {
    // .func (its result, where it has one) name (parameters)
    tokens_.advance();
    if (tokens_.is("("))
      while (!tokens_.at_end() && !tokens_.take(")")) tokens_.advance();
    const std::string_view name = tokens_.now();
    while (!tokens_.at_end() && !tokens_.is("{") && !tokens_.is(";")) tokens_.advance();
    return tokens_.is("{") ? skip_braces(nullptr, name) : tokens_.take(";");
  }

  bool skip_to_semicolon() {
    while (!tokens_.at_end() && !tokens_.is(";")) tokens_.advance();
    return tokens_.take(";");
  }

  bool read_global(KernelImage* image) {
    const bool constant = tokens_.take() == ".const";
    Variable variable;
    if (!read_variable(&variable)) return false;
    GlobalVariable made;
    made.name = variable.name;
    made.bytes = variable.bytes;
    made.alignment = variable.alignment;
    made.constant = constant;
    made.managed = variable.managed;
    if (tokens_.take("=")) read_initial(variable, &made);
    if (made.bytes != 0) image->globals.push_back(std::move(made));
    return skip_to_semicolon();
  }

  // A scalar or a flat list; nested lists in order of their elements. Anything that is not a number makes the value
  // unknown.
  void read_initial(const Variable& variable, GlobalVariable* made) {
    std::vector<uint8_t> bytes;
    while (!tokens_.at_end() && !tokens_.is(";")) {
      const std::string_view token = tokens_.take();
      if (token == "{" || token == "}" || token == ",") continue;
      const auto value = ptx_value(token, variable.element_bytes);
      if (!value || variable.element_bytes > 8 || bytes.size() + variable.element_bytes > made->bytes) {
        made->initial_known = false;
        return;
      }
      for (uint32_t i = 0; i < variable.element_bytes; ++i) bytes.push_back(static_cast<uint8_t>(*value >> (8 * i)));
    }
    if (std::any_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte != 0; })) {
      bytes.resize(made->bytes);
      made->initial = std::move(bytes);
    }
  }

  PtxTokens tokens_;
  const bool follow_calls_;  // a kernel may launch others
  DeviceCalls calls_;
};

}  // namespace

ImageStatus parse_ptx(std::string_view text, KernelImage* image) {
  *image = {};
  const ImageStatus status = Ptx(text).parse(image);
  if (status != ImageStatus::kOk) {
    *image = {};
    return status;
  }
  const auto kept = std::make_shared<const std::string>(text);
  for (ImageKernel& kernel : image->kernels)
    kernel.info.ptx = std::make_shared<const ptx::Source>(kept, kernel.info.name);
  return status;
}

}  // namespace maya::device
