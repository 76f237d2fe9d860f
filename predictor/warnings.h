// What a report has to say beside its numbers. Internal to the prediction.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "predictor/predict.h"

namespace maya::predictor {

// A list in which no text stands twice.
class Warnings {
 public:
  explicit Warnings(std::vector<std::string>* list) : list_(list), seen_(list->begin(), list->end()) {}
  void add(std::string text) {
    if (seen_.insert(text).second) list_->push_back(std::move(text));
  }

 private:
  std::vector<std::string>* list_;
  std::set<std::string> seen_;
};

void warn_of_rank(const RankPrediction& rank, Warnings* warnings);
void warn_of_world(const WorldPrediction& world, Warnings* warnings);

// "0-7, 12": ascending numbers; after `most` ranges "and 5 more".
std::string rank_ranges(std::vector<int32_t> ranks, size_t most);

}  // namespace maya::predictor
