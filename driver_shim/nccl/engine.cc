// Posting calls, taking results, and waiting.
#include <algorithm>
#include <unordered_map>

#include "driver_shim/nccl/communicator.h"
#include "driver_shim/nccl/peers.h"
#include "driver_shim/nccl/report.h"
#include "driver_shim/nccl/twins.h"

namespace maya::nccl {
namespace {

constexpr uint64_t kMillisecond_ns = 1000000;
constexpr uint64_t kSecond_ns = 1000 * kMillisecond_ns;
// How often a waiting rank looks whether the others still live.
constexpr uint64_t kLook_ns = 100 * kMillisecond_ns;
// Bytes that are only read, without the program asking to wait, are waited for unless the missing rank waits itself for
// this long: the two could be waiting for each other.
constexpr uint64_t kPatience_ns = 30 * kSecond_ns;
// A line tells which ranks are missing after this time.
constexpr uint64_t kExplain_ns = 60 * kSecond_ns;

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// Calls that have not ended, by the number that the driver gives back.
std::unordered_map<uint64_t, std::shared_ptr<PendingCall>>& pending_calls() {
  static auto* const all = new std::unordered_map<uint64_t, std::shared_ptr<PendingCall>>;
  return *all;
}
uint64_t next_number = 1;

std::shared_ptr<PendingCall> find(uint64_t number) {
  const auto found = pending_calls().find(number);
  return found == pending_calls().end() ? nullptr : found->second;
}

void end(PendingCall& pending) {
  pending.ended = true;
  if (pending.tag != 0) shim::driver()->end_pending(pending.tag);
}

void take_result(PendingCall& pending) {
  const Communicator& c = *pending.communicator;
  const CollectiveCall& call = pending.call;
  std::vector<Contribution> others(static_cast<size_t>(c.ranks));
  std::vector<const Contribution*> contributions(static_cast<size_t>(c.ranks), nullptr);
  contributions[static_cast<size_t>(c.rank)] = &pending.own;
  std::vector<std::pair<int, std::string>> different;
  for (const int other : needed_ranks(call, c.rank, c.ranks)) {
    Contribution& from = others[static_cast<size_t>(other)];
    const uint64_t bytes =
        call.kind == CollectiveKind::kRecv ? received_bytes(call, c.rank, c.ranks) : sent_bytes(call, other, c.ranks);
    from = read_record(*c.area, record_of(pending, other), bytes);
    contributions[static_cast<size_t>(other)] = &from;
    if (call.kind == CollectiveKind::kRecv) {
      if (from.count != call.count || from.type != call.type) different.emplace_back(other, describe(from));
    } else if (!difference(pending.own, from).empty()) {
      different.emplace_back(other, describe(from));
    }
  }
  if (!different.empty()) {
    report_mismatch(c, pending.position, pending.own, different);
    if (call.kind != CollectiveKind::kRecv) return;
  }
  const Outcome outcome = carry_out(call, c.rank, contributions);
  for (const auto& [offset, bytes] : outcome.runs)
    shim::driver()->pending_arrived(pending.tag, address(call.receive) + offset, outcome.bytes.data() + offset, bytes);
}

// Takes the result of a call whose contributions are all there.
bool try_end(PendingCall& pending) {
  if (pending.ended) return true;
  if (!missing_ranks(pending).empty()) return false;
  take_result(pending);
  end(pending);
  return true;
}

void forget(const PendingCall& pending) { pending_calls().erase(pending.number); }

// Marks every rank of this process in the area as waiting, for those who wait for it.
class Blocked {
 public:
  explicit Blocked(const Communicator& communicator)
      : area_(communicator.area), member_(area_->member(communicator.rank)) {
    member_.blocked_since_ns.store(monotonic_ns(), std::memory_order_relaxed);
  }
  ~Blocked() { member_.blocked_since_ns.store(0, std::memory_order_relaxed); }
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;

