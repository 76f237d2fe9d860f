#include "virtual_device/ptx/program.h"

#include <unordered_map>

#include "virtual_device/image/ptx_text.h"
#include "virtual_device/ptx/address.h"

namespace maya::device::ptx {
namespace {

constexpr uint32_t kMostInstructions = 1u << 20;
constexpr uint32_t kMostRegisters = 1u << 16;
constexpr uint32_t kMostParameters = 4096;
constexpr size_t kMostScopes = 64;

struct NamedSpecial {
  std::string_view name;
  Special special;
};
constexpr NamedSpecial kSpecials[] = {
    {"%tid", Special::kThread},
    {"%ntid", Special::kThreads},
    {"%ctaid", Special::kBlock},
    {"%nctaid", Special::kBlocks},
    {"%laneid", Special::kLane},
    {"%warpid", Special::kWarp},
    {"%cluster_ctarank", Special::kClusterRank},
    {"%cluster_nctarank", Special::kClusterSize},
    {"%cluster_ctaid", Special::kClusterBlock},
    {"%cluster_nctaid", Special::kClusterBlocks},
    {"%clusterid", Special::kCluster},
    {"%nclusterid", Special::kClusters},
};

class Reader {
 public:
  explicit Reader(std::string_view text) : tokens_(text) {}

  bool read(std::string_view kernel, Program* program) {
    program_ = program;
    while (!tokens_.at_end()) {
      if (tokens_.take(".entry")) {
        const bool wanted = tokens_.take() == kernel;
        if (wanted && !read_parameters()) return false;
        while (!tokens_.at_end() && !tokens_.is("{") && !tokens_.is(";")) tokens_.advance();
        if (tokens_.take(";")) continue;
        if (wanted) return read_body() && resolve_labels();
        skip_braces();
      } else if (tokens_.is(".shared")) {
        if (!read_variable()) return false;
      } else if (tokens_.is("{")) {
        skip_braces();
      } else {
        tokens_.advance();
      }
    }
    return false;
  }

 private:
  struct Jump {
    uint32_t instruction;
    std::string_view label;
  };

  void skip_braces() {
    int depth = 0;
    do {
      if (tokens_.is("{")) ++depth;
      if (tokens_.is("}")) --depth;
      tokens_.advance();
    } while (depth > 0 && !tokens_.at_end());
  }

  bool read_parameters() {
    if (!tokens_.take("(")) return true;
    std::string_view last;
    uint64_t count = 0;
    bool pointer = false;
    auto finish = [&] {
      if (last.empty()) return;
      names_.emplace(last, kParameterBase + (count++ << kParameterShift));
      program_->pointers.push_back(pointer);
      last = {};
      pointer = false;
    };
    bool bounds = false;
    while (!tokens_.at_end() && !tokens_.is(")")) {
      const std::string_view word = tokens_.take();
      if (word == "[") bounds = true;
      if (word == ".ptr") pointer = true;
      if (word == ",") {
        finish();
        bounds = false;
      } else if (!bounds && word[0] != '.' && !ptx_number(word)) {
        last = word;
      }
      if (count >= kMostParameters) return false;
    }
    finish();
    return tokens_.take(")");
  }

  // .shared .align 16 .b8 name[64]: where it is does not matter, only that its address is known.
  bool read_variable() {
    std::string_view name;
    while (!tokens_.at_end() && !tokens_.is(";")) {
      const std::string_view word = tokens_.take();
      if (word[0] != '.' && word != "[" && word != "]" && !ptx_number(word)) name = word;
    }
    if (!name.empty()) names_.emplace(name, 0);
    return tokens_.take(";");
  }

  bool read_body() {
    scopes_.emplace_back();
    tokens_.advance();
    while (!scopes_.empty()) {
      if (tokens_.at_end() || program_->instructions.size() > kMostInstructions || program_->registers > kMostRegisters)
        return false;
      if (tokens_.take("{")) {
        if (scopes_.size() > kMostScopes) return false;
        scopes_.emplace_back();
      } else if (tokens_.take("}")) {
        scopes_.pop_back();
      } else if (tokens_.is(".reg")) {
        if (!read_registers()) return false;
      } else if (tokens_.is(".shared")) {
        if (!read_variable()) return false;
      } else if (tokens_.take(".loc")) {
        skip_location();
      } else if (tokens_.now()[0] == '.') {
        while (!tokens_.at_end() && !tokens_.is(";")) tokens_.advance();
        tokens_.advance();
      } else if (!tokens_.take(";") && !read_statement()) {
        return false;
      }
    }
    return true;
  }

