// Calls of entry points that are not supported: each is named on standard error once, and counted in the trace.
#include <mutex>
#include <set>
#include <string>

#include "driver_shim/common/entry_table.h"
#include "driver_shim/cuda/configuration.h"
#include "driver_shim/cuda/fork_guard.h"
#include "driver_shim/cuda/recorder.h"

namespace maya::shim {

void report_unsupported(const char* library, const char* entry_point, const char* status_name) {
  if (maya::cuda::in_forked_child()) return;
  static std::mutex mutex;
  static std::set<std::string>& seen = *new std::set<std::string>;
  try {
    const std::lock_guard<std::mutex> lock(mutex);
    if (seen.insert(entry_point).second)
      maya::cuda::print_line(std::string(library) + ": " + entry_point + " is not supported; the call returned " +
                             status_name);
  } catch (const std::bad_alloc&) {
  }
  maya::cuda::Recorder::get().unsupported(library, entry_point);
}

}  // namespace maya::shim
