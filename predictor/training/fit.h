// Fits the models of one device from its measurements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "predictor/training/measurement.h"
#include "predictor/training/model.h"
#include "virtual_device/profile.h"

namespace maya::training {

// A measurement with the work that the extractor sees in it.
struct Row {
  const Measurement* measurement;
  const device::DeviceProfile* profile;  // of the device that was measured
  Work work;
  double bound_ns;
};

// False for measurements of inference engines' kernels, which stand for their own operators only.
bool is_of_training_program(const Measurement& measurement);

// What each row belongs to: a model of the table.
struct ModelName {
  Family family;
  TypeClass type;
  int direction;
  auto operator<=>(const ModelName&) const = default;
};
ModelName model_name_of(const Work& work);
std::string text_of(const ModelName& name);  // "gemm 16-bit", "attention 16-bit backward"

// Rows that models can learn from: burst measurements of sized operations; others are left out.
std::vector<Row> rows_of(const device::DeviceProfile& profile, const std::vector<Measurement>& measurements);

// Fewest rows that a model is made from.
inline constexpr size_t kLeastRows = 4;

// Fits one model of `profile`'s table. `rows`: all of one ModelName, at least kLeastRows; rows of sibling devices among
// them count less and give no measured shapes. Deterministic for equal rows and seed.
bool fit_model(const device::DeviceProfile& profile, const ModelName& name, const std::vector<const Row*>& rows,
               uint64_t seed, FittedModel* model, std::string* error);

}  // namespace maya::training
