// The named parameters of a table that are not models: what sustained load and operand layouts cost.
#pragma once

#include <string>
#include <vector>

#include "predictor/core/table.h"
#include "predictor/training/measurement.h"
#include "virtual_device/profile.h"

namespace maya::training {

// sustained.slope, sustained.threshold: least squares of (time at the power limit / time in a burst) over products that
// were measured both ways; see Estimator::sustained_factor(). gemm.layout_nn, gemm.layout_nt: geometric mean of the
// time of a product in that layout over its time in layout TN. Parameters without measurements are left out.
std::vector<TableParameter> named_parameters(const device::DeviceProfile& profile,
                                             const std::vector<Measurement>& measurements);

// Adds the parameters of a text file, one `device name value [standard error]` a line, `#` begins a comment; those of
// other devices are passed over. Replaces parameters of the same name. False with one line in `error`: unreadable, or a
// line that is none.
bool read_parameters(const std::string& path, const std::string& device, std::vector<TableParameter>* parameters,
                     std::string* error);

}  // namespace maya::training
