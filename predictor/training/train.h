// Trains the table of one device: splits, fits, calibrates intervals, scores on rows that were kept back.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "predictor/training/fit.h"
#include "predictor/training/score.h"

namespace maya::training {

// How rows are kept back from a fit.
enum class Split : uint8_t {
  kRandom,       // shapes at random
  kUnseenShape,  // all shapes of a random set of (columns, depth) pairs, head counts, row lengths or filter shapes
};

struct TrainOptions {
  double holdout = 0.1;  // share of the rows that is kept back for the score; 0: no score
  uint64_t seed = 1;
  Split split = Split::kRandom;
  std::string only;                                       // only models whose name contains this
  bool final_fit = true;                                  // false: score only
  std::function<void(const std::string&)> progress = {};  // one line a step
};

struct ModelScore {
  ModelName name;
  Score learned;
  Score roofline;             // the bound alone
  Score constant_efficiency;  // the bound times one number, fitted to the rows that were not kept back
};

struct Trained {
  FittedTable table;
  std::vector<ModelScore> scores;
  std::vector<std::string> left_out;  // groups with too few rows, one line each
};

// A device like the trained one, whose measurements fill gaps.
struct Sibling {
  const device::DeviceProfile* profile;
  std::vector<Measurement> measurements;
};

// Devices that lend measurements to `device`, the most alike first.
std::vector<std::string> siblings_of(const std::string& device);

// A model with fewer than kOwnRows rows of its own is fitted to those of siblings as well; one without rows of its own
// is marked as borrowed, and its estimates are extrapolations. False with one line in `error`: no rows, or the learner
// refused.
inline constexpr size_t kOwnRows = 1000;
bool train(const device::DeviceProfile& profile, const std::vector<Measurement>& measurements,
           const std::vector<Sibling>& siblings, const TrainOptions& options, Trained* trained, std::string* error);

}  // namespace maya::training
