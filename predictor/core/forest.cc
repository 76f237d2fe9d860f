#include "predictor/core/forest.h"

#include <algorithm>

namespace maya {
namespace {

// A leaf points to itself: a walk that has reached one stays.
inline const TreeNode* step(const TreeNode* tree, const TreeNode* at, const float* features) {
  const bool larger = features[at->feature] >= at->threshold;
  const TreeNode* const left = tree + at->left;
  return left + static_cast<size_t>(larger & (left != at));
}

// A walk down one tree waits for memory at every step; walks side by side wait together. Unrolled, so that where they
// are is kept in registers: in an array, the next step would wait for the store of the one before.
constexpr size_t kSide = 8;

inline float sum_side_by_side(const TreeNode* nodes, const Tree* trees, const float* features, float sum) {
  const TreeNode* tree[kSide];
  const TreeNode* at[kSide];
  uint32_t depth = 0;
#pragma GCC unroll 8
  for (size_t k = 0; k < kSide; ++k) {
    at[k] = tree[k] = nodes + trees[k].first_node;
    depth = std::max(depth, trees[k].depth);
  }
  for (uint32_t level = 0; level < depth; ++level) {
#pragma GCC unroll 8
    for (size_t k = 0; k < kSide; ++k) at[k] = step(tree[k], at[k], features);
  }
#pragma GCC unroll 8
  for (size_t k = 0; k < kSide; ++k) sum += at[k]->threshold;
  return sum;
}

}  // namespace

float evaluate(const Forest& forest, const float* features) {
  const TreeNode* nodes = forest.nodes.data();
  const Tree* trees = forest.trees.data();
  const size_t count = forest.trees.size();
  float sum = 0;
  size_t i = 0;
  for (; i + kSide <= count; i += kSide) sum = sum_side_by_side(nodes, trees + i, features, sum);
  for (; i < count; ++i) {
    const TreeNode* const tree = nodes + trees[i].first_node;
    const TreeNode* at = tree;
    for (uint32_t level = 0; level < trees[i].depth; ++level) at = step(tree, at, features);
    sum += at->threshold;
  }
  return sum;
}

}  // namespace maya
