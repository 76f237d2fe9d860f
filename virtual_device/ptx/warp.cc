#include "virtual_device/ptx/warp.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "virtual_device/ptx/address.h"

namespace maya::device::ptx {
namespace {

constexpr uint32_t kTensorMap_bytes = 128;  // sizeof(CUtensorMap)

}  // namespace

Warp::Warp(const Program& program, const Launch& launch, const Surroundings& surroundings, uint32_t unknown_count)
    : program_(program),
      launch_(launch),
      surroundings_(surroundings),
      unknown_count_(unknown_count),
      registers_(program.registers),
      known_(program.registers),
      tags_(program.registers) {}

bool Warp::run(uint64_t block, uint32_t warp, uint64_t* budget, Tally* tally) {
  const uint32_t* const grid = launch_.grid;
  block_[0] = static_cast<uint32_t>(block % grid[0]);
  block_[1] = static_cast<uint32_t>(block / grid[0] % grid[1]);
  block_[2] = static_cast<uint32_t>(block / grid[0] / grid[1]);
  warp_ = warp;
  tally_ = tally;
  std::fill(known_.begin(), known_.end(), 0);
  std::fill(tags_.begin(), tags_.end(), 0);
  const uint64_t threads = static_cast<uint64_t>(launch_.block[0]) * launch_.block[1] * launch_.block[2];
  const uint64_t rest = threads - std::min<uint64_t>(threads, static_cast<uint64_t>(warp) * kLanes);
  lanes_ = rest >= kLanes ? UINT32_MAX : (1u << rest) - 1;
  waiting_.clear();
  cached_.fill(UINT64_MAX);
  meeting_ = UINT32_MAX;
  at_ = 0;
  const auto count = static_cast<uint32_t>(program_.instructions.size());
  while (true) {
    if (lanes_ == 0 || at_ >= count) {
      lanes_ = 0;
      if (waiting_.empty()) return true;
      meet();
      continue;
    }
    if (at_ >= meeting_) {
      meet();
      continue;
    }
    if (*budget == 0) return false;
    --*budget;
    const Instruction& instruction = program_.instructions[at_++];
    uint32_t unknown = 0;
    uint32_t enabled_lanes = instruction.predicate < 0 ? lanes_ : enabled(instruction, lanes_, &unknown);
    if (instruction.code == Code::kBranch || instruction.code == Code::kReturn) {
      ++tally->instructions;
      if (waiting_loops_ != nullptr && (*waiting_loops_)[at_ - 1] != Leaving::kNot) {
        if ((*waiting_loops_)[at_ - 1] == Leaving::kTaken) branch(instruction, lanes_);
        continue;
      }
      if (idle_ != nullptr) {
        if (const int32_t loop = idle_->at[at_ - 1]; loop >= 0) {
          for (const uint32_t index : idle_->registers[static_cast<size_t>(loop)]) known_[index] = 0;
          continue;
        }
        if (unknown != 0) tally->depends_on_data = true;
        // Backwards, what is not known would be a loop without an end.
        const bool ahead = instruction.code == Code::kReturn || instruction.target >= at_;
        enabled_lanes = (enabled_lanes & ~unknown) | (take_unknown_ && ahead ? unknown : 0);
        unknown = 0;
      }
      if (unknown != 0 && bytes_ != nullptr) {
        bytes_->give_up();
        return false;
      }
      if (unknown != 0) tally->depends_on_data = true;
      if (instruction.code == Code::kReturn) {
        lanes_ &= ~enabled_lanes;
      } else {
        branch(instruction, enabled_lanes);
      }
      continue;
    }
    // Accesses under a condition that is not known are taken to happen.
    if (bytes_ != nullptr) doubtful_ = unknown;
    execute(instruction, enabled_lanes | unknown);
  }
}

void Warp::branch(const Instruction& instruction, uint32_t taken) {
  const uint32_t others = lanes_ & ~taken;
  if (taken == 0) return;
  if (others == 0) {
    at_ = instruction.target;
    return;
  }
  waiting_.push_back({instruction.target, taken});
  lanes_ = others;
  meet();
}

// Of the groups that lanes have split into, the one that is furthest behind goes on, so that they meet again.
void Warp::meet() {
  if (lanes_ != 0) waiting_.push_back({at_, lanes_});
  at_ = UINT32_MAX;
  for (const Group& group : waiting_) at_ = std::min(at_, group.at);
  lanes_ = 0;
  meeting_ = UINT32_MAX;
  size_t kept = 0;
  for (const Group& group : waiting_) {
    if (group.at == at_) {
      lanes_ |= group.lanes;
    } else {
      meeting_ = std::min(meeting_, group.at);
      waiting_[kept++] = group;
    }
  }
  waiting_.resize(kept);
}

uint32_t Warp::enabled(const Instruction& instruction, uint32_t active, uint32_t* unknown) const {
  const Vector& predicate = registers_[instruction.predicate];
  uint32_t set = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) set |= static_cast<uint32_t>(predicate.lanes[lane] & 1) << lane;
  if (instruction.negated) set = ~set;
  *unknown = active & ~known_[instruction.predicate];
  return active & set;
}

