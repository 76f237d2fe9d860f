#include "virtual_device/ptx/waiting_loops.h"

#include <algorithm>

namespace maya::device::ptx {
namespace {

class Loop {
 public:
  Loop(const Program& program, uint32_t first, uint32_t last) : program_(program), first_(first), last_(last) {}

  // The branch by which it ends, if it is one that waits; nullptr otherwise.
  const Instruction* exit() const {
    const Instruction* exit = nullptr;
    bool asks = false;
    for (uint32_t i = first_; i <= last_; ++i) {
      const Instruction& instruction = program_.instructions[i];
      switch (instruction.code) {
        case Code::kBranch: {
          const bool back = i == last_, out = instruction.target < first_ || instruction.target > last_;
          if (instruction.predicate < 0 && back) break;
          if (instruction.predicate < 0 || back == out || exit != nullptr) return nullptr;
          exit = &instruction;
          break;
        }
        case Code::kStore:
          if (stores_to_device(instruction)) return nullptr;
          break;
        case Code::kLoad:
        case Code::kAtomic:
          asks = asks || instruction.space == Space::kGlobal || instruction.space == Space::kGeneric;
          break;
        case Code::kReturn:
        case Code::kCall:
        case Code::kMatrix:
        case Code::kAsyncCopy:
        case Code::kBulkCopy:
          return nullptr;
        default:
          if (instruction.writes_global) return nullptr;
      }
    }
    return exit != nullptr && asks && decided_by_reading(exit->predicate) ? exit : nullptr;
  }

 private:
  int32_t register_of(const Instruction& instruction, uint32_t k) const {
    const Operand& operand = program_.operands[instruction.first + k];
    return operand.form == Operand::kRegister || operand.form == Operand::kAddress ? operand.index : -1;
  }

  bool sets(const Instruction& instruction, int32_t index) const {
    for (uint32_t k = 0; k < instruction.outputs; ++k)
      if (register_of(instruction, k) == index) return true;
    return false;
  }

  // Of an instruction: the registers that it reads.
  std::vector<int32_t> read_by(const Instruction& instruction) const {
    std::vector<int32_t> registers;
    for (uint32_t k = 0; k < instruction.inputs; ++k)
      if (const int32_t index = register_of(instruction, instruction.outputs + k); index >= 0)
        registers.push_back(index);
    if (instruction.predicate >= 0) registers.push_back(instruction.predicate);
    return registers;
  }

  // The first instruction of the loop that sets a register; last_ + 1: none does.
  uint32_t first_set(int32_t index) const {
    uint32_t i = first_;
    while (i <= last_ && !sets(program_.instructions[i], index)) ++i;
    return i;
  }

  // What the predicate depends on was read in this round, from a place that stays the same, and from nothing else that
  // changes from round to round.
  bool decided_by_reading(int32_t predicate) const {
    std::vector<int32_t> open{predicate};
    std::vector<bool> seen(program_.registers, false);
    bool read = false;
    while (!open.empty()) {
      const int32_t index = open.back();
      open.pop_back();
      if (seen[static_cast<size_t>(index)]) continue;
      seen[static_cast<size_t>(index)] = true;
      for (uint32_t i = first_; i <= last_; ++i) {
        const Instruction& instruction = program_.instructions[i];
        if (!sets(instruction, index)) continue;
        const bool reads = instruction.code == Code::kLoad || instruction.code == Code::kAtomic;
        for (const int32_t input : read_by(instruction)) {
          const uint32_t set = first_set(input);
          if (set > last_) continue;            // the same in every round
          if (reads || set >= i) return false;  // another place, or left by the round before
          open.push_back(input);
        }
        read = read || reads;
      }
    }
    return read;
  }

  const Program& program_;
  const uint32_t first_, last_;
};

}  // namespace

std::vector<Leaving> waiting_loops(const Program& program) {
  std::vector<Leaving> result(program.instructions.size(), Leaving::kNot);
  for (uint32_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (instruction.code != Code::kBranch || instruction.target > i) continue;
    const Instruction* exit = Loop(program, instruction.target, i).exit();
    if (exit == nullptr) continue;
    const auto at = static_cast<size_t>(exit - program.instructions.data());
    result[at] = exit == &instruction ? Leaving::kFallThrough : Leaving::kTaken;
  }
  return result;
}

}  // namespace maya::device::ptx
