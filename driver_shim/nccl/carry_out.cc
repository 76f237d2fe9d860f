// What collectives do to bytes, once every rank of a communicator has issued its call. Payloads up to kTravel_bytes
// really travel; larger results become unknown (design.md section 3).
#include <algorithm>

#include "driver_shim/nccl/communicator.h"

namespace maya::nccl {
namespace {

constexpr size_t kTravel_bytes = 1 << 20;

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

void move(void* destination, const void* source, size_t bytes) {
  if (bytes == 0 || destination == source) return;
  if (bytes <= kTravel_bytes)
    shim::driver()->copy(address(destination), address(source), bytes);
  else
    shim::driver()->make_unknown(address(destination), bytes);
}

// Reduces element range [first, first + count) of every rank's send buffer into `destination`.
void reduce(const std::vector<PendingCall>& calls, size_t first, size_t count, void* destination) {
  const ncclDataType_t type = calls[0].type;
  const size_t bytes = count * type_bytes(type);
  const MayaTable& driver = *shim::driver();
  const auto part = [&](const PendingCall& call) { return address(call.send) + first * type_bytes(type); };
  const bool built_in = calls[0].operation < ncclNumOps;
  if (calls.size() == 1 && built_in) return move(destination, reinterpret_cast<const void*>(part(calls[0])), bytes);
  bool computable = bytes <= kTravel_bytes && built_in;
  std::vector<unsigned char> result(computable ? bytes : 0), other(result.size());
  for (size_t i = 0; computable && i < calls.size(); ++i) {
    int known = 0;
    computable =
        driver.read(i == 0 ? result.data() : other.data(), part(calls[i]), bytes, &known) == CUDA_SUCCESS && known != 0;
    if (computable && i > 0)
      reduce_into(result.data(), other.data(), count, type, static_cast<ncclRedOp_t>(calls[0].operation));
  }
  if (!computable) {
    driver.make_unknown(address(destination), bytes);
    return;
  }
  if (calls[0].operation == ncclAvg) finish_average(result.data(), count, type, static_cast<int>(calls.size()));
  driver.write(address(destination), result.data(), bytes);
}

void* offset(void* base, size_t bytes) { return static_cast<char*>(base) + bytes; }
const void* offset(const void* base, size_t bytes) { return static_cast<const char*>(base) + bytes; }

void effects(const std::vector<PendingCall>& calls) {
  const size_t ranks = calls.size(), count = calls[0].count, bytes = count * type_bytes(calls[0].type);
  const auto root = static_cast<size_t>(calls[0].root);
  // An in-place reduction of one rank must not change what the others still read: results are made first, then handed
  // out.
  switch (calls[0].kind) {
    case CollectiveKind::kAllReduce:
      reduce(calls, 0, count, calls[0].receive);
      for (size_t r = 1; r < ranks; ++r) move(calls[r].receive, calls[0].receive, bytes);
      break;
    case CollectiveKind::kReduce:
      reduce(calls, 0, count, calls[root].receive);
      break;
    case CollectiveKind::kReduceScatter:
      for (size_t r = 0; r < ranks; ++r) reduce(calls, r * count, count, calls[r].receive);
      break;
    case CollectiveKind::kBroadcast:
      for (size_t r = 0; r < ranks; ++r) move(calls[r].receive, calls[root].send, bytes);
      break;
    case CollectiveKind::kAllGather:
      for (size_t r = 0; r < ranks; ++r)
        for (size_t from = 0; from < ranks; ++from)
          move(offset(calls[r].receive, from * bytes), calls[from].send, bytes);
      break;
    case CollectiveKind::kAllToAll:
      for (size_t r = 0; r < ranks; ++r)
        for (size_t from = 0; from < ranks; ++from)
          move(offset(calls[r].receive, from * bytes), offset(calls[from].send, r * bytes), bytes);
      break;
    case CollectiveKind::kGather:
      for (size_t from = 0; from < ranks; ++from)
        move(offset(calls[root].receive, from * bytes), calls[from].send, bytes);
      break;
    case CollectiveKind::kScatter:
      for (size_t r = 0; r < ranks; ++r) move(calls[r].receive, offset(calls[root].send, r * bytes), bytes);
      break;
    case CollectiveKind::kSend:
    case CollectiveKind::kRecv:
      break;
  }
}

bool point_to_point(const PendingCall& call) {
  return call.kind == CollectiveKind::kSend || call.kind == CollectiveKind::kRecv;
}

// Matches the sends at the heads of the queues with their receives, first in first out per (source, destination).
bool pair_point_to_point(Clique& clique) {
  for (size_t source = 0; source < clique.queues.size(); ++source) {
    auto& sends = clique.queues[source];
    for (auto send = sends.begin(); send != sends.end() && point_to_point(*send); ++send) {
      if (send->kind != CollectiveKind::kSend) continue;
      auto& receives = clique.queues[static_cast<size_t>(send->root)];
      for (auto receive = receives.begin(); receive != receives.end() && point_to_point(*receive); ++receive) {
        if (receive->kind != CollectiveKind::kRecv || receive->root != static_cast<int>(source)) continue;
        move(receive->receive, send->send,
             std::min(send->count * type_bytes(send->type), receive->count * type_bytes(receive->type)));
        if (&sends == &receives && receive < send) std::swap(send, receive);
        if (&sends == &receives) {
          sends.erase(receive);  // the later one first: erasing keeps earlier positions valid
          sends.erase(send);
        } else {
          receives.erase(receive);
          sends.erase(send);
        }
        return true;
      }
    }
  }
  return false;
}

}  // namespace

ncclResult_t carry_out(Clique& clique) {
  std::lock_guard<std::mutex> lock(clique.mutex);
  for (;;) {
    if (pair_point_to_point(clique)) continue;
    bool all = true;
    for (const auto& queue : clique.queues) all = all && !queue.empty() && !point_to_point(queue.front());
    if (!all) break;
    std::vector<PendingCall> calls;
    for (auto& queue : clique.queues) {
      calls.push_back(queue.front());
      queue.pop_front();
    }
    for (const PendingCall& call : calls)
      if (call.kind != calls[0].kind || call.type != calls[0].type || call.count != calls[0].count)
        return failed(ncclInvalidUsage, std::string("ranks disagree: ") + calls[0].api + " of " +
                                            std::to_string(calls[0].count) + " elements meets " + call.api + " of " +
                                            std::to_string(call.count));
    effects(calls);
  }
  for (const auto& queue : clique.queues)
    if (clique.ranks == 1 && !queue.empty())
      return failed(ncclInvalidUsage, "a send or receive to the own rank has no partner in its group");
  return ncclSuccess;
}

}  // namespace maya::nccl
