// Every kind of measurement file that is known.
#pragma once

#include <string>
#include <vector>

#include "predictor/training/measurement.h"
#include "predictor/training/report.h"

namespace maya::training {

// Reads the measurements of `device` (the name of a built-in profile) from a file, or from all files below a folder in
// the order of their names. Files of a kind that is not known are skipped and reported; measurements of one operation
// from one source are joined (see merge()). False with one line in `error` for a path that cannot be read, a file of a
// known kind that is damaged or whose times cannot be right, and a single file of an unknown kind.
bool read_measurements(const std::string& file_or_folder, const std::string& device,
                       std::vector<Measurement>* measurements, Report* report, std::string* error);

}  // namespace maya::training
