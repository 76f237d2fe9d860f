// Opcodes with their modifiers: "mad.wide.s32", "ld.global.v2.b32",
// "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32" (PTX ISA 9.x, chapter 9, section by section).
#include <charconv>
#include <cstdlib>

#include "virtual_device/ptx/program.h"

namespace maya::device::ptx {
namespace {

struct NamedCode {
  std::string_view name;
  Code code;
};
constexpr NamedCode kCodes[] = {
    {"mov", Code::kMove},
    {"cvta", Code::kMove},
    {"add", Code::kAdd},
    {"sub", Code::kSubtract},
    {"mul", Code::kMultiply},
    {"mul24", Code::kMultiply},
    {"mad", Code::kMultiplyAdd},
    {"mad24", Code::kMultiplyAdd},
    {"fma", Code::kMultiplyAdd},
    {"div", Code::kDivide},
    {"rem", Code::kRemainder},
    {"min", Code::kMinimum},
    {"max", Code::kMaximum},
    {"neg", Code::kNegate},
    {"abs", Code::kAbsolute},
    {"and", Code::kAnd},
    {"or", Code::kOr},
    {"xor", Code::kXor},
    {"not", Code::kNot},
    {"shl", Code::kShiftLeft},
    {"shr", Code::kShiftRight},
    {"shf", Code::kFunnelShift},
    {"selp", Code::kSelect},
    {"setp", Code::kCompare},
    {"cvt", Code::kConvert},
    {"popc", Code::kPopulation},
    {"clz", Code::kLeadingZeros},
    {"brev", Code::kReverseBits},
    {"bfe", Code::kExtractBits},
    {"bfi", Code::kInsertBits},
    {"prmt", Code::kPermuteBytes},
    {"lop3", Code::kLogic3},
    {"ex2", Code::kFunction},
    {"lg2", Code::kFunction},
    {"sin", Code::kFunction},
    {"cos", Code::kFunction},
    {"tanh", Code::kFunction},
    {"rcp", Code::kFunction},
    {"sqrt", Code::kFunction},
    {"rsqrt", Code::kFunction},
    {"ld", Code::kLoad},
    {"ldu", Code::kLoad},
    {"st", Code::kStore},
    {"atom", Code::kAtomic},
    {"red", Code::kAtomic},
    {"bra", Code::kBranch},
    {"ret", Code::kReturn},
    {"exit", Code::kReturn},
    {"shfl", Code::kShuffle},
    {"vote", Code::kVote},
    {"elect", Code::kElect},
    {"activemask", Code::kActiveMask},
    {"call", Code::kCall},
    {"mma", Code::kMatrix},
    {"wmma", Code::kMatrix},
    {"wgmma", Code::kMatrix},
};

bool read_type(std::string_view word, Type* type) {
  if (word == "pred") {
    *type = {Kind::kPredicate, 1};
    return true;
  }
  if (word == "f16x2" || word == "bf16x2") {
    *type = {Kind::kBits, 32};  // two values: carried, not computed
    return true;
  }
  if (word == "bf16") {
    *type = {Kind::kFloat, 16};
    return true;
  }
  if (word == "tf32") {
    *type = {Kind::kFloat, 32};
    return true;
  }
  if (word.size() < 2) return false;
  Kind kind;
  switch (word[0]) {
    case 'u':
      kind = Kind::kUnsigned;
      break;
    case 's':
      kind = Kind::kSigned;
      break;
    case 'b':
      kind = Kind::kBits;
      break;
    case 'f':
      kind = Kind::kFloat;
      break;
    default:
      return false;
  }
  int bits = 0;
  const auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), bits);
  if (error != std::errc() || end != word.data() + word.size()) return false;
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128) return false;
  *type = {kind, static_cast<uint8_t>(bits)};
  return true;
}

bool read_comparison(std::string_view word, Comparison* comparison) {
  struct Named {
    std::string_view name;
    Comparison comparison;
  };
  constexpr Named kNames[] = {
      {"eq", Comparison::kEqual},         {"ne", Comparison::kNotEqual},   {"lt", Comparison::kLess},
      {"le", Comparison::kLessEqual},     {"gt", Comparison::kGreater},    {"ge", Comparison::kGreaterEqual},
      {"lo", Comparison::kLess},          {"ls", Comparison::kLessEqual},  {"hi", Comparison::kGreater},
      {"hs", Comparison::kGreaterEqual},  {"equ", Comparison::kEqual},     {"neu", Comparison::kNotEqual},
      {"ltu", Comparison::kLess},         {"leu", Comparison::kLessEqual}, {"gtu", Comparison::kGreater},
      {"geu", Comparison::kGreaterEqual}, {"num", Comparison::kNever},     {"nan", Comparison::kNever},
  };
  for (const Named& named : kNames)
    if (named.name == word) {
      *comparison = named.comparison;
      return true;
    }
  return false;
}

