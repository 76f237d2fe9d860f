// Communicators made from others: split, shrink, grow.
#include <string.h>

#include <algorithm>

#include "driver_shim/nccl/announced.h"
#include "driver_shim/nccl/lifecycle.h"

namespace maya::nccl {
namespace {

enum Management : uint8_t { kSplit = 64, kGrow = 65 };

std::shared_ptr<Communicator> child_of(const Communicator& parent) {
  auto made = std::make_shared<Communicator>();
  made->parent = parent.identity.unique();
  made->device = parent.device;
  made->configuration = parent.configuration;
  made->twins = parent.twins;
  return made;
}

ncclResult_t configure(const char* api, const ncclConfig_t* config, const Communicator& parent, Communicator* child) {
  std::string error;
  const ncclResult_t result = read_config(config, parent.configuration, &child->configuration, &error);
  return result == ncclSuccess ? result : failed(result, std::string(api) + ": " + error);
}

// Tells the other ranks of the parent two words, waits for theirs, and then begins the new communicator.
class Exchange : public Beginning {
 public:
  Exchange(const char* api, std::shared_ptr<Communicator> parent, std::shared_ptr<Communicator> child, ncclComm_t* out,
           uint8_t kind, int64_t first, int64_t second)
      : api_(api), parent_(std::move(parent)), child_(std::move(child)), out_(out), kind_(kind), words_{first, second} {
    std::lock_guard<std::mutex> lock(engine_mutex());
    position_ = parent_->next_management++;
  }

  ncclResult_t progress() override {
    if (joining_ != nullptr) return joining_->progress();
    Area& area = *parent_->area;
    if (!posted_) {
      for (int rank = 0; rank < parent_->ranks; ++rank)
        if (area.member(rank).managements_done.load(std::memory_order_acquire) + Area::kManagements <= position_ &&
            area.alive(rank))
          return ncclInProgress;
      Record& own = area.management(parent_->rank, position_);
      own.kind = kind_;
      own.words[0] = words_[0];
      own.words[1] = words_[1];
      area.publish(own, position_);
      posted_ = true;
    }
    std::vector<std::pair<int64_t, int64_t>> answers;
    for (int rank = 0; rank < parent_->ranks; ++rank) {
      const Record& record = area.management(rank, position_);
      if (!Area::ready(record, position_)) {
        if (area.alive(rank) || Area::ready(record, position_)) return ncclInProgress;
        const std::string text = std::string(api_) + ": rank " + std::to_string(rank) + " is gone";
        child_->error.store(ncclRemoteError);
        drop_handle();
        return failed(ncclRemoteError, text);
      }
      if (record.kind != kind_) {
        child_->error.store(ncclInvalidUsage);
        drop_handle();
        return failed(ncclInvalidUsage, std::string(api_) + ": rank " + std::to_string(rank) + " makes another call");
      }
      answers.emplace_back(record.words[0], record.words[1]);
    }
    area.member(parent_->rank).managements_done.store(position_ + 1, std::memory_order_release);
    if (!settle(answers)) return ncclSuccess;
    joining_ = make_joining(api_, child_, out_);
    return joining_->progress();
  }

  void wait() override {
    constexpr uint64_t kNap_ns = 20000000;
    if (joining_ != nullptr)
      joining_->wait();
    else
      parent_->area->wait(parent_->area->word(), kNap_ns);
  }
  bool blocking() const override { return child_->configuration.blocking; }
  const std::shared_ptr<Communicator>& communicator() const override { return child_; }

 protected:
  // Sets the child's identity, rank and ranks. False: this rank is in no new communicator.
  virtual bool settle(const std::vector<std::pair<int64_t, int64_t>>& answers) = 0;
  const Communicator& parent() const { return *parent_; }
  Communicator& child() { return *child_; }
  uint64_t position() const { return position_; }

 private:
  void drop_handle() {
    if (!blocking() || *out_ == nullptr) return;
    retire(*out_);
    *out_ = nullptr;
  }

  const char* const api_;
  const std::shared_ptr<Communicator> parent_, child_;
  ncclComm_t* const out_;
  const uint8_t kind_;
  const int64_t words_[2];
  uint64_t position_ = 0;
  bool posted_ = false;
  std::unique_ptr<Beginning> joining_;
};

// Words: colour and key.
class Split : public Exchange {
 public:
  using Exchange::Exchange;

 private:
  bool settle(const std::vector<std::pair<int64_t, int64_t>>& answers) override {
    const int64_t color = answers[static_cast<size_t>(parent().rank)].first;
    if (color == NCCL_SPLIT_NOCOLOR) return false;
    std::vector<std::pair<int64_t, int>> members;  // (key, rank in the parent)
    for (int rank = 0; rank < parent().ranks; ++rank)
      if (answers[static_cast<size_t>(rank)].first == color)
        members.emplace_back(answers[static_cast<size_t>(rank)].second, rank);
    std::sort(members.begin(), members.end());
    child().ranks = static_cast<int>(members.size());
    for (size_t i = 0; i < members.size(); ++i)
      if (members[i].second == parent().rank) child().rank = static_cast<int>(i);
    const int64_t text[3] = {kSplit, static_cast<int64_t>(position()), color};
    child().identity = parent().identity.derived(text, sizeof text);
    return true;
  }
};

// Words: the new identity's number from the root, zeros from the others.
class Grow : public Exchange {
 public:
  using Exchange::Exchange;

