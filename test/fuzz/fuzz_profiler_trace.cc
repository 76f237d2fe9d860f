// Files of PyTorch's profiler from hostile bytes: reading and converting refuses with a line, or gives a trace of ours
// that is whole.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "predictor/kineto/convert.h"
#include "trace_proto/loaded_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int file = memfd_create("trace.json", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  maya::predictor::kineto::KinetoTrace trace;
  if (const auto failure = maya::predictor::kineto::read_kineto(path, &trace)) {
    if (failure.text.empty()) std::abort();
    return 0;
  }
  for (const char* device : {"", "a100-sxm-80"}) {
    maya::predictor::kineto::Conversion conversion;
    if (const auto failure = maya::predictor::kineto::convert(trace, device, &conversion)) {
      if (failure.text.empty()) std::abort();
      continue;
    }
    const maya::trace::LoadResult loaded =
        maya::trace::load_trace(reinterpret_cast<const uint8_t*>(conversion.bytes.data()), conversion.bytes.size());
    if (loaded.status != maya::trace::ReadStatus::kOk) std::abort();
  }
  return 0;
}