void Warp::special(const Operand& operand, Vector* out, uint32_t* known) const {
  *known = UINT32_MAX;
  const uint32_t d = operand.dimension;
  const uint32_t(&size)[3] = launch_.block;
  uint32_t cluster[3];
  for (int i = 0; i < 3; ++i) cluster[i] = std::max(launch_.cluster[i], 1u);
  uint64_t value = 0;
  switch (operand.special) {
    case Special::kThread:
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const uint32_t thread = warp_ * kLanes + lane;
        out->lanes[lane] = d == 0 ? thread % size[0] : d == 1 ? thread / size[0] % size[1] : thread / size[0] / size[1];
      }
      return;
    case Special::kLane:
      for (uint32_t lane = 0; lane < kLanes; ++lane) out->lanes[lane] = lane;
      return;
    case Special::kThreads:
      value = size[d];
      break;
    case Special::kBlock:
      value = block_[d];
      break;
    case Special::kBlocks:
      value = launch_.grid[d];
      break;
    case Special::kWarp:
      value = warp_;
      break;
    case Special::kClusterRank:
      value = block_[0] % cluster[0] + cluster[0] * (block_[1] % cluster[1] + cluster[1] * (block_[2] % cluster[2]));
      break;
    case Special::kClusterSize:
      value = static_cast<uint64_t>(cluster[0]) * cluster[1] * cluster[2];
      break;
    case Special::kClusterBlock:
      value = block_[d] % cluster[d];
      break;
    case Special::kClusterBlocks:
      value = cluster[d];
      break;
    case Special::kCluster:
      value = block_[d] / cluster[d];
      break;
    case Special::kClusters:
      value = launch_.grid[d] / cluster[d];
      break;
    case Special::kZero:
      *known = 0;
      break;
  }
  std::fill(out->lanes, out->lanes + kLanes, value);
}

Warp::Input Warp::value(const Operand& operand, Vector* scratch) const {
  switch (operand.form) {
    case Operand::kRegister:
      return {registers_[operand.index].lanes, known_[operand.index], tags_[operand.index]};
    case Operand::kImmediate:
      std::fill(scratch->lanes, scratch->lanes + kLanes, operand.number);
      return {scratch->lanes, UINT32_MAX, 0};
    case Operand::kSpecial: {
      uint32_t known = 0;
      special(operand, scratch, &known);
      return {scratch->lanes, known, 0};
    }
    default:
      std::fill(scratch->lanes, scratch->lanes + kLanes, 0);
      return {scratch->lanes, 0, 0};
  }
}

Warp::Input Warp::input(const Instruction& instruction, uint32_t i, Vector* scratch) const {
  static constexpr Operand kMissing;
  return value(i < instruction.inputs ? program_.operands[instruction.first + instruction.outputs + i] : kMissing,
               scratch);
}

void Warp::write(const Operand& operand, const Vector& values, uint32_t known, uint8_t tag, uint32_t lanes) {
  if (operand.form != Operand::kRegister) return;
  Vector& target = registers_[operand.index];
  if (lanes == UINT32_MAX) {
    target = values;
  } else {
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      if ((lanes >> lane & 1) != 0) target.lanes[lane] = values.lanes[lane];
  }
  known_[operand.index] = (known_[operand.index] & ~lanes) | (known & lanes & ~doubtful_);
  if (lanes != 0) tags_[operand.index] = tag;
}

