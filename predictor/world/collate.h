// The collate stage: joins the traces of all ranks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "predictor/world/world.h"
#include "trace_proto/loaded_trace.h"

namespace maya::predictor {

// The layout of a world whose ranks all lived: one class for each of the traces `chosen` (indices into `traces`), in
// that order. Members of communicators come from the traces, where they tell, and from each other.
WorldLayout living_layout(const std::vector<trace::LoadedTrace>& traces, std::span<const uint32_t> chosen);

// Ranks of the world that no class stands for, ascending.
std::vector<int32_t> missing_ranks(const WorldLayout& layout);

struct Collation {
  World world;
  std::vector<Mismatch> mismatches;  // at most one for each communicator; sides have no `after` yet
};

// Matches are made of what is there: calls that differ are matched all the same, those of missing ranks are not waited
// for. Collectives match by communicator and sequence number, transfers first in first out for each (communicator,
// source, destination). Calls of communicators that a trace does not describe match nothing. In a world of twins,
// - a transfer to a member of the same class matches the receive that the same distance away asks for it;
// - a transfer whose other end is in a class that was not seen at that place matches nothing, and is no mismatch.
Collation collate(const std::vector<trace::LoadedTrace>& traces, WorldLayout layout);

// "ncclAllReduce of 1,048,576 bytes of bfloat16", "ncclSend of 8 bytes of int64 to rank 3".
std::string describe_call(const trace::LoadedTrace& trace, const World& world, const CommunicatorCall& call);

// The rank of the world of a member, its position where that is not known.
int32_t rank_of_member(const WorldCommunicator& communicator, int32_t position);

// Two lines or more for people, each below 100 columns.
std::vector<std::string> mismatch_lines(const World& world, const Mismatch& mismatch);

}  // namespace maya::predictor
