#include "predictor/transfers.h"

#include <algorithm>

namespace maya::predictor {

Transfers::Transfers(std::span<const uint32_t> match_sizes, const Overlap& overlap, SimulationClock* clock)
    : clock_(*clock),
      computing_speed_(static_cast<uint32_t>(speed_with(overlap.communication_factor))),
      slowed_by_compute_(computing_speed_ != kFullSpeed),
      shared_matches_(match_sizes.size()) {
  matches_.resize(match_sizes.size());
  for (size_t i = 0; i < match_sizes.size(); ++i) matches_[i].expected = match_sizes[i];
}

void Transfers::set_programs(std::vector<RankSimulator>* programs) {
  programs_ = programs;
  for (uint32_t p = 0; p < programs->size(); ++p) {
    const RankSimulator& program = (*programs)[p];
    first_part_.push_back(static_cast<uint32_t>(parts_.size()));
    first_port_.push_back(static_cast<uint32_t>(ports_.size()));
    for (uint32_t device = 0; device < program.program().devices; ++device) {
      Port& port = ports_.emplace_back();
      port.program = p;
      port.device = device;
    }
    for (const Communication& communication : program.program().communications) {
      Part& part = parts_.emplace_back();
      part.program = p;
      part.port = first_port_[p] + program.device_of(communication);
      part.match = communication.match;
      part.duration_ns = program.duration_of(communication.call);
      part.link_share_permille = static_cast<uint16_t>(communication.link_share_permille);
      part.fabric = communication.fabric;
      part.sends = communication.sends;
      part.receives = communication.receives;
      part.fixed = communication.fixed;
      if (part.match < shared_matches_) continue;
      part.match = static_cast<uint32_t>(matches_.size());
      matches_.emplace_back();
    }
  }
}

uint32_t Transfers::call_of(uint32_t part) const {
  return (*programs_)[parts_[part].program].program().communications[index_in_program(part)].call;
}

void Transfers::arrive(uint32_t program, uint32_t communication) {
  const uint32_t index = first_part_[program] + communication;
  Part& part = parts_[index];
  Match& match = matches_[part.match];
  if (match.phase != Phase::kWaiting) {
    // It was let go without this one.
    late_.push_back({index, clock_.now_ns});
    clock_.queue.schedule(clock_.now_ns, program, communication, What::kPart);
    return;
  }
  part.next_in_match = match.first;
  match.first = index;
  ++match.arrived;
  if (match.arrived == 1) {
    match.place_in_waiting = static_cast<uint32_t>(waiting_.size());
    waiting_.push_back(part.match);
  }
  if (match.arrived >= match.expected) begin(part.match);
}

void Transfers::begin(uint32_t number) {
  Match& match = matches_[number];
  const uint32_t moved = waiting_.back();
  waiting_[match.place_in_waiting] = moved;
  matches_[moved].place_in_waiting = match.place_in_waiting;
  waiting_.pop_back();
  match.phase = Phase::kMoving;
  match.begun_ns = clock_.now_ns;
  uint64_t duration_ns = 0;
  for (uint32_t i = match.first; i != kNone; i = parts_[i].next_in_match)
    duration_ns = std::max(duration_ns, parts_[i].duration_ns);
  match.progress.begin(clock_.now_ns, duration_ns, kFullSpeed);
  for (uint32_t i = match.first; i != kNone; i = parts_[i].next_in_match) {
    use_port(i, +1);
    parts_[i].speed = kFullSpeed;
    count_speed(&match, kFullSpeed, +1);
    Port& port = ports_[parts_[i].port];
    port.moving.push_back(i);
    if (port.moving.size() == 1) (*programs_)[port.program].set_transferring(port.device, true);
  }
  match.scheduled_ns = kNever_ns;
  for (uint32_t i = match.first; i != kNone; i = parts_[i].next_in_match) update_port(&ports_[parts_[i].port]);
  reschedule(number);
}

void Transfers::use_port(uint32_t index, int sign) {
  const Part& part = parts_[index];
  Port& port = ports_[part.port];
  const auto fabric = static_cast<size_t>(part.fabric);
  const auto change = static_cast<uint32_t>(sign * part.link_share_permille);
  if (part.sends) port.out_permille[fabric] += change;
  if (part.receives) port.in_permille[fabric] += change;
}

uint32_t Transfers::speed_of(const Part& part, const Port& port) const {
  if (part.fixed) return kFullSpeed;
  const auto fabric = static_cast<size_t>(part.fabric);
  uint32_t used_permille = kWholeDevice_permille;
  if (part.fabric != Fabric::kNone && part.sends) used_permille = std::max(used_permille, port.out_permille[fabric]);
  if (part.fabric != Fabric::kNone && part.receives) used_permille = std::max(used_permille, port.in_permille[fabric]);
  const uint32_t speed = port.computing ? computing_speed_ : static_cast<uint32_t>(kFullSpeed);
  return used_permille == kWholeDevice_permille ? speed : std::max(speed * kWholeDevice_permille / used_permille, 1u);
}

void Transfers::count_speed(Match* match, uint32_t speed, int change) {
  SpeedCount* at = std::lower_bound(match->speeds.begin(), match->speeds.end(), speed,
                                    [](const SpeedCount& entry, uint32_t value) { return entry.speed < value; });
  if (at != match->speeds.end() && at->speed == speed) {
    at->count += static_cast<uint32_t>(change);
    if (at->count == 0) match->speeds.erase(at);
  } else {
    match->speeds.insert(at, {speed, 1});
  }
}

// Something changed at the port: the speeds of all that moves there are found anew.
void Transfers::update_port(Port* port) {
  for (const uint32_t index : port->moving) {
    Part& part = parts_[index];
    const uint32_t speed = speed_of(part, *port);
    if (speed == part.speed) continue;
    Match& match = matches_[part.match];
    count_speed(&match, part.speed, -1);
    count_speed(&match, speed, +1);
    part.speed = speed;
    if (match.speeds.front().speed == match.progress.speed()) continue;
    match.progress.set_speed(clock_.now_ns, match.speeds.front().speed);
    reschedule(part.match);
  }
}

// An event that comes too early is put off when it comes; one that would come too late gets another before it.
void Transfers::reschedule(uint32_t number) {
  Match& match = matches_[number];
  const uint64_t end_ns = match.progress.end_ns();
  if (end_ns >= match.scheduled_ns) return;
  match.scheduled_ns = end_ns;
  clock_.queue.schedule(end_ns, 0, number, What::kTransfer);
}

void Transfers::end(uint32_t number) {
  Match& match = matches_[number];
  match.phase = Phase::kDone;
  match.speeds = {};
  for (uint32_t i = match.first; i != kNone; i = parts_[i].next_in_match) {
    use_port(i, -1);
    Port& port = ports_[parts_[i].port];
    port.moving.erase(std::find(port.moving.begin(), port.moving.end(), i));
    update_port(&port);
    if (port.moving.empty()) (*programs_)[port.program].set_transferring(port.device, false);
  }
  for (uint32_t i = match.first; i != kNone; i = parts_[i].next_in_match)
    (*programs_)[parts_[i].program].part_ended(index_in_program(i));
}

void Transfers::handle(const ScheduledEvent& event) {
  if (static_cast<What>(event.what) == What::kPart) {
    (*programs_)[event.program].part_ended(event.index);
    return;
  }
  Match& match = matches_[event.index];
  // One that is no longer meant: a later change brought the end forward.
  if (match.phase == Phase::kDone || match.scheduled_ns != clock_.now_ns) return;
  match.scheduled_ns = kNever_ns;
  if (match.progress.end_ns() > clock_.now_ns) {
    reschedule(event.index);
  } else {
    end(event.index);
  }
}

void Transfers::set_computing(uint32_t program, uint32_t device, bool computing) {
  if (!slowed_by_compute_) return;
  Port& port = ports_[first_port_[program] + device];
  port.computing = computing;
  update_port(&port);
}

bool Transfers::release_one() {
  if (waiting_.empty()) return false;
  begin(*std::min_element(waiting_.begin(), waiting_.end()));
  return true;
}

std::vector<Deadlock::Waiting> Transfers::waiting() const {
  std::vector<Deadlock::Waiting> list;
  for (const uint32_t number : waiting_)
    for (uint32_t i = matches_[number].first; i != kNone; i = parts_[i].next_in_match)
      list.push_back({{parts_[i].program, call_of(i)}, number});
  std::sort(list.begin(), list.end(), [](const Deadlock::Waiting& a, const Deadlock::Waiting& b) {
    return a.call.program != b.call.program ? a.call.program < b.call.program : a.call.call < b.call.call;
  });
  return list;
}

std::vector<ProgramCall> Transfers::last_arrivals() const {
  std::vector<ProgramCall> list(shared_matches_);
  for (size_t m = 0; m < shared_matches_; ++m) {
    const uint32_t part = matches_[m].first;
    if (part != kNone) list[m] = {parts_[part].program, call_of(part)};
  }
  return list;
}

std::vector<uint64_t> Transfers::matched_ns(uint32_t program) const {
  const uint32_t first = first_part_[program];
  std::vector<uint64_t> list((*programs_)[program].program().communications.size());
  for (uint32_t i = 0; i < list.size(); ++i) list[i] = matches_[parts_[first + i].match].begun_ns;
  for (const Late& late : late_)
    if (parts_[late.part].program == program) list[late.part - first] = late.time_ns;
  return list;
}

}  // namespace maya::predictor
