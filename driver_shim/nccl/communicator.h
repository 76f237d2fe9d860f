// Communicators. One engine for all: ranks of other processes, of this process, one rank alone, and worlds whose other
// ranks are absent (MAYA_TWINS=1).
//
// A call posts its bytes to the shared area (area.h) and returns: nothing blocks while a call is issued, so ranks may
// issue calls of different communicators in different orders. Its results are taken when every contribution is there:
// at once where the others came first, otherwise when the program synchronises, queries or reads (driver_shim/cuda/
// pending_work.h), or with the next call.
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver_shim/common/driver_access.h"
#include "driver_shim/nccl/area.h"
#include "driver_shim/nccl/call.h"
#include "driver_shim/nccl/config.h"
#include "driver_shim/nccl/rendezvous.h"

// Defines an entry point and its profiling twin pnccl*, which is the same code (NCCL documentation, "PMPI"-style
// interception).
#define MAYA_NCCL_EXPORT extern "C" __attribute__((visibility("default")))
#define MAYA_NCCL(name, ...)                                                        \
  MAYA_NCCL_EXPORT ncclResult_t p##name(__VA_ARGS__) __attribute__((alias(#name))); \
  MAYA_NCCL_EXPORT ncclResult_t name(__VA_ARGS__)

namespace maya::nccl {

struct Communicator;

// A call whose results are not all there.
struct PendingCall {
  std::shared_ptr<Communicator> communicator;
  CollectiveCall call;
  uint64_t position = 0;
  uint64_t number = 0;  // in the driver's callbacks; 0: it waits for nobody
  Contribution own;
  uint32_t tag = 0;  // the driver's
  bool ended = false;
};

// A reduction made by ncclRedOpCreatePreMulSum.
struct UserOperation {
  bool live = false;
  ncclDataType_t type = ncclInt8;
  const void* device_scalar = nullptr;  // read when a call runs; null: `scalar` holds it
  unsigned char scalar[8] = {};
};

// A broadcast from an absent rank, and what that rank sent, where it is known.
struct TwinBroadcast {
  CollectiveCall call;
  std::optional<Contribution> sent;
};

// A rank that is gone while calls need it, and who asks about it (peers.cc).
struct LostPeer {
  uint64_t since_ns = 0;        // when it was found gone; 0: it was not
  uint64_t told_ns = 0;         // when ncclCommGetAsyncError first told so
  const void* asker = nullptr;  // the thread that asks for the communicator's error
  bool several_askers = false;
};

struct Communicator {
  enum class State { kStarting, kReady, kSuspended, kFinalized, kRevoked, kEnded };

  Identity identity;
  Identity grow_identity;  // made by ncclCommGetUniqueId and not used yet; guarded by engine_mutex()
  int rank = 0;
  int ranks = 1;
  int device = 0;
  uint64_t parent = 0;  // unique number of the communicator that it came from
  Configuration configuration;
  bool twins = false;
  std::atomic<State> state{State::kStarting};
  std::atomic<ncclResult_t> error{ncclInProgress};  // what ncclCommGetAsyncError answers
  std::mutex text_mutex;
  std::string error_text;  // guarded by text_mutex
  std::string error_text_copy() {
    std::lock_guard<std::mutex> lock(text_mutex);
    return error_text;
  }

  std::mutex start_mutex;
  std::unique_ptr<Rendezvous> rendezvous;  // while starting; guarded by start_mutex
  std::shared_ptr<Area> area;              // null: one rank, or twins
  uint32_t trace_id = 0;
  std::vector<int32_t> world_ranks;  // empty: not known
  int nodes = 0;                     // 0: not known

  // Device memory (device_memory.cc guards it).
  std::atomic<uint64_t> charged_bytes{0};
  std::atomic<uint64_t> suspended_bytes{0};
  bool shares_memory = false;  // split with splitShare: it uses its parent's connections
  bool ring_connected = false;
  std::set<int> send_connected, receive_connected;

  // Guarded by engine_mutex().
  std::deque<std::shared_ptr<PendingCall>> collectives;
  std::map<int, std::deque<std::shared_ptr<PendingCall>>> receives;  // by peer
  std::deque<std::pair<CollectiveCall, Contribution>> self_sends;
  std::deque<CollectiveCall> self_receives;
  std::map<std::pair<uint64_t, int>, Contribution> twin_sends;  // the last one by (count, type)
  CollectiveCall twin_broadcast;                                // of this group, with this rank as root
  std::vector<TwinBroadcast> twin_waiting;                      // of this group, with absent roots
  uint64_t twin_shape = 0;                                      // shape_of_group(); 0: members not known
  uint64_t looked_ns = 0;                                       // when peers were last looked after
  LostPeer lost;
  uint64_t next_collective = 0;
  std::map<int, uint64_t> next_send, next_receive;
  uint64_t next_management = 0;
  uint64_t next_shrink = 0;
  std::vector<UserOperation> operations;  // by number - ncclNumOps
};

}  // namespace maya::nccl

struct ncclComm {
  static constexpr uint64_t kMagic = 0x6d6179616e63636c;
  uint64_t magic = kMagic;
  std::shared_ptr<maya::nccl::Communicator> communicator;
};

namespace maya::nccl {

// Remembers `text` for ncclGetLastError and returns `result`.
ncclResult_t failed(ncclResult_t result, std::string text);
const char* last_error();

// The communicator of a live handle, which other threads may abort meanwhile; null, with ncclGetLastError set, when it
// is none.
std::shared_ptr<Communicator> hold(ncclComm_t comm, const char* api);
// As hold(), and ready for calls: otherwise the documented error.
ncclResult_t ready(ncclComm_t comm, const char* api, std::shared_ptr<Communicator>* held);

// MAYA_TWINS=1: the other ranks of the world are absent.
bool twins();
// RANK of the launcher, -1.
int world_rank();

// --- engine.cc ---
std::mutex& engine_mutex();
// Takes the results of whatever is complete. With the mutex held.
void progress(Communicator& communicator);
const Record& record_of(const PendingCall& pending, int from);
// The ranks that the call still waits for.
std::vector<int> missing_ranks(const PendingCall& pending);
// Ends everything that is left, results unknown. With the mutex held.
void drop_calls(Communicator& communicator);
// Blocks until all calls of the communicator have ended.
void finish_calls(const std::shared_ptr<Communicator>& communicator);
// Hands a checked call, whose receive buffer is unknown by now, to the other ranks. Never waits for them, except while
// a ring is full.
ncclResult_t post(const std::shared_ptr<Communicator>& communicator, const CollectiveCall& call, Contribution own);
// A send or receive to the own rank is left without a partner.
bool unmatched_self_calls(const Communicator& communicator);

// --- contribution.cc ---
// The bytes that the rank gives to a call, as they are now. May wait for calls that its buffer depends on: never with
// the mutex held.
Contribution contribute(const Communicator& communicator, const CollectiveCall& call);
void write_record(Communicator& communicator, Record& record, const Contribution& from, const Area::Reader& reader);
Contribution read_record(const Area& area, const Record& record, uint64_t whole_bytes);

// --- groups (group.cc): begin/end nest per thread; a call outside a group is a group of its own ---
void begin_group();
ncclResult_t end_group();
bool in_group();
uint32_t current_group();  // from 1; 0 outside of an explicit group
// Inside an explicit group: `call` is made at its end, where its error is returned.
void keep_until_end(std::function<ncclResult_t()> call);
void touch(std::shared_ptr<Communicator> communicator);

}  // namespace maya::nccl
