// Values of instructions (PTX ISA 9.x, section 9.7): integers of every width, single and double precision. Half
// precision is not computed: no address and no loop depends on it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "virtual_device/ptx/warp.h"

namespace maya::device::ptx {
namespace {

uint64_t mask_of(uint32_t bits) { return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1; }
int64_t sign_extended(uint64_t value, uint32_t bits) {
  const uint32_t shift = 64 - std::min(bits, 64u);
  return static_cast<int64_t>(value << shift) >> shift;
}

struct Operands {
  const uint64_t *a, *b, *c;
};

template <typename Operation>
void for_lanes(const Operands& in, uint32_t bits, uint64_t* out, Operation&& operation) {
  const uint64_t mask = mask_of(bits);
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    out[lane] = static_cast<uint64_t>(operation(in.a[lane], in.b[lane], in.c[lane])) & mask;
}

template <typename Float, typename Bits, typename Operation>
void for_floats(const Operands& in, uint64_t* out, Operation&& operation) {
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    out[lane] = std::bit_cast<Bits>(static_cast<Float>(operation(std::bit_cast<Float>(static_cast<Bits>(in.a[lane])),
                                                                 std::bit_cast<Float>(static_cast<Bits>(in.b[lane])),
                                                                 std::bit_cast<Float>(static_cast<Bits>(in.c[lane])))));
}

// False: not computed.
template <typename Float, typename Bits>
bool float_operation(Code code, const Operands& in, uint64_t* out) {
  const auto apply = [&](auto&& operation) {
    for_floats<Float, Bits>(in, out, operation);
    return true;
  };
  switch (code) {
    case Code::kAdd:
      return apply([](Float a, Float b, Float) { return a + b; });
    case Code::kSubtract:
      return apply([](Float a, Float b, Float) { return a - b; });
    case Code::kMultiply:
      return apply([](Float a, Float b, Float) { return a * b; });
    case Code::kMultiplyAdd:
      return apply([](Float a, Float b, Float c) { return std::fma(a, b, c); });
    case Code::kDivide:
      return apply([](Float a, Float b, Float) { return a / b; });
    case Code::kMinimum:
      return apply([](Float a, Float b, Float) { return std::fmin(a, b); });
    case Code::kMaximum:
      return apply([](Float a, Float b, Float) { return std::fmax(a, b); });
    case Code::kNegate:
      return apply([](Float a, Float, Float) { return -a; });
    case Code::kAbsolute:
      return apply([](Float a, Float, Float) { return std::fabs(a); });
    default:
      return false;
  }
}

// One of the 256 functions of three bits that lop3's table names, for all bits at once.
uint64_t logic3(uint64_t a, uint64_t b, uint64_t c, uint64_t table) {
  uint64_t result = 0;
  for (uint32_t row = 0; row < 8; ++row) {
    if ((table >> row & 1) == 0) continue;
    result |= ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
  }
  return result;
}

uint64_t permute_bytes(uint64_t a, uint64_t b, uint64_t selector) {
  const uint64_t bytes = (a & UINT32_MAX) | b << 32;
  uint64_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const auto choice = static_cast<uint32_t>(selector >> (4 * i) & 15);
    uint64_t byte = bytes >> (8 * (choice & 7)) & 0xff;
    if ((choice & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;  // its sign, replicated
    result |= byte << (8 * i);
  }
  return result;
}

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

uint64_t multiplied(const Instruction& instruction, uint64_t a, uint64_t b) {
  const uint32_t bits = instruction.type.bits;
  const bool is_signed = instruction.type.kind == Kind::kSigned;
  if (is_signed) {
    const Wide product = static_cast<Wide>(sign_extended(a, bits)) * sign_extended(b, bits);
    return static_cast<uint64_t>(instruction.part == Part::kHigh ? product >> bits : product);
  }
  const UnsignedWide product = static_cast<UnsignedWide>(a) * b;
  return static_cast<uint64_t>(instruction.part == Part::kHigh ? product >> bits : product);
}

template <typename Value>
bool holds(Comparison comparison, Value a, Value b) {
  switch (comparison) {
    case Comparison::kEqual:
      return a == b;
    case Comparison::kNotEqual:
      return a != b;
    case Comparison::kLess:
      return a < b;
    case Comparison::kLessEqual:
      return a <= b;
    case Comparison::kGreater:
      return a > b;
    case Comparison::kGreaterEqual:
      return a >= b;
    case Comparison::kNever:
      return false;
  }
  return false;
}

// Integer instructions; false: not computed.
bool integer_operation(const Instruction& instruction, const Operands& in, const uint64_t* d, uint64_t* out) {
  const uint32_t bits = instruction.type.bits;
  const bool is_signed = instruction.type.kind == Kind::kSigned;
  const uint32_t result_bits = instruction.part == Part::kWide ? 2 * bits : bits;
  const auto apply = [&](auto&& operation) {
    for_lanes(in, result_bits, out, operation);
    return true;
  };
  const auto as_signed = [bits](uint64_t value) { return sign_extended(value, bits); };
  switch (instruction.code) {
    case Code::kAdd:
      return apply([](uint64_t a, uint64_t b, uint64_t) { return a + b; });
    case Code::kSubtract:
      return apply([](uint64_t a, uint64_t b, uint64_t) { return a - b; });
    case Code::kMultiply:
      return apply([&](uint64_t a, uint64_t b, uint64_t) { return multiplied(instruction, a, b); });
    case Code::kMultiplyAdd:
      return apply([&](uint64_t a, uint64_t b, uint64_t c) { return multiplied(instruction, a, b) + c; });
    case Code::kDivide:
    case Code::kRemainder: {
      const bool remainder = instruction.code == Code::kRemainder;
      return apply([&](uint64_t a, uint64_t b, uint64_t) -> uint64_t {
        if (b == 0) return remainder ? a : UINT64_MAX;
        if (!is_signed) return remainder ? a % b : a / b;
        const int64_t x = as_signed(a), y = as_signed(b);
        if (y == -1) return remainder ? 0 : 0 - a;
        return static_cast<uint64_t>(remainder ? x % y : x / y);
      });
    }
    case Code::kMinimum:
      if (is_signed)
        return apply([&](uint64_t a, uint64_t b, uint64_t) { return as_signed(a) < as_signed(b) ? a : b; });
      return apply([](uint64_t a, uint64_t b, uint64_t) { return std::min(a, b); });
    case Code::kMaximum:
      if (is_signed)
        return apply([&](uint64_t a, uint64_t b, uint64_t) { return as_signed(a) > as_signed(b) ? a : b; });
      return apply([](uint64_t a, uint64_t b, uint64_t) { return std::max(a, b); });
    case Code::kNegate:
      return apply([](uint64_t a, uint64_t, uint64_t) { return 0 - a; });
    case Code::kAbsolute:
      return apply([&](uint64_t a, uint64_t, uint64_t) { return as_signed(a) < 0 ? 0 - a : a; });
    case Code::kAnd:
      return apply([](uint64_t a, uint64_t b, uint64_t) { return a & b; });
    case Code::kOr:
      return apply([](uint64_t a, uint64_t b, uint64_t) { return a | b; });
    case Code::kXor:
      return apply([](uint64_t a, uint64_t b, uint64_t) { return a ^ b; });
    case Code::kNot:
      return apply([](uint64_t a, uint64_t, uint64_t) { return ~a; });
    case Code::kShiftLeft:
      return apply([bits](uint64_t a, uint64_t b, uint64_t) {
        const uint64_t by = b & UINT32_MAX;
        return by >= bits ? 0 : a << by;
      });
    case Code::kShiftRight:
      return apply([&](uint64_t a, uint64_t b, uint64_t) -> uint64_t {
        const auto by = static_cast<uint32_t>(std::min<uint64_t>(b & UINT32_MAX, bits));
        if (is_signed) return static_cast<uint64_t>(as_signed(a) >> std::min(by, 63u));
        return by >= bits ? 0 : a >> by;
      });
    case Code::kFunnelShift:
      return apply([&](uint64_t a, uint64_t b, uint64_t c) {
        const uint64_t both = (a & UINT32_MAX) | b << 32;
        const auto by =
            static_cast<uint32_t>((instruction.function & 2) != 0 ? c & 31 : std::min<uint64_t>(c & UINT32_MAX, 32));
        return (instruction.function & 1) != 0 ? (both << by) >> 32 : both >> by;
      });
    case Code::kSelect:
      return apply([](uint64_t a, uint64_t b, uint64_t c) { return (c & 1) != 0 ? a : b; });
    case Code::kPopulation:
      return apply([](uint64_t a, uint64_t, uint64_t) { return std::popcount(a); });
    case Code::kLeadingZeros:
      return apply(
          [bits](uint64_t a, uint64_t, uint64_t) { return std::countl_zero(a) - (64 - static_cast<int>(bits)); });
    case Code::kReverseBits:
      return apply([bits](uint64_t a, uint64_t, uint64_t) {
        uint64_t reversed = 0;
        for (uint32_t i = 0; i < bits; ++i) reversed |= (a >> i & 1) << (bits - 1 - i);
        return reversed;
      });
    case Code::kExtractBits:
      return apply([&](uint64_t a, uint64_t b, uint64_t c) -> uint64_t {
        const auto from = static_cast<uint32_t>(b & 0xff), count = static_cast<uint32_t>(c & 0xff);
        if (count == 0 || from >= bits)
          return is_signed && from >= bits && as_signed(a) < 0 && count != 0 ? UINT64_MAX : 0;
        const uint64_t shifted = is_signed ? static_cast<uint64_t>(as_signed(a) >> from) : a >> from;
        if (count >= bits - from) return shifted;
        return is_signed ? static_cast<uint64_t>(sign_extended(shifted, count)) : shifted & mask_of(count);
      });
    case Code::kInsertBits:
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const auto from = static_cast<uint32_t>(in.c[lane] & 0xff), count = static_cast<uint32_t>(d[lane] & 0xff);
        const uint64_t field = from >= bits || count == 0 ? 0 : (mask_of(count) << from) & mask_of(bits);
        out[lane] = (in.b[lane] & ~field) | (from >= bits ? 0 : in.a[lane] << from & field);
      }
      return true;
    case Code::kPermuteBytes:
      return apply([](uint64_t a, uint64_t b, uint64_t c) { return permute_bytes(a, b, c); });
    case Code::kLogic3:
      if (instruction.logic != Logic::kNone) return false;
      for (uint32_t lane = 0; lane < kLanes; ++lane)
        out[lane] = logic3(in.a[lane], in.b[lane], in.c[lane], d[lane]) & mask_of(bits);
      return true;
    default:
      return false;
  }
}

// Instructions whose result points where an operand points.
bool keeps_origin(Code code) {
  return code == Code::kAdd || code == Code::kSubtract || code == Code::kMultiplyAdd || code == Code::kSelect ||
         code == Code::kOr || code == Code::kAnd || code == Code::kConvert;
}

}  // namespace

void Warp::arithmetic(const Instruction& instruction, uint32_t lanes) {
  if (instruction.outputs == 0) return;
  Vector scratch[4];
  Input in[4];
  uint32_t known = UINT32_MAX;
  uint8_t tag = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    in[i] = input(instruction, i, &scratch[i]);
    if (i >= instruction.inputs) continue;
    known &= in[i].known;
    if (tag == 0) tag = in[i].tag;
  }
  const Operands operands{in[0].lanes, in[1].lanes, in[2].lanes};
  Vector result;
  bool computed = false;
  if (instruction.type.kind == Kind::kFloat && instruction.code != Code::kSelect) {
    if (instruction.type.bits == 32)
      computed = float_operation<float, uint32_t>(instruction.code, operands, result.lanes);
    if (instruction.type.bits == 64)
      computed = float_operation<double, uint64_t>(instruction.code, operands, result.lanes);
  } else if (instruction.type.bits <= 64) {
    computed = integer_operation(instruction, operands, in[3].lanes, result.lanes);
  }
  if (!computed) return write_outputs_unknown(instruction, lanes);
  // A condition that is known picks what may not be, and the other way.
  if (instruction.code == Code::kSelect) {
    known = 0;
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      known |= ((in[2].lanes[lane] & 1) != 0 ? in[0].known : in[1].known) & in[2].known & 1u << lane;
  }
  write(program_.operands[instruction.first], result, known, keeps_origin(instruction.code) ? tag : 0, lanes);
}