void Warp::write_outputs_unknown(const Instruction& instruction, uint32_t lanes) {
  static constexpr Vector kZeros = {};
  for (uint32_t i = 0; i < instruction.outputs; ++i)
    write(program_.operands[instruction.first + i], kZeros, 0, 0, lanes);
}

void Warp::execute(const Instruction& instruction, uint32_t lanes) {
  if (!instruction.uncounted) ++tally_->instructions;
  switch (instruction.code) {
    case Code::kMove:
      --tally_->instructions;  // the compiler renames registers
      return move(instruction, lanes);
    case Code::kCompare:
      return compare(instruction, lanes);
    case Code::kConvert:
      return convert(instruction, lanes);
    case Code::kShuffle:
      return shuffle(instruction, lanes);
    case Code::kVote:
    case Code::kElect:
    case Code::kActiveMask:
    case Code::kWaitTest:
      return vote(instruction, lanes);
    case Code::kLoad:
      return load(instruction, lanes);
    case Code::kStore:
    case Code::kAtomic:
      return store(instruction, lanes);
    case Code::kAsyncCopy:
      return copy(instruction, lanes);
    case Code::kBulkCopy:
      return bulk_copy(instruction, lanes);
    case Code::kMatrix:
      return matrix(instruction, lanes);
    case Code::kExpect: {
      Vector scratch;
      const Input bytes = input(instruction, 1, &scratch);
      for (uint32_t lane = 0; lane < kLanes; ++lane)
        if ((lanes >> lane & 1) != 0) tally_->expected_bytes += static_cast<double>(bytes.lanes[lane]);
      return write_outputs_unknown(instruction, lanes);
    }
    case Code::kFunction:
      tally_->functions += std::popcount(lanes);
      return arithmetic(instruction, lanes);
    case Code::kCall:
      if (bytes_ != nullptr && lanes != 0) bytes_->give_up();
      return write_outputs_unknown(instruction, lanes);
    case Code::kOther:
      return write_outputs_unknown(instruction, lanes);
    default:
      return arithmetic(instruction, lanes);
  }
}

// With several registers on one side: packs or unpacks equal parts.
void Warp::move(const Instruction& instruction, uint32_t lanes) {
  const Operand* outputs = &program_.operands[instruction.first];
  if (instruction.outputs == 1 && instruction.inputs == 1) {
    Vector scratch;
    const Input from = input(instruction, 0, &scratch);
    Vector copied;
    std::memcpy(copied.lanes, from.lanes, sizeof copied.lanes);
    return write(outputs[0], copied, from.known, from.tag, lanes);
  }
  if (instruction.type.bits > 64) return write_outputs_unknown(instruction, lanes);
  if (instruction.outputs == 1 && instruction.inputs > 1) {
    const uint32_t width = instruction.type.bits / instruction.inputs;
    if (width == 0) return write_outputs_unknown(instruction, lanes);
    Vector packed = {};
    uint32_t known = UINT32_MAX;
    for (uint32_t i = 0; i < instruction.inputs; ++i) {
      Vector scratch;
      const Input part = input(instruction, i, &scratch);
      known &= part.known;
      for (uint32_t lane = 0; lane < kLanes; ++lane)
        packed.lanes[lane] |= (part.lanes[lane] & ((1ull << width) - 1)) << (width * i);
    }
    return write(outputs[0], packed, known, 0, lanes);
  }
  if (instruction.inputs != 1 || instruction.outputs == 0) return write_outputs_unknown(instruction, lanes);
  Vector scratch;
  const Input whole = input(instruction, 0, &scratch);
  Vector kept;
  std::memcpy(kept.lanes, whole.lanes, sizeof kept.lanes);
  const uint32_t width = instruction.type.bits / instruction.outputs, known = whole.known;
  if (width == 0) return write_outputs_unknown(instruction, lanes);
  for (uint32_t i = 0; i < instruction.outputs; ++i) {
    Vector part;
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      part.lanes[lane] = kept.lanes[lane] >> (width * i) & ((1ull << width) - 1);
    write(outputs[i], part, known, 0, lanes);
  }
}