 private:
  bool settle(const std::vector<std::pair<int64_t, int64_t>>& answers) override {
    child().identity = parent().identity;
    for (const auto& [first, second] : answers) {
      if (first == 0 && second == 0) continue;
      const int64_t words[2] = {first, second};
      memcpy(child().identity.number, words, sizeof words);
    }
    return true;
  }
};

// The new communicator of a parent with one rank, or whose other ranks are absent, needs nobody.
ncclResult_t split_alone(const char* api, const Communicator& parent, std::shared_ptr<Communicator> child,
                         ncclComm_t* out) {
  const int64_t text[2] = {kSplit, static_cast<int64_t>(parent.next_management)};
  child->identity = parent.identity.derived(text, sizeof text);
  return begin(api, std::move(child), out);
}

// Size and place in a split whose other ranks are absent. False: its members were not announced.
bool take_announced_members(Communicator* child) {
  const std::vector<int32_t> members = announced_ranks();
  const auto own = std::find(members.begin(), members.end(), world_rank());
  if (own == members.end()) return false;
  child->ranks = static_cast<int>(members.size());
  child->rank = static_cast<int>(own - members.begin());
  child->twins = child->ranks > 1;
  return true;
}

}  // namespace
}  // namespace maya::nccl

using namespace maya::nccl;

MAYA_NCCL(ncclCommSplit, ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t* config) {
  constexpr const char* kApi = "ncclCommSplit";
  if (made == nullptr) return failed(ncclInvalidArgument, "ncclCommSplit: newcomm is null");
  *made = NCCL_COMM_NULL;
  std::shared_ptr<Communicator> parent;
  if (const ncclResult_t result = ready(comm, kApi, &parent); result != ncclSuccess) return result;
  std::shared_ptr<Communicator> child = child_of(*parent);
  if (const ncclResult_t result = configure(kApi, config, *parent, child.get()); result != ncclSuccess) return result;
  if (parent->area == nullptr) {
    if (parent->ranks > 1 && color != NCCL_SPLIT_NOCOLOR && !take_announced_members(child.get()))
      return failed(ncclInvalidUsage,
                    "ncclCommSplit: the other ranks are absent, so their colors are not known; let the program make "
                    "communicators from unique ids (PyTorch: init_process_group without device_id)");
    std::lock_guard<std::mutex> lock(engine_mutex());
    ++parent->next_management;
  }
  if (parent->area == nullptr)
    return color == NCCL_SPLIT_NOCOLOR ? ncclSuccess : split_alone(kApi, *parent, std::move(child), made);
  if (color != NCCL_SPLIT_NOCOLOR) *made = make_handle(child);
  const ncclResult_t result = run(std::make_unique<Split>(kApi, parent, std::move(child), made, kSplit, color, key));
  // The call itself has done its part: ncclCommGetAsyncError tells of the new communicator. PyTorch 2.4 relies on that.
  return result == ncclInProgress ? ncclSuccess : result;
}

MAYA_NCCL(ncclCommShrink, ncclComm_t comm, int* excluded, int excluded_count, ncclComm_t* made, ncclConfig_t* config,
          int flags) {
  constexpr const char* kApi = "ncclCommShrink";
  if (made == nullptr) return failed(ncclInvalidArgument, "ncclCommShrink: newcomm is null");
  *made = NCCL_COMM_NULL;
  if ((flags & ~NCCL_SHRINK_ABORT) != 0)
    return failed(ncclInvalidArgument, "ncclCommShrink: invalid flags " + std::to_string(flags));
  std::shared_ptr<Communicator> parent = hold(comm, kApi);
  if (parent == nullptr) return ncclInvalidArgument;
  const bool revoked = parent->state.load() == Communicator::State::kRevoked;
  if (flags == NCCL_SHRINK_DEFAULT && !revoked)
    if (const ncclResult_t result = ready(comm, kApi, &parent); result != ncclSuccess) return result;
  if (excluded == nullptr || excluded_count < 1 || excluded_count >= parent->ranks)
    return failed(ncclInvalidArgument, "ncclCommShrink: invalid list of excluded ranks");
  std::vector<int> gone(excluded, excluded + excluded_count);
  std::sort(gone.begin(), gone.end());
  if (gone.front() < 0 || gone.back() >= parent->ranks || std::adjacent_find(gone.begin(), gone.end()) != gone.end() ||
      std::binary_search(gone.begin(), gone.end(), parent->rank))
    return failed(ncclInvalidArgument,
                  "ncclCommShrink: excluded ranks must exist, be different, and not be the calling rank");
  if (flags == NCCL_SHRINK_ABORT) {
    std::lock_guard<std::mutex> lock(engine_mutex());
    drop_calls(*parent);
  }
  std::shared_ptr<Communicator> child = child_of(*parent);
  if (const ncclResult_t result = configure(kApi, config, *parent, child.get()); result != ncclSuccess) return result;
  child->shares_memory = child->configuration.shrink_share && flags == NCCL_SHRINK_DEFAULT && !revoked;
  child->ranks = parent->ranks - excluded_count;
  child->rank =
      parent->rank - static_cast<int>(std::lower_bound(gone.begin(), gone.end(), parent->rank) - gone.begin());
  child->twins = parent->twins && child->ranks > 1;
  std::string text = "shrink";
  for (const int rank : gone) text += " " + std::to_string(rank);
  {
    std::lock_guard<std::mutex> lock(engine_mutex());
    text += " " + std::to_string(parent->next_shrink++);
  }
  child->identity = parent->identity.derived(text.data(), text.size());
  return begin(kApi, std::move(child), made);
}

