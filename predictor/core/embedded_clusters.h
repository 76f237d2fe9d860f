// The texts of predictor/clusters/, embedded at build time by clusters.cmake. Internal to cluster.cc.
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

}  // namespace maya