void Warp::shuffle(const Instruction& instruction, uint32_t lanes) {
  Vector scratch[3];
  const Input from = input(instruction, 0, &scratch[0]), by = input(instruction, 1, &scratch[1]),
              limits = input(instruction, 2, &scratch[2]);
  Vector result, inside;
  uint32_t known = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const auto offset = static_cast<uint32_t>(by.lanes[lane] & 31);
    const auto clamp = static_cast<uint32_t>(limits.lanes[lane] & 31),
               segment = static_cast<uint32_t>(limits.lanes[lane] >> 8 & 31);
    const uint32_t least = lane & segment, most = least | (clamp & ~segment);
    int64_t source = lane;
    bool valid = true;
    switch (instruction.function) {
      case 1:
        source = static_cast<int64_t>(lane) - offset;
        valid = source >= static_cast<int64_t>(most);
        break;
      case 2:
        source = static_cast<int64_t>(lane) + offset;
        valid = source <= static_cast<int64_t>(most);
        break;
      case 3:
        source = lane ^ offset;
        valid = source <= static_cast<int64_t>(most);
        break;
      default:
        source = least | (offset & ~segment);
        valid = source <= static_cast<int64_t>(most);
    }
    if (!valid || source < 0 || source >= static_cast<int64_t>(kLanes)) source = lane;
    result.lanes[lane] = from.lanes[source];
    inside.lanes[lane] = valid;
    if ((by.known >> lane & 1) != 0 && (from.known >> source & 1) != 0) known |= 1u << lane;
  }
  for (uint32_t i = 0; i < instruction.outputs && i < 2; ++i)
    write(program_.operands[instruction.first + i], i == 0 ? result : inside, i == 0 ? known : by.known, 0, lanes);
}

// Votes, elections, masks, and waits, which are over.
void Warp::vote(const Instruction& instruction, uint32_t lanes) {
  Vector result = {};
  uint32_t known = UINT32_MAX;
  switch (instruction.code) {
    case Code::kWaitTest:
      std::fill(result.lanes, result.lanes + kLanes, 1);
      break;
    case Code::kElect:
      if (lanes != 0) result.lanes[std::countr_zero(lanes)] = 1;
      break;
    case Code::kActiveMask:
      std::fill(result.lanes, result.lanes + kLanes, lanes);
      break;
    default: {
      Vector scratch;
      const Input from = input(instruction, 0, &scratch);
      uint32_t set = 0;
      for (uint32_t lane = 0; lane < kLanes; ++lane) set |= static_cast<uint32_t>(from.lanes[lane] & 1) << lane;
      set &= lanes;
      if ((lanes & ~from.known) != 0) known = 0;
      const uint64_t answer = instruction.function == 3   ? set
                              : instruction.function == 1 ? set != 0
                              : instruction.function == 2 ? set == 0 || set == lanes
                                                          : set == lanes;
      std::fill(result.lanes, result.lanes + kLanes, answer);
    }
  }
  if (instruction.outputs == 0) return;
  // elect.sync d|p: the predicate is the last.
  write(program_.operands[instruction.first + instruction.outputs - 1], result, known, 0, lanes);
}

const void* Warp::argument(uint64_t address, uint32_t bytes) const {
  const uint32_t ordinal = parameter_ordinal(address), offset = parameter_offset(address);
  if (launch_.kernel == nullptr || ordinal >= launch_.kernel->parameters.size() || launch_.arguments == nullptr)
    return nullptr;
  if (offset + bytes > launch_.kernel->parameters[ordinal].size) return nullptr;
  return static_cast<const char*>(launch_.arguments[ordinal]) + offset;
}

bool Warp::addresses(const Operand& operand, Vector* out, uint32_t* known, uint8_t* tag) const {
  if (operand.form == Operand::kRegister) {  // in braces, without brackets
    *out = registers_[operand.index];
    *known = known_[operand.index];
    *tag = tags_[operand.index];
    return true;
  }
  if (operand.form != Operand::kAddress) return false;
  *tag = 0;
  if (operand.index < 0) {
    std::fill(out->lanes, out->lanes + kLanes, operand.number);
    *known = operand.dimension == 0 ? UINT32_MAX : 0;
    return true;
  }
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    out->lanes[lane] = registers_[operand.index].lanes[lane] + operand.number;
  *known = known_[operand.index];
  *tag = tags_[operand.index];
  return true;
}

