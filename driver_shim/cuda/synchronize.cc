#include "driver_shim/cuda/synchronize.h"

#include "driver_shim/cuda/pending_work.h"
#include "driver_shim/cuda/profiler.h"
#include "driver_shim/cuda/recorder.h"

namespace maya::cuda {

void synchronize_context(Driver& driver, const Context& context) {
  uint64_t own_ns = PendingWork::wait_context(context);
  const uint64_t waited_ns = driver.wait_until(context.all_ready_ns(), &own_ns);
  Recorder::get().synchronization(trace::fields::SynchronizationScope::kDevice, 0, false,
                                  static_cast<uint32_t>(context.device), waited_ns, own_ns);
  Profiler::tell_wait(SynchronizationKind::kContextSynchronize, context, nullptr, 0, waited_ns);
}

}  // namespace maya::cuda
