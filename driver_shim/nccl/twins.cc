#include "driver_shim/nccl/twins.h"

#include <algorithm>

#include "driver_shim/nccl/kept_sends.h"

namespace maya::nccl {
namespace {

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

void write(const CollectiveCall& call, const unsigned char* bytes, const Runs& runs) {
  for (const auto& [offset, length] : runs)
    shim::driver()->write(address(call.receive) + offset, bytes + offset, length);
}

void write_zeros(const CollectiveCall& call, uint64_t bytes) {
  const std::vector<unsigned char> zeros(std::min(bytes, travel_bytes()), 0);
  shim::driver()->write(address(call.receive), zeros.data(), zeros.size());
}

bool has_root(const CollectiveCall& call) {
  return call.kind == CollectiveKind::kBroadcast || call.kind == CollectiveKind::kScatter ||
         is_point_to_point(call.kind);
}

// The call's place among the calls of its kind on the communicator.
SentKey next_key(Communicator& c, const CollectiveCall& call) {
  std::lock_guard<std::mutex> lock(engine_mutex());
  if (call.kind == CollectiveKind::kSend) return {c.twin_shape, c.next_send[call.root]++, c.rank, call.root};
  if (call.kind == CollectiveKind::kRecv) return {c.twin_shape, c.next_receive[call.root]++, call.root, c.rank};
  return {c.twin_shape, c.next_collective++, call.root, -1};
}

// Writes what an absent rank sent, from byte `begin` on.
void write_sent(const CollectiveCall& call, const Contribution& sent, uint64_t begin, uint64_t bytes) {
  for (const auto& [offset, length] : slice(sent.runs, begin, bytes))
    shim::driver()->write(address(call.receive) + offset, sent.bytes.data() + begin + offset, length);
}

void receive(const Communicator& c, const CollectiveCall& call, const std::optional<Contribution>& from_sender) {
  const uint64_t bytes = call.count * type_bytes(call.type);
  if (from_sender.has_value()) return write_sent(call, *from_sender, 0, bytes);
  const auto own = c.twin_sends.find({call.count, static_cast<int>(call.type)});
  if (own != c.twin_sends.end())
    write(call, own->second.bytes.data(), own->second.runs);
  else if (bytes <= travel_bytes())
    write_zeros(call, bytes);
}

}  // namespace

void answer_as_twins(Communicator& c, const CollectiveCall& call, Contribution own) {
  const uint64_t bytes = call.count * type_bytes(call.type);
  const SentKey key = next_key(c, call);
  std::optional<Contribution> sent;  // by the absent root or sender
  if (has_root(call) && key.source == c.rank)
    keep_sent(key, travels(call, c.ranks) ? &own : nullptr);
  else if (has_root(call) && c.twin_shape != 0)
    sent = find_sent(key, c.world_ranks[static_cast<size_t>(call.root)]);
  switch (call.kind) {
    case CollectiveKind::kSend:
      if (!own.bytes.empty()) c.twin_sends[{call.count, static_cast<int>(call.type)}] = std::move(own);
      return;
    case CollectiveKind::kRecv:
      return receive(c, call, sent);
    case CollectiveKind::kBroadcast:
      if (call.root == c.rank) {
        if (call.receive != call.send) shim::driver()->copy(address(call.receive), address(call.send), bytes);
        c.twin_broadcast = call;
      } else {
        c.twin_waiting.push_back({call, std::move(sent)});
      }
      return;
    case CollectiveKind::kScatter:
      if (call.root == c.rank) break;
      if (sent.has_value()) write_sent(call, *sent, static_cast<uint64_t>(c.rank) * bytes, bytes);
      return;  // else an absent root's bytes are not known
    default:
      break;
  }
  const std::vector<const Contribution*> contributions(static_cast<size_t>(c.ranks), &own);
  const Outcome outcome = carry_out(call, c.rank, contributions);
  write(call, outcome.bytes.data(), outcome.runs);
}

void finish_twin_broadcasts(Communicator& c) {
  const CollectiveCall& own = c.twin_broadcast;
  const bool is_gather = own.count > 0;
  for (const auto& [call, sent] : c.twin_waiting) {
    const uint64_t bytes = call.count * type_bytes(call.type);
    if (!is_gather && sent.has_value()) {
      shim::driver()->make_unknown(address(call.receive), bytes);
      write_sent(call, *sent, 0, bytes);
      continue;
    }
    const void* const from = is_gather ? own.receive : call.send;
    const uint64_t available = is_gather ? std::min(bytes, own.count * type_bytes(own.type)) : bytes;
    if (from == nullptr || from == call.receive) continue;
    shim::driver()->make_unknown(address(call.receive), bytes);
    shim::driver()->copy(address(call.receive), address(from), available);
  }
  c.twin_waiting.clear();
  c.twin_broadcast = {};
}

}  // namespace maya::nccl
