// How the ranks of a communicator find each other: a UNIX socket in a folder that only its user may enter, named by a
// random 128-bit number. The first rank to come makes the shared area (area.h) and the socket and hands the area's
// descriptor to the others; the socket goes away when all have joined. No thread serves it: every rank is inside its
// own init call until all are there. No port is opened.
#pragma once

#include <nccl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "driver_shim/nccl/area.h"

namespace maya::nccl {

// What an ncclUniqueId holds.
struct Identity {
  static constexpr char kMagic[8] = {'M', 'A', 'Y', 'A', 'N', 'C', 'L', '1'};
  char magic[8] = {};
  unsigned char number[16] = {};
  char folder[104] = {};  // where the ranks meet; the same for all, whatever their environments say

  bool valid() const;
  std::string name() const;  // 32 hexadecimal digits
  uint64_t unique() const;   // the trace's number for it
  // An identity that every rank works out alike from this one.
  Identity derived(const void* text, size_t bytes) const;
};
static_assert(sizeof(Identity) == NCCL_UNIQUE_ID_BYTES);

// A new random identity. False with *error when there is no folder to meet in.
bool make_identity(Identity* identity, std::string* error);

// MAYA_RENDEZVOUS_TIMEOUT seconds, 600 when not set: how long ranks that do not come are waited for.
uint64_t rendezvous_timeout_ns();

class Rendezvous {
 public:
  Rendezvous(const Identity& identity, int ranks, int rank, const Seat& seat);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // Goes on without blocking: ncclInProgress until every rank has joined, then ncclSuccess. Otherwise the documented
  // error, with error() set.
  ncclResult_t progress();
  // Waits a little for something to change.
  void wait();
  const std::string& error() const { return error_; }
  const std::shared_ptr<Area>& area() const { return area_; }

 private:
  ncclResult_t fail(ncclResult_t result, std::string text);
  ncclResult_t find_area();
  ncclResult_t meet();
  ncclResult_t receive_area();
  void serve();
  void stop_serving();
  void hang_up();
  void clean_up() const;

  const Identity identity_;
  const int ranks_, rank_;
  const Seat seat_;
  const uint64_t deadline_ns_;
  std::string path_;
  int listener_ = -1;
  int connection_ = -1;
  bool joined_ = false;
  std::shared_ptr<Area> area_;
  std::string error_;
};

// Ranks as people write them: "1, 2 and 5".
std::string list_of(const std::vector<int>& ranks);
uint64_t monotonic_ns();

}  // namespace maya::nccl
