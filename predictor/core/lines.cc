#include "predictor/core/lines.h"

#include <algorithm>

#include "predictor/core/families.h"
#include "predictor/core/limits.h"
#include "predictor/core/operation_columns.h"

namespace maya {
namespace {

// Sizes outside of what was measured by more than this factor are extrapolations.
constexpr double kMargin = 4;
// A line goes on straight outside of them; what bends it is only trusted close by.
constexpr double kBendMargin = 1.5;

LineEstimate along(const StreamingLine& line, double bytes, double bandwidth, bool exact) {
  LineEstimate result;
  result.ns = static_cast<double>(line.floor_ns) + bytes / (bandwidth * static_cast<double>(line.share)) * 1e9;
  result.low = static_cast<double>(line.low);
  result.high = static_cast<double>(line.high);
  const auto within = [&](double margin) {
    return exact && bytes * margin >= static_cast<double>(line.least_bytes) &&
           bytes <= margin * static_cast<double>(line.most_bytes);
  };
  result.exact = within(kMargin);
  result.seen = within(kBendMargin);
  return result;
}

// How much longer the work takes than in the pattern and direction that the common line was measured in, and than
// operators that need memory alone, by the analytic model.
double pattern_factor(const device::DeviceProfile& profile, const Work& work, const StreamingLine& line) {
  Work as_measured = work;
  as_measured.shape.clear(Key::kOperator);
  as_measured.shape.clear(Key::kDirection);
  as_measured.shape.clear(Key::kImplementation);
  if (line.direction != 0) as_measured.shape.set(Key::kDirection, line.direction);
  const auto pattern = static_cast<AccessPattern>(line.pattern);
  if (pattern != AccessPattern::kInOrder)
    as_measured.shape.set(Key::kImplementation,
                          static_cast<int64_t>(pattern == AccessPattern::kStrided ? Implementation::kStrided
                                                                                  : Implementation::kBroadcast));
  return model::memory_bound_ns(profile, work) / model::memory_bound_ns(profile, as_measured);
}

}  // namespace

LineEstimate line_estimate(std::span<const StreamingLine> lines, const device::DeviceProfile& profile,
                           const Work& work) {
  const auto op = static_cast<uint16_t>(work.shape.get(Key::kOperator));
  const auto direction = static_cast<uint16_t>(work.shape.get(Key::kDirection));
  const auto pattern = static_cast<uint16_t>(access_pattern(work.shape));
  const double bytes = model::bytes_of(work), bandwidth = profile.memory_bandwidth;
  const StreamingLine* common = nullptr;
  for (const StreamingLine& line : lines) {
    if (line.op == op && line.direction == direction && line.pattern == pattern)
      return along(line, bytes, bandwidth, true);
    if (line.op != 0) continue;
    // The common line of the same access pattern, then of the same direction, then any.
    const auto rank = [&](const StreamingLine& l) {
      return (l.pattern == pattern ? 2 : 0) + (l.direction == direction ? 1 : 0);
    };
    if (common == nullptr || rank(line) > rank(*common)) common = &line;
  }
  if (common == nullptr) return {};
  LineEstimate result = along(*common, bytes, bandwidth, false);
  result.ns *= pattern_factor(profile, work, *common);
  return result;
}

uint16_t copy_operator(int kind, bool pageable) { return static_cast<uint16_t>(256 + kind * 2 + (pageable ? 1 : 0)); }

LineEstimate copy_line(const Table& table, const device::DeviceProfile& profile, int kind, uint64_t byte_count,
                       bool pageable) {
  const TableModel* model = table.find(Family::kCopy, TypeClass::kAny, 0);
  if (model == nullptr) return {};
  const bool between_devices = kind == static_cast<int>(CopyKind::kDeviceToDevice);
  const uint16_t op = copy_operator(kind, !between_devices && pageable);
  const double bytes = static_cast<double>(byte_count) * (between_devices ? 2 : 1);
  const double bandwidth = between_devices ? profile.memory_bandwidth : profile.pcie_bandwidth;
  for (const StreamingLine& line : table.section<StreamingLine>(model->lines))
    if (line.op == op) {
      LineEstimate result = along(line, bytes, bandwidth, model->borrowed == 0);
      result.ns = std::max(result.ns, bytes / bandwidth * 1e9);
      return result;
    }
  return {};
}

}  // namespace maya
