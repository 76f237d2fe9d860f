// Finds the unit that repeats in a sequence of operations: the training step in a program's launches.
//
// A layered model repeats inside a step too, gradient accumulation repeats parts of it, and epochs repeat runs of it.
// The unit sought is the longest whose repetition explains much of the sequence, cut down to the shortest that explains
// as much of the same part: all of it but what a program does now and then (logging), or all optimizer work (validation
// between epochs has none). Method: distances between equal runs of four tokens are candidates; a candidate is scored
// by the tokens that equal the one a period away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace maya::predictor {

struct Token {
  uint64_t hash = 0;  // the operation with its shape
  uint64_t name = 0;  // the operation alone: shapes that depend on data differ from step to step
  bool optimizer = false;
};

struct Unit {
  size_t begin = 0;  // first token
  size_t end = 0;    // one past the last
};

struct Repetition {
  size_t period = 0;        // tokens; 0: nothing repeats
  size_t covered = 0;       // tokens that the repetition explains
  std::vector<Unit> units;  // ascending and disjoint; the first may differ from the others (warm-up)
};

Repetition find_repetition(std::span<const Token> tokens);

}  // namespace maya::predictor
