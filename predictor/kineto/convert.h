// A profiler's trace as a trace of ours, with what was measured.
//
// Calls that put work on the device, synchronise, or mark a profiler's step become events; of all others only the time
// stays, in the host's gaps. What the profiler does not say is inferred, each by one rule:
//  - Streams: the profiler's stream 7 is the legacy default stream of a device (CUPTI numbers it so), others are
//    non-blocking ones, as PyTorch and NCCL make them.
//  - A copy or fill held its call up when the call returned after it had ended. The time until then is the wait, the
//  rest
//    the call's own.
//  - A stream synchronisation is about the stream that the profiler names, else about that of the thread's last work.
//  One
//    whose stream ended later than the call returned is host time only.
//  - An event synchronisation waited for the work enqueued before it that was the last to end until its return, if this
//    was after its entry; otherwise it is host time.
//  - Work without a call was enqueued before the profile began: a thread of its own enqueues it just before it started.
//  - The nodes of a CUDA graph are enqueued one after the other by the call that launched it.
//  - Waits between streams: see dependencies.h.
// NCCL kernels become collectives. Their measured time includes waiting for other ranks, so that a replay needs none.
#pragma once

#include <cstdint>
#include <string>

#include "predictor/failure.h"
#include "predictor/kineto/kineto_trace.h"

namespace maya::predictor::kineto {

struct Conversion {
  std::string bytes;   // of a trace file
  std::string device;  // profile name
  uint64_t work = 0;
  uint64_t work_without_call = 0;
  uint64_t waits_recorded = 0;  // between streams
  uint64_t waits_inferred = 0;
};

// `device` is a profile's name or file; empty: the one that the file names.
Failure convert(const KinetoTrace& trace, const std::string& device, Conversion* conversion);

}  // namespace maya::predictor::kineto
