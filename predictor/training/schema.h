// Maya's own table of measurements: one file a family, named after it ("gemm.csv", "attention_h100.csv.gz"), with the
// columns that maya-estimate takes and the measured time. See SCHEMA.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "predictor/core/operation_columns.h"
#include "predictor/training/sources/source.h"

namespace maya::training {

// The family whose name the file's name begins with, followed by a character that is not a letter; nullptr when none.
const FamilyColumns* family_of_table(std::string_view file_name);

// Reads a table of `family`. False with one line in `error` for missing columns (named), a cell that is not what its
// column holds, a damaged file, and times that are wrong by about 1,000: their median over the file's rows is more than
// 500 times, or less than a hundredth of, what the device's roofline allows. Rows whose time is not a positive number
// are refused, counted and left out; rows of other devices are left out.
bool read_table(const InputFile& file, const FamilyColumns& family, Collector* collector, std::string* error);

// What is wrong with the unit of `time_us`, given each measured time over the least the device allows; empty when
// nothing is.
std::string unit_problem(std::vector<double> measured_over_least);

}  // namespace maya::training
