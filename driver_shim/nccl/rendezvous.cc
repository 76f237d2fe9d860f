#include "driver_shim/nccl/rendezvous.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <map>
#include <set>

#include "driver_shim/nccl/folder.h"

namespace maya::nccl {
namespace {

constexpr uint64_t kSecond_ns = 1000000000;
constexpr uint64_t kDefaultTimeout_s = 600;

// Areas of this process, so that several of its ranks share one.
std::mutex areas_mutex;
std::map<std::string, std::weak_ptr<Area>>& areas() {
  static auto* const all = new std::map<std::string, std::weak_ptr<Area>>;
  return *all;
}

// Names for which a rank of this process waits for the area: a second descriptor of the same file must never be closed
// here (area.h).
std::set<std::string>& connecting() {
  static auto* const all = new std::set<std::string>;
  return *all;
}

std::shared_ptr<Area> own_area(const std::string& name) {
  const auto found = areas().find(name);
  return found == areas().end() ? nullptr : found->second.lock();
}

// FNV-1a, 64 bits; with `start` two different ones make 128.
uint64_t hash(const void* text, size_t bytes, uint64_t start) {
  uint64_t sum = 0xcbf29ce484222325 ^ start;
  for (size_t i = 0; i < bytes; ++i) sum = (sum ^ static_cast<const unsigned char*>(text)[i]) * 0x100000001b3;
  sum ^= sum >> 32;
  sum *= 0x9e3779b97f4a7c15;
  return sum ^ sum >> 29;
}

}  // namespace

uint64_t rendezvous_timeout_ns() {
  const char* text = secure_getenv("MAYA_RENDEZVOUS_TIMEOUT");
  char* end = nullptr;
  const unsigned long long seconds = text == nullptr ? 0 : strtoull(text, &end, 10);
  return (text == nullptr || end == text || *end != 0 || seconds > UINT64_MAX / kSecond_ns ? kDefaultTimeout_s
                                                                                           : seconds) *
         kSecond_ns;
}

uint64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecond_ns + static_cast<uint64_t>(now.tv_nsec);
}

std::string list_of(const std::vector<int>& ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  return text;
}

bool Identity::valid() const {
  return memcmp(magic, kMagic, sizeof magic) == 0 && memchr(folder, 0, sizeof folder) != nullptr;
}

std::string Identity::name() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : number) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

uint64_t Identity::unique() const { return hash(number, sizeof number, 0); }

Identity Identity::derived(const void* text, size_t bytes) const {
  std::string whole(reinterpret_cast<const char*>(number), sizeof number);
  whole.append(static_cast<const char*>(text), bytes);
  Identity made = *this;
  const uint64_t words[2] = {hash(whole.data(), whole.size(), 1), hash(whole.data(), whole.size(), 2)};
  memcpy(made.number, words, sizeof words);
  return made;
}

bool make_identity(Identity* identity, std::string* error) {
  *identity = Identity();
  std::string folder;
  if (!meeting_folder(&folder, error)) return false;
  if (folder.size() >= sizeof identity->folder) {
    *error = "the path " + folder + " is too long";
    return false;
  }
  memcpy(identity->magic, Identity::kMagic, sizeof identity->magic);
  memcpy(identity->folder, folder.data(), folder.size());
  for (size_t done = 0; done < sizeof identity->number;) {
    const ssize_t part = getrandom(identity->number + done, sizeof identity->number - done, 0);
    if (part < 0 && errno != EINTR) {
      *error = "the system has no random numbers";
      return false;
    }
    if (part > 0) done += static_cast<size_t>(part);
  }
  return true;
}

Rendezvous::Rendezvous(const Identity& identity, int ranks, int rank, const Seat& seat)
    : identity_(identity),
      ranks_(ranks),
      rank_(rank),
      seat_(seat),
      deadline_ns_(monotonic_ns() + rendezvous_timeout_ns()),
      path_(std::string(identity.folder) + "/" + identity.name()) {}

Rendezvous::~Rendezvous() {
  stop_serving();
  std::lock_guard<std::mutex> lock(areas_mutex);
  hang_up();
}

void Rendezvous::hang_up() {
  if (connection_ < 0) return;
  close(connection_);
  connection_ = -1;
  connecting().erase(identity_.name());
}

ncclResult_t Rendezvous::fail(ncclResult_t result, std::string text) {
  error_ = std::move(text);
  stop_serving();
  if (area_ != nullptr) {
    area_->give_up();
    if (joined_) area_->leave(rank_);
  }
  return result;
}

void Rendezvous::stop_serving() {
  if (listener_ < 0) return;
  unlink(path_.c_str());
  close(listener_);
  listener_ = -1;
}

// The rank that served the meeting place may be the one that is gone; one that was killed is seen to be gone before the
// system has closed its socket.
void Rendezvous::clean_up() const {
  constexpr int kTries = 20;
  constexpr timespec kPause = {0, 10'000'000};
  for (int i = 0; i < kTries; ++i) {
    {
      const FolderLock lock(identity_.folder);
      if (!lock.held()) return;
      lock.sweep();
    }
    if (listener_ >= 0 || access(path_.c_str(), F_OK) != 0) return;
    nanosleep(&kPause, nullptr);
  }
}

