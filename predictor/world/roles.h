// Which ranks of a world do the same, found from the traces of ranks that ran alone: what to run next, and for whom
// each trace stands.
//
// Ranks differ where data is sent from one to another (pipelines): the role of a rank is its position in each group
// that it sends or receives in. Groups whose members all exchange with all (all-to-all by sends), or that one member
// sends to or receives from as a root, tell nobody apart. Everything else is compared: ranks of one role must have
// issued the same operations in the same order.
#pragma once

#include <cstdint>
#include <vector>

#include "predictor/world/world.h"
#include "trace_proto/loaded_trace.h"

namespace maya::predictor {

// A direction of the grid that a launcher numbers ranks by: rank r has position r / stride % size in it.
struct Dimension {
  int32_t stride = 1;
  int32_t size = 1;
  bool operator==(const Dimension&) const = default;
};

struct RankSummary {
  int32_t rank = 0;
  // Hash of the device operations in order, by stream (numbered by first use): kernels with their grids, library
  // operations with their shapes. Left out is what may differ between ranks that do the same: copies and fills (sizes
  // of pickled objects), peers, roots, communicators, sizes of collectives below 4 KiB.
  uint64_t fingerprint = 0;
  std::vector<Dimension> transfers;  // of the groups that it sends or receives in, each once
};

// Communicators in the order in which the process made them. Members are known where the trace has them, or when a
// communicator has as many members as the world.
std::vector<Membership> memberships_of(const trace::LoadedTrace& trace);

RankSummary summarize(const trace::LoadedTrace& trace);

// Ranks that should run next, ascending, given those that ran (at least one). First neighbours in every dimension with
// transfers, to see whether it tells ranks apart, then one for each role, then `checks` others at random (always the
// same ones) whose operations must prove equal. Empty: enough have run. Never more than `most` ranks in all.
std::vector<int32_t> next_ranks(const std::vector<RankSummary>& ran, int32_t world_size, int32_t checks, int32_t most);

// The layout of a world of which these traces are all that ran. Every rank of the world is in one class. Traces must be
// of one world (same size) and of different ranks; the size is that of the first.
WorldLayout twin_layout(const std::vector<trace::LoadedTrace>& traces);

}  // namespace maya::predictor
