#include "virtual_device/ptx/idle_loops.h"

#include <algorithm>

namespace maya::device::ptx {
namespace {

struct Loop {
  uint32_t first, last;  // instructions; the last is the branch back
  bool idle = true;
};

bool writes_device_memory(const Instruction& instruction) {
  return instruction.code == Code::kCall || instruction.writes_global || stores_to_device(instruction);
}

class Analysis {
 public:
  explicit Analysis(const Program& program) : program_(program) {
    const auto count = static_cast<uint32_t>(program.instructions.size());
    for (uint32_t i = 0; i < count; ++i) {
      const Instruction& instruction = program.instructions[i];
      if (instruction.code == Code::kBranch && instruction.target <= i && closed(instruction.target, i))
        loops_.push_back({instruction.target, i});
    }
    // A loop that decides a place counts, and what decides its length then counts too.
    while (drop_deciding_loops()) {
    }
  }

  IdleLoops found() const {
    IdleLoops result;
    result.at.assign(program_.instructions.size(), -1);
    for (const Loop& loop : loops_) {
      if (!loop.idle) continue;
      result.at[loop.last] = static_cast<int32_t>(result.registers.size());
      std::vector<uint32_t>& sets = result.registers.emplace_back();
      for (uint32_t i = loop.first; i < loop.last; ++i)
        for (uint32_t k = 0; k < program_.instructions[i].outputs; ++k)
          if (const int32_t index = register_of(program_.instructions[i], k); index >= 0)
            sets.push_back(static_cast<uint32_t>(index));
      std::sort(sets.begin(), sets.end());
      sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
    }
    return result;
  }

 private:
  // No store, return or call, and no way in or out but the branch back at its end.
  bool closed(uint32_t first, uint32_t last) const {
    for (uint32_t i = 0; i < program_.instructions.size(); ++i) {
      const Instruction& instruction = program_.instructions[i];
      const bool inside = i >= first && i <= last;
      if (inside && (writes_device_memory(instruction) || instruction.code == Code::kReturn)) return false;
      if (instruction.code != Code::kBranch) continue;
      const bool to_inside = instruction.target >= first && instruction.target <= last;
      if (inside != to_inside && !(to_inside && instruction.target == first)) return false;
    }
    return true;
  }

  bool in_idle_loop(uint32_t instruction) const {
    return std::any_of(loops_.begin(), loops_.end(), [&](const Loop& loop) {
      return loop.idle && instruction >= loop.first && instruction <= loop.last;
    });
  }

  // Registers on which an address of a store, its predicate or the length of a loop that is not idle depends.
  std::vector<bool> deciding_registers() const {
    std::vector<bool> decides(program_.registers, false);
    const auto mark = [&](int32_t index) {
      if (index < 0 || decides[static_cast<size_t>(index)]) return false;
      decides[static_cast<size_t>(index)] = true;
      return true;
    };
    const auto count = static_cast<uint32_t>(program_.instructions.size());
    for (uint32_t i = 0; i < count; ++i) {
      const Instruction& instruction = program_.instructions[i];
      const bool writes = writes_device_memory(instruction);
      const bool back = instruction.code == Code::kBranch && instruction.target <= i;
      if (writes || (back && !in_idle_loop(i))) mark(instruction.predicate);
      if (!writes) continue;
      // The address comes first; others may point at what they write with any operand.
      const bool plain = instruction.code == Code::kStore || instruction.code == Code::kAtomic;
      for (uint32_t k = 0; k < (plain ? std::min<uint32_t>(instruction.inputs, 1) : instruction.inputs); ++k)
        mark(register_of(instruction, instruction.outputs + k));
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const Instruction& instruction : program_.instructions) {
        if (!sets_any(instruction, decides)) continue;
        changed = mark(instruction.predicate) || changed;
        for (uint32_t k = 0; k < instruction.inputs; ++k)
          changed = mark(register_of(instruction, instruction.outputs + k)) || changed;
      }
    }
    return decides;
  }

  bool drop_deciding_loops() {
    const std::vector<bool> decides = deciding_registers();
    bool dropped = false;
    for (Loop& loop : loops_) {
      if (!loop.idle) continue;
      const auto begin = program_.instructions.begin() + loop.first, end = program_.instructions.begin() + loop.last;
      loop.idle = std::none_of(begin, end, [&](const Instruction& each) { return sets_any(each, decides); });
      dropped = dropped || !loop.idle;
    }
    return dropped;
  }

  int32_t register_of(const Instruction& instruction, uint32_t k) const {
    const Operand& operand = program_.operands[instruction.first + k];
    return operand.form == Operand::kRegister || operand.form == Operand::kAddress ? operand.index : -1;
  }

  bool sets_any(const Instruction& instruction, const std::vector<bool>& registers) const {
    for (uint32_t k = 0; k < instruction.outputs; ++k) {
      const int32_t index = register_of(instruction, k);
      if (index >= 0 && registers[static_cast<size_t>(index)]) return true;
    }
    return false;
  }

  const Program& program_;
  std::vector<Loop> loops_;
};

}  // namespace

IdleLoops idle_loops(const Program& program) { return Analysis(program).found(); }

}  // namespace maya::device::ptx
