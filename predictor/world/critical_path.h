// What a step waits for: the chain of work, host time and gaps that ends with it, followed from its end to its
// beginning over all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace maya::predictor {

struct Prediction;

struct PathPart {
  enum class Kind : uint8_t { kDevice, kHost, kGap };  // kGap: between a cause and the start of what it held up
  Kind kind = Kind::kDevice;
  size_t rank = 0;   // index into Prediction::ranks
  std::string name;  // of the operation; of host time: what thread
  uint64_t count = 0;
  uint64_t total_ns = 0;
};

// Parts of one kind, rank and name together; most time first. Their sum is the length of the typical step of the
// slowest rank. Empty without steps.
std::vector<PathPart> find_critical_path(const Prediction& prediction);

}  // namespace maya::predictor
