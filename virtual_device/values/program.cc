// Small kernels whose instructions are known (virtual_device/ptx): Triton's and those of programs that hand over PTX.
// They are carried out on what is known, warp after warp; what depends on unknown bytes becomes unknown. So counters,
// positions and lengths that programs keep on the device go on counting (vLLM: the number of tokens of a request).
//
// Warps of a launch see memory as it was before it and what they stored themselves: what others store at the same time
// may be seen or not on a device, too. Where a barrier orders them, bytes that another warp stored are unknown.
// Kernels that only store results of floating-point arithmetic are not: nobody decides by them. Where nothing behind a
// kernel's pointers is known it is carried out only if it stores something that it has not loaded: a constant, a place.
//
// Of what is not carried out, the stores of some blocks tell which bytes behind each pointer become unknown: what lies
// behind them stays. Loops that have no part in that are gone through once; of branches that unknown bytes decide all
// are taken in one run, none in another. Where nothing that they load decides it, that is found once for each grid and
// set of numbers.
#include <algorithm>
#include <map>
#include <mutex>

#include "virtual_device/ptx/idle_loops.h"
#include "virtual_device/ptx/warp.h"
#include "virtual_device/values/effect.h"

namespace maya::device {
namespace {

// Of one launch, in instructions of warps: some milliseconds.
constexpr uint64_t kMostInstructions = 1 << 18;
constexpr uint64_t kMostWarps = 1 << 13;
// Of its first block, which shows whether anything is known at all.
constexpr uint64_t kMostOfFirst = 1 << 14;
constexpr uint64_t kMostOfShown = 1 << 16;
constexpr uint64_t kMostText_bytes = 1 << 20;
constexpr uint64_t kLine_bytes = 64;

using ptx::Code;

// Pinned and managed memory, which kernels reach by the address that the program has.
bool is_host_memory(const Memory& memory, uint64_t address, uint64_t bytes) {
  Allocation allocation;
  if (!memory.find(address, &allocation)) return false;
  return (allocation.kind == AllocationKind::kHost || allocation.kind == AllocationKind::kManaged ||
          allocation.kind == AllocationKind::kRegistered) &&
         address - allocation.base + bytes <= allocation.bytes;
}

// What memory held before the launch; false when that is not known.
bool read_before(const Memory& memory, uint64_t address, uint32_t bytes, uint64_t* value) {
  *value = 0;
  if (memory.in_device_range(address))
    return memory.maybe_known(address) && memory.known(address, bytes) &&
           memory.read(value, address, bytes) == MemoryStatus::kOk;
  if (!is_host_memory(memory, address, bytes)) return false;
  std::memcpy(value, reinterpret_cast<const void*>(address), bytes);  // NOLINT: pinned memory of this process
  return true;
}

// Bytes that the launch stores, and what may have been stored behind an argument.
class Stored : public ptx::Bytes {
 public:
  Stored(const Memory& memory, bool has_barrier) : memory_(memory), has_barrier_(has_barrier) {}

  void start_warp(uint32_t warp) { warp_ = warp; }
  bool given_up() const { return given_up_; }
  bool fruitless() const { return !lines_.empty() && !any_known_; }

  bool load(uint64_t address, uint32_t bytes, int32_t argument, uint64_t* value) override {
    if (argument >= 0 && (anywhere_ >> std::min(argument, 63) & 1) != 0) return false;
    const auto found = lines_.find(address / kLine_bytes);
    const uint64_t at = address % kLine_bytes;
    if (at + bytes > kLine_bytes) return false;
    if (found != lines_.end()) {
      const Line& line = found->second;
      const uint64_t mask = mask_of(at, bytes);
      if ((line.stored & mask) != 0 && (line.warp == warp_ || has_barrier_)) {
        if (line.warp != warp_ || (line.known & mask) != mask) return false;
        std::memcpy(value, line.bytes + at, bytes);
        return true;
      }
    }
    return read_before(memory_, address, bytes, value);
  }

  void store(uint64_t address, uint32_t bytes, uint64_t value, bool known) override {
    const uint64_t at = address % kLine_bytes;
    if (at + bytes > kLine_bytes || lines_.size() * kLine_bytes > kMaximumIntegers_bytes) return give_up();
    if (!memory_.in_device_range(address) && !is_host_memory(memory_, address, bytes)) return give_up();
    Line& line = lines_[address / kLine_bytes];
    const uint64_t mask = mask_of(at, bytes);
    // Of two different warps one comes last, and nothing says which.
    const bool other = line.stored != 0 && line.warp != warp_;
    const bool agrees =
        (line.stored & mask) == 0 || ((line.known & mask) == mask && std::memcmp(line.bytes + at, &value, bytes) == 0);
    line.warp = other ? kSeveral : warp_;
    line.stored |= mask;
    std::memcpy(line.bytes + at, &value, bytes);
    if (known && (!other || agrees)) {
      line.known |= mask;
      any_known_ = true;
    } else {
      line.known &= ~mask;
    }
  }