  // file, line, column; then ", function_name label, inlined_at file line column". No semicolon ends it.
  void skip_location() {
    for (int i = 0; i < 3; ++i) tokens_.advance();
    while (tokens_.take(",")) {
      const bool place = tokens_.take() == "inlined_at";
      for (int i = 0; i < (place ? 3 : 1); ++i) tokens_.advance();
    }
  }

  // .reg .b32 %r<39>, %x;
  bool read_registers() {
    tokens_.advance();
    while (!tokens_.at_end() && tokens_.now()[0] == '.') tokens_.advance();
    do {
      const std::string_view name = tokens_.take();
      if (name.empty()) return false;
      if (tokens_.take("<")) {
        const auto count = ptx_number(tokens_.take());
        if (!count || *count > kMostInstructions || !tokens_.take(">")) return false;
        scopes_.back().families.emplace_back(name, *count);
      } else {
        scopes_.back().registers.emplace(name, new_register());
      }
    } while (tokens_.take(","));
    return tokens_.take(";");
  }

  int32_t new_register() { return static_cast<int32_t>(program_->registers++); }

  // The register of a name, -1 for a name that is none.
  int32_t register_named(std::string_view name) {
    for (size_t i = scopes_.size(); i-- > 0;) {
      const auto found = scopes_[i].registers.find(name);
      if (found != scopes_[i].registers.end()) return found->second;
      for (const auto& [prefix, count] : scopes_[i].families) {
        if (!name.starts_with(prefix) || name.size() == prefix.size()) continue;
        const auto number = ptx_number(name.substr(prefix.size()));
        if (!number || *number >= count) continue;
        const int32_t made = new_register();
        scopes_[i].registers.emplace(name, made);
        return made;
      }
    }
    return -1;
  }

  bool read_statement() {
    Instruction instruction;
    if (tokens_.take("@")) {
      instruction.negated = tokens_.take("!");
      instruction.predicate = register_named(tokens_.take());
      if (instruction.predicate < 0) return false;
    }
    std::string_view opcode = tokens_.take();
    while (tokens_.take(":")) {
      if (!tokens_.take(":")) {
        if (instruction.predicate >= 0) return false;
        labels_[opcode] = static_cast<uint32_t>(program_->instructions.size());
        return true;
      }
      // "shared::cluster": colons are words of their own.
      const std::string_view rest = tokens_.take();
      opcode = {opcode.data(), static_cast<size_t>(rest.data() + rest.size() - opcode.data())};
    }
    Instruction decoded;
    if (!decode(opcode, &decoded)) return false;
    decoded.predicate = instruction.predicate;
    decoded.negated = instruction.negated;
    decoded.first = static_cast<uint32_t>(program_->operands.size());
    if (opcode.starts_with("brx")) return false;
    if (decoded.code == Code::kBranch) {
      jumps_.push_back({static_cast<uint32_t>(program_->instructions.size()), tokens_.take()});
    } else if (decoded.code == Code::kCall) {
      while (!tokens_.at_end() && !tokens_.is(";")) {
        const std::string_view word = tokens_.take();
        if (word == "__assertfail" || word == "vprintf") decoded.code = Code::kOther;  // these write nothing
      }
    } else if (!read_operands(output_count(opcode, decoded), &decoded)) {
      return false;
    }
    program_->instructions.push_back(decoded);
    return tokens_.take(";");
  }

  bool read_operands(uint16_t output_groups, Instruction* instruction) {
    uint16_t group = 0;
    while (!tokens_.at_end() && !tokens_.is(";")) {
      if (tokens_.take(",")) {
        ++group;
        continue;
      }
      const size_t before = program_->operands.size();
      if (!read_group()) return false;
      const size_t made = program_->operands.size() - before;
      (group < output_groups ? instruction->outputs : instruction->inputs) += static_cast<uint16_t>(made);
      if (program_->operands.size() > kMostInstructions * 8) return false;
    }
    return true;
  }

