#include "predictor/training/minimize.h"

#include <algorithm>
#include <cmath>

namespace maya::training {
namespace {

using Point = std::vector<double>;
struct Vertex {
  Point point;
  double value;
};

// a + factor (a - b)
Point beyond(const Point& a, const Point& b, double factor) {
  Point result(a.size());
  for (size_t i = 0; i < a.size(); ++i) result[i] = a[i] + factor * (a[i] - b[i]);
  return result;
}

}  // namespace

std::vector<double> minimize(const std::function<double(const std::vector<double>&)>& function, Point start,
                             double step, int most_calls) {
  constexpr double kLeastGain = 1e-6, kFlat = 1e-9;
  const size_t axes = start.size();
  int calls = 0;
  const auto vertex = [&](Point point) {
    ++calls;
    const double value = function(point);
    return Vertex{std::move(point), std::isfinite(value) ? value : 1e300};
  };
  Vertex best = vertex(std::move(start));
  if (axes == 0) return best.point;
  while (calls < most_calls) {
    std::vector<Vertex> simplex = {best};
    for (size_t i = 0; i < axes; ++i) {
      Point point = best.point;
      point[i] += step;
      simplex.push_back(vertex(std::move(point)));
    }
    const auto by_value = [](const Vertex& a, const Vertex& b) { return a.value < b.value; };
    while (calls < most_calls) {
      std::stable_sort(simplex.begin(), simplex.end(), by_value);
      if (simplex.back().value - simplex.front().value < kFlat) break;
      Point centre(axes, 0);
      for (size_t v = 0; v < axes; ++v)
        for (size_t i = 0; i < axes; ++i) centre[i] += simplex[v].point[i] / static_cast<double>(axes);
      Vertex& worst = simplex.back();
      Vertex reflected = vertex(beyond(centre, worst.point, 1));
      if (reflected.value < simplex.front().value) {
        Vertex expanded = vertex(beyond(centre, worst.point, 2));
        worst = expanded.value < reflected.value ? std::move(expanded) : std::move(reflected);
      } else if (reflected.value < simplex[axes - 1].value) {
        worst = std::move(reflected);
      } else {
        const bool outside = reflected.value < worst.value;
        Vertex contracted = vertex(beyond(centre, outside ? reflected.point : worst.point, -0.5));
        if (contracted.value < std::min(reflected.value, worst.value)) {
          worst = std::move(contracted);
        } else {
          for (size_t v = 1; v <= axes; ++v) simplex[v] = vertex(beyond(simplex.front().point, simplex[v].point, -0.5));
        }
      }
    }
    std::stable_sort(simplex.begin(), simplex.end(), by_value);
    const double gain = best.value - simplex.front().value;
    if (simplex.front().value < best.value) best = simplex.front();
    if (gain < kLeastGain) break;
  }
  return best.point;
}

}  // namespace maya::training
