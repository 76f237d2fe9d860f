// ncclConfig_t, checked: sizes of older headers are taken, unset attributes have their documented defaults.
#pragma once

#include <nccl.h>

#include <string>

namespace maya::nccl {

struct Configuration {
  bool blocking = true;
  std::string name;
  int min_channels = 0, max_channels = 0;  // minCTAs, maxCTAs; 0: not set
  bool split_share = false, shrink_share = false;
};

// Reads `config` (may be null: `from`, a parent's configuration, or the defaults). ncclInvalidArgument with *error
// where NCCL documents it: no initializer, a version or attribute out of range.
ncclResult_t read_config(const ncclConfig_t* config, const Configuration& from, Configuration* out, std::string* error);

}  // namespace maya::nccl
