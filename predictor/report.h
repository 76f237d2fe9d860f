// The report of maya-predict. Equal predictions give equal bytes.
#pragma once

#include <string>

#include "predictor/predict.h"

namespace maya::predictor {

// Format 1 of interface.md, indented by two, ended by a line feed. "operations" are totals over the steps that are not
// warm-up.
std::string report_json(const Prediction& prediction);

// For people: 100 columns, no colour.
std::string report_text(const Prediction& prediction);

// The rank whose memory decides: the first that runs out, else the one with the highest peak.
const RankPrediction& memory_rank(const Prediction& prediction);

}  // namespace maya::predictor
