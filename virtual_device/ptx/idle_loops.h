// Loops that have no part in where a kernel stores.
#pragma once

#include <cstdint>
#include <vector>

#include "virtual_device/ptx/program.h"

namespace maya::device::ptx {

struct IdleLoops {
  std::vector<int32_t> at;                       // by instruction: of a branch back the loop's number, -1 elsewhere
  std::vector<std::vector<uint32_t>> registers;  // by loop: what it sets
};

// Loops that store nothing to device memory and set no register on which an address of a store, the predicate of one,
// or the length of another loop depends. Going through one once changes no place that is stored to, as long as what it
// set is taken as unknown afterwards.
IdleLoops idle_loops(const Program& program);

}  // namespace maya::device::ptx
