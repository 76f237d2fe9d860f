// The algorithms that Maya's cublasLt offers.
#pragma once

#include <cublasLt.h>

#include <cstdint>

#include "driver_shim/cublas/lt_descriptors.h"

namespace maya::cublas {

struct AlgorithmTile {
  cublasLtMatmulTile_t tile;
  int64_t rows, columns;
};

inline constexpr int kAlgorithmCount = 3;
// By algorithm id, best for large products first.
extern const AlgorithmTile kAlgorithmTiles[kAlgorithmCount];

// `id` in [0, kAlgorithmCount). None of them needs a workspace.
MatmulAlgorithm algorithm(int id);

// Made by this library, as far as can be seen.
inline bool valid(const cublasLtMatmulAlgo_t* algo) {
  return algo != nullptr && ours(algo)->magic == MatmulAlgorithm::kMagic && ours(algo)->id >= 0 &&
         ours(algo)->id < kAlgorithmCount;
}

}  // namespace maya::cublas
