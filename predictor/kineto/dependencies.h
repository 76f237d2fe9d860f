// Which work waited for which other work on another stream, as far as a profiler's trace shows it.
//
// Where the profiler says it (newer ones name stream and record of every wait), that is taken. Older ones write neither
// the event nor the streams of cudaEventRecord and cudaStreamWaitEvent. Then two rules apply, in this order:
//  1. Recorded waits. A cudaStreamWaitEvent makes the stream of the thread's next work wait for the work that the
//  thread
//     enqueued last, when the two are on different streams and the order on the device agrees (how PyTorch hands over
//     between streams).
//  2. Unexplained delays. Work that started later than its stream and its launch explain, by more than kSlack_ns,
//  waited
//     for the work on another stream that ended last before it started, provided that this ended not more than
//     kReach_ns before, was enqueued earlier, and ended after what explains the start so far. One wait a delay: the
//     smallest set that explains the order seen.
#pragma once

#include <cstdint>
#include <vector>

#include "predictor/kineto/kineto_trace.h"
#include "predictor/kineto/launches.h"

namespace maya::predictor::kineto {

inline constexpr uint64_t kSlack_ns = 4'000;
inline constexpr uint64_t kReach_ns = 10'000;
inline constexpr uint64_t kClockError_ns = 1'000;  // older profilers write whole microseconds

struct Dependency {
  uint32_t work = 0;   // index into KinetoTrace::work: it waited
  uint32_t after = 0;  // for this one
  bool recorded = false;
};

// Ordered by `work`'s place in Launches::order, without repetition.
std::vector<Dependency> find_dependencies(const KinetoTrace& trace, const Launches& launches);

}  // namespace maya::predictor::kineto
