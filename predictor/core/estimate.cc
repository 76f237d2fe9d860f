#include "predictor/core/estimate.h"

#include <algorithm>

namespace maya {

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

Work work_of(const OperationRecord& operation) {
  Work work;
  work.family = operation.family;
  work.flops = static_cast<double>(operation.get(Key::kFlops));
  work.read_bytes = static_cast<double>(operation.get(Key::kReadBytes));
  work.written_bytes = static_cast<double>(operation.get(Key::kWrittenBytes));
  work.shape = operation;
  return work;
}

Work work_of(const LaunchView& launch, std::string_view) {
  Work work;
  work.read_bytes = 16.0 * launch.grid[0] * launch.grid[1] * launch.grid[2] * launch.block[0] * launch.block[1];
  return work;
}

namespace {
Estimate around(double ns) { return {ns, 0.5 * ns, 2 * ns, Provenance::kAnalytic}; }
}  // namespace

Estimate estimate(const device::DeviceProfile& profile, const Work& work) {
  return around(std::max({profile.kernel_floor_ns, work.flops / profile.peak_fp16 * 1e9,
                          (work.read_bytes + work.written_bytes) / profile.memory_bandwidth * 1e9}));
}

Estimate estimate_copy(const device::DeviceProfile& profile, int, uint64_t bytes, bool) {
  return around(profile.kernel_floor_ns + static_cast<double>(bytes) / profile.pcie_bandwidth * 1e9);
}

Estimate estimate_fill(const device::DeviceProfile& profile, uint64_t bytes) {
  return around(profile.kernel_floor_ns + static_cast<double>(bytes) / profile.memory_bandwidth * 1e9);
}

}  // namespace maya
