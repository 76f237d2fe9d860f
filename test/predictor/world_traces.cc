#include "test/predictor/world_traces.h"

#include <algorithm>

namespace maya::test {

WorldTraces::WorldTraces(int32_t ranks) : builders_(static_cast<size_t>(ranks)) {
  for (int32_t i = 0; i < ranks; ++i) {
    rank(i).header().set_rank(i);
    rank(i).header().set_world_size(ranks);
  }
}

uint64_t WorldTraces::communicator(const std::vector<int32_t>& members) {
  const uint64_t unique = 0x1000 + members_.size();
  members_[unique] = members;
  for (size_t i = 0; i < members.size(); ++i) {
    const auto id = static_cast<uint32_t>(members_.size());
    ids_[{unique, members[i]}] = id;
    proto::Packet packet;
    proto::Communicator* communicator = packet.mutable_communicator();
    communicator->set_id(id);
    communicator->set_unique(unique);
    communicator->set_rank(static_cast<uint32_t>(i));
    communicator->set_ranks(static_cast<uint32_t>(members.size()));
    if (list_members)
      for (const int32_t member : members) communicator->add_world_ranks(member);
    rank(members[i]).packet(packet);
  }
  return unique;
}

void WorldTraces::call(uint64_t unique, int32_t at, CollectiveKind kind, const char* api, int64_t bytes,
                       int32_t root_or_peer) {
  const bool transfer = kind == CollectiveKind::kSend || kind == CollectiveKind::kRecv;
  const std::vector<int32_t>& members = members_.at(unique);
  OperationRecord record(transfer ? Family::kPointToPoint : Family::kCollective, api);
  record.set(Key::kCollective, static_cast<int64_t>(kind)).set(Key::kBytes, bytes);
  record.set(Key::kDataType, static_cast<int64_t>(type)).set(Key::kCommunicator, ids_.at({unique, at}));
  record.set(Key::kRanks, static_cast<int64_t>(members.size()));
  record.set(transfer ? Key::kPeer : Key::kRoot, root_or_peer);
  rank(at).group = group_;
  rank(at).after(gap_ns).operation(record);
  rank(at).group = 0;
}

void WorldTraces::collective(uint64_t unique, const std::vector<int32_t>& ranks, CollectiveKind kind, int64_t bytes,
                             int32_t root) {
  static constexpr const char* kApis[] = {"ncclAllReduce",     "ncclBroadcast", "ncclReduce", "ncclAllGather",
                                          "ncclReduceScatter", "ncclSend",      "ncclRecv",   "ncclAlltoAll",
                                          "ncclGather",        "ncclScatter"};
  for (const int32_t at : ranks) call(unique, at, kind, kApis[static_cast<size_t>(kind)], bytes, root);
}

void WorldTraces::send(uint64_t unique, int32_t from, int32_t to, int64_t bytes) {
  const std::vector<int32_t>& members = members_.at(unique);
  const auto peer = std::find(members.begin(), members.end(), to) - members.begin();
  call(unique, from, CollectiveKind::kSend, "ncclSend", bytes, static_cast<int32_t>(peer));
}

void WorldTraces::receive(uint64_t unique, int32_t at, int32_t from, int64_t bytes) {
  const std::vector<int32_t>& members = members_.at(unique);
  const auto peer = std::find(members.begin(), members.end(), from) - members.begin();
  call(unique, at, CollectiveKind::kRecv, "ncclRecv", bytes, static_cast<int32_t>(peer));
}

void WorldTraces::group(uint32_t number, const std::function<void()>& calls) {
  group_ = number;
  calls();
  group_ = 0;
}

std::vector<trace::LoadedTrace> WorldTraces::load() {
  std::vector<trace::LoadedTrace> traces;
  for (TraceBuilder& builder : builders_) {
    builder.header().set_gpus_per_node(gpus_per_node);
    traces.push_back(builder.load());
    traces.back().path = "rank" + std::to_string(builder.header().rank()) + ".pb";
  }
  return traces;
}

}  // namespace maya::test
