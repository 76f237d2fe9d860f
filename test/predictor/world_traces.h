// Traces of the ranks of a world, for tests.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "test/predictor/trace_builder.h"

namespace maya::test {

class WorldTraces {
 public:
  explicit WorldTraces(int32_t ranks);

  TraceBuilder& rank(int32_t rank) { return builders_[static_cast<size_t>(rank)]; }
  static int32_t rank_of(uint32_t rank_class) { return static_cast<int32_t>(rank_class); }

  bool list_members = true;    // of communicators made from now on, in the trace
  uint32_t gpus_per_node = 0;  // in the headers of all
  DataType type = DataType::kFloat32;
  uint64_t gap_ns = 5'000;  // before every call

  // Of these ranks of the world, in this order. Returns its unique number.
  uint64_t communicator(const std::vector<int32_t>& members);
  void collective(uint64_t unique, const std::vector<int32_t>& ranks, CollectiveKind kind, int64_t bytes,
                  int32_t root = 0);
  void send(uint64_t unique, int32_t from, int32_t to, int64_t bytes);
  void receive(uint64_t unique, int32_t at, int32_t from, int64_t bytes);
  void transfer(uint64_t unique, int32_t from, int32_t to, int64_t bytes) {
    send(unique, from, to, bytes);
    receive(unique, to, from, bytes);
  }
  // Calls made inside are in the ncclGroup of that number.
  void group(uint32_t number, const std::function<void()>& calls);

  std::vector<trace::LoadedTrace> load();

 private:
  void call(uint64_t unique, int32_t rank, CollectiveKind kind, const char* api, int64_t bytes, int32_t root_or_peer);
  std::vector<TraceBuilder> builders_;
  std::map<uint64_t, std::vector<int32_t>> members_;
  std::map<std::pair<uint64_t, int32_t>, uint32_t> ids_;  // by communicator and rank
  uint32_t group_ = 0;
};

}  // namespace maya::test
