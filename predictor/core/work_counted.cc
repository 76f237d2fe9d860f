#include "predictor/core/work_counted.h"

#include <algorithm>

namespace maya::model {
namespace {

// The product of the factors; -1 when a scalar among them was not recorded or makes no size.
double product(const LaunchContext& context, uint16_t factors) {
  constexpr uint32_t kScalars = 8;
  double result = 1;
  for (uint32_t i = 0; i < kScalars; ++i) {
    if ((factors >> i & 1) == 0) continue;
    const int64_t value = context.scalar(i, 0);
    if (value <= 0) return -1;
    result *= static_cast<double>(value);
  }
  if ((factors & kGridX) != 0) result *= context.launch.grid[0];
  if ((factors & kAllThreads) != 0) result *= context.threads();
  return result;
}

double elements_of(const LaunchContext& context, const Count& count) {
  if (count.times == 0) return 0;
  const double times = product(context, count.times), over = product(context, count.over);
  return times < 0 || over < 0 ? -1 : times / over * count.scale;
}

DataType type_of(const LaunchContext& context) {
  for (std::string_view argument : context.name.template_arguments)
    if (const DataType type = first_type_in(argument); type != DataType::kNone && number_in(argument, -1) < 0)
      return type;
  return DataType::kNone;
}

}  // namespace

bool counted_work(std::span<const CountedKernel> kernels, const LaunchContext& context, Work* work) {
  for (const CountedKernel& kernel : kernels) {
    if (!context.name.leaf.starts_with(kernel.name)) continue;
    double read = elements_of(context, kernel.read), written = elements_of(context, kernel.written);
    const bool guessed = read < 0 || written < 0;
    constexpr double kGuessedElementsOfThread = 2;
    if (guessed) read = written = context.threads() * kGuessedElementsOfThread;
    const DataType type = type_of(context);
    double each = 0;
    for (std::string_view argument : context.name.template_arguments)
      if (number_in(argument, -1) < 0 && each == 0) each = element_bytes_in(argument);
    if (each == 0) each = 4;
    set_streaming(work, kernel.family, type == DataType::kNone ? DataType::kFloat32 : type, std::max(read, written), 0,
                  0);
    work->read_bytes = read * (each + kernel.read_more_bytes);
    work->written_bytes = written * (each + kernel.written_more_bytes);
    work->shape.set(Key::kDirection, kernel.backward ? 1 : 0);
    work->guessed = guessed;
    return true;
  }
  return false;
}

}  // namespace maya::model
