// Boosted regression trees, evaluated where they lie in the table.
#pragma once

#include <span>

#include "predictor/core/table.h"

namespace maya {

struct Forest {
  std::span<const Tree> trees;
  std::span<const TreeNode> nodes;
};

// Sum over the trees. `features` has as many values as the model's kind.
float evaluate(const Forest& forest, const float* features);

}  // namespace maya
