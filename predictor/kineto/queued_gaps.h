// The gaps that a device left between pieces of work queued on one stream, as a profiler saw them.
#pragma once

#include "predictor/kineto/kineto_trace.h"
#include "predictor/kineto/launches.h"

namespace maya::predictor::kineto {

// Means over the gaps before work whose call had returned kQueuedFor_ns before the work in front of it ended; longer
// ones than kLongestGap_ns have another cause. 0: fewer than kFewestGaps.
struct QueuedGaps {
  double kernel_ns = 0;  // at least one of the two is a kernel
  double copy_ns = 0;    // between copies and fills
};
inline constexpr uint64_t kQueuedFor_ns = 5'000;
inline constexpr uint64_t kLongestGap_ns = 20'000;
inline constexpr uint64_t kFewestGaps = 20;

// Nodes of CUDA graphs are left out: they follow each other faster.
QueuedGaps queued_gaps(const KinetoTrace& trace, const Launches& launches);

}  // namespace maya::predictor::kineto
