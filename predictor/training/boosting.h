// Gradient-boosted regression trees, fitted by XGBoost (Apache-2.0, Debian's libxgboost): training only. Predictions
// walk the trees with our own code (predictor/core/forest.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "predictor/core/table.h"

namespace maya::training {

struct BoostingOptions {
  int rounds = 150;
  int leaves = 96;     // of a tree, at most
  int depth = 9;       // of a tree, at most
  double rate = 0.12;  // shrinkage of each tree
  double row_share = 0.8, feature_share = 0.6;
  double least_rows = 2;  // of a leaf
  uint64_t seed = 1;
};

struct FittedForest {
  std::vector<Tree> trees;
  std::vector<TreeNode> nodes;
};

// Least squares. `features`: rows x columns, row by row; `weights` may be empty. False with one line in `error` when
// the library refuses.
bool boost(const std::vector<float>& features, size_t columns, const std::vector<float>& targets,
           const std::vector<float>& weights, const BoostingOptions& options, FittedForest* forest, std::string* error);

}  // namespace maya::training
