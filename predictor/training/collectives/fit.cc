#include "predictor/training/collectives/fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "predictor/training/merge.h"
#include "predictor/training/minimize.h"

namespace maya::training {
namespace {

using CurveKey = std::tuple<CollectiveKind, uint32_t, uint32_t>;  // kind, ranks, nodes

// A measured size, for fits of figures.
struct Sample {
  const Cluster* cluster;
  const LinkModel* link;  // nullptr: the one being fitted
  CollectiveCall call;
  double log_ns;
  double weight;
};

// Every curve weighs the same, however many sizes it has.
void add_samples(const Cluster& cluster, const LinkModel* link, const std::vector<CollectiveCurve>& curves,
                 std::vector<Sample>* samples) {
  for (const CollectiveCurve& curve : curves)
    for (const CollectiveCurve::Knot& knot : curve.knots)
      samples->push_back({&cluster,
                          link,
                          {curve.kind, knot.bytes, curve.ranks, curve.nodes},
                          std::log(knot.ns),
                          1 / static_cast<double>(curve.knots.size())});
}

constexpr size_t kLinkFigures = 9, kNetworkFigures = 5;

// No link carries more than its bandwidth.
double share(double otherwise, double log) { return std::min(1.0, otherwise * std::exp(log)); }

LinkModel link_at(const std::vector<double>& logs) {
  LinkModel m;
  m.floor_ns *= std::exp(logs[0]);
  for (int p = 0; p < kCollectiveProtocols; ++p) m.step_ns[p] *= std::exp(logs[1 + static_cast<size_t>(p)]);
  m.wire_share = share(m.wire_share, logs[4]);
  m.local_share *= std::exp(logs[5]);
  m.switch_share = share(m.switch_share, logs[6]);
  m.pair_share = share(m.pair_share, logs[7]);
  m.ramp_bytes *= std::exp(logs[8]);
  return m;
}

NetworkModel network_at(const std::vector<double>& logs) {
  NetworkModel m;
  m.floor_ns *= std::exp(logs[0]);
  m.step_share *= std::exp(logs[1]);
  m.wire_share = share(m.wire_share, logs[2]);
  m.pair_share = share(m.pair_share, logs[3]);
  m.ramp_bytes *= std::exp(logs[4]);
  return m;
}

// Large misses count by their size, not its square: one bad row must not bend a figure.
double loss(const std::vector<Sample>& samples, const LinkModel& link, const NetworkModel& network,
            const std::vector<double>& logs) {
  constexpr double kPrior = 0.002, kRobust = 0.2;
  double sum = 0, weight = 0;
  for (const Sample& sample : samples) {
    const double ns =
        plan_collective(*sample.cluster, sample.link != nullptr ? *sample.link : link, network, sample.call).ns;
    const double miss = std::abs(std::log(ns) - sample.log_ns);
    sum += sample.weight * (miss < kRobust ? miss * miss : kRobust * (2 * miss - kRobust));
    weight += sample.weight;
  }
  double prior = 0;
  for (double value : logs) prior += value * value;
  return sum / weight + kPrior * prior;
}

constexpr double kStep = 0.3;
constexpr int kMostCalls = 3000;

std::vector<CollectiveRow> of_quality_0(const std::vector<CollectiveRow>& rows) {
  std::vector<CollectiveRow> good;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(good),
               [](const CollectiveRow& row) { return row.quality == 0; });
  return good.empty() ? rows : good;
}

const LinkModel* link_like(const CollectiveTable& table, const Cluster& cluster) {
  const CollectiveFabric* found = nullptr;
  for (const CollectiveFabric& fabric : table.fabrics()) {
    if (fabric.cluster.network != Network::kNone) continue;
    const auto distance = [&](const CollectiveFabric& one) {
      return std::abs(std::log((one.cluster.nvlink_bandwidth + 1e9) / (cluster.nvlink_bandwidth + 1e9)));
    };
    if (found == nullptr || distance(fabric) < distance(*found)) found = &fabric;
  }
  return found == nullptr ? nullptr : &found->link;
}

// A size that took much longer than the next one was disturbed, or the next one was: the one that is further from its
// neighbours goes.
void drop_disturbed(std::vector<CollectiveCurve::Knot>* knots) {
  constexpr double kMostFall = 1.25;
  const auto deviation = [&](size_t i) {
    std::vector<double> logs;
    for (size_t j = i < 2 ? 0 : i - 2; j < std::min(knots->size(), i + 3); ++j)
      if (j != i) logs.push_back(std::log((*knots)[j].ns));
    std::sort(logs.begin(), logs.end());
    return std::abs(std::log((*knots)[i].ns) - quantile(logs, 0.5));
  };
  for (size_t i = 0; i + 1 < knots->size();) {
    if ((*knots)[i].ns <= kMostFall * (*knots)[i + 1].ns) {
      ++i;
      continue;
    }
    knots->erase(knots->begin() + static_cast<std::ptrdiff_t>(deviation(i) > deviation(i + 1) ? i : i + 1));
    i = i > 0 ? i - 1 : 0;
  }
}

}  // namespace

