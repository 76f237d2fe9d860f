#include "driver_shim/nccl/kept_sends.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "driver_shim/nccl/announced.h"
#include "driver_shim/nccl/report.h"

namespace maya::nccl {
namespace {

// Payloads that are kept: all small ones (flags, sizes, tokens), from 256 MiB in a rank's file only flags and sizes,
// from 512 MiB none.
constexpr uint64_t kLarge_bytes = 256 << 10, kSmall_bytes = 4 << 10;
constexpr uint64_t kRoom_bytes = 256 << 20, kMost_bytes = 512 << 20;
constexpr useconds_t kLook_us = 5'000;

using Run = Runs::value_type;

struct Header {
  SentKey key;
  uint64_t payload_bytes;  // after the runs
  uint32_t run_count;
  uint32_t kept;  // 0: without its bytes
};

struct KeyHash {
  size_t operator()(const SentKey& key) const {
    return key.group ^ (key.position * 0x9e3779b97f4a7c15) ^ (static_cast<uint64_t>(key.source) << 20) ^
           static_cast<uint64_t>(key.destination + 1);
  }
};

const std::string& folder() {
  static const auto* const name = [] {
    const char* text = secure_getenv("MAYA_TWIN_FOLDER");
    return new std::string(text == nullptr || !twins() || world_rank() < 0 ? "" : text);
  }();
  return *name;
}

std::string path_of(const char* what, int32_t rank) { return folder() + "/" + what + "-" + std::to_string(rank); }

bool runs(int32_t rank) { return access(path_of("running", rank).c_str(), F_OK) == 0; }

class Writer {
 public:
  Writer() : file_(open(path_of("sent", world_rank()).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
    if (file_ < 0) say("cannot keep what this rank sends in " + folder() + ": " + strerror(errno));
  }
  void write(const SentKey& key, const Contribution* sent) {
    if (file_ < 0) return;
    Header header{key, 0, 0, 0};
    std::vector<iovec> parts = {{&header, sizeof header}};
    if (sent != nullptr && has_room(sent->bytes.size())) {
      header = {key, sent->bytes.size(), static_cast<uint32_t>(sent->runs.size()), 1};
      parts.push_back({const_cast<Run*>(sent->runs.data()), sent->runs.size() * sizeof(Run)});
      parts.push_back({const_cast<unsigned char*>(sent->bytes.data()), sent->bytes.size()});
    }
    uint64_t whole = 0;
    for (const iovec& part : parts) whole += part.iov_len;
    const ssize_t written = writev(file_, parts.data(), static_cast<int>(parts.size()));
    if (written == static_cast<ssize_t>(whole)) {
      size_ += whole;
      return;
    }
    say("cannot keep what this rank sends in " + folder() + ": " + (written < 0 ? strerror(errno) : "no room") +
        "; set TMPDIR to a folder with room");
    close(file_);
    file_ = -1;
  }

 private:
  bool has_room(uint64_t bytes) const {
    return bytes <= (size_ < kRoom_bytes ? kLarge_bytes : kSmall_bytes) && size_ + bytes <= kMost_bytes;
  }
  int file_;
  uint64_t size_ = 0;
};

// The file of another rank, read as far as it has been written.
class Reader {
 public:
  explicit Reader(int32_t rank) : path_(path_of("sent", rank)) {}
  // False: not there yet. *found stays empty when its bytes were not kept.
  bool find(const SentKey& key, std::optional<Contribution>* found) {
    index();
    const auto at = places_.find(key);
    if (at == places_.end()) return false;
    Header header{};
    uint64_t offset = at->second;
    if (!read(&header, sizeof header, offset) || header.kept == 0) return true;
    Contribution sent;
    sent.runs.resize(header.run_count);
    sent.bytes.resize(header.payload_bytes);
    offset += sizeof header;
    if (!read(sent.runs.data(), header.run_count * sizeof(Run), offset)) return true;
    offset += header.run_count * sizeof(Run);
    if (!read(sent.bytes.data(), header.payload_bytes, offset)) return true;
    *found = std::move(sent);
    return true;
  }