bool matrix_type(std::string_view word, MatrixType* type) {
  if (word == "f16" || word == "bf16" || word == "f16x2") {
    *type = MatrixType::kHalf;
  } else if (word == "tf32" || word == "f32") {
    *type = MatrixType::kTf32;
  } else if (word == "e4m3" || word == "e5m2" || word == "s8" || word == "u8" || word == "f8f6f4" ||
             word == "mxf8f6f4" || word == "i8") {
    *type = MatrixType::kEightBits;
  } else if (word == "e2m1" || word == "s4" || word == "u4" || word == "mxf4" || word == "mxf4nvf4") {
    *type = MatrixType::kFourBits;
  } else if (word == "f64") {
    *type = MatrixType::kDouble;
  } else {
    return false;
  }
  return true;
}

// "m16n8k16"
bool read_shape(std::string_view word, double* product) {
  if (word.size() < 6 || word[0] != 'm') return false;
  int m = 0, n = 0, k = 0;
  const char* at = word.data() + 1;
  const char* const end = word.data() + word.size();
  auto read = [&](int* value) {
    const auto [next, error] = std::from_chars(at, end, *value);
    at = next;
    return error == std::errc() && *value > 0 && *value <= 4096;
  };
  if (!read(&m) || at == end || *at++ != 'n' || !read(&n) || at == end || *at++ != 'k' || !read(&k) || at != end)
    return false;
  *product = static_cast<double>(m) * n * k;
  return true;
}

class Words {
 public:
  explicit Words(std::string_view opcode) : rest_(opcode) {}
  bool next(std::string_view* word) {
    if (rest_.empty()) return false;
    const size_t dot = rest_.find('.');
    *word = rest_.substr(0, dot);
    rest_ = dot == std::string_view::npos ? std::string_view() : rest_.substr(dot + 1);
    if (word->ends_with("::")) return next(word);
    return true;
  }

 private:
  std::string_view rest_;
};

bool has(std::string_view opcode, std::string_view part) { return opcode.find(part) != std::string_view::npos; }

void decode_matrix(std::string_view opcode, Instruction* instruction) {
  Words words(opcode);
  std::string_view word;
  double product = 0;
  MatrixType types[4];
  int found = 0;
  while (words.next(&word)) {
    if (read_shape(word, &product)) continue;
    if (found < 4 && matrix_type(word, &types[found])) ++found;
  }
  // mma and wgmma: .dtype.atype.btype; wmma names of half products the results only.
  instruction->matrix = found >= 2 ? types[1] : found == 1 ? types[0] : MatrixType::kHalf;
  if (opcode.starts_with("wmma") && found == 2) instruction->matrix = MatrixType::kHalf;
  if (opcode.starts_with("wmma") && !has(opcode, ".mma.")) product = 0;       // wmma.load, wmma.store
  if (opcode.starts_with("wgmma") && !has(opcode, "mma_async")) product = 0;  // fence, commit_group, wait_group
  instruction->flops = 2 * product;
  instruction->participants = opcode.starts_with("wgmma") ? 4 : 1;
  if (product == 0) instruction->code = Code::kOther;
}

}  // namespace

