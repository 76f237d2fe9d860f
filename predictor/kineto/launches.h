// Which call put which work on which stream.
#pragma once

#include <cstdint>
#include <vector>

#include "predictor/kineto/kineto_trace.h"

namespace maya::predictor::kineto {

inline constexpr uint32_t kNoIndex = 0xffffffff;

struct Launches {
  std::vector<uint32_t> calls;                 // indices of KinetoTrace::calls by (start, place in the file)
  std::vector<uint32_t> call_of;               // by work: the call; kNoIndex when it was made before the profile began
  std::vector<std::vector<uint32_t>> work_of;  // by call: its work by start; more than one for CUDA graphs
  // All work in the order in which it was enqueued: by the call's start, or, without a call, by the work's own start.
  std::vector<uint32_t> order;
  std::vector<uint32_t> place;     // by work: its place in `order`
  std::vector<uint32_t> previous;  // by work: the one before it on its stream in this order; kNoIndex
};

Launches find_launches(const KinetoTrace& trace);

// Streams of different devices have different keys.
inline uint64_t stream_key(const DeviceWork& work) { return uint64_t{work.device} << 32 | work.stream; }

}  // namespace maya::predictor::kineto