 private:
  bool read(void* to, size_t bytes, uint64_t offset) const {
    return pread(file_, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }
  void index() {
    if (file_ < 0) file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (file_ < 0 || fstat(file_, &status) != 0) return;
    const auto size = static_cast<uint64_t>(status.st_size);
    Header header{};
    while (end_ + sizeof header <= size && read(&header, sizeof header, end_)) {
      const uint64_t whole = sizeof header + header.run_count * sizeof(Run) + header.payload_bytes;
      if (end_ + whole > size) break;
      places_.emplace(header.key, end_);
      end_ += whole;
    }
  }

  const std::string path_;
  int file_ = -1;
  uint64_t end_ = 0;
  std::unordered_map<SentKey, uint64_t, KeyHash> places_;
};

struct State {
  std::mutex mutex;
  std::unique_ptr<Writer> writer;
  std::map<int32_t, Reader> readers;
  std::map<uint64_t, uint64_t> groups_of_shape;
};

State& state() {
  static auto* const kept = new State;
  return *kept;
}

const std::vector<int32_t>& ended_before() {
  static const auto* const ranks = [] {
    const char* text = secure_getenv("MAYA_TWINS_BEFORE");
    return new std::vector<int32_t>(text == nullptr ? std::vector<int32_t>() : parse_ranks(text));
  }();
  return *ranks;
}

bool has_ended(int32_t rank) {
  return std::find(ended_before().begin(), ended_before().end(), rank) != ended_before().end();
}

bool find_at(int32_t rank, const SentKey& key, std::optional<Contribution>* found) {
  std::lock_guard<std::mutex> lock(state().mutex);
  return state().readers.try_emplace(rank, rank).first->second.find(key, found);
}

// As find_at(), but waits for a rank that was started before this one until it has sent or ended. Ranks with higher
// numbers that may be running are not asked: the answer must not depend on who is faster.
bool wait_for(int32_t rank, const SentKey& key, std::optional<Contribution>* found) {
  if (rank > world_rank() && !has_ended(rank)) return false;
  for (;;) {
    const bool more = !has_ended(rank) && runs(rank);  // before looking: what it wrote before it ended is seen
    if (find_at(rank, key, found)) return true;
    if (!more) return false;
    usleep(kLook_us);
  }
}

// Ranks that could have had the place of `root`, the nearest first: those that had ended before this one was chosen,
// then those that were started before it.
std::vector<int32_t> candidates(int32_t root) {
  std::vector<int32_t> others;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder(), error)) {
    const std::string name = entry.path().filename();
    const size_t dash = name.find('-') + 1;
    if (name.compare(0, dash, "sent-") != 0 && name.compare(0, dash, "running-") != 0) continue;
    const auto rank = static_cast<int32_t>(strtol(name.c_str() + dash, nullptr, 10));
    if (rank < world_rank() && !has_ended(rank)) others.push_back(rank);
  }
  std::vector<int32_t> ranks = ended_before();
  const auto nearer = [root](int32_t a, int32_t b) {
    return std::make_pair(std::abs(a - root), a) < std::make_pair(std::abs(b - root), b);
  };
  std::sort(ranks.begin(), ranks.end(), nearer);
  std::sort(others.begin(), others.end(), nearer);
  others.erase(std::unique(others.begin(), others.end()), others.end());
  ranks.insert(ranks.end(), others.begin(), others.end());
  return ranks;
}

}  // namespace

uint64_t shape_of_group(const std::vector<int32_t>& world_ranks) {
  if (folder().empty() || world_ranks.empty()) return 0;
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto mix = [&hash](uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
  for (const int32_t rank : world_ranks) mix(static_cast<uint64_t>(rank - world_ranks[0]) + 1);
  std::lock_guard<std::mutex> lock(state().mutex);
  mix(++state().groups_of_shape[hash]);
  return hash | 1;
}

void keep_sent(const SentKey& key, const Contribution* sent) {
  if (key.group == 0) return;
  std::lock_guard<std::mutex> lock(state().mutex);
  if (state().writer == nullptr) state().writer = std::make_unique<Writer>();
  state().writer->write(key, sent);
}

std::optional<Contribution> find_sent(const SentKey& key, int32_t root) {
  std::optional<Contribution> found;
  if (key.group == 0 || wait_for(root, key, &found)) return found;
  for (const int32_t rank : candidates(root))
    if (rank != root && wait_for(rank, key, &found)) break;
  return found;
}

}  // namespace maya::nccl