// setp d|e, a, b (, c): e is the opposite; with a third predicate both are combined with it.
void Warp::compare(const Instruction& instruction, uint32_t lanes) {
  Vector scratch[3];
  const Input a = input(instruction, 0, &scratch[0]), b = input(instruction, 1, &scratch[1]),
              c = input(instruction, 2, &scratch[2]);
  const uint32_t bits = instruction.type.bits;
  uint32_t known = a.known & b.known;
  if (bits > 64 || (instruction.type.kind == Kind::kFloat && bits == 16)) known = 0;
  Vector result, opposite;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint64_t x = a.lanes[lane], y = b.lanes[lane];
    bool answer = false;
    if (instruction.type.kind == Kind::kFloat) {
      if (bits == 32)
        answer = holds(instruction.comparison, std::bit_cast<float>(static_cast<uint32_t>(x)),
                       std::bit_cast<float>(static_cast<uint32_t>(y)));
      if (bits == 64) answer = holds(instruction.comparison, std::bit_cast<double>(x), std::bit_cast<double>(y));
    } else if (instruction.type.kind == Kind::kSigned) {
      answer = holds(instruction.comparison, sign_extended(x, bits), sign_extended(y, bits));
    } else {
      answer = holds(instruction.comparison, x & mask_of(bits), y & mask_of(bits));
    }
    bool other = !answer;
    if (instruction.logic != Logic::kNone && instruction.inputs > 2) {
      const Operand& third = program_.operands[instruction.first + instruction.outputs + 2];
      const bool with = (c.lanes[lane] & 1) != (third.form == Operand::kRegister ? third.dimension : 0);
      const auto combined = [&](bool value) {
        return instruction.logic == Logic::kAnd  ? value && with
               : instruction.logic == Logic::kOr ? value || with
                                                 : value != with;
      };
      answer = combined(answer);
      other = combined(other);
      // false and anything, true or anything
      const bool decides = (c.known >> lane & 1) != 0 &&
                           ((instruction.logic == Logic::kAnd && !with) || (instruction.logic == Logic::kOr && with));
      if ((c.known >> lane & 1) == 0) known &= ~(1u << lane);
      if (decides) known |= 1u << lane;
    }
    result.lanes[lane] = answer;
    opposite.lanes[lane] = other;
  }
  for (uint32_t i = 0; i < instruction.outputs && i < 2; ++i)
    write(program_.operands[instruction.first + i], i == 0 ? result : opposite, known, 0, lanes);
}

