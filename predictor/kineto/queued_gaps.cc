#include "predictor/kineto/queued_gaps.h"

namespace maya::predictor::kineto {

QueuedGaps queued_gaps(const KinetoTrace& trace, const Launches& launches) {
  struct Sum {
    uint64_t count = 0, total_ns = 0;
    double mean_ns() const {
      return count < kFewestGaps ? 0 : static_cast<double>(total_ns) / static_cast<double>(count);
    }
  } kernels, copies;
  for (const uint32_t i : launches.order) {
    const uint32_t call = launches.call_of[i], previous = launches.previous[i];
    if (call == kNoIndex || previous == kNoIndex || launches.work_of[call].size() != 1) continue;
    const DeviceWork &work = trace.work[i], &before = trace.work[previous];
    if (trace.calls[call].end_ns() + kQueuedFor_ns > before.end_ns() || work.start_ns < before.end_ns()) continue;
    const uint64_t gap_ns = work.start_ns - before.end_ns();
    if (gap_ns > kLongestGap_ns) continue;
    Sum& sum = work.kind == WorkKind::kKernel || before.kind == WorkKind::kKernel ? kernels : copies;
    ++sum.count;
    sum.total_ns += gap_ns;
  }
  return {kernels.mean_ns(), copies.mean_ns()};
}

}  // namespace maya::predictor::kineto
