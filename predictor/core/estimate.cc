#include "predictor/core/estimate.h"

#include <algorithm>

#include "predictor/core/collective_table.h"
#include "predictor/core/families.h"

namespace maya {
namespace {

// 80 % intervals as factors of the median: of the error seen on public kernel tables for sized operations, and wide
// where sizes are guesses.
struct Interval {
  double low, high;
};
constexpr Interval kAnalyticInterval = {0.75, 1.35};
constexpr Interval kUnknownInterval = {0.25, 4.0};

double family_ns(const device::DeviceProfile& profile, const Work& work) {
  switch (work.family) {
    case Family::kGemm:
    case Family::kGroupedGemm:
      return model::gemm_family_ns(profile, work);
    case Family::kConvolution:
      return model::convolution_ns(profile, work);
    case Family::kAttention:
      return model::attention_ns(profile, work);
    case Family::kCustom:
      return model::custom_ns(profile, work);
    default:
      return model::memory_bound_ns(profile, work);
  }
}

}  // namespace

std::string_view provenance_name(Provenance provenance) {
  switch (provenance) {
    case Provenance::kMeasured:
      return "measured";
    case Provenance::kInterpolated:
      return "interpolated";
    case Provenance::kExtrapolated:
      return "extrapolated";
    case Provenance::kAnalytic:
      return "analytic";
    case Provenance::kUnknown:
      return "unknown";
  }
  return "unknown";
}

Estimate estimate(const device::DeviceProfile& profile, const Work& work) {
  if (is_collective(work.family))
    return estimate_collective(profile, *default_cluster_for(profile), builtin_collectives(), work).estimate;
  const double bound = model::roofline_ns(profile, work);
  const bool unknown = work.guessed || work.family == Family::kUnknown;
  Interval interval = unknown || work.rough ? kUnknownInterval : kAnalyticInterval;
  Estimate result;
  result.median_ns = std::max(family_ns(profile, work), bound);
  // Loops whose length data decide may run less often or more often than the middle that was taken.
  const double uncertainty = work.counted ? work.counted->work.uncertainty : 0;
  result.low_ns = std::max(result.median_ns * interval.low * (1 - uncertainty), profile.kernel_floor_ns);
  result.high_ns = result.median_ns * interval.high * (1 + uncertainty);
  if (uncertainty == 0) result.low_ns = std::max(result.low_ns, bound);
  result.provenance = unknown ? Provenance::kUnknown : Provenance::kAnalytic;
  return result;
}

}  // namespace maya
