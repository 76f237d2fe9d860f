// One process in a simulation: its host threads, streams and engines. Internal to the simulator, whose header has the
// rules.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

#include "predictor/call_state.h"
#include "predictor/event_queue.h"
#include "predictor/progress.h"
#include "predictor/short_list.h"
#include "predictor/simulator.h"

namespace maya::predictor {

class Transfers;

// What all processes of a simulation share.
struct SimulationClock {
  EventQueue queue;
  uint64_t now_ns = 0;
};

// Aligned: an event of a large world costs as many cache lines as it touches.
class alignas(64) RankSimulator {
 public:
  // Everything referred to must outlive the object. `compute_speed`: of kernels while data is transferred. `states`:
  // one for each call, of no content yet. `memory`: for what is as long as the numbers of threads, streams and devices.
  RankSimulator(uint32_t number, const Program& program, std::span<const uint64_t> durations, uint64_t compute_speed,
                CallState* states, std::pmr::memory_resource* memory, SimulationClock* clock, Transfers* transfers);

  void start();
  void handle(const ScheduledEvent& event);  // kCall, kReady, kTail or kEnd

  // A communication that had begun is over. All that end at one time are told one after the other.
  void part_ended(uint32_t communication);
  // The number of matches that move data of the device changed between none and some.
  void set_transferring(uint32_t device, bool transferring);

  const Program& program() const { return program_; }
  uint32_t device_of(const Communication& communication) const {
    return streams_[call(communication.call).stream].device;
  }
  uint64_t duration_of(uint32_t call) const { return durations_.empty() ? calls_[call].duration_ns : durations_[call]; }
  // What happened, apart from matched_ns; its error says what has not ended.
  Simulation result() const;
  uint64_t events = 0;

 private:
  // Somebody to tell when a piece of work has ended.
  struct Waiter {
    uint32_t target;  // a call that enqueued work, or a host thread
    uint32_t next;
    bool is_thread;
  };

  struct StreamState {
    uint32_t device;
    int32_t priority;
    uint32_t tail = kNone;        // last work enqueued, whether ended or not
    uint32_t last_ended = kNone;  // of anything on it
    uint32_t last_work = kNone;   // last real work that has ended
    uint32_t active_position = kNone;
    uint64_t last_end_ns = 0;       // of anything on it
    uint64_t last_work_end_ns = 0;  // of real work
    bool blocking;
    bool legacy_default;
  };

  struct ThreadState {
    uint32_t next = kNone;  // its next call
    uint32_t pending = 0;   // pieces of work that its current call waits for
    uint64_t free_ns = 0;   // return of its last call
    uint32_t next_waiter = kNone;
  };

  struct RunningKernel {
    uint32_t call;
    Progress progress;
  };

  struct DeviceState {
    uint32_t compute_used_permille = 0;
    uint32_t kernels = 0;  // that run, in programs that communicate
    uint32_t legacy_stream = kNone;
    bool copy_in_busy = false;
    bool copy_out_busy = false;
    bool transferring = false;
    ShortList<uint32_t, 4> active;        // streams with work that has not ended
    ShortList<RunningKernel, 1> running;  // of programs that communicate, where that slows them down
    ShortList<uint32_t, 2> waiting[3];    // by Engine, in order of service
  };

  const HostCall& call(uint32_t index) const { return calls_[index]; }
  void schedule(uint64_t time_ns, uint32_t index, What what) { clock_.queue.schedule(time_ns, number_, index, what); }
  DeviceState& device_of_call(const HostCall& c) { return devices_[streams_[c.stream].device]; }

  void arrange(uint32_t thread);
  void execute(uint32_t index);
  void return_from(uint32_t index, uint64_t time_ns);
  void enqueue(uint32_t index, bool marker);
  bool crosses_streams(uint32_t stream) const;
  void wait_for_work(uint32_t index, uint32_t work);
  bool thread_waits_for(uint32_t thread, uint32_t work);
  void maybe_ready(uint32_t index);
  void request_engine(uint32_t index);
  bool fits(const HostCall& c, const DeviceState& device) const;
  void begin(uint32_t index);
  void begin_timed(uint32_t index, uint64_t duration_ns);
  void begin_kernel(uint32_t index, uint64_t duration_ns);
  void begin_communication(uint32_t index);
  void end(uint32_t index);
  void end_kernel(uint32_t index);
  void release_engine(uint32_t index);

  // In the order in which an event touches them.
  const uint32_t number_;
  const bool communicates_;
  CallState* const states_;  // by call
  const HostCall* const calls_;
  SimulationClock& clock_;
  std::pmr::vector<ThreadState> threads_;
  std::pmr::vector<StreamState> streams_;
  std::pmr::vector<DeviceState> devices_;
  const std::span<const uint64_t> durations_;
  const uint64_t launch_latency_ns_;
  const uint64_t queued_gap_ns_;
  const Program& program_;
  const uint64_t compute_speed_;
  Transfers& transfers_;
  std::vector<Waiter> waiters_;
  std::vector<uint32_t> first_in_unit_;  // by communication that leads a group: first of the others; by those: the next
};

}  // namespace maya::predictor