void Warp::convert(const Instruction& instruction, uint32_t lanes) {
  if (instruction.outputs != 1 || instruction.inputs != 1) return write_outputs_unknown(instruction, lanes);
  Vector scratch;
  const Input from = input(instruction, 0, &scratch);
  const Type to = instruction.type, of = instruction.from;
  const bool to_float = to.kind == Kind::kFloat, of_float = of.kind == Kind::kFloat;
  if ((to_float && to.bits == 16) || (of_float && of.bits == 16) || to.bits > 64 || of.bits > 64)
    return write_outputs_unknown(instruction, lanes);
  Vector result;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint64_t raw = from.lanes[lane] & mask_of(of.bits);
    uint64_t value = 0;
    if (!of_float && !to_float) {
      value = of.kind == Kind::kSigned ? static_cast<uint64_t>(sign_extended(raw, of.bits)) : raw;
    } else {
      double number;
      if (of_float) {
        number = of.bits == 32 ? std::bit_cast<float>(static_cast<uint32_t>(raw)) : std::bit_cast<double>(raw);
      } else {
        number = of.kind == Kind::kSigned ? static_cast<double>(sign_extended(raw, of.bits)) : static_cast<double>(raw);
      }
      if (to_float) {
        value = to.bits == 32 ? std::bit_cast<uint32_t>(static_cast<float>(number)) : std::bit_cast<uint64_t>(number);
      } else {
        const double limit = std::ldexp(1.0, to.bits - (to.kind == Kind::kSigned ? 1 : 0));
        const double least = to.kind == Kind::kSigned ? -limit : 0;
        if (std::isnan(number)) number = 0;
        if (number >= limit) {
          value = mask_of(to.bits) >> (to.kind == Kind::kSigned ? 1 : 0);
        } else if (number <= least) {
          value = to.kind == Kind::kSigned ? 1ull << (to.bits - 1) : 0;
        } else {
          value = to.kind == Kind::kSigned ? static_cast<uint64_t>(static_cast<int64_t>(number))
                                           : static_cast<uint64_t>(number);
        }
      }
    }
    result.lanes[lane] = value & mask_of(to.bits);
  }
  write(program_.operands[instruction.first], result, from.known, from.tag, lanes);
}

}  // namespace maya::device::ptx