void Warp::touch(bool written, const Vector& at, uint32_t known, uint8_t tag, uint32_t bytes, uint32_t lanes) {
  if (lanes == 0 || bytes == 0) return;
  // Distinct sectors of the warp; addresses mostly ascend with the lanes.
  uint64_t sectors[2 * kLanes];
  uint32_t count = 0;
  bool ascending = true;
  uint64_t begin = UINT64_MAX, end = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const uint64_t first = at.lanes[lane] / kSector_bytes, last = (at.lanes[lane] + bytes - 1) / kSector_bytes;
    begin = std::min(begin, at.lanes[lane]);
    end = std::max(end, at.lanes[lane] + bytes);
    for (uint64_t sector : {first, last}) {
      if (count > 0 && sectors[count - 1] == sector) continue;
      if (count > 0 && sector < sectors[count - 1]) ascending = false;
      sectors[count++] = sector;
    }
  }
  if (!ascending) {
    std::sort(sectors, sectors + count);
    count = static_cast<uint32_t>(std::unique(sectors, sectors + count) - sectors);
  }
  // Reads of what the warp has just read are answered by the first-level cache; writes go through it.
  const bool all_known = (lanes & ~known) == 0;
  uint32_t missed = count;
  for (uint32_t i = 0; !written && all_known && i < count; ++i) {
    uint64_t& cached = cached_[sectors[i] % kCachedSectors];
    if (cached == sectors[i]) --missed;
    cached = sectors[i];
  }
  Footprint& footprint = (written ? tally_->writes : tally_->reads)[tag];
  const double moved = static_cast<double>(missed) * kSector_bytes;
  footprint.bytes += moved;
  if (!all_known) {
    footprint.unknown_bytes += moved;
    return;
  }
  footprint.begin = std::min(footprint.begin, begin);
  footprint.end = std::max(footprint.end, end);
}

void Warp::load_parameter(const Instruction& instruction, const Vector& at, uint32_t lanes) {
  const uint32_t width = instruction.type.bits / 8;
  for (uint32_t i = 0; i < instruction.outputs; ++i) {
    Vector result = {};
    uint32_t known = 0;
    uint8_t tag = 0;
    if (width <= 8 && width > 0) {
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const void* bytes = argument(at.lanes[lane] + static_cast<uint64_t>(i) * width, width);
        if (bytes == nullptr) continue;
        std::memcpy(&result.lanes[lane], bytes, width);
        known |= 1u << lane;
      }
      if (width == 8 && result.lanes[0] >= kGlobalFrom && !is_parameter(result.lanes[0])) {
        tag = static_cast<uint8_t>(std::min(parameter_ordinal(at.lanes[0]) + 1, Tally::kMostTags));
        for (auto* footprints : {&tally_->reads, &tally_->writes}) (*footprints)[tag].base = result.lanes[0];
      }
    }
    write(program_.operands[instruction.first + i], result, known, tag, lanes);
  }
}

void Warp::load(const Instruction& instruction, uint32_t lanes) {
  Vector at;
  uint32_t known = 0;
  uint8_t tag = 0;
  if (instruction.inputs == 0 ||
      !addresses(program_.operands[instruction.first + instruction.outputs], &at, &known, &tag))
    return write_outputs_unknown(instruction, lanes);
  if (lanes == 0) return;
  const uint64_t sample = at.lanes[std::countr_zero(lanes)];
  if (instruction.space == Space::kParameter || is_parameter(sample)) {
    --tally_->instructions;  // operands of other instructions can be in the constant bank
    if (known == 0) return write_outputs_unknown(instruction, lanes);
    return load_parameter(instruction, at, lanes);
  }
  const bool global = instruction.space == Space::kGlobal ||
                      (instruction.space == Space::kGeneric && (tag != 0 || sample >= kGlobalFrom));
  const uint32_t width = instruction.type.bits / 8;
  if (global) touch(false, at, known, tag, width * std::max<uint32_t>(instruction.outputs, 1), lanes);
  if (global && bytes_ != nullptr) return load_bytes(instruction, at, known, tag, lanes);
  // One number for the whole warp: a count, an offset. Whether it is known decides how often loops run.
  uint64_t number = 0;
  bool number_known = false;
  const bool uniform = std::all_of(at.lanes, at.lanes + kLanes, [&, lane = 0u](uint64_t address) mutable {
    return (lanes >> lane++ & 1) == 0 || address == sample;
  });
  if (global && instruction.outputs == 1 && width <= 8 && instruction.type.kind != Kind::kFloat) {
    if (uniform && (lanes & ~known) == 0) number_known = surroundings_.read(sample, width, &number);
    if (!number_known) number = width == 4 ? unknown_count_ : 0;
  }
  Vector result;
  std::fill(result.lanes, result.lanes + kLanes, number);
  for (uint32_t i = 0; i < instruction.outputs; ++i)
    write(program_.operands[instruction.first + i], result, number_known ? UINT32_MAX : 0, 0, lanes);
}

