// One collective or point-to-point call of one rank, and the bytes that it contributes.
#pragma once

#include <nccl.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "predictor/core/operation.h"

namespace maya::nccl {

struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  const char* api = "";
  const void* send = nullptr;
  void* receive = nullptr;
  size_t count = 0;  // as NCCL counts for this kind
  ncclDataType_t type = ncclInt8;
  int operation = ncclSum;  // ncclRedOp_t, built in or made by ncclRedOpCreatePreMulSum
  int root = 0;             // root or peer
  cudaStream_t stream = nullptr;
};

// (offset, bytes), ascending, without neighbours that touch.
using Runs = std::vector<std::pair<uint64_t, uint64_t>>;

// What a rank gives to a call: its parameters, and its bytes with what is known of them. Bytes outside the runs are
// zero. No bytes at all: nothing is known.
struct Contribution {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  ncclDataType_t type = ncclInt8;
  bool user_operation = false;
  int operation = 0;
  int root = 0;
  uint64_t count = 0;
  std::string api;
  std::vector<unsigned char> bytes;
  Runs runs;
};

// What a call leaves in the receive buffer; empty bytes: all unknown.
struct Outcome {
  std::vector<unsigned char> bytes;
  Runs runs;
};

size_t type_bytes(ncclDataType_t type);  // 0 for an invalid type
DataType type_of(ncclDataType_t type);
bool is_point_to_point(CollectiveKind kind);
bool is_reduction(CollectiveKind kind);

// Bytes that rank `rank` reads from its send buffer, and writes into its receive buffer.
uint64_t sent_bytes(const CollectiveCall& call, int rank, int ranks);
uint64_t received_bytes(const CollectiveCall& call, int rank, int ranks);
// Ranks whose contributions rank `rank` needs, other than its own.
std::vector<int> needed_ranks(const CollectiveCall& call, int rank, int ranks);

// Payloads up to this many bytes, as NCCL counts them, travel: MAYA_COLLECTIVE_BYTES, 1 MiB when not set.
uint64_t travel_bytes();
// Whether the call's payload travels: it is small enough, and so are the payloads of all ranks together (64 times as
// much), which a rank gathers or reduces.
bool travels(const CollectiveCall& call, int ranks);

// The call's parameters without bytes.
Contribution parameters_of(const CollectiveCall& call);
// Why two ranks' calls are not the same one: empty when they are.
std::string difference(const Contribution& a, const Contribution& b);
// "ncclAllReduce of 4 float32 (sum)".
std::string describe(const Contribution& call);

// The outcome for rank `rank` of `contributions`, which holds one of every rank that needed_ranks() names and its own;
// others are null.
Outcome carry_out(const CollectiveCall& call, int rank, const std::vector<const Contribution*>& contributions);

// accumulator[i] = accumulator[i] (op) value[i]; averages are divided by the caller's last step (finish_average).
void reduce_into(void* accumulator, const void* value, size_t count, ncclDataType_t type, ncclRedOp_t operation);
void finish_average(void* accumulator, size_t count, ncclDataType_t type, int ranks);
// values[i] *= *scalar, both of `type`.
void scale(void* values, size_t count, ncclDataType_t type, const void* scalar);

Runs intersection(const Runs& a, const Runs& b);
// The part of `runs` in [begin, begin + bytes), from 0 on.
Runs slice(const Runs& runs, uint64_t begin, uint64_t bytes);

}  // namespace maya::nccl
