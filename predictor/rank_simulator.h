// One process in a simulation: its host threads, streams and engines. Internal to the simulator, whose header has the
// rules.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "predictor/event_queue.h"
#include "predictor/progress.h"
#include "predictor/simulator.h"

namespace maya::predictor {

class Transfers;

// What all processes of a simulation share.
struct SimulationClock {
  EventQueue queue;
  uint64_t now_ns = 0;
};

class RankSimulator {
 public:
  // Everything referred to must outlive the object. `compute_speed`: of kernels while data is transferred.
  RankSimulator(uint32_t number, const Program& program, std::span<const uint64_t> durations, uint64_t compute_speed,
                SimulationClock* clock, Transfers* transfers);

  void start();
  void handle(const ScheduledEvent& event);  // kCall, kReady, kTail or kEnd

  // A communication that had begun is over. All that end at one time are told one after the other.
  void part_ended(uint32_t communication);
  // The number of matches that move data of the device changed between none and some.
  void set_transferring(uint32_t device, bool transferring);

  const Program& program() const { return program_; }
  uint32_t device_of(const Communication& communication) const {
    return program_.streams[program_.calls[communication.call].stream].device;
  }
  uint64_t duration_of(uint32_t call) const {
    return durations_.empty() ? program_.calls[call].duration_ns : durations_[call];
  }
  // Matched at the present time.
  void set_matched(uint32_t communication) { result_.matched_ns[communication] = clock_.now_ns; }

  // True when everything has ended; otherwise the result's error says what has not.
  bool finish();
  Simulation take_result() { return std::move(result_); }
  uint64_t events = 0;

 private:
  // Somebody to tell when a piece of work has ended.
  struct Waiter {
    uint32_t target;  // a call that enqueued work, or a host thread
    uint32_t next;
    bool is_thread;
  };

  // Work on a stream, by the index of the call that enqueued it.
  struct Work {
    uint64_t earliest_ns = 0;  // launch latency
    uint64_t after_ns = 0;     // the latest end of what it waits for, apart from its stream
    uint32_t after = kNone;    // the work that ended then
    uint32_t pending = 0;      // pieces of work that must end first, its predecessor on the stream included
    uint32_t waiters = kNone;
    uint32_t next_on_stream = kNone;
    uint32_t parts = 0;  // communications of a group that have not ended
    bool ended = false;
    bool holds_engine = false;
    bool marker = false;  // takes no time: stream wait, or a record that stands for several streams
  };

  struct StreamState {
    uint32_t tail = kNone;          // last work enqueued, whether ended or not
    uint32_t last_ended = kNone;    // of anything on it
    uint32_t last_work = kNone;     // last real work that has ended
    uint64_t last_end_ns = 0;       // of anything on it
    uint64_t last_work_end_ns = 0;  // of real work
    uint32_t active_position = kNone;
  };

  struct ThreadState {
    uint32_t next = kNone;  // its next call
    uint64_t free_ns = 0;   // return of its last call
    uint32_t pending = 0;   // pieces of work that its current call waits for
    uint32_t next_waiter = kNone;
  };

  struct RunningKernel {
    uint32_t call;
    Progress progress;
  };

  struct DeviceState {
    uint32_t compute_used_permille = 0;
    uint32_t kernels = 0;  // that run, in programs that communicate
    bool copy_in_busy = false;
    bool copy_out_busy = false;
    bool transferring = false;
    std::vector<uint32_t> waiting[3];    // by Engine, in order of service
    std::vector<uint32_t> active;        // streams with work that has not ended
    std::vector<RunningKernel> running;  // of programs that communicate, where that slows them down
    uint32_t legacy_stream = kNone;
  };

  const HostCall& call(uint32_t index) const { return program_.calls[index]; }
  void schedule(uint64_t time_ns, uint32_t index, What what) { clock_.queue.schedule(time_ns, number_, index, what); }
  DeviceState& device_of_call(const HostCall& c) { return devices_[program_.streams[c.stream].device]; }

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

  const uint32_t number_;
  const Program& program_;
  const std::span<const uint64_t> durations_;
  const uint64_t compute_speed_;
  SimulationClock& clock_;
  Transfers& transfers_;
  Simulation result_;
  std::vector<uint32_t> next_in_thread_;
  std::vector<uint32_t> call_waiters_;   // first thread that waits for the call's return
  std::vector<uint32_t> recorded_;       // by kEventRecord call: the work that stands for the event
  std::vector<uint32_t> first_in_unit_;  // by communication that leads a group: first of the others; by those: the next
  std::vector<Work> work_;
  std::vector<Waiter> waiters_;
  std::vector<StreamState> streams_;
  std::vector<ThreadState> threads_;
  std::vector<DeviceState> devices_;
};

}  // namespace maya::predictor
