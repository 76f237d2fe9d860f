// Fits the table of collectives (predictor/core/collective_table.h) to measured rows.
#pragma once

#include <vector>

#include "predictor/training/collectives/rows.h"

namespace maya::training {

// Figures of every kind of links by least squares of log(measured / model) over the rows of quality 0, held near
// their defaults by a weak prior, then the measured curves. Networks of one kind share their figures. Deterministic.
CollectiveTable fit_collectives(const std::vector<MeasuredFabric>& fabrics);

// Measured sizes of one (kind, ranks, nodes), sizes growing: the median of equal sizes; rows of lower quality beyond
// the others' sizes only; without sizes that took much longer than larger ones; where sizes lie denser than four to a
// doubling, the median of each quarter.
std::vector<CollectiveCurve> curves_of(const MeasuredFabric& fabric);

}  // namespace maya::training
