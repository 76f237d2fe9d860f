#include "predictor/training/collectives/score.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "predictor/training/collectives/fit.h"

namespace maya::training {
namespace {

using Kept = std::function<bool(const MeasuredFabric&, const CollectiveRow&)>;

// The same fabrics with one row a measured size.
std::vector<MeasuredFabric> condensed(const std::vector<MeasuredFabric>& fabrics) {
  std::vector<MeasuredFabric> result;
  for (const MeasuredFabric& fabric : fabrics) {
    MeasuredFabric one{fabric.cluster, {}};
    for (const CollectiveCurve& curve : curves_of(fabric)) {
      for (const CollectiveCurve::Knot& knot : curve.knots) {
        CollectiveRow row{{curve.kind, knot.bytes, curve.ranks, curve.nodes}, knot.ns, 1, {}};
        for (const CollectiveRow& other : fabric.rows)
          if (other.quality == 0 && other.call.kind == curve.kind && other.call.ranks == curve.ranks &&
              other.call.nodes == curve.nodes && std::abs(std::log(other.call.bytes / knot.bytes)) < 0.1)
            row.quality = 0;
        one.rows.push_back(std::move(row));
      }
    }
    result.push_back(std::move(one));
  }
  return result;
}

// 64-bit mixing of splitmix64 (Steele, Lea and Flood, 2014).
uint64_t mixed(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

uint64_t part_of(const MeasuredFabric& fabric, const CollectiveRow& row, uint64_t seed, uint64_t parts) {
  uint64_t value = mixed(seed);
  for (char c : fabric.cluster.name) value = mixed(value ^ static_cast<uint8_t>(c));
  for (uint64_t field : {static_cast<uint64_t>(row.call.kind), static_cast<uint64_t>(row.call.ranks),
                         static_cast<uint64_t>(row.call.nodes), static_cast<uint64_t>(row.call.bytes)})
    value = mixed(value ^ field);
  return value % parts;
}

// Least squares of relative errors of time = start + bytes x slope, both not negative.
struct Line {
  double ww = 0, wb = 0, bb = 0, wt = 0, bt = 0;
  void add(double bytes, double ns) {
    const double w = 1 / ns, b = bytes / ns;
    ww += w * w;
    wb += w * b;
    bb += b * b;
    wt += w;
    bt += b;
  }
  double at(double bytes) const {
    const double determinant = ww * bb - wb * wb;
    double start = determinant > 0 ? (wt * bb - bt * wb) / determinant : 0;
    double slope = determinant > 0 ? (ww * bt - wb * wt) / determinant : 0;
    if (start <= 0) {
      start = 0;
      slope = bb > 0 ? bt / bb : 0;
    } else if (slope <= 0) {
      slope = 0;
      start = ww > 0 ? wt / ww : 0;
    }
    return start + slope * bytes;
  }
};

using CurveKey = std::tuple<CollectiveKind, uint32_t, uint32_t>;

void predict(const std::vector<MeasuredFabric>& fabrics, const Kept& kept, std::vector<CollectiveResult>* results) {
  std::vector<MeasuredFabric> seen;
  std::map<std::pair<std::string, CurveKey>, Line> lines;
  bool any = false;
  for (const MeasuredFabric& fabric : fabrics) {
    MeasuredFabric part{fabric.cluster, {}};
    for (const CollectiveRow& row : fabric.rows) {
      if (kept(fabric, row)) {
        any = true;
        continue;
      }
      part.rows.push_back(row);
      lines[{fabric.cluster.name, {row.call.kind, row.call.ranks, row.call.nodes}}].add(row.call.bytes, row.ns);
    }
    if (!part.rows.empty()) seen.push_back(std::move(part));
  }
  if (!any) return;
  const CollectiveTable table = fit_collectives(seen);
  for (const MeasuredFabric& fabric : fabrics) {
    for (const CollectiveRow& row : fabric.rows) {
      if (!kept(fabric, row)) continue;
      const CollectiveEstimate estimate = table.estimate(fabric.cluster, row.call);
      CollectiveResult result{fabric.cluster.name, row.call, row.ns, estimate.estimate, estimate.distance, 0};
      const auto line = lines.find({fabric.cluster.name, {row.call.kind, row.call.ranks, row.call.nodes}});
      if (line != lines.end()) result.line_ns = line->second.at(row.call.bytes);
      results->push_back(std::move(result));
    }
  }
}

}  // namespace

std::string split_name(CollectiveSplit split) {
  switch (split) {
    case CollectiveSplit::kSizes:
      return "sizes";
    case CollectiveSplit::kRanks:
      return "ranks";
    case CollectiveSplit::kKinds:
      return "kinds";
    case CollectiveSplit::kFabrics:
      return "fabrics";
  }
  return "sizes";
}

std::vector<CollectiveResult> held_out_collectives(const std::vector<MeasuredFabric>& measured, CollectiveSplit split,
                                                   int parts, uint64_t seed) {
  const std::vector<MeasuredFabric> fabrics = condensed(measured);
  std::vector<CollectiveResult> results;
  if (split == CollectiveSplit::kSizes) {
    const auto count = static_cast<uint64_t>(parts);
    for (uint64_t part = 0; part < count; ++part)
      predict(
          fabrics,
          [&](const MeasuredFabric& fabric, const CollectiveRow& row) {
            return part_of(fabric, row, seed, count) == part;
          },
          &results);
    return results;
  }
  for (const MeasuredFabric& fabric : fabrics) {
    if (split == CollectiveSplit::kFabrics) {
      predict(
          fabrics, [&](const MeasuredFabric& one, const CollectiveRow&) { return &one == &fabric; }, &results);
      continue;
    }
    std::map<CollectiveKind, std::map<uint32_t, int>> ranks;
    for (const CollectiveRow& row : fabric.rows) ranks[row.call.kind][row.call.ranks] += 1;
    for (const auto& [kind, counts] : ranks) {
      if (split == CollectiveSplit::kKinds && ranks.size() > 1)
        predict(
            fabrics,
            [&, of = kind](const MeasuredFabric& one, const CollectiveRow& row) {
              return &one == &fabric && row.call.kind == of;
            },
            &results);
      if (split != CollectiveSplit::kRanks || counts.size() < 3) continue;
      for (const auto& [count, rows] : counts)
        predict(
            fabrics,
            [&, of = kind, with = count](const MeasuredFabric& one, const CollectiveRow& row) {
              return &one == &fabric && row.call.kind == of && row.call.ranks == with;
            },
            &results);
    }
  }
  return results;
}

void calibrate(const std::vector<MeasuredFabric>& fabrics, uint64_t seed, CollectiveTable* table) {
  constexpr int kParts = 5;
  constexpr size_t kLeastResults = 20;
  constexpr double kLeastHalfWidth = 0.01;
  std::map<CollectiveDistance, std::vector<double>> ratios;
  using D = CollectiveDistance;
  // Each split says how good the estimates are that it takes the nearest measurements from.
  const auto add = [&](CollectiveSplit split, std::initializer_list<D> distances) {
    for (const CollectiveResult& result : held_out_collectives(fabrics, split, kParts, seed))
      if (std::find(distances.begin(), distances.end(), result.distance) != distances.end())
        ratios[result.distance].push_back(result.measured_ns / result.estimate.median_ns);
  };
  add(CollectiveSplit::kSizes, {D::kOtherSize, D::kOutside});
  add(CollectiveSplit::kRanks, {D::kOtherRanks, D::kOutside});
  add(CollectiveSplit::kKinds, {D::kOtherKind});
  add(CollectiveSplit::kFabrics, {D::kOtherFabric, D::kOtherRanks});
  for (const MeasuredFabric& fabric : fabrics)
    for (const CollectiveRow& row : fabric.rows) {
      if (row.quality != 0) continue;
      const CollectiveEstimate estimate = table->estimate(fabric.cluster, row.call);
      if (estimate.distance == CollectiveDistance::kMeasured)
        ratios[estimate.distance].push_back(row.ns / estimate.estimate.median_ns);
    }
  for (const auto& [distance, values] : ratios)
    if (values.size() >= kLeastResults)
      table->set_interval(distance, std::min(quantile(values, 0.1), 1 - kLeastHalfWidth),
                          std::max(quantile(values, 0.9), 1 + kLeastHalfWidth));
}

Score score_of(const std::vector<CollectiveResult>& results) {
  std::vector<Scored> rows;
  for (const CollectiveResult& result : results)
    rows.push_back({result.measured_ns, result.estimate.median_ns, result.estimate.low_ns, result.estimate.high_ns});
  return score_of(std::span<const Scored>(rows));
}

Score line_score_of(const std::vector<CollectiveResult>& results) {
  std::vector<Scored> rows;
  for (const CollectiveResult& result : results)
    if (result.line_ns > 0) rows.push_back({result.measured_ns, result.line_ns, result.line_ns, result.line_ns});
  return score_of(std::span<const Scored>(rows));
}

}  // namespace maya::training