  void store_anywhere(int32_t argument) override {
    if (argument < 0 || argument > 63) return give_up();
    anywhere_ |= uint64_t{1} << argument;
  }

  void give_up() override { given_up_ = true; }

  void finish(const Launch& launch, Memory& memory) const {
    for (uint32_t i = 0; i < 64 && i < launch.kernel->parameters.size(); ++i)
      if ((anywhere_ >> i & 1) != 0 && launch.kernel->parameters[i].size == 8)
        forget_reach(launch, memory, argument<Address>(launch, i));
    for (const auto& entry : lines_) {
      const Address first = entry.first * kLine_bytes;
      const Line& line = entry.second;
      const uint64_t known = line.known & line.stored;
      for_runs(line.stored & ~known, [&](uint64_t at, uint64_t bytes) { forget(memory, first + at, bytes); });
      for_runs(known, [&](uint64_t at, uint64_t bytes) {
        const Address address = first + at;
        if (memory.in_device_range(address))
          write_result(memory, address, line.bytes + at, bytes);
        else
          std::memcpy(reinterpret_cast<void*>(address), line.bytes + at, bytes);  // NOLINT: see store()
      });
    }
  }

 private:
  static constexpr uint32_t kSeveral = UINT32_MAX;
  struct Line {
    uint64_t stored = 0, known = 0;  // one bit a byte
    uint32_t warp = 0;
    uint8_t bytes[kLine_bytes] = {};
  };

  static uint64_t mask_of(uint64_t at, uint64_t bytes) { return ((uint64_t{1} << bytes) - 1) << at; }

  template <typename Visit>
  static void for_runs(uint64_t mask, Visit&& visit) {
    for (uint64_t at = 0; at < kLine_bytes; ++at) {
      if ((mask >> at & 1) == 0) continue;
      uint64_t end = at;
      while (end < kLine_bytes && (mask >> end & 1) != 0) ++end;
      visit(at, end - at);
      at = end;
    }
  }

  const Memory& memory_;
  const bool has_barrier_;
  std::map<uint64_t, Line> lines_;  // by address / kLine_bytes
  uint32_t warp_ = 0;
  uint64_t anywhere_ = 0;
  bool any_known_ = false, given_up_ = false;
};

// For Warp's own questions while it counts.
class Nothing : public ptx::Surroundings {
 public:
  bool read(uint64_t, uint32_t, uint64_t*) const override { return false; }
  uint64_t bytes_to_end(uint64_t) const override { return 0; }
  bool tensor_map(const void*, ptx::TensorMap*) const override { return false; }
};

// Looks where a launch stores, and whether what it loads has a part in that.
class Watched : public ptx::Bytes {
 public:
  explicit Watched(const Memory& memory) : memory_(memory) {}
  bool load(uint64_t address, uint32_t bytes, int32_t, uint64_t* value) override {
    if (!read_before(memory_, address, bytes, value)) return false;
    loaded_ = true;
    return true;
  }
  void store(uint64_t, uint32_t, uint64_t, bool) override {}
  void store_anywhere(int32_t) override { given_up_ = true; }
  void give_up() override { given_up_ = true; }
  bool loaded() const { return loaded_; }
  bool given_up() const { return given_up_; }

