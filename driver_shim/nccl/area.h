// The memory that the ranks of one communicator share: a memfd without a name, so nothing is left over when processes
// die. Every rank writes only its own member entry, rings and payload; nobody ever waits for a reader, except when a
// ring is full (thousands of calls ahead of a peer).
//
// A call is a Record in a ring: one ring a rank for collectives and one for management calls (split, grow), one a pair
// of ranks for sends. Bytes lie behind the rings, in a part of the file per rank that is written once and given back to
// the system when every reader is past it.
//
// Liveness: each process holds a POSIX record lock on one byte per rank that it runs. The system releases it when the
// process ends, however it ends; forked children do not inherit it. One Area per memfd and process, because closing any
// descriptor of a file releases the process's locks on it. Thread safe.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace maya::nccl {

struct Record {
  std::atomic<uint64_t> ready;  // position + 1 once everything else is written
  uint8_t kind;                 // CollectiveKind, or Management
  uint8_t type;                 // ncclDataType_t
  uint8_t is_user_operation;
  uint8_t unused;
  int32_t operation;
  int32_t root;
  uint32_t run_count;  // known runs at the start of the payload
  uint64_t count;
  uint64_t payload;        // place in the file
  uint64_t payload_bytes;  // 0: no bytes travel
  int64_t words[4];        // management
  char api[48];            // entry point, for messages
};
static_assert(sizeof(Record) == 128);

struct Member {
  enum State : uint32_t { kAbsent = 0, kJoined = 1, kLeft = 2 };
  std::atomic<uint32_t> state;
  int32_t process;
  int32_t world_rank;  // RANK, -1
  int32_t device;
  std::atomic<uint64_t> collectives_done;  // all before this position are done with
  std::atomic<uint64_t> managements_done;
  std::atomic<uint64_t> blocked_since_ns;  // 0: the process does not wait
  uint64_t host;                           // equal for ranks of one machine
  uint64_t bus_id;                         // of the device, as domain, bus, device and function
  uint64_t unused;
};
static_assert(sizeof(Member) == 64);

// Who a rank is and where its device is.
struct Seat {
  int32_t world_rank = -1;
  int32_t device = 0;
  uint64_t host = 0;
  uint64_t bus_id = 0;
};

class Area {
 public:
  static constexpr uint64_t kCollectives = 4096;  // records of a ring
  static constexpr uint64_t kManagements = 32;
  static constexpr uint64_t kMessages = 1024;

  // A new area; null with errno set when the system refuses.
  static std::shared_ptr<Area> create(int ranks);
  // The area behind a descriptor from another process, which is taken over. Null when it is none for `ranks` ranks.
  static std::shared_ptr<Area> attach(int descriptor, int ranks);
  ~Area();
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;

  int descriptor() const { return descriptor_; }
  int ranks() const { return ranks_; }

  // Makes this process rank `rank`. False when that rank is taken.
  bool join(int rank, const Seat& seat);
  // The rank will do nothing more.
  void leave(int rank);
  int joined() const;  // ranks that joined, also those that have left or died since
  // False once the rank has left or its process has ended; true before it joined.
  bool alive(int rank) const;
  Member& member(int rank) const { return members_[rank]; }
  // Joining was given up by a rank; the others need not wait.
  void give_up();
  bool given_up() const;
  // True for the first rank that asks for this number: one line about what all of them see is enough.
  bool first_to_report(uint64_t number);

  Record& collective(int rank, uint64_t position) const;
  Record& management(int rank, uint64_t position) const;
  Record& message(int source, int destination, uint64_t position) const;
  std::atomic<uint64_t>& messages_done(int source, int destination) const;
  static bool ready(const Record& record, uint64_t position) {
    return record.ready.load(std::memory_order_acquire) == position + 1;
  }
  // Marks a filled record as readable and wakes who waits.
  void publish(Record& record, uint64_t position);

  // Appends bytes to rank's payload; `release` tells later whether all readers are past it. Returns the place in the
  // file, 0 when the system has no memory.
  struct Reader {
    bool is_message;
    int destination;    // message
    uint64_t position;  // of the record that refers to the bytes
  };
  uint64_t append(int rank, const void* bytes, uint64_t size, const Reader& reader);
  bool read(uint64_t place, void* bytes, uint64_t size) const;

  // Waiting: take the word, look, and wait while the word is unchanged.
  uint32_t word() const;
  void wait(uint32_t word, uint64_t limit_ns) const;
  void wake();

 private:
  struct Control;
  struct Extent {
    uint64_t begin, end;
    Reader reader;
  };
  Area(int descriptor, int ranks, void* base);
  void reclaim(int rank);
  bool passed(int rank, const Reader& reader) const;

  const int descriptor_;
  const int ranks_;
  Control* const control_;
  Member* const members_;
  std::atomic<uint64_t>* const messages_done_;
  Record* const collectives_;
  Record* const managements_;
  Record* const messages_;

  struct Payload {
    uint64_t end = 0;  // next free place
    uint64_t returned = 0;
    std::deque<Extent> extents;
  };
  std::mutex mutex_;  // guards payloads_
  std::vector<Payload> payloads_;
};

}  // namespace maya::nccl
