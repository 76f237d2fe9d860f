// Duration of one operation on one device. Part of the dependency-free core: no allocation after construction on the
// hot path, no file, no clock. The live estimator of the shim and maya-predict call exactly these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "predictor/core/operation.h"
#include "virtual_device/kernel_work.h"
#include "virtual_device/occupancy.h"
#include "virtual_device/profile.h"

namespace maya {

enum class Provenance : uint8_t { kMeasured = 0, kInterpolated = 1, kExtrapolated = 2, kAnalytic = 3, kUnknown = 4 };
std::string_view provenance_name(Provenance provenance);

// Nanoseconds on the device from start to end of the operation. low/high is an 80 % interval.
struct Estimate {
  double median_ns = 0;
  double low_ns = 0;
  double high_ns = 0;
  Provenance provenance = Provenance::kUnknown;
};

// A kernel launch as the driver saw it. Views must outlive the call only.
struct LaunchView {
  std::string_view mangled_name;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  uint32_t static_shared_bytes = 0;
  uint32_t registers = 0;
  // Scalar arguments by parameter offset; see LaunchConfiguration in the trace.
  struct Scalar {
    uint16_t offset;
    uint16_t size;
    uint64_t value;
  };
  const Scalar* scalars = nullptr;
  uint32_t scalar_count = 0;
  uint32_t parameter_count = 0;                 // 0: not known
  const device::KernelWork* counted = nullptr;  // of its instructions; null when the image does not show them
};

// A launch of a kernel whose instructions were counted.
struct CountedLaunch {
  device::KernelWork work;
  double blocks = 0;
  device::BlockNeeds needs;  // decides how many blocks run at a time
};

// The work that decides a duration: what every estimator takes in.
struct Work {
  Family family = Family::kUnknown;
  DataType type = DataType::kNone;  // the type whose peak applies
  bool tensor_cores = false;
  double flops = 0;
  double read_bytes = 0;
  double written_bytes = 0;
  double waited_cycles = 0;  // of the multiprocessors' clock, that the kernel waits for by its arguments
  OperationRecord shape;     // family-specific shape, as far as known
  bool rough = false;        // sizes follow from the launch by a rule of the compiler: analytic, with a wide interval
  bool guessed = false;      // sizes are guessed from the grid: estimates carry Provenance::kUnknown
  std::optional<CountedLaunch> counted;  // of Family::kCustom
};

// What decides how many of its blocks are resident at once.
device::BlockNeeds block_needs(const LaunchView& launch);

Work work_of(const OperationRecord& operation);
// `demangled` may be empty: then it is computed. Unknown kernels get Family::kUnknown and work bounded by their grid.
Work work_of(const LaunchView& launch, std::string_view demangled = {});

Estimate estimate(const device::DeviceProfile& profile, const Work& work);
Estimate estimate_copy(const device::DeviceProfile& profile, int copy_kind /* maya.proto.Copy.Kind */, uint64_t bytes,
                       bool pageable);
Estimate estimate_fill(const device::DeviceProfile& profile, uint64_t bytes);

}  // namespace maya