MAYA_NCCL(ncclCommGetUniqueId, ncclComm_t comm, ncclUniqueId* id) {
  if (id == nullptr) return failed(ncclInvalidArgument, "ncclCommGetUniqueId: uniqueId is null");
  std::shared_ptr<Communicator> communicator;
  if (const ncclResult_t result = ready(comm, "ncclCommGetUniqueId", &communicator); result != ncclSuccess)
    return result;
  Communicator& c = *communicator;
  std::lock_guard<std::mutex> lock(engine_mutex());
  if (c.grow_identity.valid())
    return failed(ncclInvalidUsage, "ncclCommGetUniqueId: the previous unique id has not been used");
  std::string error;
  if (!make_identity(&c.grow_identity, &error)) return failed(ncclSystemError, "ncclCommGetUniqueId: " + error);
  memcpy(c.grow_identity.folder, c.identity.folder, sizeof c.identity.folder);
  memcpy(id, &c.grow_identity, sizeof *id);
  return ncclSuccess;
}

MAYA_NCCL(ncclCommGrow, ncclComm_t comm, int ranks, const ncclUniqueId* id, int rank, ncclComm_t* made,
          ncclConfig_t* config) {
  constexpr const char* kApi = "ncclCommGrow";
  if (made == nullptr) return failed(ncclInvalidArgument, "ncclCommGrow: newcomm is null");
  *made = NCCL_COMM_NULL;
  Identity identity;
  if (id != nullptr) {
    memcpy(static_cast<void*>(&identity), id, sizeof identity);
    if (!identity.valid()) return failed(ncclInvalidArgument, "ncclCommGrow: not a unique id of ncclCommGetUniqueId");
  }
  if (comm == nullptr) {  // a new rank
    if (id == nullptr || ranks < 2 || rank < 1 || rank >= ranks)
      return failed(ncclInvalidArgument, "ncclCommGrow: rank " + std::to_string(rank) + " of " + std::to_string(ranks));
    auto child = std::make_shared<Communicator>();
    std::string error;
    if (const ncclResult_t result = read_config(config, Configuration(), &child->configuration, &error);
        result != ncclSuccess)
      return failed(result, "ncclCommGrow: " + error);
    if (const ncclResult_t result = current_device(&child->device, kApi); result != ncclSuccess) return result;
    child->identity = identity;
    child->rank = rank;
    child->ranks = ranks;
    child->twins = twins();
    return begin(kApi, std::move(child), made);
  }
  std::shared_ptr<Communicator> parent;
  if (const ncclResult_t result = ready(comm, kApi, &parent); result != ncclSuccess) return result;
  if (rank != -1 || ranks <= parent->ranks)
    return failed(ncclInvalidArgument, "ncclCommGrow: an existing rank passes rank -1 and more ranks than before");
  int64_t words[2] = {0, 0};
  if (id != nullptr) {
    std::lock_guard<std::mutex> lock(engine_mutex());
    if (memcmp(&parent->grow_identity, &identity, sizeof identity) != 0)
      return failed(ncclInvalidArgument, "ncclCommGrow: the unique id is not the one of this communicator");
    parent->grow_identity = Identity();
    memcpy(words, identity.number, sizeof words);
  }
  std::shared_ptr<Communicator> child = child_of(*parent);
  if (const ncclResult_t result = configure(kApi, config, *parent, child.get()); result != ncclSuccess) return result;
  child->rank = parent->rank;
  child->ranks = ranks;
  child->twins = twins();
  if (parent->area == nullptr) {
    if (id == nullptr && !child->twins)
      return failed(ncclInvalidArgument, "ncclCommGrow: the root of a communicator of one rank passes its unique id");
    child->identity = id != nullptr ? identity : parent->identity.derived("grow", 4);
    return begin(kApi, std::move(child), made);
  }
  *made = make_handle(child);
  return run(std::make_unique<Grow>(kApi, parent, std::move(child), made, kGrow, words[0], words[1]));
}
