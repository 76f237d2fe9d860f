#include "predictor/core/forest.h"

#include <algorithm>
#include <cstring>

#include "predictor/core/features.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace maya {
namespace {

// A leaf points to itself: a walk that has reached one stays.
inline const TreeNode* step(const TreeNode* tree, const TreeNode* at, const float* features) {
  const bool larger = features[at->feature] >= at->threshold;
  const TreeNode* const left = tree + at->left;
  return left + static_cast<size_t>(larger & (left != at));
}

float walk(const Forest& forest, const Tree& tree, const float* features) {
  const TreeNode* const first = forest.nodes.data() + tree.first_node;
  const TreeNode* at = first;
  for (uint32_t level = 0; level < tree.depth; ++level) at = step(first, at, features);
  return at->threshold;
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

float evaluate_one_by_one(const Forest& forest, const float* features) {
  float sum = 0;
  for (const Tree& tree : forest.trees) sum += walk(forest, tree, features);
  return sum;
}

float evaluate_side_by_side(const Forest& forest, const float* features) {
  const size_t count = forest.trees.size();
  float sum = 0;
  size_t i = 0;
  for (; i + kSide <= count; i += kSide)
    sum = sum_side_by_side(forest.nodes.data(), forest.trees.data() + i, features, sum);
  for (; i < count; ++i) sum += walk(forest, forest.trees[i], features);
  return sum;
}

#if defined(__x86_64__)

static_assert(sizeof(TreeNode) == 8 && offsetof(TreeNode, threshold) == 0 && offsetof(TreeNode, feature) == 4 &&
              offsetof(TreeNode, left) == 6);
static_assert(sizeof(Tree) == 8 && offsetof(Tree, first_node) == 0 && offsetof(Tree, depth) == 4);
static_assert(kMostFeatures == 64);  // four vectors

namespace {

#define MAYA_VECTORS __attribute__((target("avx512f,avx512dq,avx512vl")))

constexpr size_t kLanes = 16;
constexpr size_t kMostGroups = 10;  // 20 of the 32 vector registers say where the walks are

// `groups` times 16 trees at a time; `lanes`: those of the last 16 that there are.
template <size_t kGroups>
MAYA_VECTORS float sum_in_vectors(const TreeNode* nodes, const Tree* trees, __mmask16 lanes, const float* features,
                                  float sum) {
  const __m512 feature0 = _mm512_loadu_ps(features), feature1 = _mm512_loadu_ps(features + 16),
               feature2 = _mm512_loadu_ps(features + 32), feature3 = _mm512_loadu_ps(features + 48);
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  const __m512i one = _mm512_set1_epi32(1), low_half = _mm512_set1_epi32(0xffff), upper = _mm512_set1_epi32(32);
  __m512i first[kGroups], at[kGroups];  // numbers of nodes
  __m512i depths = _mm512_setzero_si512();
#pragma GCC unroll 10
  for (size_t g = 0; g < kGroups; ++g) {
    const __mmask16 present = g + 1 == kGroups ? lanes : 0xffff;
    const __m512i low = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(present), trees + kLanes * g);
    const __m512i high = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(present >> 8), trees + kLanes * g + 8);
    first[g] = at[g] = _mm512_permutex2var_epi32(low, even, high);
    depths = _mm512_max_epu32(depths, _mm512_permutex2var_epi32(low, odd, high));
  }
  const uint32_t depth = _mm512_reduce_max_epu32(depths);
  for (uint32_t level = 0; level < depth; ++level) {
#pragma GCC unroll 10
    for (size_t g = 0; g < kGroups; ++g) {
      // Eight whole nodes a gather, then thresholds apart from the rest.
      const __m512i low = _mm512_i32gather_epi64(_mm512_castsi512_si256(at[g]), nodes, 8);
      const __m512i high = _mm512_i32gather_epi64(_mm512_extracti64x4_epi64(at[g], 1), nodes, 8);
      const __m512 threshold = _mm512_castsi512_ps(_mm512_permutex2var_epi32(low, even, high));
      const __m512i rest = _mm512_permutex2var_epi32(low, odd, high);
      const __m512i feature = _mm512_and_si512(rest, low_half);
      const __m512i left = _mm512_add_epi32(first[g], _mm512_srli_epi32(rest, 16));
      const __m512 value = _mm512_mask_blend_ps(_mm512_test_epi32_mask(feature, upper),
                                                _mm512_permutex2var_ps(feature0, feature, feature1),
                                                _mm512_permutex2var_ps(feature2, feature, feature3));
      const __mmask16 right =
          _mm512_mask_cmp_ps_mask(_mm512_cmpneq_epi32_mask(left, at[g]), value, threshold, _CMP_GE_OQ);
      at[g] = _mm512_mask_add_epi32(left, right, left, one);
    }
  }
  alignas(64) uint32_t leaf[kGroups * kLanes];
#pragma GCC unroll 10
  for (size_t g = 0; g < kGroups; ++g) _mm512_store_si512(leaf + kLanes * g, at[g]);
  const size_t count = (kGroups - 1) * kLanes + static_cast<size_t>(__builtin_popcount(lanes));
  for (size_t i = 0; i < count; ++i) sum += nodes[leaf[i]].threshold;
  return sum;
}

using VectorSum = float (*)(const TreeNode*, const Tree*, __mmask16, const float*, float);
constexpr VectorSum kVectorSums[kMostGroups] = {
    sum_in_vectors<1>, sum_in_vectors<2>, sum_in_vectors<3>, sum_in_vectors<4>, sum_in_vectors<5>,
    sum_in_vectors<6>, sum_in_vectors<7>, sum_in_vectors<8>, sum_in_vectors<9>, sum_in_vectors<10>};

}  // namespace

// Numbers of nodes must fit 31 bits. AMD's gathers take an instruction or more for each element.
bool has_quick_vectors() {
  static const bool has = __builtin_cpu_is("intel") && __builtin_cpu_supports("avx512f") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has;
}

float evaluate_in_vectors(const Forest& forest, const float* features) {
  const TreeNode* const nodes = forest.nodes.data();
  const Tree* trees = forest.trees.data();
  size_t left = forest.trees.size();
  float sum = 0;
  // Turns of about the same length.
  for (size_t turns = (left + kMostGroups * kLanes - 1) / (kMostGroups * kLanes); turns > 0; --turns) {
    const size_t groups = ((left + kLanes - 1) / kLanes + turns - 1) / turns, count = std::min(left, groups * kLanes);
    const size_t last = count - (groups - 1) * kLanes;
    sum = kVectorSums[groups - 1](nodes, trees, static_cast<__mmask16>((1u << last) - 1), features, sum);
    trees += count;
    left -= count;
  }
  return sum;
}

#else

bool has_quick_vectors() { return false; }
float evaluate_in_vectors(const Forest& forest, const float* features) {
  return evaluate_side_by_side(forest, features);
}

#endif

float evaluate(const Forest& forest, const float* features) {
  return has_quick_vectors() ? evaluate_in_vectors(forest, features) : evaluate_side_by_side(forest, features);
}

}  // namespace maya
