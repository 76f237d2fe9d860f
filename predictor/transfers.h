// Calls of several processes that are carried out together, and the links that they share. Internal to the simulator,
// whose header has the rules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "predictor/progress.h"
#include "predictor/rank_simulator.h"
#include "predictor/short_list.h"
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
  // By communication of the program: when all that take part were there.
  std::vector<uint64_t> matched_ns(uint32_t program) const;

 private:
  enum class Phase : uint8_t { kWaiting, kMoving, kDone };

  // How many of a match's communications could go at a speed. The slowest decides.
  struct SpeedCount {
    uint32_t speed;
    uint32_t count;
  };

  struct Match {
    uint32_t expected = 1;
    uint32_t arrived = 0;
    uint32_t first = kNone;  // communication that arrived last; the others follow by next_in_match
    uint32_t place_in_waiting = 0;
    uint64_t begun_ns = kNever_ns;
    Phase phase = Phase::kWaiting;
    uint64_t scheduled_ns = kNever_ns;  // earliest event that is on its way
    Progress progress;
    ShortList<SpeedCount, 2> speeds;  // ascending
  };

  // A communication of any program; programs' communications follow each other. Half a cache line, with all that is
  // needed of the communication itself.
  struct Part {
    uint64_t duration_ns;
    uint32_t program;
    uint32_t match;
    uint32_t next_in_match = kNone;
    uint32_t port;
    uint32_t speed = kFullSpeed;
    uint16_t link_share_permille;
    Fabric fabric;
    bool sends : 1, receives : 1, fixed : 1;
  };

  // A device's ends of the fabrics.
  struct alignas(64) Port {
    uint32_t program;
    uint32_t device;
    uint32_t out_permille[3] = {}, in_permille[3] = {};  // used by the parts that move, by Fabric
    bool computing = false;
    ShortList<uint32_t, 4> moving;
  };

  // A communication that came after its match had been let go.
  struct Late {
    uint32_t part;
    uint64_t time_ns;
  };

  uint32_t index_in_program(uint32_t part) const { return part - first_part_[parts_[part].program]; }
  uint32_t call_of(uint32_t part) const;
  void begin(uint32_t match);
  void end(uint32_t match);
  void reschedule(uint32_t match);
  void use_port(uint32_t part, int sign);
  uint32_t speed_of(const Part& part, const Port& port) const;
  void count_speed(Match* match, uint32_t speed, int change);
  void update_port(Port* port);

  SimulationClock& clock_;
  const uint32_t computing_speed_;
  const bool slowed_by_compute_;
  const size_t shared_matches_;  // the others are of one communication that waits for nobody
  std::vector<RankSimulator>* programs_ = nullptr;
  std::vector<Match> matches_;
  std::vector<Part> parts_;
  std::vector<uint32_t> first_part_;  // by program
  std::vector<uint32_t> first_port_;
  std::vector<Port> ports_;
  std::vector<Late> late_;
  std::vector<uint32_t> waiting_;  // matches of which some, but not all, are there
};

}  // namespace maya::predictor
