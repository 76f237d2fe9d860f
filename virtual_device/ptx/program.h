// The instructions of one kernel, read from PTX text (PTX ISA 9.x, chapters 4 to 9). Compilers that keep line numbers
// (Triton and Inductor do by default) leave the text in the image, in section .nv_debug_ptx_txt; programs that hand
// PTX to the driver give it themselves. Only what a launch's work depends on is decoded: addresses, control flow,
// memory accesses and matrix instructions; anything else is kept as an instruction whose results are not known.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "virtual_device/kernel_work.h"
#include "virtual_device/once.h"

namespace maya::device::ptx {

enum class Code : uint8_t {
  kOther,  // counted; its results are not known
  kMove,
  kAdd,
  kSubtract,
  kMultiply,
  kMultiplyAdd,
  kDivide,
  kRemainder,
  kMinimum,
  kMaximum,
  kNegate,
  kAbsolute,
  kAnd,
  kOr,
  kXor,
  kNot,
  kShiftLeft,
  kShiftRight,
  kFunnelShift,  // shf
  kSelect,       // selp
  kCompare,      // setp
  kConvert,      // cvt
  kPopulation,
  kLeadingZeros,
  kReverseBits,
  kExtractBits,
  kInsertBits,
  kPermuteBytes,
  kLogic3,    // lop3
  kFunction,  // ex2, lg2, sin, cos, tanh, rcp, sqrt, rsqrt: the special function unit
  kLoad,
  kStore,
  kAtomic,     // atom, red
  kAsyncCopy,  // cp.async: global to shared
  kBulkCopy,   // cp.async.bulk, cp.reduce.async.bulk: executed for the block by one thread
  kExpect,     // mbarrier.arrive.expect_tx: bytes that bulk copies will bring
  kMatrix,     // mma, wmma, wgmma, tcgen05.mma
  kBranch,
  kReturn,
  kWaitTest,  // mbarrier.try_wait, test_wait: taken to be over
  kShuffle,
  kVote,
  kElect,
  kActiveMask,
  kCall,
};

enum class Kind : uint8_t { kUnsigned, kSigned, kBits, kFloat, kPredicate };
struct Type {
  Kind kind = Kind::kBits;
  uint8_t bits = 32;
};

enum class Space : uint8_t { kGeneric, kGlobal, kShared, kParameter, kLocal, kConstant, kTensor };
enum class Comparison : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kNever };
enum class Part : uint8_t { kLow, kHigh, kWide };
enum class Logic : uint8_t { kNone, kAnd, kOr, kXor };

enum class Special : uint8_t {
  kThread,  // %tid, with dimension 0 to 2; the same for the next three
  kThreads,
  kBlock,
  kBlocks,
  kLane,
  kWarp,
  kClusterRank,
  kClusterSize,
  kClusterBlock,   // %cluster_ctaid
  kClusterBlocks,  // %cluster_nctaid
  kCluster,        // %clusterid
  kClusters,       // %nclusterid
  kZero,           // nothing known: clocks, %smid
};

struct Operand {
  enum Form : uint8_t { kNone, kRegister, kImmediate, kSpecial, kAddress } form = kNone;
  Special special = Special::kZero;
  uint8_t dimension = 0;
  int32_t index = -1;   // register; of an address: its base register, -1 without one
  uint64_t number = 0;  // immediate; offset of an address: from the base, in the parameters, in its variable's space
};

struct Instruction {
  Code code = Code::kOther;
  Type type, from;  // `from`: what cvt reads
  Space space = Space::kGeneric;
  Comparison comparison = Comparison::kEqual;
  Part part = Part::kLow;
  Logic logic = Logic::kNone;
  MatrixType matrix = MatrixType::kHalf;
  uint8_t function = 0;        // shuffle mode, vote mode, direction of funnel shift, clamp: see operation.cc
  bool negated = false;        // of the predicate it runs under
  bool writes_global = false;  // of others than stores and atomics: their operands may point at what they write
  bool uncounted = false;      // no instruction of the machine: fences, marks
  uint8_t elements = 1;        // of a vector that is loaded or stored
  int32_t predicate = -1;      // register
  uint32_t target = 0;         // of a branch: index of an instruction
  double flops = 0;            // of a matrix instruction, for all who take part together
  uint8_t participants = 1;    // warps that take part together: 4 for wgmma; 0: one thread asks for the block
  uint16_t outputs = 0, inputs = 0;
  uint32_t first = 0;  // in Program::operands: outputs, then inputs
};

// A store or an atomic operation to device memory, which generic addresses may be of.
inline bool stores_to_device(const Instruction& instruction) {
  return (instruction.code == Code::kStore || instruction.code == Code::kAtomic) &&
         (instruction.space == Space::kGlobal || instruction.space == Space::kGeneric);
}

struct Program {
  std::vector<Instruction> instructions;
  std::vector<Operand> operands;
  uint32_t registers = 0;
  std::vector<bool> pointers;  // by ordinal of the parameter: declared as a pointer (.ptr)
};

// Null when the text has no such kernel or cannot be read. `text` is untrusted.
std::unique_ptr<const Program> read_program(std::string_view text, std::string_view kernel);

// One kernel's place in PTX text that the kernels of an image share. Read when somebody first asks, once. Thread safe.
class Source {
 public:
  Source(std::shared_ptr<const std::string> text, std::string kernel)
      : text_(std::move(text)), kernel_(std::move(kernel)) {}
  const std::string& text() const { return *text_; }
  // Null when the text cannot be read.
  const Program* program() const {
    once_.run([this] { program_ = read_program(*text_, kernel_); });
    return program_.get();
  }

 private:
  const std::shared_ptr<const std::string> text_;
  const std::string kernel_;
  mutable Once once_;
  mutable std::unique_ptr<const Program> program_;
};

// Decodes an opcode with its modifiers, "ld.global.v2.b32". False: a directive or unknown word.
bool decode(std::string_view opcode, Instruction* instruction);
// How many of the leading operands it writes.
uint16_t output_count(std::string_view opcode, const Instruction& instruction);

}  // namespace maya::device::ptx