 private:
  const Memory& memory_;
  bool loaded_ = false, given_up_ = false;
};

// Where stores begin and end behind a pointer argument.
struct Extent {
  int64_t begin = 0, end = 0;
};

bool computes_reals(const ptx::Instruction& instruction) {
  switch (instruction.code) {
    case Code::kFunction:
    case Code::kMatrix:
    case Code::kOther:
    case Code::kCall:
      return true;
    case Code::kMove:
    case Code::kLoad:
    case Code::kSelect:
      return false;
    default:
      return instruction.type.kind == ptx::Kind::kFloat || instruction.from.kind == ptx::Kind::kFloat;
  }
}

// Whether it brings what memory held, or other threads have.
bool fetches(const ptx::Instruction& instruction) {
  switch (instruction.code) {
    case Code::kLoad:
      return instruction.space != ptx::Space::kParameter;
    case Code::kAtomic:
    case Code::kShuffle:
    case Code::kVote:
    case Code::kElect:
      return true;
    default:
      return false;
  }
}

// Whether a value is stored in device memory that none of these instructions led to.
template <typename Excluded>
bool stores_without(const ptx::Program& program, Excluded&& excluded) {
  std::vector<bool> led(program.registers, false);
  // Clocks and the like lead to nothing that is known.
  const auto operand_is_led = [&](const ptx::Operand& operand) {
    return operand.form == ptx::Operand::kRegister
               ? led[static_cast<size_t>(operand.index)]
               : operand.form == ptx::Operand::kSpecial && operand.special == ptx::Special::kZero;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const ptx::Instruction& instruction : program.instructions) {
      const ptx::Operand* const first = program.operands.data() + instruction.first;
      bool is_led = excluded(instruction);
      for (uint32_t i = 0; i < instruction.inputs && !is_led; ++i)
        is_led = operand_is_led(first[instruction.outputs + i]);
      for (uint32_t i = 0; is_led && i < instruction.outputs; ++i) {
        if (first[i].form != ptx::Operand::kRegister || operand_is_led(first[i])) continue;
        led[static_cast<size_t>(first[i].index)] = true;
        changed = true;
      }
    }
  }
  for (const ptx::Instruction& instruction : program.instructions) {
    if (instruction.code != Code::kStore || instruction.space == ptx::Space::kShared ||
        instruction.space == ptx::Space::kLocal || instruction.space == ptx::Space::kParameter)
      continue;
    for (uint32_t i = 1; i < instruction.inputs && i <= instruction.elements; ++i)
      if (!operand_is_led(program.operands[instruction.first + instruction.outputs + i])) return true;
  }
  return false;
}

class ProgramEffect : public ComputedEffect {
 public:
  ProgramEffect(const KernelInfo& kernel, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), source_(kernel.ptx) {
    for (uint32_t i = 0; i < kernel.parameters.size(); ++i)
      if (kernel.parameters[i].size == 8) pointers_.push_back({i, 0});
  }

  bool watch(std::vector<PointerSlot>* pointers) const override {
    if (!watch_otherwise(pointers)) return false;
    for (const PointerSlot& own : pointers_)
      if (std::none_of(pointers->begin(), pointers->end(), [&](const PointerSlot& other) {
            return other.parameter == own.parameter && other.offset_in_parameter == own.offset_in_parameter;
          }))
        pointers->push_back(own);
    return true;
  }
  bool watches() const override { return once_.done() && !stores_constants_; }

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    once_.run([this] { read(); });
    if (program_ == nullptr) return false;
    if (!anything_known(launch, memory)) return stores_constants_ && compute(launch, memory, false);
    if (stores_numbers_ && compute(launch, memory, false)) return true;
    // Last, for kernels that store where pointers in memory lead: even if they store nothing that is known, they tell
    // where.
    return forget_stores(launch, memory) || (stores_numbers_ && compute(launch, memory, true));
  }

 private:
  static constexpr uint32_t kShownBlocks = 8;
  static constexpr size_t kMostShapes = 64;

  // Everything that decides where a launch stores, but for the pointers.
  static std::vector<uint64_t> shape_of(const Launch& launch, const Memory& memory) {
    std::vector<uint64_t> shape(launch.grid, launch.grid + 3);
    shape.insert(shape.end(), launch.block, launch.block + 3);
    for (uint32_t i = 0; i < launch.kernel->parameters.size(); ++i) {
      uint64_t word = 0;
      for (uint32_t at = 0; at < launch.kernel->parameters[i].size; at += 8) {
        word = 0;
        std::memcpy(&word, argument_bytes(launch, i, at), std::min(launch.kernel->parameters[i].size - at, 8u));
        shape.push_back(memory.in_device_range(word) ? UINT64_MAX : word);
      }
    }
    return shape;
  }

  // By parameter; empty when it is not known where the launch stores. Looks at the first, the last and some blocks
  // between. *depends: other data in memory would lead elsewhere.
  std::vector<Extent> find_extents(const Launch& launch, const Memory& memory, bool* depends) const {
    const uint64_t blocks = static_cast<uint64_t>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
    const Nothing nothing;
    Watched watched(memory);
    ptx::Tally tally;
    const uint64_t shown = std::min<uint64_t>(blocks, kShownBlocks);
    const uint32_t warps = ptx::warps_of(launch);
    for (const bool take_unknown : {false, true}) {
      ptx::Warp warp(*program_, launch, nothing, 0);
      warp.carry_out(&watched);
      warp.look_for_places(&idle_loops_, take_unknown);
      uint64_t budget = kMostOfShown;
      for (uint64_t i = 0; i < shown; ++i) {
        const uint64_t block = shown == 1 ? 0 : i * (blocks - 1) / (shown - 1);
        for (uint32_t w = 0; w < warps; ++w)
          if (!warp.run(block, w, &budget, &tally) || watched.given_up()) return {};
      }
      if (!tally.depends_on_data) break;  // there is nothing else to take
    }
    *depends = watched.loaded();
    std::vector<Extent> extents(launch.kernel->parameters.size());
    for (size_t i = 0; i < tally.writes.size(); ++i) {
      const ptx::Footprint& footprint = tally.writes[i];
      if (footprint.bytes == 0) continue;
      if (i == 0 || i > extents.size() || footprint.unknown_bytes > 0 || launch.kernel->parameters[i - 1].size != 8)
        return {};
      // Further than its allocation: a pointer that was made in another way than by counting on from this one.
      const auto base = argument<Address>(launch, static_cast<uint32_t>(i - 1));
      Allocation allocation;
      if (!memory.in_device_range(base) || !memory.find(base, &allocation) || footprint.begin < allocation.base ||
          footprint.end > allocation.base + allocation.bytes)
        return {};
      extents[i - 1] = {static_cast<int64_t>(footprint.begin - base), static_cast<int64_t>(footprint.end - base)};
    }
    return extents;
  }