bool decode(std::string_view opcode, Instruction* out) {
  *out = {};
  Words words(opcode);
  std::string_view name;
  if (!words.next(&name) || name.empty()) return false;
  Code code = Code::kOther;
  for (const NamedCode& named : kCodes)
    if (named.name == name) code = named.code;
  if (name == "cp") {
    if (has(opcode, "cp.async.bulk.commit_group") || has(opcode, "cp.async.bulk.wait_group") ||
        has(opcode, ".prefetch") || has(opcode, "cp.async.commit_group") || has(opcode, "cp.async.wait_") ||
        has(opcode, "cp.async.mbarrier")) {
      out->code = Code::kOther;
      return true;
    }
    code = has(opcode, ".bulk") ? Code::kBulkCopy : Code::kAsyncCopy;
    const size_t global = opcode.find(".global"), shared = opcode.find(".shared");
    out->writes_global = global < shared && global != std::string_view::npos;
    out->space = has(opcode, ".tensor") ? Space::kTensor : Space::kGlobal;
  }
  if (name == "mbarrier") {
    if (has(opcode, "_wait")) code = Code::kWaitTest;
    if (has(opcode, "expect_tx")) code = Code::kExpect;
  }
  if (name == "tcgen05" && opcode.starts_with("tcgen05.mma")) {
    // The shape is in a descriptor that an operand holds: see Warp.
    code = Code::kMatrix;
    out->participants = 0;
    MatrixType type = MatrixType::kHalf;
    const size_t kind = opcode.find("kind::");
    if (kind != std::string_view::npos) {
      const std::string_view from = opcode.substr(kind + 6);
      matrix_type(from.substr(0, from.find('.')), &type);
    }
    out->matrix = type;
  }
  // Descriptors that are made on the device, and writes to several devices at once: whatever they name may be written.
  if (name == "tensormap" || name == "multimem") out->writes_global = true;
  out->code = code;
  Type types[4];
  int found = 0;
  std::string_view word;
  while (words.next(&word)) {
    Type type;
    if (read_type(word, &type)) {
      if (found < 4) types[found++] = type;
      continue;
    }
    if (code == Code::kCompare && read_comparison(word, &out->comparison)) continue;
    if (word == "lo") out->part = Part::kLow;
    if (word == "hi") out->part = Part::kHigh;
    if (word == "wide") out->part = Part::kWide;
    if (code == Code::kCompare || code == Code::kLogic3) {
      if (word == "and") out->logic = Logic::kAnd;
      if (word == "or") out->logic = Logic::kOr;
      if (word == "xor") out->logic = Logic::kXor;
    }
    if (code == Code::kLoad || code == Code::kStore || code == Code::kAtomic) {
      if (word == "global") out->space = Space::kGlobal;
      if (word.starts_with("shared")) out->space = Space::kShared;
      if (word.starts_with("param")) out->space = Space::kParameter;
      if (word == "local") out->space = Space::kLocal;
      if (word == "v2" || word == "v4" || word == "v8") out->elements = static_cast<uint8_t>(word[1] - '0');
      if (word == "const") out->space = Space::kConstant;
    }
    if (code == Code::kShuffle) {
      if (word == "up") out->function = 1;
      if (word == "down") out->function = 2;
      if (word == "bfly") out->function = 3;
    }
    if (code == Code::kVote) {
      if (word == "any") out->function = 1;
      if (word == "uni") out->function = 2;
      if (word == "ballot") out->function = 3;
    }
    if (code == Code::kFunnelShift) {
      if (word == "l") out->function |= 1;
      if (word == "wrap") out->function |= 2;
    }
  }
  if (found > 0) out->type = types[0];
  out->from = found > 1 ? types[1] : out->type;
  // cvt.rn.bf16x2.f32 d, a, b and the like pack two values.
  if (code == Code::kConvert && (found < 2 || has(opcode, "x2") || has(opcode, "e4m3") || has(opcode, "e5m2")))
    out->code = Code::kOther;
  // Pairs of halves, and results that are cut off at the limits of their type, are not computed.
  const bool moves = code == Code::kMove || code == Code::kLoad || code == Code::kStore || code == Code::kAtomic ||
                     code == Code::kSelect || code == Code::kMatrix;
  if (!moves && (has(opcode, "f16x2") || opcode.ends_with(".sat") || has(opcode, ".sat."))) out->code = Code::kOther;
  if (code == Code::kMatrix && name != "tcgen05") decode_matrix(opcode, out);
  if (name == "bar" || name == "barrier" || name == "fence" || name == "membar" || name == "setmaxnreg" ||
      name == "griddepcontrol" || name == "nanosleep" || name == "discard" || name == "prefetch")
    out->uncounted = true;
  if (name == "mov" && found == 0) return false;
  return true;
}

uint16_t output_count(std::string_view opcode, const Instruction& instruction) {
  switch (instruction.code) {
    case Code::kStore:
    case Code::kAsyncCopy:
    case Code::kBulkCopy:
    case Code::kBranch:
    case Code::kReturn:
    case Code::kCall:
      return 0;
    case Code::kAtomic:
      return opcode.starts_with("red") ? 0 : 1;
    case Code::kExpect:
      return 1;
    case Code::kMatrix:
      return instruction.participants == 1 ? 1 : instruction.participants == 4 ? 1 : 0;
    case Code::kOther:
      for (const std::string_view without : {"bar",
                                             "fence",
                                             "membar",
                                             "cp.",
                                             "mbarrier.init",
                                             "mbarrier.inval",
                                             "nanosleep",
                                             "prefetch",
                                             "setmaxnreg",
                                             "griddepcontrol",
                                             "stmatrix",
                                             "wgmma.",
                                             "tcgen05.",
                                             "trap",
                                             "brkpt",
                                             "pmevent",
                                             "discard",
                                             "tensormap",
                                             "clusterlaunchcontrol",
                                             "multimem.st",
                                             "multimem.red",
                                             "st.",
                                             "barrier"})
        if (opcode.starts_with(without))
          return opcode.starts_with("tcgen05.ld") || opcode.starts_with("bar.red") ? 1 : 0;
      return 1;
    default:
      return 1;
  }
}

}  // namespace maya::device::ptx
