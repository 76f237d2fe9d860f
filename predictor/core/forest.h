// Boosted regression trees, evaluated where they lie in the table.
#pragma once

#include <span>

#include "predictor/core/table.h"

namespace maya {

struct Forest {
  std::span<const Tree> trees;
  std::span<const TreeNode> nodes;
};

// Sum over the trees, in their order. `features` has kMostFeatures values, of which the trees look at as many as the
// model's kind has. The quickest way that the processor knows; all of them give the same bits.
float evaluate(const Forest& forest, const float* features);

// The ways: tree after tree; eight trees side by side; up to 160 trees side by side in vectors, on processors with
// AVX-512 whose gathers are quick.
float evaluate_one_by_one(const Forest& forest, const float* features);
float evaluate_side_by_side(const Forest& forest, const float* features);
bool has_quick_vectors();
float evaluate_in_vectors(const Forest& forest, const float* features);  // only where has_quick_vectors()

}  // namespace maya
