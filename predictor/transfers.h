// Calls of several processes that are carried out together, and the links that they share. Internal to the simulator,
// whose header has the rules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "predictor/progress.h"
#include "predictor/rank_simulator.h"
#include "predictor/simulator.h"

namespace maya::predictor {

class Transfers {
 public:
  Transfers(std::span<const uint32_t> match_sizes, const Overlap& overlap, SimulationClock* clock);

  // All processes, in the order of their numbers, before anything starts. They must outlive the object.
  void set_programs(std::vector<RankSimulator>* programs);

  // The kernel of a communication runs, and waits for those of the others.
  void arrive(uint32_t program, uint32_t communication);
  // The number of kernels that run on the device changed between none and some.
  void set_computing(uint32_t program, uint32_t device, bool computing);
  void handle(const ScheduledEvent& event);  // kPart or kTransfer

  // Lets the first match go that waits for calls which do not come. False when none waits.
  bool release_one();
  // The calls that wait now.
  std::vector<Deadlock::Waiting> waiting() const;
  std::vector<ProgramCall> last_arrivals() const;

 private:
  enum class Phase : uint8_t { kWaiting, kMoving, kDone };

  // How many of a match's communications could go at a speed. The slowest decides.
  struct SpeedCount {
    uint64_t speed;
    uint32_t count;
  };

  struct Match {
    uint32_t expected = 1;
    uint32_t arrived = 0;
    uint32_t first = kNone;  // communication that arrived last; the others follow by next_in_match
    uint32_t place_in_waiting = 0;
    Phase phase = Phase::kWaiting;
    uint64_t scheduled_ns = kNever_ns;  // earliest event that is on its way
    Progress progress;
    std::vector<SpeedCount> speeds;  // ascending
  };

  // A communication of any program; programs' communications follow each other.
  struct Part {
    uint32_t program;
    uint32_t match;
    uint32_t next_in_match = kNone;
    uint32_t port;
    uint64_t speed = kFullSpeed;
  };

  // A device's ends of the fabrics.
  struct Port {
    uint32_t program;
    uint32_t device;
    uint32_t out_permille[3] = {}, in_permille[3] = {};  // used by the parts that move, by Fabric
    bool computing = false;
    std::vector<uint32_t> moving;
  };

  uint32_t index_in_program(uint32_t part) const { return part - first_part_[parts_[part].program]; }
  const Communication& communication(uint32_t part) const;
  void begin(uint32_t match);
  void end(uint32_t match);
  void reschedule(uint32_t match);
  void use_port(uint32_t part, int sign);
  uint64_t speed_of(uint32_t part) const;
  void count_speed(Match* match, uint64_t speed, int change);
  void update_port(Port* port);

  SimulationClock& clock_;
  const uint64_t computing_speed_;
  const bool slowed_by_compute_;
  const size_t shared_matches_;  // the others are of one communication that waits for nobody
  std::vector<RankSimulator>* programs_ = nullptr;
  std::vector<Match> matches_;
  std::vector<Part> parts_;
  std::vector<uint32_t> first_part_;  // by program
  std::vector<uint32_t> first_port_;
  std::vector<Port> ports_;
  std::vector<uint32_t> waiting_;  // matches of which some, but not all, are there
};

}  // namespace maya::predictor