  bool forget_stores(const Launch& launch, Memory& memory) const {
    const std::vector<uint64_t> shape = shape_of(launch, memory);
    std::vector<Extent> extents;
    bool found = false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      const auto at = extents_.find(shape);
      found = at != extents_.end();
      if (found) extents = at->second;
    }
    if (!found) {
      count_long();
      bool depends = false;
      extents = find_extents(launch, memory, &depends);
      std::lock_guard<std::mutex> lock(mutex_);
      if (!depends && extents_.size() < kMostShapes) extents_.emplace(shape, extents);
    }
    if (extents.empty()) return false;
    for (uint32_t i = 0; i < extents.size(); ++i)
      if (extents[i].end > extents[i].begin)
        forget(memory, argument<Address>(launch, i) + static_cast<uint64_t>(extents[i].begin),
               static_cast<uint64_t>(extents[i].end - extents[i].begin));
    return true;
  }

  // fruitless: also when the first block stores nothing that is known.
  bool compute(const Launch& launch, Memory& memory, bool fruitless) const {
    const uint64_t blocks = static_cast<uint64_t>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
    const uint32_t warps = ptx::warps_of(launch);
    if (blocks == 0 || warps == 0 || blocks > kMostWarps / warps) return false;
    count_long();
    const Nothing nothing;
    Stored stored(memory, has_barrier_);
    ptx::Warp warp(*program_, launch, nothing, 0);
    warp.carry_out(&stored);
    ptx::Tally tally;
    uint64_t budget = kMostOfFirst;
    for (uint64_t i = 0; i < blocks; ++i) {
      for (uint32_t w = 0; w < warps; ++w) {
        stored.start_warp(static_cast<uint32_t>(i * warps + w));
        if (!warp.run(i, w, &budget, &tally) || stored.given_up()) return false;
      }
      if (i != 0) continue;
      if (stored.fruitless() && !fruitless) return false;
      budget += kMostInstructions - kMostOfFirst;
    }
    stored.finish(launch, memory);
    count_computed();
    return true;
  }

  void read() const {
    const std::string& text = source_->text();
    const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
    // What stores without a store instruction.
    for (const char* word : {"multimem.", "tensormap.", "discard.", "wmma.store", "sust.", "st.bulk", "st.async"})
      if (has(word)) return;
    program_ = source_->program();
    if (program_ == nullptr) return;
    idle_loops_ = ptx::idle_loops(*program_);
    stores_numbers_ = stores_without(*program_, computes_reals);
    stores_constants_ = stores_without(*program_, [](const ptx::Instruction& instruction) {
      return computes_reals(instruction) || fetches(instruction);
    });
    has_barrier_ = has("bar.sync") || has("barrier.") || has("mbarrier");
  }

  bool anything_known(const Launch& launch, const Memory& memory) const {
    return std::any_of(pointers_.begin(), pointers_.end(), [&](const PointerSlot& pointer) {
      const auto address = argument<Address>(launch, pointer.parameter);
      return memory.in_device_range(address) ? memory.maybe_known(address)
                                             : memory.maybe_host(address) && is_host_memory(memory, address, 1);
    });
  }

  const std::shared_ptr<const ptx::Source> source_;
  std::vector<PointerSlot> pointers_;
  mutable Once once_;
  mutable const ptx::Program* program_ = nullptr;  // null: not carried out
  mutable bool has_barrier_ = false, stores_numbers_ = false, stores_constants_ = false;
  mutable ptx::IdleLoops idle_loops_;
  mutable std::mutex mutex_;
  mutable std::map<std::vector<uint64_t>, std::vector<Extent>> extents_;  // by shape_of()
};

}  // namespace

std::unique_ptr<Effect> make_program_effect(const KernelInfo& kernel, const KernelName& name,
                                            std::vector<ScalarSlot>* scalars) {
  if (kernel.ptx == nullptr || kernel.ptx->text().size() > kMostText_bytes) return nullptr;
  return std::make_unique<ProgramEffect>(kernel, make_pointer_effect(kernel, name, scalars));
}

}  // namespace maya::device
