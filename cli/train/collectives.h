// maya-train --collectives: the table of collectives from measurements.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace maya::cli {

struct TrainCollectives {
  std::vector<std::string> data;
  std::string out;         // empty: only the held-out error is printed
  std::string parameters;  // file of named parameters; those of device `all` go into the table; empty: none
  uint64_t seed = 1;
  bool sources = false;
  bool json = false;
};

// Returns the exit status, after a complaint where it is not kDone.
int train_collectives(std::string_view tool, const TrainCollectives& arguments);

}  // namespace maya::cli
