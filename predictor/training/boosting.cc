#include "predictor/training/boosting.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

namespace maya::training {
namespace {

struct MatrixCloser {
  void operator()(void* handle) const { XGDMatrixFree(handle); }
};
struct BoosterCloser {
  void operator()(void* handle) const { XGBoosterFree(handle); }
};

// One tree of XGBoost's JSON into ours, breadth first so that children lie side by side.
void take_tree(const nlohmann::json& source, FittedForest* forest) {
  const auto& left = source.at("left_children");
  const auto& right = source.at("right_children");
  const auto& feature = source.at("split_indices");
  const auto& condition = source.at("split_conditions");  // of a leaf: its value
  const auto first = static_cast<uint32_t>(forest->nodes.size());
  struct Pending {
    int source;
    uint32_t depth;
  };
  std::vector<Pending> order = {{0, 0}};
  uint32_t depth = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const int at = order[i].source;
    depth = std::max(depth, order[i].depth);
    TreeNode node{};
    if (left[at].get<int>() < 0) {
      node = {condition[at].get<float>(), 0, static_cast<uint16_t>(i)};
    } else {
      node = {condition[at].get<float>(), feature[at].get<uint16_t>(), static_cast<uint16_t>(order.size())};
      order.push_back({left[at].get<int>(), order[i].depth + 1});
      order.push_back({right[at].get<int>(), order[i].depth + 1});
    }
    forest->nodes.push_back(node);
  }
  forest->trees.push_back({first, depth});
}

}  // namespace

bool boost(const std::vector<float>& features, size_t columns, const std::vector<float>& targets,
           const std::vector<float>& weights, const BoostingOptions& options, FittedForest* forest,
           std::string* error) {
  *forest = {};
  const auto refused = [&] {
    *error = std::string("XGBoost: ") + XGBGetLastError();
    std::replace(error->begin(), error->end(), '\n', ' ');
    return false;
  };
  DMatrixHandle matrix_handle = nullptr;
  if (XGDMatrixCreateFromMat(features.data(), targets.size(), columns, std::numeric_limits<float>::quiet_NaN(),
                             &matrix_handle) != 0)
    return refused();
  const std::unique_ptr<void, MatrixCloser> matrix(matrix_handle);
  if (XGDMatrixSetFloatInfo(matrix.get(), "label", targets.data(), targets.size()) != 0) return refused();
  if (!weights.empty() && XGDMatrixSetFloatInfo(matrix.get(), "weight", weights.data(), weights.size()) != 0)
    return refused();
  BoosterHandle booster_handle = nullptr;
  if (XGBoosterCreate(&matrix_handle, 1, &booster_handle) != 0) return refused();
  const std::unique_ptr<void, BoosterCloser> booster(booster_handle);
  const std::pair<const char*, std::string> parameters[] = {
      {"objective", "reg:squarederror"},
      {"tree_method", "hist"},
      {"grow_policy", "lossguide"},
      {"base_score", "0"},
      {"max_leaves", std::to_string(options.leaves)},
      {"max_depth", std::to_string(options.depth)},
      {"eta", std::to_string(options.rate)},
      {"subsample", std::to_string(options.row_share)},
      {"colsample_bytree", std::to_string(options.feature_share)},
      {"min_child_weight", std::to_string(options.least_rows)},
      {"seed", std::to_string(options.seed)},
      {"nthread", "1"},  // equal bytes on every machine; more threads wait for each other on busy ones
      {"verbosity", "0"},
  };
  for (const auto& [name, value] : parameters)
    if (XGBoosterSetParam(booster.get(), name, value.c_str()) != 0) return refused();
  for (int round = 0; round < options.rounds; ++round)
    if (XGBoosterUpdateOneIter(booster.get(), round, matrix.get()) != 0) return refused();
  bst_ulong length = 0;
  const char* text = nullptr;
  if (XGBoosterSaveModelToBuffer(booster.get(), R"({"format": "json"})", &length, &text) != 0) return refused();
  const nlohmann::json model = nlohmann::json::parse(text, text + length, nullptr, /*allow_exceptions=*/false);
  if (model.is_discarded()) {
    *error = "XGBoost: its model cannot be read";
    return false;
  }
  for (const auto& tree : model.at("learner").at("gradient_booster").at("model").at("trees")) take_tree(tree, forest);
  return true;
}

}  // namespace maya::training
