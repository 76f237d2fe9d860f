// Learned timings of collectives: what was measured on which links, and the figures of the structural model
// (collective.h) that were fitted to it.
//
// A measured curve (kind, ranks, nodes on one fabric) is kept as calibration of the model: model time -> measured time,
// both growing. An estimate is the model's time of the call on the wanted cluster, put through the calibration of the
// nearest curve: linear between logarithms, a constant factor beyond the ends. So an estimate never falls when bytes
// grow, meets every measured size, and carries over to other bandwidths and sizes of a cluster through the model.
// Between two measured rank counts the two calibrations are mixed by the logarithm of ranks.
//
// A table is a text file: one record a line, written by `maya-train --collectives`, whose first words are
//   collectives 1                                        the format's version
//   fabric NAME key=value...                             links that were measured, in the words of cluster files
//   link NAME ...  network KIND ...                      figures of LinkModel and NetworkModel
//   curve NAME KIND RANKS NODES bytes:nanoseconds...     a measured curve, sizes growing
//   interval CLASS LOW HIGH                              80 % intervals as factors, see IntervalClass
//   parameter NAME VALUE ERROR                           named figures, with their standard error
// `#` begins a comment. The table that comes with Maya is predictor/tables/collectives.txt, embedded at build time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "predictor/core/collective.h"

namespace maya {

// How near the measurements were that an estimate rests on.
enum class CollectiveDistance : uint8_t {
  kMeasured = 0,     // this size, kind, ranks and nodes on these links
  kOtherSize = 1,    // between measured sizes
  kOtherRanks = 2,   // between measured rank counts, or on the same links of another device
  kOutside = 3,      // beyond measured sizes or ranks, or another number of nodes
  kOtherKind = 4,    // another collective on these links
  kOtherFabric = 5,  // other links
  kNone = 6,         // nothing alike was measured: structure alone
};
inline constexpr int kCollectiveDistances = 7;

struct CollectiveCurve {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  uint32_t ranks = 0, nodes = 0;
  struct Knot {
    double bytes = 0, ns = 0;
    double log_model = 0, log_ns = 0;  // both growing
  };
  std::vector<Knot> knots;  // bytes growing

  // Logarithm of the calibrated time of a model time. Requires a knot.
  double calibrated(double log_model) const;
};

struct CollectiveFabric {
  Cluster cluster;  // what was measured; name is the fabric's
  LinkModel link;
  std::vector<CollectiveCurve> curves;
};

struct CollectiveParameter {
  std::string name;
  double value = 0, error = 0;
};

struct CollectiveEstimate {
  Estimate estimate;
  CollectivePlan plan;
  CollectiveDistance distance = CollectiveDistance::kNone;
  const CollectiveFabric* fabric = nullptr;  // whose curve was used; nullptr for kNone
  const CollectiveCurve* curve = nullptr;
  // Share of what the link carries at best that the collective uses while it runs alone, 0 to 1: its bytes per time
  // over those of the same collective at a size that fills the link. Collectives of one GPU that run at once over the
  // same Fabric share the link fairly: when their shares add up to more than 1, each slows by the sum.
  double link_share = 0;
};

// Immutable after parsing, safe to share between threads.
class CollectiveTable {
 public:
  // False with one line in `error` naming the line and what was expected.
  bool parse(std::string_view text, std::string* error);
  // For tables under construction: fits and tests.
  CollectiveTable() = default;
  std::vector<CollectiveFabric>& fabrics() { return fabrics_; }
  NetworkModel& network_model(Network network) { return networks_[static_cast<int>(network)]; }
  void set_interval(CollectiveDistance distance, double low, double high) {
    intervals_[static_cast<int>(distance)] = {low, high};
  }
  void set_parameter(std::string_view name, double value, double error);
  // Computes what lookups need from the curves; drops what contradicts growth in size.
  void finish();

  const std::vector<CollectiveFabric>& fabrics() const { return fabrics_; }
  const NetworkModel& network_model(Network network) const { return networks_[static_cast<int>(network)]; }
  const std::vector<CollectiveParameter>& parameters() const { return parameters_; }
  double parameter(std::string_view name, double otherwise) const;
  const CollectiveParameter* find_parameter(std::string_view name) const;  // nullptr when there is none of the name
  std::string text() const;                                                // what parse() reads

  // Sets low and high by the interval of a distance.
  void apply_interval(CollectiveDistance distance, Estimate* estimate) const {
    const Interval& interval = intervals_[static_cast<int>(distance)];
    estimate->low_ns = estimate->median_ns * interval.low;
    estimate->high_ns = estimate->median_ns * interval.high;
  }

  // A call of two or more ranks. No allocation.
  CollectiveEstimate estimate(const Cluster& cluster, const CollectiveCall& call) const;

 private:
  struct Interval {
    double low = 0.5, high = 2;
  };
  struct Choice;
  Choice choose(const Cluster& cluster, const CollectiveCall& call) const;
  const LinkModel& link_of(const Cluster& cluster) const;

  std::vector<CollectiveFabric> fabrics_;
  NetworkModel networks_[6];
  Interval intervals_[kCollectiveDistances] = {{0.95, 1.05}, {0.9, 1.1}, {0.8, 1.25}, {0.75, 1.35},
                                               {0.7, 1.5},   {0.6, 1.8}, {0.4, 2.5}};
  std::vector<CollectiveParameter> parameters_;
};

// The table that came with Maya; lives for ever.
const CollectiveTable& builtin_collectives();

inline bool is_collective(Family family) { return family == Family::kCollective || family == Family::kPointToPoint; }

// Time of the work of a collective or point-to-point family on a device of a cluster. One rank: a copy on the device.
// Work whose size is guessed is Provenance::kUnknown.
CollectiveEstimate estimate_collective(const device::DeviceProfile& profile, const Cluster& cluster,
                                       const CollectiveTable& table, const Work& work);

// Slow-downs while communication and compute of one device overlap, as factors of their times alone: fitted to profiler
// traces, see predictor/tables/parameters.txt.
inline constexpr std::string_view kComputeSlowdown = "overlap.compute_slowdown";
inline constexpr std::string_view kCommunicationSlowdown = "overlap.communication_slowdown";

}  // namespace maya
