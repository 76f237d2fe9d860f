// Durations on one device: by the learned table where it has a model for the operation, by the analytic models of
// estimate.h otherwise. What the shim's live estimates and maya-predict call. Pure: no allocation, no file, no clock.
// Immutable after construction, safe to share between threads.
#pragma once

#include <cstdint>
#include <vector>

#include "predictor/core/collective_table.h"
#include "predictor/core/estimate.h"
#include "predictor/core/features.h"
#include "predictor/core/table.h"

namespace maya {

// What the clock does while the operation runs.
enum class Clock : uint8_t {
  kBurst,      // short runs at full clock: how kernel tables are measured
  kSustained,  // a training run at the power limit: clocks fall with the load (see sustained_factor())
};

// How an estimate came about, for explanations.
struct Derivation {
  const TableModel* model = nullptr;  // nullptr: analytic
  double bound_ns = 0;                // roofline: no estimate is faster
  bool bound_active = false;          // the model said less than the bound
  double sustained_factor = 1;
  CollectiveEstimate collective;  // of collectives and point-to-point transfers
};

class Estimator {
 public:
  // `profile` and `table` must outlive the estimator; `table` may be nullptr: everything is analytic then.
  explicit Estimator(const device::DeviceProfile& profile, const Table* table = nullptr, Clock clock = Clock::kBurst);

  // The cluster that collectives run on, which must outlive the estimator; until it is set,
  // default_cluster_for(profile). A table of collectives other than the built-in one must outlive it too. Not thread
  // safe: set before estimates.
  void set_cluster(const Cluster* cluster) { cluster_ = cluster; }
  void set_collectives(const CollectiveTable* collectives) { collectives_ = collectives; }
  const Cluster& cluster() const { return *cluster_; }
  const CollectiveTable& collectives() const { return *collectives_; }
  // The work of a collective or point-to-point family, with how it runs, over which links, and their share.
  CollectiveEstimate collective(const Work& work) const {
    return estimate_collective(profile_, *cluster_, *collectives_, work);
  }

  Estimate estimate(const Work& work, Derivation* derivation = nullptr) const;
  // `kind` as maya.proto.Copy.Kind.
  Estimate estimate_copy(int kind, uint64_t bytes, bool pageable) const;
  Estimate estimate_fill(uint64_t bytes) const;

  // Time at the power limit over time in a burst, for an operation that takes `burst_ns`. Grows with the share of the
  // tensor cores' peak that is used, since that decides the power drawn: 1 + slope * max(0, share - threshold), with
  // the table's parameters sustained.slope and sustained.threshold. Where products are borrowed from a device with
  // another power limit, both move so that the same share of what the limit leaves gives the same slow-down.
  double sustained_factor(const Work& work, double burst_ns) const;

  const device::DeviceProfile& profile() const { return profile_; }
  const Table* table() const { return table_; }
  Clock clock() const { return clock_; }

 private:
  struct Learned {
    double ns = 0;
    double low = 1, high = 1;  // factors
    Provenance provenance = Provenance::kUnknown;
    const TableModel* model = nullptr;
  };
  Estimate other_convolution(const Work& work, Derivation* derivation) const;
  Estimate memory_efficient_attention(const Work& work, Derivation* derivation) const;
  void move_power_limit();
  double borrowed_factor(const TableModel& model, const Work& work) const;
  bool learned(const Work& work, double bound_ns, Learned* result) const;
  bool measured(const TableModel& model, const Work& work, const GridView& grid, double bound_ns,
                Learned* result) const;
  const TableModel* model_of(const Work& work, bool* stands_in) const;

  const device::DeviceProfile& profile_;
  const Table* table_;
  Clock clock_;
  const Cluster* cluster_;
  const CollectiveTable* collectives_;
  double sustained_slope_ = 0, sustained_threshold_ = 1;
  // Transfers between devices and types, fitted on whole steps: streaming kernels of a device that were measured on a
  // sibling, and TF32 products that 16-bit ones stand for.
  double borrowed_streaming_ = 1, tf32_ = 1;
  std::vector<const device::DeviceProfile*> origins_;  // by model of the table: what was measured; nullptr: not known
  double layout_factor_[4] = {1, 1, 1, 1};             // by transposes: 0 TN, 1 NN, 2 TT, 3 NT
};

}  // namespace maya
