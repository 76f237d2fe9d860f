#include "predictor/training/measurement.h"

#include <algorithm>

namespace maya::training {

Work work_of(const Measurement& measurement) {
  if (measurement.kernel.empty()) return maya::work_of(measurement.record);
  LaunchView view;
  view.mangled_name = measurement.kernel;
  std::copy_n(measurement.grid, 3, view.grid);
  std::copy_n(measurement.block, 3, view.block);
  view.registers = measurement.registers;
  view.dynamic_shared_bytes = measurement.shared_bytes;
  view.scalars = measurement.scalars.data();
  view.scalar_count = static_cast<uint32_t>(measurement.scalars.size());
  return maya::work_of(view, measurement.kernel);
}

}  // namespace maya::training
