#include "driver_shim/nccl/call.h"

#include <stdlib.h>

namespace maya::nccl {

size_t type_bytes(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

DataType type_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return DataType::kInt8;
    case ncclUint8:
      return DataType::kUint8;
    case ncclInt32:
    case ncclUint32:
      return DataType::kInt32;
    case ncclInt64:
    case ncclUint64:
      return DataType::kInt64;
    case ncclFloat16:
      return DataType::kFloat16;
    case ncclFloat32:
      return DataType::kFloat32;
    case ncclFloat64:
      return DataType::kFloat64;
    case ncclBfloat16:
      return DataType::kBfloat16;
    case ncclFloat8e4m3:
      return DataType::kFloat8E4m3;
    case ncclFloat8e5m2:
      return DataType::kFloat8E5m2;
    default:
      return DataType::kNone;
  }
}

bool is_point_to_point(CollectiveKind kind) { return kind == CollectiveKind::kSend || kind == CollectiveKind::kRecv; }

bool is_reduction(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduce ||
         kind == CollectiveKind::kReduceScatter;
}

uint64_t sent_bytes(const CollectiveCall& call, int rank, int ranks) {
  const uint64_t bytes = call.count * type_bytes(call.type);
  switch (call.kind) {
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return bytes * static_cast<uint64_t>(ranks);
    case CollectiveKind::kScatter:
      return rank == call.root ? bytes * static_cast<uint64_t>(ranks) : 0;
    case CollectiveKind::kBroadcast:
      return rank == call.root ? bytes : 0;
    case CollectiveKind::kRecv:
      return 0;
    default:
      return bytes;
  }
}

uint64_t received_bytes(const CollectiveCall& call, int rank, int ranks) {
  const uint64_t bytes = call.count * type_bytes(call.type);
  switch (call.kind) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll:
      return bytes * static_cast<uint64_t>(ranks);
    case CollectiveKind::kGather:
      return rank == call.root ? bytes * static_cast<uint64_t>(ranks) : 0;
    case CollectiveKind::kReduce:
      return rank == call.root ? bytes : 0;
    case CollectiveKind::kSend:
      return 0;
    default:
      return bytes;
  }
}

std::vector<int> needed_ranks(const CollectiveCall& call, int rank, int ranks) {
  std::vector<int> needed;
  switch (call.kind) {
    case CollectiveKind::kSend:
      break;
    case CollectiveKind::kRecv:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter:
      if (call.root != rank) needed.push_back(call.root);
      break;
    case CollectiveKind::kReduce:
    case CollectiveKind::kGather:
      if (call.root != rank) break;
      [[fallthrough]];
    default:
      for (int other = 0; other < ranks; ++other)
        if (other != rank) needed.push_back(other);
  }
  return needed;
}

uint64_t travel_bytes() {
  static const uint64_t bytes = [] {
    const char* text = secure_getenv("MAYA_COLLECTIVE_BYTES");
    char* end = nullptr;
    const unsigned long long value = text == nullptr ? 0 : strtoull(text, &end, 10);
    return text == nullptr || end == text || *end != 0 ? 1ull << 20 : value;
  }();
  return bytes;
}

bool travels(const CollectiveCall& call, int ranks) {
  constexpr uint64_t kTogether = 64;
  const uint64_t bytes = call.count * type_bytes(call.type);
  const bool one_payload = is_point_to_point(call.kind) || call.kind == CollectiveKind::kBroadcast;
  return bytes <= travel_bytes() && (one_payload || bytes * static_cast<uint64_t>(ranks) <= kTogether * travel_bytes());
}

Contribution parameters_of(const CollectiveCall& call) {
  Contribution made;
  made.kind = call.kind;
  made.type = call.type;
  made.user_operation = call.operation >= ncclNumOps;
  made.operation = made.user_operation ? ncclSum : call.operation;
  made.root = call.root;
  made.count = call.count;
  made.api = call.api;
  return made;
}

std::string difference(const Contribution& a, const Contribution& b) {
  if (a.kind != b.kind) return "operation";
  if (a.type != b.type) return "type";
  if (a.count != b.count) return "count";
  if (is_reduction(a.kind) && (a.operation != b.operation || a.user_operation != b.user_operation)) return "reduction";
  const bool rooted = a.kind == CollectiveKind::kBroadcast || a.kind == CollectiveKind::kReduce ||
                      a.kind == CollectiveKind::kGather || a.kind == CollectiveKind::kScatter;
  return rooted && a.root != b.root ? "root" : "";
}

std::string describe(const Contribution& call) {
  static constexpr const char* kOperations[] = {"sum", "product", "maximum", "minimum", "average"};
  std::string text =
      call.api + " of " + std::to_string(call.count) + " " + std::string(data_type_name(type_of(call.type)));
  if (is_reduction(call.kind))
    text += call.user_operation ? " (scaled sum)" : " (" + std::string(kOperations[call.operation]) + ")";
  if (call.kind == CollectiveKind::kBroadcast || call.kind == CollectiveKind::kReduce ||
      call.kind == CollectiveKind::kGather || call.kind == CollectiveKind::kScatter)
    text += " with root " + std::to_string(call.root);
  return text;
}

}  // namespace maya::nccl
