#include "driver_shim/cuda/process_use.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "trace_proto/writer.h"

namespace maya::cuda {
namespace {

using device::ProcessUse;

// Above what programs number their files from; programs that close every file up to a limit are then not seen.
constexpr int kLeastDescriptor = 900;

void* shared_page() {
  const int made = memfd_create(ProcessUse::kName, MFD_CLOEXEC);
  if (made < 0) return nullptr;
  void* page = MAP_FAILED;
  int kept = -1;
  if (ftruncate(made, sizeof(ProcessUse)) == 0) kept = fcntl(made, F_DUPFD_CLOEXEC, kLeastDescriptor);
  if (kept < 0) kept = fcntl(made, F_DUPFD_CLOEXEC, 0);
  close(made);
  if (kept >= 0) page = mmap(nullptr, sizeof(ProcessUse), PROT_READ | PROT_WRITE, MAP_SHARED, kept, 0);
  if (page == MAP_FAILED) {
    if (kept >= 0) close(kept);
    return nullptr;
  }
  return page;
}

ProcessUse* make(const Configuration& configuration) {
  static ProcessUse unseen;
  void* const page = shared_page();
  ProcessUse* const use = page != nullptr ? static_cast<ProcessUse*>(page) : &unseen;  // the file is all zeros
  use->process = getpid();
  use->devices = std::min(static_cast<uint32_t>(configuration.machine_devices), ProcessUse::kDevices);
  use->driver_reserve_bytes = configuration.profile->driver_reserve_bytes;
  snprintf(use->profile, sizeof use->profile, "%s", configuration.profile->name.c_str());
  snprintf(use->run, sizeof use->run, "%s", configuration.run_id.c_str());
  use->started_ns = trace::now_ns();
  use->magic.store(ProcessUse::kMagic, std::memory_order_release);
  return use;
}

}  // namespace

device::ProcessUse* publish_process_use(const Configuration& configuration) {
  static ProcessUse* const use = make(configuration);
  return use;
}

}  // namespace maya::cuda
