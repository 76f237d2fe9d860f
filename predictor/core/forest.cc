#include "predictor/core/forest.h"

#include <algorithm>

namespace maya {

float evaluate(const Forest& forest, const float* features) {
  // A walk down one tree waits for memory at every step; eight walks side by side wait together.
  constexpr size_t kSide = 8;
  const TreeNode* nodes = forest.nodes.data();
  const float* values = forest.values.data();
  const Tree* trees = forest.trees.data();
  const size_t count = forest.trees.size();
  float sum = 0;
  size_t i = 0;
  for (; i + kSide <= count; i += kSide) {
    uint32_t at[kSide], depth = 0;
    for (size_t k = 0; k < kSide; ++k) {
      at[k] = 0;
      depth = std::max(depth, trees[i + k].depth);
    }
    for (uint32_t step = 0; step < depth; ++step) {
      for (size_t k = 0; k < kSide; ++k) {
        const TreeNode& node = nodes[trees[i + k].first_node + at[k]];
        at[k] = node.left + (features[node.feature] >= node.threshold ? 1 : 0);
      }
    }
    for (size_t k = 0; k < kSide; ++k) sum += values[trees[i + k].first_node + at[k]];
  }
  for (; i < count; ++i) {
    uint32_t at = 0;
    for (uint32_t step = 0; step < trees[i].depth; ++step) {
      const TreeNode& node = nodes[trees[i].first_node + at];
      at = node.left + (features[node.feature] >= node.threshold ? 1 : 0);
    }
    sum += values[trees[i].first_node + at];
  }
  return sum;
}

}  // namespace maya
