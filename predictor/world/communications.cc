#include "predictor/world/communications.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "predictor/host_costs.h"

namespace maya::predictor {
namespace {

using trace::EventKind;

bool communicates(const HostCall& call) {
  return call.kind == CallKind::kEnqueue && call.engine == Engine::kCommunication;
}

// A run of calls of one thread with one group number. A CUDA graph that is launched again repeats the numbers.
class Groups {
 public:
  Groups(const trace::LoadedTrace& trace, const Program& program) {
    struct Thread {
      uint32_t group = 0;
      uint32_t run = 0;
    };
    std::unordered_map<uint32_t, Thread> threads;
    uint32_t runs = 0;
    for (uint32_t i = 0; i < trace.events.size(); ++i) {
      const trace::Event& event = trace.events[i];
      if (event.kind == EventKind::kGraphLaunch) threads[event.thread].group = 0;
      if (event.kind != EventKind::kOperation || event.group == 0 || !communicates(program.calls[i])) continue;
      Thread& thread = threads[event.thread];
      if (thread.group != event.group) thread = {event.group, runs++};
      run_of_[i] = thread.run;
      last_[{thread.run, event.stream}] = i;
    }
  }
  // The call itself when it is in no group.
  uint32_t leader_of(const trace::LoadedTrace& trace, uint32_t event) const {
    const auto run = run_of_.find(event);
    return run == run_of_.end() ? event : last_.at({run->second, trace.events[event].stream});
  }

 private:
  std::unordered_map<uint32_t, uint32_t> run_of_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> last_;  // by run and stream
};

bool is_transfer(CollectiveKind kind) { return kind == CollectiveKind::kSend || kind == CollectiveKind::kRecv; }

// Sends of one group to all other members, at least two.
void name_all_to_alls(const World& world, std::span<const CommunicatorCall> calls, Program* program) {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> sends;  // by leader and communicator
  const auto key_of = [&](const CommunicatorCall& call) {
    return std::pair(program->communications[program->calls[call.event].communication].leader, call.communicator);
  };
  const auto counts = [&](const CommunicatorCall& call) {
    return call.group != 0 && is_transfer(call.kind) && program->calls[call.event].communication != kNone;
  };
  for (const CommunicatorCall& call : calls)
    if (counts(call) && call.kind == CollectiveKind::kSend) ++sends[key_of(call)];
  for (const CommunicatorCall& call : calls) {
    if (!counts(call)) continue;
    const int32_t others = world.communicators[call.communicator].size - 1;
    if (others >= 2 && sends[key_of(call)] >= static_cast<uint32_t>(others))
      program->communications[program->calls[call.event].communication].kind = CollectiveKind::kAllToAll;
  }
}

}  // namespace

void add_communications(const trace::LoadedTrace& trace, const CostTable& costs, const World& world,
                        std::span<const CommunicatorCall> calls, Program* program) {
  const Groups groups(trace, *program);
  auto known = calls.begin();
  for (uint32_t i = 0; i < program->calls.size(); ++i) {
    HostCall& host_call = program->calls[i];
    if (!communicates(host_call) || trace.events[i].kind == EventKind::kCopy) continue;
    const OperationCost& cost = costs.costs[costs.of_event[i]];
    Communication communication;
    communication.call = i;
    communication.leader = groups.leader_of(trace, i);
    communication.kind = static_cast<CollectiveKind>(std::clamp<int64_t>(cost.work.shape.get(Key::kCollective), 0, 9));
    communication.fabric = cost.fabric;
    communication.link_share_permille = cost.link_share_permille;
    communication.fixed = costs.measured_ns[i] != 0;
    communication.sends = communication.kind != CollectiveKind::kRecv;
    communication.receives = communication.kind != CollectiveKind::kSend;
    while (known != calls.end() && known->event < i) ++known;
    if (known != calls.end() && known->event == i && !communication.fixed) communication.match = known->match;
    if (communication.leader != i) host_call.cost_ns = host_costs::kGroupedCall_ns;
    host_call.communication = static_cast<uint32_t>(program->communications.size());
    program->communications.push_back(communication);
  }
  name_all_to_alls(world, calls, program);
}

}  // namespace maya::predictor
