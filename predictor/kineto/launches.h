// Which call put which work on which stream.
#pragma once

#include <cstdint>
#include <vector>

#include "predictor/kineto/kineto_trace.h"

namespace maya::predictor::kineto {

inline constexpr uint32_t kNoIndex = 0xffffffff;
inline constexpr uint64_t kBefore_ns = 2'000;

struct Launches {
  std::vector<uint32_t> calls;                 // indices of KinetoTrace::calls by (start, place in the file)
  std::vector<uint32_t> call_of;               // by work: the call; kNoIndex when it was made before the profile began
  std::vector<std::vector<uint32_t>> work_of;  // by call: its work by start; more than one for CUDA graphs
  // By work: when it was enqueued. That is the start of its call; without a call, kBefore_ns before its own start, and
  // before the call of the work that follows it on its stream.
  std::vector<uint64_t> enqueued_ns;
  std::vector<uint32_t> order;     // all work by (enqueued_ns, start)
  std::vector<uint32_t> place;     // by work: its place in `order`
  std::vector<uint32_t> previous;  // by work: the one before it on its stream in this order; kNoIndex
};

Launches find_launches(const KinetoTrace& trace);

// Streams of different devices have different keys.
inline uint64_t stream_key(const DeviceWork& work) { return uint64_t{work.device} << 32 | work.stream; }

}  // namespace maya::predictor::kineto
