// Tables whose names look like measurements of kernels but that hold something else: host costs of launches, step
// times, memory sizes. They are passed over, and said to be.
#include "predictor/training/sources/source.h"

namespace maya::training {
namespace {

bool recognises(const InputFile& file) {
  return file.csv != nullptr && (file.csv->has_columns({"trace", "gpu", "what", "p10_us", "median_us", "p90_us"}) ||
                                 file.csv->has_columns({"trace", "gpu", "kernels", "span_us"}));
}

bool read(const InputFile& file, Collector* collector, std::string*) {
  collector->report->skip(file.path, "holds no durations of single operations");
  return true;
}

}  // namespace

const Source kSetAside = {"set aside", recognises, read};

}  // namespace maya::training
