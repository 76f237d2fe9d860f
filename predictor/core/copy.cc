// Explicit copies and fills. Fixed costs and shares of bandwidth are medians over the copies in public profiler traces
// of A100 and H100 machines (pinned copies 11 to 26 GB/s on PCIe 3 and 4 hosts, pageable ones 4 to 6 GB/s) and of
// bandwidth tests.
#include <algorithm>

#include "predictor/core/estimate.h"

namespace maya {
namespace {

constexpr double kCopyFloor_ns = 1200;
constexpr double kHostCopyFloor_ns = 1500;
constexpr double kPageableBandwidth_bytes_per_s = 6e9;     // staged through pinned buffers by one host thread
constexpr double kPageableInline_bytes = 65536;            // smaller ones are passed along with the command
constexpr double kHostMemoryBandwidth_bytes_per_s = 10e9;  // one thread
constexpr double kDeviceShare = 0.85;                      // of memory bandwidth, bytes read and written
constexpr double kPeerShare = 0.8;
constexpr double kFillShare = 0.88;

enum CopyKind { kHostToHost = 0, kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3, kPeer = 4 };

Estimate analytic(double ns) { return {ns, 0.75 * ns, 1.35 * ns, Provenance::kAnalytic}; }

}  // namespace

Estimate estimate_copy(const device::DeviceProfile& profile, int copy_kind, uint64_t byte_count, bool pageable) {
  const double bytes = static_cast<double>(byte_count);
  switch (copy_kind) {
    case kHostToHost:
      return analytic(kCopyFloor_ns + bytes / kHostMemoryBandwidth_bytes_per_s * 1e9);
    case kHostToDevice:
    case kDeviceToHost: {
      double bandwidth = profile.pcie_bandwidth;
      if (pageable && bytes > kPageableInline_bytes) bandwidth = std::min(bandwidth, kPageableBandwidth_bytes_per_s);
      return analytic(kHostCopyFloor_ns + bytes / bandwidth * 1e9);
    }
    case kPeer: {
      double link = profile.nvlink_bandwidth > 0 ? profile.nvlink_bandwidth : profile.pcie_bandwidth;
      return analytic(kHostCopyFloor_ns + bytes / (link * kPeerShare) * 1e9);
    }
    case kDeviceToDevice:
    default:
      return analytic(kCopyFloor_ns + 2 * bytes / (profile.memory_bandwidth * kDeviceShare) * 1e9);
  }
}

Estimate estimate_fill(const device::DeviceProfile& profile, uint64_t bytes) {
  return analytic(kCopyFloor_ns + static_cast<double>(bytes) / (profile.memory_bandwidth * kFillShare) * 1e9);
}

}  // namespace maya