void Warp::store(const Instruction& instruction, uint32_t lanes) {
  Vector at;
  uint32_t known = 0;
  uint8_t tag = 0;
  const bool addressed = instruction.inputs > 0 &&
                         addresses(program_.operands[instruction.first + instruction.outputs], &at, &known, &tag) &&
                         lanes != 0;
  if (addressed) {
    const uint64_t sample = at.lanes[std::countr_zero(lanes)];
    const bool global = instruction.space == Space::kGlobal ||
                        (instruction.space == Space::kGeneric && (tag != 0 || sample >= kGlobalFrom));
    if (bytes_ != nullptr && instruction.space == Space::kGeneric && (lanes & ~known) != 0)
      bytes_->store_anywhere(tag - 1);
    if (global && !is_parameter(sample)) {
      const uint32_t width = instruction.type.bits / 8;
      const uint32_t count = instruction.code == Code::kStore ? instruction.inputs - 1u : 1u;
      if (instruction.code == Code::kAtomic) touch(false, at, known, tag, width, lanes);
      touch(true, at, known, tag, width * std::max(count, 1u), lanes);
      if (bytes_ != nullptr) store_bytes(instruction, at, known, tag, lanes);
    }
  } else if (bytes_ != nullptr && lanes != 0) {
    bytes_->give_up();
  }
  write_outputs_unknown(instruction, lanes);
}

void Warp::load_bytes(const Instruction& instruction, const Vector& at, uint32_t known, uint8_t tag, uint32_t lanes) {
  const uint32_t width = instruction.type.bits / 8;
  if (width == 0 || width > 8) return write_outputs_unknown(instruction, lanes);
  const bool is_signed = instruction.type.kind == Kind::kSigned;
  for (uint32_t i = 0; i < instruction.outputs; ++i) {
    Vector result = {};
    uint32_t loaded = 0;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((lanes & known & ~doubtful_ & 1u << lane) == 0) continue;
      uint64_t value = 0;
      if (!bytes_->load(at.lanes[lane] + static_cast<uint64_t>(i) * width, width, tag - 1, &value)) continue;
      // A register may be wider than what is loaded into it.
      if (is_signed && width < 8 && (value >> (8 * width - 1) & 1) != 0) value |= UINT64_MAX << (8 * width);
      result.lanes[lane] = value;
      loaded |= 1u << lane;
    }
    write(program_.operands[instruction.first + i], result, loaded, 0, lanes);
  }
}

// Atomic operations leave what is not known.
void Warp::store_bytes(const Instruction& instruction, const Vector& at, uint32_t known, uint8_t tag, uint32_t lanes) {
  const uint32_t width = instruction.type.bits / 8, parts = std::max<uint32_t>(instruction.elements, 1);
  if (width == 0) return bytes_->give_up();
  for (uint32_t i = 0; i < parts; ++i) {
    Vector scratch;
    const Input from = instruction.code == Code::kStore && width <= 8 && i + 1 < instruction.inputs
                           ? input(instruction, i + 1, &scratch)
                           : Input{scratch.lanes, 0, 0};
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const uint32_t bit = 1u << lane;
      if ((lanes & bit) == 0) continue;
      if ((known & bit) == 0) {
        bytes_->store_anywhere(tag - 1);
        continue;
      }
      const bool is_known = (from.known & bit) != 0 && (doubtful_ & bit) == 0;
      const uint64_t address = at.lanes[lane] + static_cast<uint64_t>(i) * width;
      for (uint32_t part = 0; part < width; part += 8)
        bytes_->store(address + part, std::min(width - part, 8u), is_known ? from.lanes[lane] : 0, is_known);
    }
  }
}

