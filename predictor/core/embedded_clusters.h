// The texts of predictor/clusters/ and predictor/tables/collectives.txt, embedded at build time by clusters.cmake.
// Internal to cluster.cc and collective_table.cc.
#pragma once

#include <cstddef>
#include <string_view>

namespace maya {

struct EmbeddedCluster {
  std::string_view name;
  std::string_view text;
};

extern const EmbeddedCluster kEmbeddedClusters[];
extern const size_t kEmbeddedClusterCount;
extern const std::string_view kEmbeddedCollectives;

}  // namespace maya
