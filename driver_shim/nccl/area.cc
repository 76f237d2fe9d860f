#include "driver_shim/nccl/area.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <new>

namespace maya::nccl {

struct Area::Control {
  static constexpr uint64_t kMagic = 0x3161657261616d6e;
  uint64_t magic;
  uint64_t ranks;
  std::atomic<uint32_t> changed;
  std::atomic<uint32_t> waiting;
  std::atomic<uint32_t> joined;
  std::atomic<uint32_t> given_up;
  std::atomic<uint64_t> reported;
};

namespace {

constexpr uint64_t kPage_bytes = 4096;
constexpr uint64_t kPayload_bytes = 1ull << 40;  // of addresses in the file per rank; used once
constexpr uint64_t kAlignment_bytes = 64;

uint64_t whole_pages(uint64_t bytes) { return (bytes + kPage_bytes - 1) & ~(kPage_bytes - 1); }

struct Layout {
  explicit Layout(uint64_t ranks) {
    members = kPage_bytes;
    messages_done = members + whole_pages(ranks * sizeof(Member));
    collectives = messages_done + whole_pages(ranks * ranks * sizeof(uint64_t));
    managements = collectives + ranks * Area::kCollectives * sizeof(Record);
    messages = managements + ranks * whole_pages(Area::kManagements * sizeof(Record));
    payload = messages + ranks * ranks * Area::kMessages * sizeof(Record);
    whole = payload + ranks * kPayload_bytes;
  }
  uint64_t members, messages_done, collectives, managements, messages, payload, whole;
};

void* map(int descriptor, uint64_t bytes) {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (base == MAP_FAILED) return nullptr;
  madvise(base, bytes, MADV_DONTDUMP);
  madvise(base, bytes, MADV_DONTFORK);
  return base;
}

template <typename T>
T* at(void* base, uint64_t offset) {
  return reinterpret_cast<T*>(static_cast<char*>(base) + offset);
}

flock lock_of(int rank, int16_t kind) {
  flock lock{};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = rank;
  lock.l_len = 1;
  return lock;
}

}  // namespace

std::shared_ptr<Area> Area::create(int ranks) {
  const Layout layout(static_cast<uint64_t>(ranks));
  const int descriptor = memfd_create("maya-nccl", MFD_CLOEXEC);
  if (descriptor < 0) return nullptr;
  void* base = nullptr;
  if (ftruncate(descriptor, static_cast<off_t>(layout.whole)) == 0) base = map(descriptor, layout.payload);
  if (base == nullptr) {
    const int error = errno;
    close(descriptor);
    errno = error;
    return nullptr;
  }
  auto* control = new (base) Control();
  control->ranks = static_cast<uint64_t>(ranks);
  control->magic = Control::kMagic;
  return std::shared_ptr<Area>(new Area(descriptor, ranks, base));
}

std::shared_ptr<Area> Area::attach(int descriptor, int ranks) {
  const Layout layout(static_cast<uint64_t>(ranks));
  struct stat status;
  void* base = nullptr;
  if (fstat(descriptor, &status) == 0 && static_cast<uint64_t>(status.st_size) == layout.whole)
    base = map(descriptor, layout.payload);
  const auto* control = static_cast<const Control*>(base);
  if (control == nullptr || control->magic != Control::kMagic || control->ranks != static_cast<uint64_t>(ranks)) {
    if (base != nullptr) munmap(base, layout.payload);
    close(descriptor);
    return nullptr;
  }
  return std::shared_ptr<Area>(new Area(descriptor, ranks, base));
}

Area::Area(int descriptor, int ranks, void* base)
    : descriptor_(descriptor),
      ranks_(ranks),
      control_(static_cast<Control*>(base)),
      members_(at<Member>(base, Layout(static_cast<uint64_t>(ranks)).members)),
      messages_done_(at<std::atomic<uint64_t>>(base, Layout(static_cast<uint64_t>(ranks)).messages_done)),
      collectives_(at<Record>(base, Layout(static_cast<uint64_t>(ranks)).collectives)),
      managements_(at<Record>(base, Layout(static_cast<uint64_t>(ranks)).managements)),
      messages_(at<Record>(base, Layout(static_cast<uint64_t>(ranks)).messages)),
      payloads_(static_cast<size_t>(ranks)) {
  const Layout layout(static_cast<uint64_t>(ranks));
  for (size_t rank = 0; rank < payloads_.size(); ++rank)
    payloads_[rank].end = payloads_[rank].returned = layout.payload + rank * kPayload_bytes;
}

Area::~Area() {
  munmap(control_, Layout(static_cast<uint64_t>(ranks_)).payload);
  close(descriptor_);
}

bool Area::join(int rank, const Seat& seat) {
  Member& member = members_[rank];
  flock lock = lock_of(rank, F_WRLCK);
  if (fcntl(descriptor_, F_SETLK, &lock) != 0 || member.state.load(std::memory_order_acquire) != Member::kAbsent)
    return false;
  member.process = getpid();
  member.world_rank = seat.world_rank;
  member.device = seat.device;
  member.host = seat.host;
  member.bus_id = seat.bus_id;
  uint32_t absent = Member::kAbsent;
  if (!member.state.compare_exchange_strong(absent, Member::kJoined, std::memory_order_acq_rel)) return false;
  control_->joined.fetch_add(1, std::memory_order_acq_rel);
  wake();
  return true;
}

void Area::leave(int rank) {
  members_[rank].state.store(Member::kLeft, std::memory_order_release);
  flock lock = lock_of(rank, F_UNLCK);
  fcntl(descriptor_, F_SETLK, &lock);
  wake();
}

int Area::joined() const { return static_cast<int>(control_->joined.load(std::memory_order_acquire)); }

bool Area::alive(int rank) const {
  const Member& member = members_[rank];
  const uint32_t state = member.state.load(std::memory_order_acquire);
  if (state != Member::kJoined) return state == Member::kAbsent;
  if (member.process == getpid()) return true;
  flock lock = lock_of(rank, F_WRLCK);
  return fcntl(descriptor_, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

void Area::give_up() {
  control_->given_up.store(1, std::memory_order_release);
  wake();
}
bool Area::given_up() const { return control_->given_up.load(std::memory_order_acquire) != 0; }

bool Area::first_to_report(uint64_t number) {
  return control_->reported.exchange(number, std::memory_order_acq_rel) != number;
}

Record& Area::collective(int rank, uint64_t position) const {
  return collectives_[static_cast<uint64_t>(rank) * kCollectives + position % kCollectives];
}

Record& Area::management(int rank, uint64_t position) const {
  constexpr uint64_t kStride = kPage_bytes / sizeof(Record);
  static_assert(kManagements <= kStride);
  return managements_[static_cast<uint64_t>(rank) * kStride + position % kManagements];
}

Record& Area::message(int source, int destination, uint64_t position) const {
  const auto pair = static_cast<uint64_t>(source) * static_cast<uint64_t>(ranks_) + static_cast<uint64_t>(destination);
  return messages_[pair * kMessages + position % kMessages];
}

std::atomic<uint64_t>& Area::messages_done(int source, int destination) const {
  return messages_done_[static_cast<uint64_t>(source) * static_cast<uint64_t>(ranks_) +
                        static_cast<uint64_t>(destination)];
}

void Area::publish(Record& record, uint64_t position) {
  record.ready.store(position + 1, std::memory_order_release);
  wake();
}

bool Area::passed(int rank, const Reader& reader) const {
  if (reader.is_message)
    return messages_done(rank, reader.destination).load(std::memory_order_acquire) > reader.position ||
           !alive(reader.destination);
  for (int r = 0; r < ranks_; ++r)
    if (members_[r].collectives_done.load(std::memory_order_acquire) <= reader.position && alive(r)) return false;
  return true;
}

void Area::reclaim(int rank) {
  Payload& payload = payloads_[static_cast<size_t>(rank)];
  while (!payload.extents.empty() && passed(rank, payload.extents.front().reader)) {
    const uint64_t done = payload.extents.front().end & ~(kPage_bytes - 1);
    payload.extents.pop_front();
    if (done <= payload.returned) continue;
    fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(payload.returned),
              static_cast<off_t>(done - payload.returned));
    payload.returned = done;
  }
}

uint64_t Area::append(int rank, const void* bytes, uint64_t size, const Reader& reader) {
  std::lock_guard<std::mutex> lock(mutex_);
  reclaim(rank);
  Payload& payload = payloads_[static_cast<size_t>(rank)];
  const uint64_t place = payload.end;
  for (uint64_t done = 0; done < size;) {
    const ssize_t part =
        pwrite(descriptor_, static_cast<const char*>(bytes) + done, size - done, static_cast<off_t>(place + done));
    if (part <= 0 && errno == EINTR) continue;
    if (part <= 0) return 0;
    done += static_cast<uint64_t>(part);
  }
  payload.end = (place + size + kAlignment_bytes - 1) & ~(kAlignment_bytes - 1);
  payload.extents.push_back({place, payload.end, reader});
  return place;
}

bool Area::read(uint64_t place, void* bytes, uint64_t size) const {
  for (uint64_t done = 0; done < size;) {
    const ssize_t part =
        pread(descriptor_, static_cast<char*>(bytes) + done, size - done, static_cast<off_t>(place + done));
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return false;
    done += static_cast<uint64_t>(part);
  }
  return true;
}

uint32_t Area::word() const { return control_->changed.load(std::memory_order_seq_cst); }

void Area::wait(uint32_t word, uint64_t limit_ns) const {
  const timespec limit{static_cast<time_t>(limit_ns / 1000000000), static_cast<long>(limit_ns % 1000000000)};
  control_->waiting.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &control_->changed, FUTEX_WAIT, word, &limit, nullptr, 0);
  control_->waiting.fetch_sub(1, std::memory_order_seq_cst);
}

void Area::wake() {
  control_->changed.fetch_add(1, std::memory_order_seq_cst);
  // A process that was killed while waiting leaves the count too high: that costs a system call, no more.
  if (control_->waiting.load(std::memory_order_seq_cst) != 0)
    syscall(SYS_futex, &control_->changed, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace maya::nccl
