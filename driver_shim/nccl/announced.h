// The members of a communicator whose other ranks are absent, where the framework's own knowledge of them was handed
// over: MAYA_GROUP_RANKS, set by cli/run/python/maya_world.py while PyTorch makes a process group.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace maya::nccl {

// "start:step:count" or "a,b,c" as ranks; empty when the text is neither.
std::vector<int32_t> parse_ranks(std::string_view text);

// Ranks of the world in the order of the communicator that is being made; empty: not announced.
std::vector<int32_t> announced_ranks();

}  // namespace maya::nccl
