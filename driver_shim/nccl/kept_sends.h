// What ranks that run alone sent, kept for ranks of the same run that would have received it (MAYA_TWIN_FOLDER, made by
// maya-run): a broadcast from an absent root gives the bytes that the root sent when it ran, or those of a rank that
// ran in the root's place of a group of the same shape.
//
// One file a rank, sent-<RANK>, appended by that rank only. running-<RANK> is there while a rank runs.
// MAYA_TWINS_BEFORE lists the ranks that had ended before this one was chosen. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "driver_shim/nccl/communicator.h"

namespace maya::nccl {

// One call among all calls of all groups of one shape: groups whose members are as far apart from each other, the n-th
// of which a rank makes.
struct SentKey {
  uint64_t group = 0;
  uint64_t position = 0;     // of the group's collectives, or of the sends from source to destination
  int32_t source = 0;        // rank in the group
  int32_t destination = -1;  // rank in the group; -1: all, a collective
  bool operator==(const SentKey&) const = default;
};

// A number for the shape of this group, different for each group of the shape that this process makes. 0 where the
// members are not known: nothing is kept or found then.
uint64_t shape_of_group(const std::vector<int32_t>& world_ranks);

// Keeps what this rank sends. Without `sent`, or when it is larger than the file has room for, the call is noted
// without its bytes: find_sent() then gives nothing.
void keep_sent(const SentKey& key, const Contribution* sent);

// What `root`, a rank of the world, sends, or the nearest rank to it that had the same place. Waits for a rank that
// runs now and has a lower number than this one: it was started before, and never waits for this one. Empty: not known;
// without bytes: it was sent, and its value is not known.
std::optional<Contribution> find_sent(const SentKey& key, int32_t root);

}  // namespace maya::nccl
