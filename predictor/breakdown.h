// Where the time of an interval of a simulation goes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "predictor/cost_stage.h"
#include "predictor/simulator.h"

namespace maya::predictor {

// Kinds of communication that are told apart: CollectiveKind with receives under send, then copies between devices.
inline constexpr size_t kExposedKinds = 11;
inline constexpr size_t kPeerCopies = 10;
const char* exposed_kind_name(size_t kind);  // "all_reduce", ..., "send_recv", ..., "peer_copy"; nullptr for receives

// Nanoseconds. compute + exposed_communication + copies + pipeline_bubble + waiting_for_ranks + host_bound + idle =
// length of the interval.
struct Breakdown {
  uint64_t compute = 0;        // at least one kernel or library operation runs
  uint64_t communication = 0;  // data of at least one collective, transfer or peer copy moves (hidden behind compute or
                               // not)
  uint64_t exposed_communication = 0;  // data moves, no compute
  uint64_t copies = 0;                 // a copy between host and device runs, neither of the above
  uint64_t host_bound = 0;             // nothing runs, because the host had not launched what runs next
  uint64_t idle = 0;               // nothing runs for another reason: gaps between queued work, waits between streams
  uint64_t pipeline_bubble = 0;    // nothing runs but a send or receive that waits for the rank at its other end
  uint64_t waiting_for_ranks = 0;  // nothing runs but collectives that wait for other ranks
  std::array<uint64_t, kExposedKinds> exposed{};  // parts of exposed_communication; where several move, the first kind
};

// A half-open interval of simulated time.
struct Interval {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
};

// One breakdown for each of the intervals, which must be ascending and disjoint. With several devices, work on any of
// them counts.
std::vector<Breakdown> break_down(const Program& program, const Simulation& simulation,
                                  const std::vector<Interval>& intervals);

}  // namespace maya::predictor
