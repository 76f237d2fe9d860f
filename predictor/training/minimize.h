// Minimum of a function of several variables without derivatives.
#pragma once

#include <functional>
#include <vector>

namespace maya::training {

// Nelder and Mead's simplex method ("A simplex method for function minimization", 1965), started again from its result
// until that no longer helps. `start` is where it begins and `step` how far the first simplex reaches along each axis.
// Deterministic. Returns the best point found.
std::vector<double> minimize(const std::function<double(const std::vector<double>&)>& function,
                             std::vector<double> start, double step, int most_calls);

}  // namespace maya::training
