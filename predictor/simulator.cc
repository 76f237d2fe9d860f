#include "predictor/simulator.h"

#include <memory_resource>

#include "predictor/large_block.h"
#include "predictor/rank_simulator.h"
#include "predictor/transfers.h"

namespace maya::predictor {
namespace {

void handle_all(SimulationClock* clock, std::vector<RankSimulator>* programs, Transfers* transfers) {
  while (!clock->queue.empty()) {
    const ScheduledEvent event = clock->queue.take();
    clock->now_ns = event.time_ns;
    if (event.what >= static_cast<uint32_t>(What::kPart)) {
      transfers->handle(event);
    } else {
      (*programs)[event.program].handle(event);
    }
  }
}

}  // namespace

WorldSimulation simulate_world(std::span<const Program* const> programs, std::span<const uint32_t> match_sizes,
                               const Overlap& overlap, std::span<const std::vector<uint64_t>> durations) {
  WorldSimulation result;
  SimulationClock clock;
  Transfers transfers(match_sizes, overlap, &clock);
  size_t calls = 0;
  for (const Program* program : programs) calls += program->calls.size();
  const LargeBlock states(calls * sizeof(CallState));
  auto* next_states = static_cast<CallState*>(states.data());
  std::pmr::monotonic_buffer_resource memory;  // those of one program beside each other
  std::vector<RankSimulator> simulators;
  simulators.reserve(programs.size());
  const uint64_t compute_speed = speed_with(overlap.compute_factor);
  for (uint32_t i = 0; i < programs.size(); ++i) {
    simulators.emplace_back(i, *programs[i], durations.empty() ? std::span<const uint64_t>() : durations[i],
                            compute_speed, next_states, &memory, &clock, &transfers);
    next_states += programs[i]->calls.size();
  }
  transfers.set_programs(&simulators);
  for (RankSimulator& simulator : simulators) simulator.start();
  handle_all(&clock, &simulators, &transfers);
  std::vector<Deadlock::Waiting> waiting = transfers.waiting();
  while (transfers.release_one()) {
    if (result.deadlocks++ == 0) result.first_deadlock = {clock.now_ns, std::move(waiting)};
    handle_all(&clock, &simulators, &transfers);
  }
  for (uint32_t i = 0; i < programs.size(); ++i) {
    result.events += simulators[i].events;
    result.programs.push_back(simulators[i].result());
    result.programs.back().matched_ns = transfers.matched_ns(i);
  }
  result.last_arrival = transfers.last_arrivals();
  return result;
}

Simulation simulate(const Program& program, std::span<const uint64_t> durations) {
  const Program* const programs[] = {&program};
  std::vector<std::vector<uint64_t>> list;
  if (!durations.empty()) list.emplace_back(durations.begin(), durations.end());
  return std::move(simulate_world(programs, {}, {}, list).programs.front());
}

}  // namespace maya::predictor
