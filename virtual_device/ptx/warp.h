// Runs one warp of a kernel for what it asks of the device: which bytes it reads and writes, what it multiplies, how
// many instructions it issues. Addresses and loop counters are computed exactly; loaded data are not known, unless the
// surroundings know them. Warps run one at a time and meet nobody: waits are over at once, shared memory holds nothing.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "virtual_device/kernel.h"
#include "virtual_device/ptx/idle_loops.h"
#include "virtual_device/ptx/program.h"
#include "virtual_device/ptx/waiting_loops.h"

namespace maya::device::ptx {

inline constexpr uint32_t kLanes = 32;
inline constexpr uint32_t kSector_bytes = 32;  // what L2 hands out: CUDA C++ best practices guide, "coalesced access"

// A tensor that bulk copies address through a descriptor (CUtensorMap).
struct TensorMap {
  uint64_t tensor_bytes = 0;  // of the whole tensor
  uint64_t box_bytes = 0;     // of one copy
};

// Of each block.
inline uint32_t warps_of(const Launch& launch) {
  const uint64_t threads = static_cast<uint64_t>(launch.block[0]) * launch.block[1] * launch.block[2];
  return static_cast<uint32_t>((threads + kLanes - 1) / kLanes);
}

// What a kernel could find in device memory and in its arguments.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  // True when all bytes are known; at most 8.
  virtual bool read(uint64_t address, uint32_t bytes, uint64_t* value) const = 0;
  // Bytes from the address to the end of its allocation, 0 when there is none.
  virtual uint64_t bytes_to_end(uint64_t address) const = 0;
  virtual bool tensor_map(const void* argument, TensorMap* map) const = 0;
};

// Device memory for a kernel that is carried out for its results, not counted: bytes are read and written lane by lane.
class Bytes {
 public:
  virtual ~Bytes() = default;
  // Of 1, 2, 4 or 8 bytes: true when all are known. `argument`: ordinal of the argument that the address comes from, -1
  // when that is not known.
  virtual bool load(uint64_t address, uint32_t bytes, int32_t argument, uint64_t* value) = 0;
  // known: false when the value is not, or whether it is stored at all.
  virtual void store(uint64_t address, uint32_t bytes, uint64_t value, bool known) = 0;
  // A store to an address that is not known.
  virtual void store_anywhere(int32_t argument) = 0;
  // Something was done that is not carried out: no result counts.
  virtual void give_up() = 0;
};

// What is touched behind one pointer argument, in one direction.
struct Footprint {
  uint64_t begin = UINT64_MAX, end = 0;  // around all known addresses
  double bytes = 0;          // sum over accesses, in whole sectors for each warp; reads of the same again left out
  double unknown_bytes = 0;  // of those, at addresses that depend on loaded data
  uint64_t base = 0;         // an address of the argument
};

struct Tally {
  double instructions = 0;  // of warps
  double functions = 0;     // of threads, on the special function unit
  std::array<double, kMatrixTypes> flops{};
  double expected_bytes = 0;  // that barriers were told to expect from bulk copies
  double boxed_bytes = 0;     // of bulk copies with a known descriptor
  static constexpr uint32_t kMostTags = 255;
  std::vector<Footprint> reads,
      writes;                    // by tag: 0 for addresses of unknown origin, else 1 + the ordinal of the argument
  bool depends_on_data = false;  // a branch was decided by what is not known

  Tally() : reads(kMostTags + 1), writes(kMostTags + 1) {}
};

class Warp {
 public:
  // `unknown_count`: what loaded 32-bit numbers that are not known read as; 0, or a large number to see how long loops
  // could get that they bound.
  Warp(const Program& program, const Launch& launch, const Surroundings& surroundings, uint32_t unknown_count);

  // From now on loops that wait for other blocks (see waiting_loops(), which must outlive the warp) are gone through
  // once.
  void wait_once(const std::vector<Leaving>* waiting) { waiting_loops_ = waiting; }
  // From now on results count. Branches that what is not known decides are given up.
  void carry_out(Bytes* bytes) { bytes_ = bytes; }
  // From now on only places count: idle loops (which must outlive the warp) are gone through once, and branches ahead
  // that what is not known decides are taken, or are not.
  void look_for_places(const IdleLoops* idle, bool take_unknown) {
    idle_ = idle;
    take_unknown_ = take_unknown;
  }

