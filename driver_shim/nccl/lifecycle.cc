// Handles; how communicators begin and end.
#include "driver_shim/nccl/lifecycle.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "driver_shim/common/current_context.h"
#include "driver_shim/nccl/announced.h"
#include "driver_shim/nccl/device_memory.h"
#include "driver_shim/nccl/kept_sends.h"
#include "driver_shim/nccl/peers.h"

namespace maya::nccl {
namespace {

thread_local std::string last_error_text;

std::mutex live_mutex;
std::set<ncclComm_t>& live() {
  static auto* const all = new std::set<ncclComm_t>;
  return *all;
}

// Handles of destroyed communicators must be told from live ones, so their memory is kept.
std::vector<ncclComm_t>& retired() {
  static auto* const all = new std::vector<ncclComm_t>;
  return *all;
}

// Communicators that are not blocking and still on their way.
std::map<Communicator*, std::unique_ptr<Beginning>>& on_their_way() {
  static auto* const all = new std::map<Communicator*, std::unique_ptr<Beginning>>;
  return *all;
}

int number_from_environment(const char* name) {
  const char* text = secure_getenv(name);
  char* end = nullptr;
  const long value = text == nullptr ? -1 : strtol(text, &end, 10);
  return text == nullptr || end == text || *end != 0 || value < 0 || value > INT32_MAX ? -1 : static_cast<int>(value);
}

// Which machine this is to NCCL: NCCL_HOSTID where it is set, else the node that the launcher tells. Ranks without
// either are on one machine.
uint64_t host() {
  static const uint64_t number = [] {
    const char* text = secure_getenv("NCCL_HOSTID");
    if (text != nullptr && text[0] != 0) return uint64_t{1} << 63 | std::hash<std::string>()(text) >> 1;
    const int rank = world_rank(), per_node = gpus_per_node();
    return rank < 0 || per_node <= 0 ? uint64_t{0} : static_cast<uint64_t>(rank / per_node);
  }();
  return number;
}

Seat seat_of(const Communicator& c) {
  Seat seat{world_rank(), c.device, host(), 0};
  char text[32] = {};
  const auto bus_id = MAYA_DRIVER(cuDeviceGetPCIBusId);
  if (bus_id == nullptr || bus_id(text, sizeof text, c.device) != CUDA_SUCCESS) return seat;
  for (const char* digit = text; *digit != 0; ++digit)
    if (const char* known = strchr("0123456789abcdef", tolower(*digit)); known != nullptr)
      seat.bus_id = seat.bus_id << 4 | static_cast<uint64_t>(known - "0123456789abcdef");
  return seat;
}

// NCCL refuses two ranks of a communicator on one device.
ncclResult_t check_devices(const Communicator& c) {
  const Member& own = c.area->member(c.rank);
  for (int rank = 0; rank < c.ranks; ++rank) {
    const Member& other = c.area->member(rank);
    if (rank == c.rank || other.host != own.host || other.bus_id != own.bus_id) continue;
    char text[96];
    snprintf(text, sizeof text, "Duplicate GPU detected : rank %d and rank %d both on CUDA device %lx", c.rank, rank,
             own.bus_id);
    return failed(ncclInvalidUsage, text);
  }
  return ncclSuccess;
}

class Joining : public Beginning {
 public:
  Joining(const char* api, std::shared_ptr<Communicator> communicator, ncclComm_t* out)
      : api_(api), communicator_(std::move(communicator)), out_(out) {}

  ncclResult_t progress() override {
    Communicator& c = *communicator_;
    std::lock_guard<std::mutex> lock(c.start_mutex);
    if (c.state.load() == Communicator::State::kEnded)
      return failed(ncclInvalidUsage, std::string(api_) + ": the communicator was aborted");
    if (c.ranks > 1 && !c.twins) {
      if (c.rendezvous == nullptr) c.rendezvous = std::make_unique<Rendezvous>(c.identity, c.ranks, c.rank, seat_of(c));
      const ncclResult_t result = c.rendezvous->progress();
      if (result == ncclInProgress) return result;
      if (result != ncclSuccess) return give_up(result);
      c.area = c.rendezvous->area();
      c.rendezvous.reset();
      if (const ncclResult_t shared = check_devices(c); shared != ncclSuccess) return give_up(shared);
    }
    become_ready(c);
    if (const ncclResult_t result = charge_communicator(c, api_); result != ncclSuccess) return give_up(result);
    c.error.store(ncclSuccess);
    return ncclSuccess;
  }

