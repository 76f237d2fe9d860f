// Tables of collectives of one's own, as maya-train --collectives writes them.
#pragma once

#include <string>

#include "predictor/core/collective_table.h"
#include "predictor/failure.h"

namespace maya::predictor {

// Input failure: unreadable, or damaged (with the line).
Failure read_collective_table(const std::string& path, CollectiveTable* table);

}  // namespace maya::predictor
