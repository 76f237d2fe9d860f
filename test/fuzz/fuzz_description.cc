// Descriptions that a user writes, from hostile bytes: device profiles, clusters and tables of collectives. Each is
// refused with one line that says something, or gives a device, nodes or curves for which every estimate is a time. The
// first byte says which of the three the rest is.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "predictor/core/estimator.h"
#include "predictor/core/operation_columns.h"
#include "virtual_device/occupancy.h"

namespace {

using namespace maya;

void check_error(const std::string& error) {
  if (!error.empty() && error.find('\n') == std::string::npos) return;
  std::fprintf(stderr, "no error of one line: `%s`\n", error.c_str());
  std::abort();
}

void check_time(const Estimate& estimate, const char* of) {
  if (std::isfinite(estimate.median_ns) && estimate.median_ns >= 0 && estimate.low_ns <= estimate.median_ns &&
      estimate.high_ns >= estimate.median_ns)
    return;
  std::fprintf(stderr, "%s: %g ns in %g to %g\n", of, estimate.median_ns, estimate.low_ns, estimate.high_ns);
  std::abort();
}

void communicate(const Estimator& estimator) {
  for (int kind = 0; kind < kCollectiveKinds; ++kind)
    for (const auto& [ranks, nodes] : {std::pair{2, 1}, {8, 1}, {8, 8}, {512, 64}, {1 << 20, 1 << 17}})
      for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{1} << 20, int64_t{1} << 40})
        check_time(estimator.estimate(work_of(
                       collective_record(static_cast<CollectiveKind>(kind), bytes, ranks, nodes, DataType::kBfloat16))),
                   "collective");
}

void compute(const device::DeviceProfile& profile) {
  const Estimator estimator(profile);
  const Work works[] = {work_of(gemm_record(64, 64, 64, DataType::kBfloat16)),
                        work_of(gemm_record(100, 300, 64, DataType::kTf32, false)),
                        work_of(gemm_record(1 << 20, 1 << 16, 1 << 16, DataType::kFloat8E4m3)),
                        work_of(row_record(Family::kElementwise, "add", 100, 100, DataType::kFloat32)),
                        work_of(row_record(Family::kRandom, "dropout", 0, 100, DataType::kFloat64, true))};
  for (const Work& work : works) check_time(estimator.estimate(work), "work");
  for (int kind = 0; kind < 5; ++kind) check_time(estimator.estimate_copy(kind, 1 << 20, kind % 2 == 0), "copy");
  check_time(estimator.estimate_fill(1 << 20), "fill");
  communicate(estimator);
  for (const uint32_t registers : {0u, 32u, 255u}) {
    device::BlockNeeds needs;
    needs.registers = registers;
    needs.threads = 128;
    uint32_t threads = 0, blocks = 0;
    device::best_block(
        profile, needs, 0, [](uint32_t of) { return uint64_t{of} * 16; }, &threads, &blocks);
    device::active_clusters(profile, needs, 2);
    device::available_dynamic_shared(profile, needs, 2);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const device::DeviceProfile& h100 = *device::find_builtin_profile("h100-sxm");
  std::string error;
  switch (data[0] % 3) {
    case 0: {
      device::DeviceProfile profile;
      if (!device::parse_profile(text, &profile, &error)) return check_error(error), 0;
      compute(profile);
      break;
    }
    case 1: {
      Cluster cluster;
      if (!parse_cluster(text, &cluster, &error)) return check_error(error), 0;
      Estimator estimator(h100);
      estimator.set_cluster(&cluster);
      communicate(estimator);
      break;
    }
    case 2: {
      CollectiveTable table;
      if (!table.parse(text, &error)) return check_error(error), 0;
      Estimator estimator(h100);
      estimator.set_collectives(&table);
      communicate(estimator);
      CollectiveTable again;
      if (!again.parse(table.text(), &error)) check_error("what was written is not read: " + error), std::abort();
      break;
    }
  }
  return 0;
}
