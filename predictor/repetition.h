// Finds the unit that repeats in a sequence of operations: the training step in a program's launches.
//
// A layered model repeats inside a step too, and gradient accumulation repeats parts of it. The unit sought is the one
// whose repetition explains most of the sequence; of those that explain it equally well, the shortest that contains
// optimizer work (when there is any at all). Method: distances between equal runs of 4 tokens are candidates; a
// candidate is scored by the length of sequence it covers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace maya::predictor {

struct Token {
  uint64_t hash = 0;
  bool optimizer = false;
};

struct Repetition {
  size_t period = 0;   // tokens; 0: nothing repeats
  size_t covered = 0;  // tokens that the repetition explains
  // First token of every step, ascending; the first may be of a step that differs (warm-up). The last step ends before
  // `end`.
  std::vector<size_t> starts;
  size_t end = 0;
};

Repetition find_repetition(std::span<const Token> tokens);

}  // namespace maya::predictor