  // One operand, {a, b}, [address, {coordinates}] or p|q.
  bool read_group() {
    if (tokens_.take("|")) return true;
    if (tokens_.take("{")) {
      while (!tokens_.take("}")) {
        if (tokens_.at_end() || tokens_.is(";")) return false;
        if (!tokens_.take(",") && !read_group()) return false;
      }
      return true;
    }
    if (tokens_.take("[")) return read_address();
    if (tokens_.take("(")) {
      while (!tokens_.at_end() && !tokens_.take(")")) tokens_.advance();
      return true;
    }
    Operand operand;
    if (tokens_.take("!")) operand.dimension = 1;  // a negated predicate
    if (!read_value(tokens_.take(), &operand)) return false;
    program_->operands.push_back(operand);
    return true;
  }

  bool read_value(std::string_view word, Operand* operand) {
    if (word.empty() || word == ";" || word == "]") return false;
    if (word == "_") return true;
    if (const int32_t index = register_named(word); index >= 0) {
      operand->form = Operand::kRegister;
      operand->index = index;
      return true;
    }
    const uint32_t bytes = word.size() == 18 && (word[1] == 'd' || word[1] == 'D') ? 8 : 4;
    if (const auto value = ptx_value(word, bytes)) {
      operand->form = Operand::kImmediate;
      operand->number = *value;
      return true;
    }
    if (const auto found = names_.find(word); found != names_.end()) {
      operand->form = Operand::kImmediate;
      operand->number = found->second;
      return true;
    }
    operand->form = Operand::kSpecial;
    operand->special = Special::kZero;
    const size_t dot = word.find('.');
    for (const NamedSpecial& named : kSpecials)
      if (named.name == word.substr(0, dot)) operand->special = named.special;
    if (dot != std::string_view::npos && dot + 1 < word.size())
      operand->dimension = word[dot + 1] == 'y' ? 1 : word[dot + 1] == 'z' ? 2 : 0;
    return true;
  }

  bool read_address() {
    Operand operand;
    operand.form = Operand::kAddress;
    bool base = true;
    while (!tokens_.is("]") && !tokens_.is(",")) {
      if (tokens_.at_end() || tokens_.is(";")) return false;
      std::string_view word = tokens_.take();
      // "%rd1+16" is one word.
      const size_t plus = word.find('+', 1);
      const std::string_view rest = plus == std::string_view::npos ? std::string_view() : word.substr(plus + 1);
      if (plus != std::string_view::npos) word = word.substr(0, plus);
      if (base) {
        Operand value;
        if (!read_value(word, &value)) return false;
        if (value.form == Operand::kRegister) operand.index = value.index;
        if (value.form == Operand::kImmediate) operand.number += value.number;
        if (value.form == Operand::kSpecial) operand.special = Special::kZero, operand.dimension = 1;  // not known
        base = false;
      } else if (word != "+") {
        if (const auto number = ptx_number(word)) operand.number += *number;
      }
      if (const auto number = ptx_number(rest)) operand.number += *number;
    }
    program_->operands.push_back(operand);
    while (tokens_.take(","))
      if (!read_group()) return false;
    return tokens_.take("]");
  }

  bool resolve_labels() {
    for (const Jump& jump : jumps_) {
      const auto found = labels_.find(jump.label);
      if (found == labels_.end()) return false;
      program_->instructions[jump.instruction].target = found->second;
    }
    return !program_->instructions.empty();
  }

  struct Scope {
    std::unordered_map<std::string_view, int32_t> registers;
    std::vector<std::pair<std::string_view, uint64_t>> families;  // %r<39>
  };

  PtxTokens tokens_;
  Program* program_ = nullptr;
  std::vector<Scope> scopes_;
  std::unordered_map<std::string_view, uint64_t> names_;  // parameters and shared variables: their addresses
  std::unordered_map<std::string_view, uint32_t> labels_;
  std::vector<Jump> jumps_;
};

}  // namespace

std::unique_ptr<const Program> read_program(std::string_view text, std::string_view kernel) {
  auto program = std::make_unique<Program>();
  if (!Reader(text).read(kernel, program.get())) return nullptr;
  return program;
}

}  // namespace maya::device::ptx
