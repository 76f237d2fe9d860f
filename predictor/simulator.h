// Discrete-event simulation of the host threads, streams and engines of one process or of many that communicate.
//
// Time is integer nanoseconds from the first call. Events are handled in the total order (time, sequence of
// scheduling), so equal input gives equal output. Rules (CUDA C++ Programming Guide, "Asynchronous Concurrent
// Execution"):
//  - A host thread makes its calls in order; between two calls it works for the gap of the later one.
//  - A stream is first in, first out. Work starts no earlier than launch_latency_ns after the call that enqueued it
//  began, and
//    queued_gap_ns after the work before it on the stream ended.
//  - Work on the legacy default stream waits for all earlier work on blocking streams of its device and the other way
//  round.
//  - A stream wait holds the stream, a synchronisation holds the host thread, until the work before the event's record
//  has ended.
//  - The compute engine of a device runs kernels side by side only while their widths fit; a kernel that does not fit
//  waits, first come first
//    served within one priority. A kernel of more blocks than fit on the device at once holds it until its last blocks
//    have begun (its tail); then the next may start beside it. One of width 0 holds nothing up, but waits for such
//    kernels. There is one copy engine for each direction between host and device. Communication is
//    not held up by either.
// Between processes (NCCL User Guide, "Group Calls" and "Point-to-point communication"):
//  - Calls that belong together (a match) begin when the kernels of all that take part run, and end together. Sends are
//    no exception, however small: NCCL's send ends when its receiver has taken the data.
//  - All calls of one ncclGroup on one stream are one piece of work: they wait and run side by side, and it ends with
//    the last of them.
//  - Transfers of one device over one fabric and in one direction at a time share its bandwidth: where the shares that
//    they use alone add up to more than all of it, each slows down by the sum. A kernel is slower while its device
//    transfers data, and the other way round (Overlap).
//  - Where nothing can go on although calls wait, the first match that waits is let go without those that are missing,
//    and reported (Deadlock): what follows is then as if it had been right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "predictor/core/cluster.h"
#include "predictor/core/operation.h"

namespace maya::predictor {

inline constexpr uint32_t kNone = 0xffffffff;
inline constexpr uint64_t kNever_ns = ~uint64_t{0};

enum class CallKind : uint8_t {
  kOther,              // host time only
  kEnqueue,            // puts work on a stream
  kEventRecord,        // remembers what is on the stream
  kStreamWait,         // the stream waits for `record`
  kEventSynchronize,   // the thread waits for `record`
  kStreamSynchronize,  // the thread waits for the stream
  kDeviceSynchronize,  // the thread waits for all streams of the device of `stream`
};

enum class Engine : uint8_t { kCompute = 0, kCopyIn = 1, kCopyOut = 2, kCommunication = 3, kHost = 4 };
inline constexpr uint32_t kWholeDevice_permille = 1000;

struct HostCall {
  uint64_t gap_ns = 0;       // the thread's own work before the call
  uint64_t cost_ns = 0;      // host time of the call itself
  uint64_t return_ns = 0;    // host time after a wait has ended
  uint64_t duration_ns = 0;  // kEnqueue: of the work
  uint64_t latency_ns =
      kNever_ns;  // kEnqueue: from the call to the earliest start; kNever_ns: Program::launch_latency_ns
  uint64_t queued_gap_ns =
      kNever_ns;           // kEnqueue: after work before it on the stream; kNever_ns: Program::queued_gap_ns
  uint32_t thread = 0;     // index below Program::threads
  uint32_t stream = 0;     // index into Program::streams
  uint32_t after = kNone;  // an earlier call of another thread whose return wakes this thread: the gap starts then
  uint32_t record =
      kNone;  // kStreamWait, kEventSynchronize: the kEventRecord call meant; kNone: never recorded, no wait
  uint32_t communication = kNone;                   // index into Program::communications
  uint32_t width_permille = kWholeDevice_permille;  // kEnqueue on the compute engine: share of the device that it fills
  uint32_t tail_permille = 0;  // kEnqueue on the compute engine: last share of the duration, in which no block waits
  CallKind kind = CallKind::kOther;
  Engine engine = Engine::kCompute;
  bool blocks = false;  // kEnqueue: the call returns when the work has ended
};

struct SimulatedStream {
  uint32_t device = 0;
  int32_t priority = 0;  // lower is more urgent
  bool blocking = true;  // synchronises with the legacy default stream
  bool legacy_default = false;
};

// What a call on the communication engine does with other processes.
struct Communication {
  uint32_t call = 0;
  uint32_t match = kNone;  // number of the match that it is a part of; kNone: it waits for nobody
  uint32_t leader =
      kNone;  // the last call of its ncclGroup on its stream, which starts them all; itself without a group
  uint32_t link_share_permille = kWholeDevice_permille;  // of the device's bandwidth that it uses alone
  Fabric fabric = Fabric::kNone;
  CollectiveKind kind = CollectiveKind::kAllReduce;  // kAllToAll also for one that is made of sends and receives
  bool sends = true, receives = true;                // directions of the fabric that it uses
  bool fixed = false;                                // takes its time whatever else runs: it was measured
};

struct Program {
  std::vector<HostCall> calls;  // in trace order: `after` and `record` refer to smaller indices
  std::vector<SimulatedStream> streams;
  std::vector<Communication> communications;
  uint32_t threads = 0;
  uint32_t devices = 1;
  uint64_t launch_latency_ns = 0;
  uint64_t queued_gap_ns = 0;
};

struct Simulation {
  std::string error;                    // not empty: something waited for ever; names the call
  std::vector<uint64_t> call_start_ns;  // by call
  std::vector<uint64_t> call_end_ns;
  std::vector<uint64_t> work_start_ns;  // by call; kNever_ns where the call enqueued no work
  std::vector<uint64_t> work_end_ns;
  std::vector<bool> launched_late;   // by call: nothing but the host's launch decided when the work started
  std::vector<uint64_t> matched_ns;  // by communication: when all that take part were there
  // Why things happened when they did. By call, the call whose work had to end first: for the work to start, or for the
  // call to return. kNone: nothing but the host's own time.
  std::vector<uint32_t> work_held_by;
  std::vector<uint32_t> call_held_by;
  uint64_t events = 0;  // handled
};

// `durations` replaces the calls' duration_ns when not empty (one per call).
Simulation simulate(const Program& program, std::span<const uint64_t> durations = {});

// How much longer work takes while the other kind runs on the same device.
struct Overlap {
  double compute_factor = 1;        // of kernels, while data is transferred
  double communication_factor = 1;  // of transfers, while kernels run
};

// Calls of one process by its place in the list of programs.
struct ProgramCall {
  uint32_t program = kNone;
  uint32_t call = kNone;
};

struct Deadlock {
  struct Waiting {
    ProgramCall call;  // its kernel runs, but not all of its match are there
    uint32_t match = kNone;
  };
  uint64_t time_ns = 0;
  std::vector<Waiting> waiting;  // ordered by program and call
};

struct WorldSimulation {
  std::vector<Simulation> programs;
  std::vector<ProgramCall> last_arrival;  // by match: the call that the others waited for
  Deadlock first_deadlock;                // nothing waits in it when there was none
  uint64_t deadlocks = 0;                 // matches that had to be let go
  uint64_t events = 0;
};

// `match_sizes`: by match, how many calls of all programs make it up. `durations`: by program, as above; empty: those
// of the calls.
WorldSimulation simulate_world(std::span<const Program* const> programs, std::span<const uint32_t> match_sizes,
                               const Overlap& overlap, std::span<const std::vector<uint64_t>> durations = {});

}  // namespace maya::predictor
