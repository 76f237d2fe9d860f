// maya-run for a world of ranks: sets the launcher's variables, serves the store that ranks meet at, runs the ranks and
// waits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace maya::cli {

struct WorldOptions {
  int size = 0;                      // ranks of the world
  int gpus_per_node = 0;             // divides size
  std::string ranks = "auto";        // "auto", "all", or a list that parse_ranks takes
  int jobs = 0;                      // ranks at a time where they run alone
  std::string trace_folder;          // absolute; empty: none is written
  std::string python_folder;         // of sitecustomize.py
  std::vector<std::string> program;  // with its arguments
};

// Runs the world. The other MAYA_* variables have been set. Returns the exit status of maya-run: that of the first rank
// that failed (128 + signal when it was killed), else 0. Ends, with everything it started, on SIGINT, SIGTERM and
// SIGHUP.
int run_world(const WorldOptions& options);

}  // namespace maya::cli
