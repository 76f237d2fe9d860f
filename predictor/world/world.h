// A world of ranks as the predictor sees it: which traces there are and whom they stand for, the communicators between
// them, and which calls of different ranks are one collective or one transfer. Nothing here grows with the ranks that
// were not run, apart from their numbers.
//
// Two kinds of worlds have the same form. Where all ranks lived, every class is one rank. Where only some ranks ran
// (maya-run --ranks auto), a class is all ranks that do what its trace does, and members of communicators are known by
// the class that they are of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "predictor/core/operation.h"

namespace maya::predictor {

inline constexpr uint32_t kNoClass = 0xffffffff;
inline constexpr uint32_t kNoMatch = 0xffffffff;
inline constexpr int32_t kUnknownRank = -1;

// Ranks that do the same.
struct RankClass {
  uint32_t trace = 0;          // index into the list of traces
  std::vector<int32_t> ranks;  // of the world (RANK); the one that the trace is of comes first, the others ascend
  uint32_t checked = 0;        // of these ranks: also run, and found to do the same
};

// One communicator as one trace made it.
struct Membership {
  uint32_t id = 0;  // Communicator.id in the trace, Key::kCommunicator of its operations
  uint64_t unique = 0;
  uint64_t parent = 0;  // `unique` of the communicator that it came from; 0: none
  int32_t rank = 0;     // of the trace's own process in the communicator
  int32_t size = 1;     // members
  std::vector<int32_t>
      members;  // rank of the world of every member, kUnknownRank where not known; empty: none is known
  std::string name;
};

// What collate() starts from: found by living_layout() where all ranks lived, by roles.h where only some ran.
struct WorldLayout {
  int32_t world_size = 1;      // ranks of the world, whether run, inferred or missing
  uint32_t gpus_per_node = 0;  // 0: not known, all on one node
  bool twins = false;          // the other ranks were absent when a trace was made
  std::vector<RankClass> classes;
  std::vector<std::vector<Membership>> memberships;  // by class; in the order in which the trace made them
};

// A communicator between classes. In a world of twins one of these stands for all communicators of the same shape: the
// data-parallel group of one tensor-parallel rank is that of the others, too.
struct WorldCommunicator {
  uint64_t unique = 0;                   // of the first class that made it
  int32_t size = 1;                      // members
  std::vector<int32_t> members;          // as in Membership, of the first class that made it
  std::vector<uint32_t> member_classes;  // by position: the class of the member; kNoClass: not known. Empty: none known
  uint32_t nodes = 1;                    // that its members lie on; 1 where that is not known
  std::string name;
};

// An operation on a communicator, as one class calls it.
struct CommunicatorCall {
  uint32_t event = 0;         // of the trace
  uint32_t communicator = 0;  // index into World::communicators
  CollectiveKind kind = CollectiveKind::kAllReduce;
  DataType type = DataType::kNone;
  int32_t position = 0;      // of the caller in the communicator
  int32_t root_or_peer = 0;  // position in the communicator: root of a collective, peer of a send or receive
  int64_t bytes = 0;         // as NCCL counts them
  // Collectives: number of the call on the communicator, from 0. Transfers: number among those of the same direction
  // between the same two members.
  uint64_t sequence = 0;
  uint32_t group = 0;  // number of the ncclGroup in the trace; 0: none
  uint32_t match = kNoMatch;
};

struct Participant {
  uint32_t rank_class = 0;
  uint32_t call = 0;  // index into World::calls[rank_class]
};

// Calls that are carried out together: all of one collective, or a send and its receive.
struct Match {
  uint32_t communicator = 0;
  bool point_to_point = false;
  uint32_t nodes = 1;                     // that the data goes between: of a transfer 2 when it leaves the node
  std::vector<Participant> participants;  // at least one; ascending by class. Of a transfer the sender comes first
};

struct World {
  WorldLayout layout;
  std::vector<WorldCommunicator> communicators;
  std::vector<std::vector<CommunicatorCall>> calls;  // by class, in trace order
  std::vector<Match> matches;
};

// Something in the traces that a real run would not survive, or that makes them no whole world.
struct Mismatch {
  enum class Kind : uint8_t {
    kOperation,      // the same call number, different operations: also a different order
    kCount,          // different sizes
    kType,           // different element types
    kRoot,           // different roots
    kMissingCall,    // some ranks call it, others end before
    kUnmatchedSend,  // nobody receives it
    kUnmatchedReceive,
  };
  struct Side {
    int32_t rank = 0;         // of the world
    uint64_t more_ranks = 0;  // that do as this one does
    bool has_call = true;     // false: the rank makes no such call
    uint64_t call = 0;        // number of the call on the communicator, from 1; without a call, how many there are
    uint32_t event = 0;       // of the trace
    std::string description;  // "ncclAllReduce of 1,048,576 bytes of bfloat16"
    std::string after;        // the kernel before it in the rank's trace; empty: none
  };
  Kind kind = Kind::kOperation;
  uint32_t communicator = 0;
  uint64_t sequence = 0;
  std::vector<Side> sides;  // one for each way that ranks differ in; at least two
  uint64_t more = 0;        // mismatches on the same communicator that follow it
};
const char* mismatch_name(Mismatch::Kind kind);  // as in the report: "operation", "count", ...

}  // namespace maya::predictor
