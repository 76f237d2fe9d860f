// Loops in which a kernel waits for what other blocks write: barriers of a whole grid, locks, flags.
#pragma once

#include <cstdint>
#include <vector>

#include "virtual_device/ptx/program.h"

namespace maya::device::ptx {

enum class Leaving : uint8_t {
  kNot,          // no branch that leaves such a loop
  kFallThrough,  // a branch back
  kTaken,        // a branch out of the loop
};

// By instruction. A loop waits when it writes nothing to memory but what it asks with (an atomic operation), and what
// it has read from one place decides alone whether it goes on: it would read the same for ever, if nobody else wrote.
std::vector<Leaving> waiting_loops(const Program& program);

}  // namespace maya::device::ptx