 private:
  const std::shared_ptr<Area> area_;  // the communicator may be aborted meanwhile
  Member& member_;
};

bool waits_itself(const Communicator& communicator, const std::vector<int>& ranks) {
  const uint64_t now_ns = monotonic_ns();
  for (const int rank : ranks) {
    const uint64_t since_ns = communicator.area->member(rank).blocked_since_ns.load(std::memory_order_relaxed);
    if (since_ns == 0 || now_ns < since_ns + kPatience_ns) return false;
  }
  return true;
}

int poll_call(void* argument) {
  std::lock_guard<std::mutex> lock(engine_mutex());
  const auto pending = find(reinterpret_cast<uint64_t>(argument));
  if (pending == nullptr) return 1;
  progress(*pending->communicator);
  if (!pending->ended) check_peers(*pending->communicator);
  if (!pending->ended && !keeps_waiting(*pending->communicator, Wait::kPoll)) give_up_lost(*pending);
  return pending->ended ? 1 : 0;
}

void wait_for_call(void* argument, int synchronization) {
  const uint64_t start_ns = monotonic_ns();
  std::unique_ptr<Blocked> blocked;
  bool explained = false;
  for (uint64_t round = 0;; ++round) {
    std::shared_ptr<Area> area;
    uint32_t word = 0;
    {
      std::lock_guard<std::mutex> lock(engine_mutex());
      const auto pending = find(reinterpret_cast<uint64_t>(argument));
      if (pending == nullptr) return;
      Communicator& communicator = *pending->communicator;
      area = communicator.area;
      word = area->word();
      progress(communicator);
      if (!pending->ended && round > 0) check_peers(communicator);
      if (pending->ended) return;
      if (!keeps_waiting(communicator, synchronization == 0 ? Wait::kRead : Wait::kSynchronize)) {
        if (synchronization != 0) give_up_lost(*pending);
        return;
      }
      if (blocked == nullptr) blocked = std::make_unique<Blocked>(communicator);
      const uint64_t waited_ns = monotonic_ns() - start_ns;
      if (synchronization == 0 && waited_ns > kPatience_ns) {
        const std::vector<int> missing = missing_ranks(*pending);
        if (waits_itself(communicator, missing)) {
          report_given_up(communicator, pending->own, missing);
          return;
        }
      }
      if (!explained && waited_ns > kExplain_ns) {
        explained = true;
        report_waiting(communicator, pending->position, pending->own, missing_ranks(*pending));
      }
    }
    area->wait(word, kLook_ns);
  }
}

constexpr PendingCallbacks kCallbacks = {&poll_call, &wait_for_call};

// Ended by another thread. With the mutex held: nothing may be left to its engine after that.
bool aborted(const Communicator& communicator) {
  return communicator.state.load() == Communicator::State::kEnded ||
         communicator.state.load() == Communicator::State::kRevoked;
}

// Waits for room in a ring. False when there is none to be had: the reader is gone, or the communicator aborted.
template <typename Room>
bool wait_for_room(Communicator& communicator, Room&& has_room) {
  while (!has_room()) {
    const uint32_t word = communicator.area->word();
    {
      std::lock_guard<std::mutex> lock(engine_mutex());
      progress(communicator);
      check_peers(communicator);
      if (communicator.error.load() != ncclSuccess || aborted(communicator)) return false;
    }
    if (has_room()) break;
    Blocked blocked(communicator);
    communicator.area->wait(word, kLook_ns);
  }
  return true;
}

void answer_self_calls(Communicator& communicator) {
  while (!communicator.self_sends.empty() && !communicator.self_receives.empty()) {
    const auto [send, from] = std::move(communicator.self_sends.front());
    const CollectiveCall receive = communicator.self_receives.front();
    communicator.self_sends.pop_front();
    communicator.self_receives.pop_front();
    const uint64_t bytes = std::min(send.count * type_bytes(send.type), receive.count * type_bytes(receive.type));
    for (const auto& [offset, length] : slice(from.runs, 0, bytes))
      shim::driver()->write(address(receive.receive) + offset, from.bytes.data() + offset, length);
  }
}

// What a call gives when no other rank's bytes are needed.
void answer_alone(const Communicator& c, const CollectiveCall& call, const Contribution& own) {
  const uint64_t bytes = received_bytes(call, c.rank, c.ranks);
  if (bytes == 0) return;
  if (call.kind != CollectiveKind::kScatter && !own.user_operation) {
    if (call.receive != call.send) shim::driver()->copy(address(call.receive), address(call.send), bytes);
    return;
  }
  std::vector<const Contribution*> contributions(static_cast<size_t>(c.ranks), nullptr);
  contributions[static_cast<size_t>(c.rank)] = &own;
  const Outcome outcome = carry_out(call, c.rank, contributions);
  for (const auto& [offset, length] : outcome.runs)
    shim::driver()->write(address(call.receive) + offset, outcome.bytes.data() + offset, length);
}

// A call that has to wait for others. With the mutex held.
ncclResult_t wait_later(const std::shared_ptr<PendingCall>& pending) {
  const CollectiveCall& call = pending->call;
  const Communicator& c = *pending->communicator;
  const uint64_t bytes = received_bytes(call, c.rank, c.ranks);
  const bool may_arrive = travels(call, c.ranks) && !(is_reduction(call.kind) && pending->own.runs.empty());
  const MemoryRange result{address(call.receive), bytes};
  pending->number = next_number++;
  if (const CUresult status = shim::driver()->add_pending(reinterpret_cast<CUstream>(call.stream), &kCallbacks,
                                                          reinterpret_cast<void*>(pending->number), &result,
                                                          bytes > 0 && may_arrive ? 1 : 0, &pending->tag);
      status != CUDA_SUCCESS)
    return failed(ncclUnhandledCudaError,
                  std::string(call.api) + ": the driver returned error " + std::to_string(status));
  pending_calls().emplace(pending->number, pending);
  return ncclSuccess;
}

ncclResult_t not_posted(Communicator& c, const CollectiveCall& call) {
  if (c.error.load() != ncclSuccess) return failed(c.error.load(), c.error_text_copy());
  return failed(ncclInvalidUsage, std::string(call.api) + ": the communicator was aborted");
}

ncclResult_t post_send(Communicator& c, const CollectiveCall& call, const Contribution& own) {
  uint64_t position = 0;
  {
    std::lock_guard<std::mutex> lock(engine_mutex());
    position = c.next_send[call.root]++;
  }
  const bool room = wait_for_room(c, [&] {
    return c.area->messages_done(c.rank, call.root).load(std::memory_order_acquire) + Area::kMessages > position;
  });
  if (!room) return not_posted(c, call);
  Record& record = c.area->message(c.rank, call.root, position);
  write_record(c, record, own, {true, call.root, position});
  c.area->publish(record, position);
  return ncclSuccess;
}

ncclResult_t post_receive(const std::shared_ptr<Communicator>& communicator, const CollectiveCall& call,
                          Contribution own) {
  auto pending = std::make_shared<PendingCall>();
  pending->communicator = communicator;
  pending->call = call;
  pending->own = std::move(own);
  std::lock_guard<std::mutex> lock(engine_mutex());
  if (aborted(*communicator)) return not_posted(*communicator, call);
  pending->position = communicator->next_receive[call.root]++;
  if (const ncclResult_t status = wait_later(pending); status != ncclSuccess) return status;
  communicator->receives[call.root].push_back(pending);
  return ncclSuccess;
}

ncclResult_t post_collective(const std::shared_ptr<Communicator>& communicator, const CollectiveCall& call,
                             Contribution own) {
  Communicator& c = *communicator;
  auto pending = std::make_shared<PendingCall>();
  pending->communicator = communicator;
  pending->call = call;
  {
    std::lock_guard<std::mutex> lock(engine_mutex());
    pending->position = c.next_collective++;
  }
  const uint64_t position = pending->position;
  const bool room = wait_for_room(c, [&] {
    for (int other = 0; other < c.ranks; ++other)
      if (c.area->member(other).collectives_done.load(std::memory_order_acquire) + Area::kCollectives <= position &&
          (other == c.rank || c.area->alive(other)))
        return false;
    return true;
  });
  if (!room) return not_posted(c, call);
  Record& record = c.area->collective(c.rank, position);
  write_record(c, record, own, {false, 0, position});
  c.area->publish(record, position);
  const bool waits = !needed_ranks(call, c.rank, c.ranks).empty();
  if (!waits) answer_alone(c, call, own);
  pending->own = std::move(own);
  std::lock_guard<std::mutex> lock(engine_mutex());
  if (aborted(c)) return not_posted(c, call);
  if (waits)
    if (const ncclResult_t status = wait_later(pending); status != ncclSuccess) return status;
  c.collectives.push_back(pending);
  return ncclSuccess;
}

}  // namespace

const Record& record_of(const PendingCall& pending, int from) {
  const Communicator& c = *pending.communicator;
  return pending.call.kind == CollectiveKind::kRecv ? c.area->message(from, c.rank, pending.position)
                                                    : c.area->collective(from, pending.position);
}

std::vector<int> missing_ranks(const PendingCall& pending) {
  const Communicator& c = *pending.communicator;
  std::vector<int> missing;
  for (const int other : needed_ranks(pending.call, c.rank, c.ranks))
    if (!Area::ready(record_of(pending, other), pending.position)) missing.push_back(other);
  return missing;
}

std::mutex& engine_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

void progress(Communicator& communicator) {
  if (communicator.area == nullptr) return;
  auto& queue = communicator.collectives;
  while (!queue.empty() && try_end(*queue.front())) {
    communicator.area->member(communicator.rank)
        .collectives_done.store(queue.front()->position + 1, std::memory_order_release);
    forget(*queue.front());
    queue.pop_front();
  }
  for (auto& [peer, receives] : communicator.receives)
    while (!receives.empty() && try_end(*receives.front())) {
      communicator.area->messages_done(peer, communicator.rank)
          .store(receives.front()->position + 1, std::memory_order_release);
      forget(*receives.front());
      receives.pop_front();
    }
}

void drop_calls(Communicator& communicator) {
  const auto drop = [&](std::deque<std::shared_ptr<PendingCall>>& queue) {
    for (const auto& pending : queue) {
      if (!pending->ended) end(*pending);
      forget(*pending);
    }
    queue.clear();
  };
  drop(communicator.collectives);
  for (auto& [peer, receives] : communicator.receives) drop(receives);
}

void finish_calls(const std::shared_ptr<Communicator>& communicator) {
  if (communicator->area == nullptr) return;
  for (;;) {
    uint64_t number = 0;
    {
      std::lock_guard<std::mutex> lock(engine_mutex());
      progress(*communicator);
      for (const auto& [key, pending] : pending_calls())
        if (pending->communicator == communicator) number = key;
    }
    if (number == 0) return;
    wait_for_call(reinterpret_cast<void*>(number), 1);
  }
}

bool unmatched_self_calls(const Communicator& communicator) {
  return !communicator.self_sends.empty() || !communicator.self_receives.empty();
}

ncclResult_t post(const std::shared_ptr<Communicator>& communicator, const CollectiveCall& call, Contribution own) {
  Communicator& c = *communicator;
  if (is_point_to_point(call.kind) && call.root == c.rank) {
    std::lock_guard<std::mutex> lock(engine_mutex());
    if (call.kind == CollectiveKind::kSend)
      c.self_sends.emplace_back(call, std::move(own));
    else
      c.self_receives.push_back(call);
    answer_self_calls(c);
    return ncclSuccess;
  }
  if (c.twins) {
    answer_as_twins(c, call, std::move(own));
    return ncclSuccess;
  }
  if (c.area == nullptr) {
    answer_alone(c, call, own);
    return ncclSuccess;
  }
  return call.kind == CollectiveKind::kSend   ? post_send(c, call, own)
         : call.kind == CollectiveKind::kRecv ? post_receive(communicator, call, std::move(own))
                                              : post_collective(communicator, call, std::move(own));
}

}  // namespace maya::nccl