  // Runs a warp of a block (x counts fastest); false when *budget (instructions) ran out, or the bytes were given up.
  bool run(uint64_t block, uint32_t warp, uint64_t* budget, Tally* tally);

 private:
  struct Group {
    uint32_t at, lanes;
  };
  // A register of all lanes.
  struct Vector {
    uint64_t lanes[kLanes];
  };
  struct Input {
    const uint64_t* lanes;
    uint32_t known;
    uint8_t tag;
  };

  Input input(const Instruction& instruction, uint32_t i, Vector* scratch) const;
  Input value(const Operand& operand, Vector* scratch) const;
  void special(const Operand& operand, Vector* out, uint32_t* known) const;
  void write(const Operand& operand, const Vector& values, uint32_t known, uint8_t tag, uint32_t lanes);
  void write_outputs_unknown(const Instruction& instruction, uint32_t lanes);
  // Lanes whose predicate holds; `unknown` gets those of which it is not known.
  uint32_t enabled(const Instruction& instruction, uint32_t active, uint32_t* unknown) const;

  void execute(const Instruction& instruction, uint32_t lanes);
  void arithmetic(const Instruction& instruction, uint32_t lanes);
  void compare(const Instruction& instruction, uint32_t lanes);
  void convert(const Instruction& instruction, uint32_t lanes);
  void move(const Instruction& instruction, uint32_t lanes);
  void shuffle(const Instruction& instruction, uint32_t lanes);
  void vote(const Instruction& instruction, uint32_t lanes);
  void load(const Instruction& instruction, uint32_t lanes);
  void load_bytes(const Instruction& instruction, const Vector& addresses, uint32_t known, uint8_t tag, uint32_t lanes);
  void store_bytes(const Instruction& instruction, const Vector& addresses, uint32_t known, uint8_t tag,
                   uint32_t lanes);
  void load_parameter(const Instruction& instruction, const Vector& addresses, uint32_t lanes);
  void store(const Instruction& instruction, uint32_t lanes);
  void copy(const Instruction& instruction, uint32_t lanes);
  void bulk_copy(const Instruction& instruction, uint32_t lanes);
  void matrix(const Instruction& instruction, uint32_t lanes);
  void branch(const Instruction& instruction, uint32_t taken);
  void meet();

  // Addresses of an address operand; false when it is none.
  bool addresses(const Operand& operand, Vector* out, uint32_t* known, uint8_t* tag) const;
  // Counts an access of `bytes` bytes by each lane.
  void touch(bool written, const Vector& addresses, uint32_t known, uint8_t tag, uint32_t bytes, uint32_t lanes);
  const void* argument(uint64_t address, uint32_t bytes) const;

  const Program& program_;
  const Launch& launch_;
  const Surroundings& surroundings_;
  const uint32_t unknown_count_;
  std::vector<Vector> registers_;
  std::vector<uint32_t> known_;
  std::vector<uint8_t> tags_;
  uint32_t block_[3] = {};
  uint32_t warp_ = 0;
  uint32_t at_ = 0, lanes_ = 0;
  uint32_t meeting_ = UINT32_MAX;  // the next instruction at which another group waits
  std::vector<Group> waiting_;
  // A warp's part of the first-level cache: 192 KB of an A100's multiprocessor for 48 of its 64 warps.
  static constexpr uint64_t kCachedSectors = 128;
  std::array<uint64_t, kCachedSectors> cached_{};
  Tally* tally_ = nullptr;
  Bytes* bytes_ = nullptr;
  const IdleLoops* idle_ = nullptr;
  const std::vector<Leaving>* waiting_loops_ = nullptr;
  bool take_unknown_ = false;
  uint32_t doubtful_ = 0;  // lanes that may not run the instruction: with bytes_ only
};

}  // namespace maya::device::ptx
