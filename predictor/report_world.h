// The parts of the report that are about ranks together. Internal to report.h.
#pragma once

#include <string>

#include "predictor/json_writer.h"
#include "predictor/predict.h"

namespace maya::predictor {

// Ranks that the prediction covers, whether run or inferred.
uint64_t ranks_covered(const Prediction& prediction);

// Keys "world", "mismatches" and "deadlock", for a prediction of more than one rank; "critical_path" for all that have
// one.
void world_json(JsonWriter* json, const Prediction& prediction);

// Sections for people, of 100 columns; empty where there is nothing to say.
std::string critical_path_text(const Prediction& prediction);
std::string ranks_text(const Prediction& prediction);
std::string mismatches_text(const Prediction& prediction);
std::string deadlock_text(const Prediction& prediction);

}  // namespace maya::predictor
