// What the simulator knows of one call and of the work that it puts on a stream: one cache line, since a world of a
// thousand programs fits into no cache and every event then costs the lines that it touches. Internal to the simulator.
#pragma once

#include <cstdint>

#include "predictor/simulator.h"

namespace maya::predictor {

struct CallState {
  uint64_t call_start_ns = kNever_ns;
  uint64_t call_end_ns = kNever_ns;
  union {
    uint64_t work_start_ns = kNever_ns;
    uint64_t earliest_ns;  // until the work has begun: by the launch's latency
  };
  union {
    uint64_t work_end_ns = kNever_ns;
    uint64_t after_ns;  // until the work has begun: the latest end of what it waits for, apart from its stream
  };
  union {
    uint32_t work_held_by = kNone;
    uint32_t after;  // until the work may start: what ended at after_ns
  };
  union {
    uint32_t call_held_by = kNone;
    uint32_t recorded;  // kEventRecord, which never waits: the work that stands for the event
  };
  union {
    uint32_t pending = 0;  // pieces of work that must end first, its predecessor on the stream included
    uint32_t parts;        // once the work has begun: communications of its group that have not ended
  };
  uint32_t waiters = kNone;  // first of those to tell when the work has ended
  uint32_t next_on_stream = kNone;
  uint32_t next_in_thread = kNone;
  uint32_t call_waiters = kNone;  // first thread that waits for the call's return
  bool begun : 1 = false;
  bool ended : 1 = false;
  bool holds_engine : 1 = false;
  bool marker : 1 = false;  // takes no time: stream wait, or a record that stands for several streams
  bool launched_late : 1 = false;
};
static_assert(sizeof(CallState) == 64);

}  // namespace maya::predictor
