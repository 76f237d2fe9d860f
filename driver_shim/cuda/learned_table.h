// The learned table of the emulated device, for live estimates.
#pragma once

#include "predictor/core/table.h"

namespace maya::cuda {

// The table of the configured device: <folder of this library>/tables/<device>.table, or in the folder that MAYA_TABLES
// names (`none`: no table). Mapped once and never given back; a table that is damaged or of another version is named in
// one line. nullptr: estimates are analytic. Called once, while the driver is initialised.
const Table* learned_table();

}  // namespace maya::cuda