  void wait() override {
    std::lock_guard<std::mutex> lock(communicator_->start_mutex);
    if (communicator_->rendezvous != nullptr) communicator_->rendezvous->wait();
  }
  bool blocking() const override { return communicator_->configuration.blocking; }
  const std::shared_ptr<Communicator>& communicator() const override { return communicator_; }

 private:
  ncclResult_t give_up(ncclResult_t result) {
    Communicator& c = *communicator_;
    std::string text = std::string(api_) + ": " + (c.rendezvous != nullptr ? c.rendezvous->error() : last_error());
    if (result == ncclSystemError || result == ncclRemoteError || result == ncclInvalidUsage) {
      const std::string line = "maya: " + text + "\n";
      [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
    }
    c.rendezvous.reset();
    c.error.store(result);
    {
      std::lock_guard<std::mutex> lock(c.text_mutex);
      c.error_text = text;
    }
    if (blocking() && *out_ != nullptr) {
      retire(*out_);
      *out_ = nullptr;
    }
    return failed(result, std::move(text));
  }

  const char* const api_;
  const std::shared_ptr<Communicator> communicator_;
  ncclComm_t* const out_;
};

}  // namespace

ncclResult_t failed(ncclResult_t result, std::string text) {
  last_error_text = std::move(text);
  return result;
}

const char* last_error() { return last_error_text.c_str(); }

bool twins() {
  static const bool absent = number_from_environment("MAYA_TWINS") == 1;
  return absent;
}

int world_rank() {
  static const int rank = number_from_environment("RANK");
  return rank;
}

int gpus_per_node() {
  static const int given = [] {
    const int number = number_from_environment("MAYA_GPUS_PER_NODE");
    return number > 0 ? number : number_from_environment("LOCAL_WORLD_SIZE");
  }();
  return given;
}

std::shared_ptr<Communicator> hold(ncclComm_t comm, const char* api) {
  if (comm != nullptr) {
    std::lock_guard<std::mutex> lock(live_mutex);
    if (live().count(comm) != 0) return comm->communicator;
  }
  failed(ncclInvalidArgument, std::string(api) + ": the communicator is null, destroyed or corrupted");
  return nullptr;
}

ncclResult_t ready(ncclComm_t comm, const char* api, std::shared_ptr<Communicator>* held) {
  *held = hold(comm, api);
  if (*held == nullptr) return ncclInvalidArgument;
  Communicator& c = **held;
  if (c.state.load() == Communicator::State::kStarting) carry_on(c);
  const ncclResult_t error = c.error.load();
  const std::string name(api);
  switch (c.state.load()) {
    case Communicator::State::kStarting:
      if (error != ncclInProgress) return failed(error, c.error_text_copy());
      return failed(ncclInvalidArgument, name + ": the communicator's previous operation has not returned ncclSuccess");
    case Communicator::State::kSuspended:
      return failed(ncclInvalidUsage, name + ": the communicator is suspended");
    case Communicator::State::kFinalized:
      return failed(ncclInvalidUsage, name + ": the communicator was finalized");
    case Communicator::State::kRevoked:
      return failed(ncclInvalidUsage, name + ": the communicator was revoked");
    case Communicator::State::kEnded:
      return failed(ncclInvalidUsage, name + ": the communicator was aborted");
    default:
      break;
  }
  return error == ncclSuccess ? ncclSuccess : failed(error, name + ": " + c.error_text_copy());
}

ncclComm_t make_handle(std::shared_ptr<Communicator> communicator) {
  auto* comm = new ncclComm;
  comm->communicator = std::move(communicator);
  std::lock_guard<std::mutex> lock(live_mutex);
  live().insert(comm);
  return comm;
}

void retire(ncclComm_t comm) {
  std::shared_ptr<Communicator> communicator;
  std::unique_ptr<Beginning> beginning;
  {
    std::lock_guard<std::mutex> lock(live_mutex);
    if (live().erase(comm) == 0) return;  // another thread was faster
    comm->magic = 0;
    retired().push_back(comm);
    communicator = std::move(comm->communicator);
    const auto found = on_their_way().find(communicator.get());
    if (found != on_their_way().end()) {
      beginning = std::move(found->second);
      on_their_way().erase(found);
    }
  }
  Communicator& c = *communicator;
  beginning.reset();
  c.state.store(Communicator::State::kEnded);
  {
    std::lock_guard<std::mutex> lock(engine_mutex());
    drop_calls(c);
  }
  if (c.area != nullptr) c.area->leave(c.rank);
  release_communicator(c);
  if (c.trace_id != 0)
    shim::driver()->communicator(c.trace_id, c.identity.unique(), static_cast<uint32_t>(c.rank),
                                 static_cast<uint32_t>(c.ranks), 0, 1);
}

ncclResult_t current_device(int* device, const char* api) {
  if (shim::driver() == nullptr || MAYA_DRIVER(cuCtxGetDevice) == nullptr)
    return failed(ncclUnhandledCudaError, std::string(api) + ": no driver");
  CUcontext context = nullptr;
  CUresult status = shim::make_context_current(&context);
  if (status == CUDA_SUCCESS) status = MAYA_DRIVER(cuCtxGetDevice)(device);
  return status == CUDA_SUCCESS
             ? ncclSuccess
             : failed(ncclUnhandledCudaError,
                      std::string(api) + ": no current device: driver error " + std::to_string(status));
}

// The members of a communicator whose other ranks are absent: as announced, or all of the world. Empty: not known.
std::vector<int32_t> members_of_twins(const Communicator& c) {
  std::vector<int32_t> members = announced_ranks();
  const auto ranks = static_cast<size_t>(c.ranks);
  if (members.size() == ranks && members[static_cast<size_t>(c.rank)] == world_rank()) return members;
  if (number_from_environment("WORLD_SIZE") != c.ranks) return {};
  members.resize(ranks);
  std::iota(members.begin(), members.end(), 0);
  return members;
}

void become_ready(Communicator& c) {
  if (c.ranks == 1) {
    c.world_ranks = {world_rank()};
  } else if (c.area != nullptr) {
    for (int rank = 0; rank < c.ranks; ++rank) c.world_ranks.push_back(c.area->member(rank).world_rank);
  }
  if (c.world_ranks.empty()) c.world_ranks = members_of_twins(c);
  if (c.twins) c.twin_shape = shape_of_group(c.world_ranks);
  const int per_node = gpus_per_node();
  std::set<int> nodes;
  for (const int32_t rank : c.world_ranks)
    if (rank >= 0 && per_node > 0) nodes.insert(rank / per_node);
  c.nodes = static_cast<int>(nodes.size());
  const CommunicatorDescription description{c.identity.unique(),
                                            c.parent,
                                            static_cast<uint32_t>(c.rank),
                                            static_cast<uint32_t>(c.ranks),
                                            c.device,
                                            c.configuration.name.c_str(),
                                            c.world_ranks.empty() ? nullptr : c.world_ranks.data(),
                                            c.twins ? 1 : 0};
  c.trace_id = shim::driver()->describe_communicator(&description);
  Communicator::State starting = Communicator::State::kStarting;
  c.state.compare_exchange_strong(starting, Communicator::State::kReady);
}

std::unique_ptr<Beginning> make_joining(const char* api, std::shared_ptr<Communicator> communicator, ncclComm_t* out) {
  return std::make_unique<Joining>(api, std::move(communicator), out);
}

ncclResult_t begin(const char* api, std::shared_ptr<Communicator> communicator, ncclComm_t* out) {
  *out = make_handle(communicator);
  return run(make_joining(api, std::move(communicator), out));
}

void hand_over(std::unique_ptr<Beginning> beginning) {
  std::lock_guard<std::mutex> lock(live_mutex);
  on_their_way()[beginning->communicator().get()] = std::move(beginning);
}

void carry_on(Communicator& communicator) {
  std::unique_ptr<Beginning> beginning;
  {
    std::lock_guard<std::mutex> lock(live_mutex);
    const auto found = on_their_way().find(&communicator);
    if (found == on_their_way().end()) return;
    beginning = std::move(found->second);
    on_their_way().erase(found);
  }
  if (beginning->progress() == ncclInProgress) hand_over(std::move(beginning));
}

}  // namespace maya::nccl

using namespace maya::nccl;

MAYA_NCCL(ncclCommDestroy, ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;  // documented: a null communicator is accepted
  const auto communicator = hold(comm, "ncclCommDestroy");
  if (communicator == nullptr) return ncclInvalidArgument;
  if (communicator->state.load() == Communicator::State::kReady && communicator->error.load() == ncclSuccess)
    finish_calls(communicator);
  retire(comm);
  return ncclSuccess;
}

MAYA_NCCL(ncclCommAbort, ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  if (hold(comm, "ncclCommAbort") == nullptr) return ncclInvalidArgument;
  retire(comm);
  return ncclSuccess;
}

MAYA_NCCL(ncclCommFinalize, ncclComm_t comm) {
  std::shared_ptr<Communicator> communicator;
  if (const ncclResult_t result = ready(comm, "ncclCommFinalize", &communicator); result != ncclSuccess) return result;
  finish_calls(communicator);
  communicator->state.store(Communicator::State::kFinalized);
  return ncclSuccess;
}

MAYA_NCCL(ncclCommRevoke, ncclComm_t comm, int flags) {
  const auto communicator = hold(comm, "ncclCommRevoke");
  if (communicator == nullptr) return ncclInvalidArgument;
  if (flags != NCCL_REVOKE_DEFAULT)
    return failed(ncclInvalidArgument, "ncclCommRevoke: invalid flags " + std::to_string(flags));
  Communicator& c = *communicator;
  if (c.state.load() == Communicator::State::kStarting || c.state.load() == Communicator::State::kFinalized)
    return failed(ncclInvalidUsage, "ncclCommRevoke: the communicator is not ready");
  std::lock_guard<std::mutex> lock(engine_mutex());
  drop_calls(c);
  c.state.store(Communicator::State::kRevoked);
  return ncclSuccess;
}

MAYA_NCCL(ncclCommSuspend, ncclComm_t comm, int flags) {
  std::shared_ptr<Communicator> communicator;
  if (const ncclResult_t result = ready(comm, "ncclCommSuspend", &communicator); result != ncclSuccess) return result;
  if (flags != NCCL_SUSPEND_MEM)
    return failed(ncclInvalidArgument, "ncclCommSuspend: invalid flags " + std::to_string(flags));
  finish_calls(communicator);
  suspend_memory(*communicator);
  communicator->state.store(Communicator::State::kSuspended);
  return ncclSuccess;
}

MAYA_NCCL(ncclCommResume, ncclComm_t comm) {
  const auto communicator = hold(comm, "ncclCommResume");
  if (communicator == nullptr) return ncclInvalidArgument;
  Communicator& c = *communicator;
  if (c.state.load() != Communicator::State::kSuspended)
    return failed(ncclInvalidUsage, "ncclCommResume: the communicator is not suspended");
  if (const ncclResult_t result = resume_memory(c); result != ncclSuccess) return result;
  c.state.store(Communicator::State::kReady);
  return ncclSuccess;
}

MAYA_NCCL(ncclCommGetAsyncError, ncclComm_t comm, ncclResult_t* error) {
  const auto communicator = hold(comm, "ncclCommGetAsyncError");
  if (communicator == nullptr) return ncclInvalidArgument;
  if (error == nullptr) return failed(ncclInvalidArgument, "ncclCommGetAsyncError: asyncError is null");
  if (communicator->state.load() == Communicator::State::kStarting) {
    carry_on(*communicator);
  } else {
    std::lock_guard<std::mutex> lock(engine_mutex());
    progress(*communicator);
    check_peers(*communicator);
    note_asker(*communicator);
  }
  *error = communicator->error.load();
  return ncclSuccess;
}
