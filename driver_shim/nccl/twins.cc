#include "driver_shim/nccl/twins.h"

#include <algorithm>

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

}  // namespace

void answer_as_twins(Communicator& c, const CollectiveCall& call, Contribution own) {
  const uint64_t bytes = call.count * type_bytes(call.type);
  const std::pair<uint64_t, int> shape{call.count, static_cast<int>(call.type)};
  switch (call.kind) {
    case CollectiveKind::kSend:
      if (!own.bytes.empty()) c.twin_sends[shape] = std::move(own);
      return;
    case CollectiveKind::kRecv: {
      const auto sent = c.twin_sends.find(shape);
      if (sent != c.twin_sends.end())
        write(call, sent->second.bytes.data(), sent->second.runs);
      else if (bytes <= travel_bytes())
        write_zeros(call, bytes);
      return;
    }
    case CollectiveKind::kBroadcast:
      if (call.root == c.rank) {
        if (call.receive != call.send) shim::driver()->copy(address(call.receive), address(call.send), bytes);
        c.twin_broadcast = call;
      } else {
        c.twin_waiting.push_back(call);
      }
      return;
    case CollectiveKind::kScatter:
      if (call.root == c.rank) break;
      return;  // an absent root's bytes are not known
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
  for (const CollectiveCall& call : c.twin_waiting) {
    const uint64_t bytes = call.count * type_bytes(call.type);
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
