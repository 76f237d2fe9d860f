#include "driver_shim/nccl/peers.h"

#include <algorithm>

#include "driver_shim/nccl/report.h"

namespace maya::nccl {
namespace {

constexpr uint64_t kMillisecond_ns = 1000000;
// System calls: not with every poll.
constexpr uint64_t kBetweenLooks_ns = 50 * kMillisecond_ns;
// How long a thread has to ask that never asked before: watchdogs look several times a second.
constexpr uint64_t kFirstAsk_ns = 1000 * kMillisecond_ns;
// How long a thread that used to ask for the communicator's error has to ask again, if the time-out is not shorter.
constexpr uint64_t kAskAgain_ns = 30000 * kMillisecond_ns;

const void* this_thread() {
  static thread_local char place;
  return &place;
}

void set_error(Communicator& communicator, std::string text) {
  ncclResult_t none = ncclSuccess;
  if (!communicator.error.compare_exchange_strong(none, ncclRemoteError)) return;
  communicator.lost.since_ns = monotonic_ns();
  say(text);
  std::lock_guard<std::mutex> lock(communicator.text_mutex);
  communicator.error_text = std::move(text);
}

void check_call(Communicator& communicator, const PendingCall& pending) {
  for (const int other : missing_ranks(pending)) {
    if (communicator.area->alive(other)) continue;
    if (Area::ready(record_of(pending, other), pending.position)) continue;  // it was the last thing it did
    set_error(communicator, gone_text(communicator, other, pending.own));
    return;
  }
}

bool another_thread_asks(const LostPeer& lost) {
  return lost.several_askers || (lost.asker != nullptr && lost.asker != this_thread());
}

}  // namespace

void check_peers(Communicator& communicator) {
  if (communicator.area == nullptr || communicator.lost.since_ns != 0) return;
  const uint64_t now_ns = monotonic_ns();
  if (now_ns < communicator.looked_ns + kBetweenLooks_ns) return;
  communicator.looked_ns = now_ns;
  if (!communicator.collectives.empty()) check_call(communicator, *communicator.collectives.front());
  for (auto& [peer, receives] : communicator.receives)
    if (!receives.empty()) check_call(communicator, *receives.front());
}

void note_asker(Communicator& communicator) {
  LostPeer& lost = communicator.lost;
  if (lost.asker == nullptr) lost.asker = this_thread();
  lost.several_askers |= lost.asker != this_thread();
  if (lost.since_ns != 0 && lost.told_ns == 0) lost.told_ns = monotonic_ns();
}

bool keeps_waiting(const Communicator& communicator, Wait wait) {
  const LostPeer& lost = communicator.lost;
  if (lost.since_ns == 0) return true;
  if (wait == Wait::kRead) return false;
  const uint64_t timeout_ns = rendezvous_timeout_ns();
  uint64_t until_ns = lost.since_ns + std::min(timeout_ns, kAskAgain_ns);
  if (lost.told_ns != 0) until_ns = lost.told_ns + timeout_ns;
  if (wait == Wait::kSynchronize && !another_thread_asks(lost)) until_ns = lost.since_ns + kFirstAsk_ns;
  return monotonic_ns() < until_ns;
}

void give_up_lost(const PendingCall& pending) {
  Communicator& communicator = *pending.communicator;
  report_lost(communicator, pending.own, missing_ranks(pending));
  drop_calls(communicator);
}

}  // namespace maya::nccl
