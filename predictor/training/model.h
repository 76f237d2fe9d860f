// One fitted model before it is written: the vectors that become a table's sections.
#pragma once

#include <string>
#include <vector>

#include "predictor/core/table.h"
#include "predictor/training/boosting.h"

namespace maya::training {

struct FittedModel {
  TableModel head{};  // sections are filled in by the writer
  FittedForest forest;
  std::vector<StreamingLine> lines;
  std::vector<TableInterval> intervals;
  std::vector<TablePoint> points;
  std::vector<uint32_t> axis[3];
  std::vector<float> grid;
  std::vector<uint8_t> grid_spread;
};

struct FittedTable {
  std::string device;
  std::vector<FittedModel> models;
  std::vector<TableParameter> parameters;
};

// The bytes of a table file. Equal tables give equal bytes.
std::string table_bytes(const FittedTable& table);

}  // namespace maya::training