std::vector<CollectiveCurve> curves_of(const MeasuredFabric& fabric) {
  std::map<CurveKey, std::map<int, std::map<double, std::vector<double>>>> curves;  // quality, bytes, times
  for (const CollectiveRow& row : fabric.rows)
    curves[{row.call.kind, row.call.ranks, row.call.nodes}][row.quality][row.call.bytes].push_back(row.ns);
  std::vector<CollectiveCurve> result;
  for (auto& [key, qualities] : curves) {
    CollectiveCurve curve;
    std::tie(curve.kind, curve.ranks, curve.nodes) = key;
    double least = 1e300, most = 0;
    for (auto& [quality, sizes] : qualities) {
      const double from = least, to = most;
      // Sizes denser than this are joined.
      constexpr double kLeastRatio = 1.18;
      std::vector<double> together_bytes, together_ns;
      const auto flush = [&] {
        if (together_bytes.empty()) return;
        std::sort(together_ns.begin(), together_ns.end());
        curve.knots.push_back({quantile(together_bytes, 0.5), quantile(together_ns, 0.5)});
        together_bytes.clear();
        together_ns.clear();
      };
      for (auto& [bytes, times] : sizes) {
        if (bytes >= from && bytes <= to) continue;
        least = std::min(least, bytes);
        most = std::max(most, bytes);
        if (!together_bytes.empty() && bytes > together_bytes.front() * kLeastRatio) flush();
        std::sort(times.begin(), times.end());
        together_bytes.push_back(bytes);
        together_ns.push_back(quantile(times, 0.5));
      }
      flush();
    }
    std::sort(curve.knots.begin(), curve.knots.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    drop_disturbed(&curve.knots);
    result.push_back(std::move(curve));
  }
  return result;
}

CollectiveTable fit_collectives(const std::vector<MeasuredFabric>& fabrics) {
  CollectiveTable table;
  for (const MeasuredFabric& measured : fabrics) {
    CollectiveFabric fabric{measured.cluster, {}, curves_of(measured)};
    if (measured.cluster.network == Network::kNone) {
      std::vector<Sample> samples;
      add_samples(measured.cluster, nullptr, curves_of({measured.cluster, of_quality_0(measured.rows)}), &samples);
      const auto logs = minimize([&](const std::vector<double>& at) { return loss(samples, link_at(at), {}, at); },
                                 std::vector<double>(kLinkFigures, 0.0), kStep, kMostCalls);
      fabric.link = link_at(logs);
    }
    table.fabrics().push_back(std::move(fabric));
  }
  for (Network network : {Network::kInfiniband, Network::kRoce, Network::kEfa, Network::kTcpx}) {
    std::vector<Sample> samples;
    for (const MeasuredFabric& measured : fabrics)
      if (measured.cluster.network == network)
        add_samples(measured.cluster, link_like(table, measured.cluster), curves_of(measured), &samples);
    if (samples.empty()) continue;
    const LinkModel otherwise;
    const auto logs =
        minimize([&](const std::vector<double>& at) { return loss(samples, otherwise, network_at(at), at); },
                 std::vector<double>(kNetworkFigures, 0.0), kStep, kMostCalls);
    table.network_model(network) = network_at(logs);
  }
  table.finish();
  return table;
}

}  // namespace maya::training
