// maya-predict's command line. Nothing here reads or writes a file.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "predictor/predict.h"

namespace maya::cli {

struct PredictOptions {
  std::vector<std::string> traces;
  predictor::Options prediction;
  bool json = false, list_clusters = false;
  std::string timeline, memory_timeline, timeline_ranks;
  std::vector<std::string> fail_on;

  // As written; check_predict_options() makes them part of `prediction`.
  std::vector<std::string> kernel_scales;
  std::string durations = "estimated";
};

void add_predict_options(CLI::App& app, PredictOptions* options);

// After parsing: the line of a usage error; empty when all is right, and when only a list is asked for.
std::string check_predict_options(PredictOptions* options);

}  // namespace maya::cli