// cp.async [shared], [global], bytes (, bytes that are read; the rest is filled with zeros)
void Warp::copy(const Instruction& instruction, uint32_t lanes) {
  if (instruction.inputs < 3) return;
  Vector at, scratch[2];
  uint32_t known = 0;
  uint8_t tag = 0;
  if (!addresses(program_.operands[instruction.first + 1], &at, &known, &tag)) return;
  const Input bytes = input(instruction, 2, &scratch[0]);
  if (instruction.inputs > 3) {
    const Input read = input(instruction, 3, &scratch[1]);
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      if ((read.known >> lane & 1) != 0 && read.lanes[lane] == 0) lanes &= ~(1u << lane);
  }
  touch(false, at, known, tag, static_cast<uint32_t>(bytes.lanes[0] & 31), lanes);
}

// cp.async.bulk [to], [from], bytes, ...; cp.async.bulk.tensor [shared], [descriptor, {coordinates}], ... and the other
// way, [descriptor, {coordinates}], [shared].
void Warp::bulk_copy(const Instruction& instruction, uint32_t lanes) {
  if (bytes_ != nullptr && instruction.writes_global && lanes != 0) bytes_->give_up();
  if (lanes == 0 || instruction.inputs < 2) return;
  const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
  const double times = std::popcount(lanes);
  Vector at;
  uint32_t known = 0;
  uint8_t tag = 0;
  if (!addresses(program_.operands[instruction.first + (instruction.writes_global ? 0 : 1)], &at, &known, &tag)) return;
  auto& footprints = instruction.writes_global ? tally_->writes : tally_->reads;
  if (instruction.space == Space::kTensor) {
    TensorMap map;
    const void* bytes = is_parameter(at.lanes[lane]) ? argument(at.lanes[lane], kTensorMap_bytes) : nullptr;
    if (bytes == nullptr || !surroundings_.tensor_map(bytes, &map)) return;
    Footprint& footprint = footprints[std::min(parameter_ordinal(at.lanes[lane]) + 1, Tally::kMostTags)];
    const double moved = times * static_cast<double>(map.box_bytes);
    footprint.bytes += moved;
    footprint.begin = 0;
    footprint.end = std::max(footprint.end, map.tensor_bytes);
    if (!instruction.writes_global) tally_->boxed_bytes += moved;
    return;
  }
  Vector scratch;
  const Input bytes = input(instruction, 2, &scratch);
  const double moved = times * static_cast<double>(bytes.lanes[lane]);
  Footprint& footprint = footprints[tag];
  footprint.bytes += moved;
  if (!instruction.writes_global) tally_->boxed_bytes += moved;
  if ((known >> lane & 1) == 0 || (bytes.known >> lane & 1) == 0) {
    footprint.unknown_bytes += moved;
    return;
  }
  footprint.begin = std::min(footprint.begin, at.lanes[lane]);
  footprint.end = std::max(footprint.end, at.lanes[lane] + bytes.lanes[lane]);
}

void Warp::matrix(const Instruction& instruction, uint32_t lanes) {
  double& flops = tally_->flops[static_cast<size_t>(instruction.matrix)];
  if (instruction.participants != 0) {
    flops += instruction.flops / instruction.participants;
    return write_outputs_unknown(instruction, lanes);
  }
  // tcgen05.mma [d], a, b, descriptor, ...: N / 8 from bit 17, M / 16 from bit 24 of the instruction descriptor (PTX
  // ISA 9.7.16.4.2); K is 32 bytes of operand.
  if (lanes == 0 || instruction.inputs < 4) return;
  Vector scratch;
  const Input descriptor = input(instruction, 3, &scratch);
  const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
  const uint64_t bits = descriptor.lanes[lane];
  constexpr double kDepth[kMatrixTypes] = {16, 8, 32, 64, 0};
  flops += std::popcount(lanes) * 2.0 * static_cast<double>((bits >> 17 & 63) * 8) *
           static_cast<double>((bits >> 24 & 31) * 16) * kDepth[static_cast<size_t>(instruction.matrix)];
}

}  // namespace maya::device::ptx
