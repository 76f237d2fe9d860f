// What the calls of one class do with other processes, for the simulator.
#pragma once

#include <span>

#include "predictor/cost_stage.h"
#include "predictor/simulator.h"
#include "predictor/world/world.h"
#include "trace_proto/loaded_trace.h"

namespace maya::predictor {

// Fills in Program::communications of a program that build_program() made of the same trace: one for each piece of work
// on the communication engine that is not a copy between devices. `calls` are those of the class; what is not among
// them waits for nobody. Calls of one ncclGroup share a leader; sends and receives of a group that reach every member
// of their communicator are called an all-to-all, which is what they carry out.
void add_communications(const trace::LoadedTrace& trace, const CostTable& costs, const World& world,
                        std::span<const CommunicatorCall> calls, Program* program);

}  // namespace maya::predictor
