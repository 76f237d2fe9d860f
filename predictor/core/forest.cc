#include "predictor/core/forest.h"

#include <algorithm>

namespace maya {
namespace {

// A leaf points to itself: a walk that has reached one stays.
inline uint32_t step(const TreeNode* tree, uint32_t at, const float* features) {
  const TreeNode& node = tree[at];
  const bool larger = features[node.feature] >= node.threshold;
  return node.left + static_cast<uint32_t>(larger & (node.left != at));
}

}  // namespace

float evaluate(const Forest& forest, const float* features) {
  // A walk down one tree waits for memory at every step; eight walks side by side wait together.
  constexpr size_t kSide = 8;
  const TreeNode* nodes = forest.nodes.data();
  const Tree* trees = forest.trees.data();
  const size_t count = forest.trees.size();
  float sum = 0;
  size_t i = 0;
  for (; i + kSide <= count; i += kSide) {
    const TreeNode* tree[kSide];
    uint32_t at[kSide] = {}, depth = 0;
    for (size_t k = 0; k < kSide; ++k) {
      tree[k] = nodes + trees[i + k].first_node;
      depth = std::max(depth, trees[i + k].depth);
    }
    for (uint32_t level = 0; level < depth; ++level)
      for (size_t k = 0; k < kSide; ++k) at[k] = step(tree[k], at[k], features);
    for (size_t k = 0; k < kSide; ++k) sum += tree[k][at[k]].threshold;
  }
  for (; i < count; ++i) {
    const TreeNode* tree = nodes + trees[i].first_node;
    uint32_t at = 0;
    for (uint32_t level = 0; level < trees[i].depth; ++level) at = step(tree, at, features);
    sum += tree[at].threshold;
  }
  return sum;
}

}  // namespace maya
