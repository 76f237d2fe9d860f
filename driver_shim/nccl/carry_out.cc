// What collectives leave in the receive buffer of one rank, given every rank's bytes. Unknown input gives unknown
// output, byte by byte (element by element for reductions).
#include <string.h>

#include <algorithm>

#include "driver_shim/nccl/call.h"

namespace maya::nccl {
namespace {

// Puts [begin, begin + bytes) of a contribution at `offset` of the outcome.
void place(Outcome* outcome, uint64_t offset, const Contribution& from, uint64_t begin, uint64_t bytes) {
  if (from.bytes.empty() || begin >= from.bytes.size()) return;
  bytes = std::min<uint64_t>(bytes, from.bytes.size() - begin);
  memcpy(outcome->bytes.data() + offset, from.bytes.data() + begin, bytes);
  for (const auto& [at, length] : slice(from.runs, begin, bytes)) {
    if (!outcome->runs.empty() && outcome->runs.back().first + outcome->runs.back().second == offset + at)
      outcome->runs.back().second += length;
    else
      outcome->runs.emplace_back(offset + at, length);
  }
}

// Reduces [begin, begin + count elements) of every contribution.
void reduce(Outcome* outcome, const CollectiveCall& call, const std::vector<const Contribution*>& contributions,
            uint64_t begin) {
  const uint64_t element = type_bytes(call.type), bytes = call.count * element;
  Runs known;
  for (size_t i = 0; i < contributions.size(); ++i) {
    const Contribution& from = *contributions[i];
    if (from.bytes.size() < begin + bytes) {
      outcome->runs.clear();
      return;
    }
    const Runs part = slice(from.runs, begin, bytes);
    known = i == 0 ? part : intersection(known, part);
    if (i == 0)
      memcpy(outcome->bytes.data(), from.bytes.data() + begin, bytes);
    else
      reduce_into(outcome->bytes.data(), from.bytes.data() + begin, call.count, call.type,
                  static_cast<ncclRedOp_t>(from.operation));
  }
  if (contributions[0]->operation == ncclAvg)
    finish_average(outcome->bytes.data(), call.count, call.type, static_cast<int>(contributions.size()));
  for (const auto& [offset, length] : known) {
    const uint64_t first = (offset + element - 1) / element * element;
    const uint64_t end = (offset + length) / element * element;
    if (first < end) outcome->runs.emplace_back(first, end - first);
  }
}

}  // namespace

Runs slice(const Runs& runs, uint64_t begin, uint64_t bytes) {
  Runs part;
  for (const auto& [offset, length] : runs) {
    const uint64_t low = std::max(offset, begin), high = std::min(offset + length, begin + bytes);
    if (low < high) part.emplace_back(low - begin, high - low);
  }
  return part;
}

Runs intersection(const Runs& a, const Runs& b) {
  Runs both;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const uint64_t low = std::max(a[i].first, b[j].first);
    const uint64_t high = std::min(a[i].first + a[i].second, b[j].first + b[j].second);
    if (low < high) both.emplace_back(low, high - low);
    if (a[i].first + a[i].second < b[j].first + b[j].second)
      ++i;
    else
      ++j;
  }
  return both;
}

Outcome carry_out(const CollectiveCall& call, int rank, const std::vector<const Contribution*>& contributions) {
  const auto ranks = static_cast<int>(contributions.size());
  const uint64_t bytes = call.count * type_bytes(call.type);
  const auto from = [&](int other) -> const Contribution& { return *contributions[static_cast<size_t>(other)]; };
  Outcome outcome;
  const uint64_t whole = received_bytes(call, rank, ranks);
  const bool any = std::any_of(contributions.begin(), contributions.end(),
                               [](const Contribution* c) { return c != nullptr && !c->bytes.empty(); });
  if (whole == 0 || !any) return outcome;
  outcome.bytes.resize(whole);
  const uint64_t own = static_cast<uint64_t>(rank) * bytes;
  switch (call.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce:
      reduce(&outcome, call, contributions, 0);
      break;
    case CollectiveKind::kReduceScatter:
      reduce(&outcome, call, contributions, own);
      break;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kRecv:
      place(&outcome, 0, from(call.root), 0, bytes);
      break;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather:
      for (int other = 0; other < ranks; ++other)
        place(&outcome, static_cast<uint64_t>(other) * bytes, from(other), 0, bytes);
      break;
    case CollectiveKind::kAllToAll:
      for (int other = 0; other < ranks; ++other)
        place(&outcome, static_cast<uint64_t>(other) * bytes, from(other), own, bytes);
      break;
    case CollectiveKind::kScatter:
      place(&outcome, 0, from(call.root), own, bytes);
      break;
    case CollectiveKind::kSend:
      break;
  }
  return outcome;
}

}  // namespace maya::nccl
