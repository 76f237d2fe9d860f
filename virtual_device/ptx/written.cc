#include "virtual_device/ptx/written.h"

#include <algorithm>

#include "virtual_device/ptx/address.h"

namespace maya::device::ptx {
namespace {

// Origins of a value: a bit for each parameter, the last for memory.
using Origins = uint64_t;
constexpr uint32_t kMostParameters = 63;
constexpr Origins kFromMemory = 1ull << 63;

class Analysis {
 public:
  explicit Analysis(const Program& program) : program_(program), registers_(program.registers) {}

  void run() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (const Instruction& instruction : program_.instructions) {
        const Origins result = result_of(instruction);
        for (uint32_t i = 0; i < instruction.outputs; ++i) {
          const Operand& output = program_.operands[instruction.first + i];
          if (output.form != Operand::kRegister || (registers_[output.index] | result) == registers_[output.index])
            continue;
          registers_[output.index] |= result;
          changed = true;
        }
      }
    }
  }

  // kFromMemory: anything may be written.
  Origins written() const {
    Origins all = 0;
    for (const Instruction& instruction : program_.instructions) {
      if (instruction.code == Code::kCall) return kFromMemory;
      if (stores_to_device(instruction)) {
        all |= target(origins(instruction, 0));
      } else if (instruction.writes_global) {
        Origins any = 0;
        for (uint32_t i = 0; i < instruction.inputs; ++i) any |= origins(instruction, i);
        all |= target(any);
      }
    }
    return all;
  }

 private:
  // What was loaded is an index when a declared pointer takes part, and may be a pointer otherwise.
  Origins target(Origins address) const {
    if (address == 0) return kFromMemory;
    for (size_t i = 0; i < program_.pointers.size() && i < kMostParameters; ++i)
      if (program_.pointers[i] && (address >> i & 1) != 0) return address & ~kFromMemory;
    return address;
  }

  Origins origins(const Instruction& instruction, uint32_t i) const {
    if (i >= instruction.inputs) return 0;
    const Operand& operand = program_.operands[instruction.first + instruction.outputs + i];
    Origins found = 0;
    if ((operand.form == Operand::kRegister || operand.form == Operand::kAddress) && operand.index >= 0)
      found |= registers_[operand.index];
    if ((operand.form == Operand::kImmediate || operand.form == Operand::kAddress) && is_parameter(operand.number))
      found |= 1ull << std::min(parameter_ordinal(operand.number), kMostParameters);
    return found;
  }

  Origins result_of(const Instruction& instruction) const {
    // Numbers of 32 bits and fewer hold no addresses, and what is loaded through an address is not one of its kind.
    if (instruction.code == Code::kLoad) {
      if (instruction.type.bits < 64) return 0;
      const Operand& from = program_.operands[instruction.first + instruction.outputs];
      if (instruction.inputs > 0 && from.form == Operand::kAddress && is_parameter(from.number) && from.index < 0)
        return origins(instruction, 0);
      return instruction.space == Space::kParameter && from.index >= 0 ? origins(instruction, 0) | kFromMemory
                                                                       : kFromMemory;
    }
    if (instruction.code == Code::kCompare || instruction.code == Code::kMatrix) return 0;
    Origins all = 0;
    for (uint32_t i = 0; i < instruction.inputs; ++i) all |= origins(instruction, i);
    return all;
  }

  const Program& program_;
  std::vector<Origins> registers_;
};

}  // namespace

std::vector<bool> written_parameters(const Program& program, uint32_t parameters) {
  if (parameters > kMostParameters) return std::vector<bool>(parameters, true);
  Analysis analysis(program);
  analysis.run();
  const Origins written = analysis.written();
  std::vector<bool> result(parameters, (written & kFromMemory) != 0);
  for (uint32_t i = 0; i < parameters; ++i) result[i] = result[i] || (written >> i & 1) != 0;
  return result;
}

}  // namespace maya::device::ptx
