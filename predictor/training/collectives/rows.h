// Measured timings of collectives on the links that they ran over: what `maya-train --collectives` learns from. Read
// from collectives.csv and aiconfigurator's nccl-tests runs (sources/collectives.cc) and from tables of our own schema
// (family `collective`, which need a `device` column).
#pragma once

#include <string>
#include <vector>

#include "predictor/core/collective_table.h"
#include "predictor/training/report.h"

namespace maya::training {

struct CollectiveRow {
  CollectiveCall call;
  double ns = 0;
  // 0: loops of one collective, as nccl-tests runs them. 1: other ways, which add to small collectives what is not
  // theirs (kernel times of profilers hold the wait for the last rank): used beyond the sizes of better rows only.
  int quality = 0;
  std::string source;
};

// The rows of one kind of links.
struct MeasuredFabric {
  Cluster cluster;
  std::vector<CollectiveRow> rows;
};

// Appends the rows of all devices from a file, or from all tables of collectives below a folder. What is left out, and
// why, goes to the report. False with one line in `error`: unreadable, or a table of collectives that is damaged.
bool read_collectives(const std::string& file_or_folder, std::vector<MeasuredFabric>* fabrics, Report* report,
                      std::string* error);

}  // namespace maya::training