// Under the folder's lock: connects to the rank that came first, or becomes it.
ncclResult_t Rendezvous::meet() {
  FolderLock lock(identity_.folder);
  if (!lock.held()) return fail(ncclSystemError, "cannot enter the folder " + std::string(identity_.folder));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) return fail(ncclSystemError, "the path " + path_ + " is too long");
  memcpy(address.sun_path, path_.data(), path_.size());
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return fail(ncclSystemError, std::string("no socket: ") + strerror(errno));
  if (connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    connection_ = made;
    connecting().insert(identity_.name());
    return ncclInProgress;
  }
  if (errno != ENOENT && errno != ECONNREFUSED) {
    close(made);
    return ncclInProgress;  // its backlog is full, for example: again later
  }
  lock.sweep();
  std::shared_ptr<Area> area = Area::create(ranks_);
  if (area == nullptr || bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(made, SOMAXCONN) != 0) {
    const std::string reason = strerror(errno);
    close(made);
    return fail(ncclSystemError, "cannot make the communicator's meeting place " + path_ + ": " + reason);
  }
  listener_ = made;
  area_ = std::move(area);
  areas()[identity_.name()] = area_;
  return ncclSuccess;
}

// The area's descriptor comes as ancillary data of one byte.
ncclResult_t Rendezvous::receive_area() {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t size = recvmsg(connection_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return ncclInProgress;
  const cmsghdr* header = size == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
  hang_up();
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return ncclInProgress;  // the other ended: meet again
  int descriptor = -1;
  memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  area_ = Area::attach(descriptor, ranks_);
  if (area_ == nullptr)
    return fail(ncclInvalidUsage, "the ranks give different numbers of ranks for the same communicator");
  areas()[identity_.name()] = area_;
  return ncclSuccess;
}

ncclResult_t Rendezvous::find_area() {
  std::lock_guard<std::mutex> lock(areas_mutex);
  if (connection_ >= 0) return receive_area();
  area_ = own_area(identity_.name());
  if (area_ == nullptr && connecting().count(identity_.name()) != 0) return ncclInProgress;
  if (area_ == nullptr) return meet();
  if (area_->ranks() == ranks_) return ncclSuccess;
  area_ = nullptr;
  return fail(ncclInvalidUsage, "the ranks give different numbers of ranks for the same communicator");
}

void Rendezvous::serve() {
  for (;;) {
    const int peer = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0) return;
    ucred credentials{};
    socklen_t length = sizeof credentials;
    if (getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 && credentials.uid == geteuid()) {
      char byte = 1;
      iovec part{&byte, 1};
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      const int descriptor = area_->descriptor();
      memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
      sendmsg(peer, &message, MSG_NOSIGNAL);
    }
    close(peer);
  }
}

ncclResult_t Rendezvous::progress() {
  if (area_ == nullptr)
    if (const ncclResult_t result = find_area(); result != ncclSuccess && result != ncclInProgress) return result;
  if (area_ != nullptr && !joined_) {
    if (!area_->join(rank_, seat_)) {
      error_ = "rank " + std::to_string(rank_) + " is there twice";
      stop_serving();
      return ncclInvalidUsage;
    }
    joined_ = true;
  }
  if (listener_ >= 0) serve();
  if (area_ != nullptr && area_->joined() == ranks_) {
    stop_serving();
    std::lock_guard<std::mutex> lock(areas_mutex);
    areas().erase(identity_.name());
    return ncclSuccess;
  }
  std::vector<int> missing, dead;
  for (int rank = 0; rank < ranks_ && area_ != nullptr; ++rank) {
    if (area_->member(rank).state.load(std::memory_order_acquire) == Member::kAbsent)
      missing.push_back(rank);
    else if (!area_->alive(rank))
      dead.push_back(rank);
  }
  if (area_ != nullptr && area_->given_up()) {
    clean_up();
    return fail(ncclRemoteError, "another rank gave up making the communicator");
  }
  if (!dead.empty()) {
    clean_up();
    return fail(ncclRemoteError, "rank " + list_of(dead) + " ended while the communicator was made");
  }
  if (monotonic_ns() > deadline_ns_)
    return fail(ncclSystemError, "of the " + std::to_string(ranks_) + " ranks of a communicator, rank " +
                                     list_of(missing) +
                                     " did not come in time (MAYA_RENDEZVOUS_TIMEOUT seconds, 600 when not set)");
  return ncclInProgress;
}

void Rendezvous::wait() {
  constexpr uint64_t kNap_ns = 20000000;
  pollfd wanted{listener_ >= 0 ? listener_ : connection_, POLLIN, 0};
  if (wanted.fd >= 0)
    poll(&wanted, 1, 5);
  else if (area_ != nullptr && area_->joined() != ranks_)
    area_->wait(area_->word(), kNap_ns);
  else
    poll(nullptr, 0, 5);
}

}  // namespace maya::nccl
