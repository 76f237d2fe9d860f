// From the ids of a trace to indices 0, 1, 2... in order of definition.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace maya::trace {

// Ids are small and dense when our recorder made them: a plain array. Others, however large, are found in a map, so
// that hostile ids take no more memory than their number.
class IdIndex {
 public:
  static constexpr uint32_t kNone = 0xffffffff;

  // False when the id has an index already.
  bool add(uint32_t id) {
    if (find(id) != kNone) return false;
    if (id < 16 * (count_ + 64)) {
      if (id >= dense_.size()) dense_.resize(id + 1, kNone);
      dense_[id] = count_++;
    } else {
      sparse_.emplace(id, count_++);
    }
    return true;
  }
  // kNone when the id was never added.
  uint32_t find(uint32_t id) const {
    if (id < dense_.size() && dense_[id] != kNone) return dense_[id];
    if (sparse_.empty()) return kNone;
    const auto found = sparse_.find(id);
    return found == sparse_.end() ? kNone : found->second;
  }

 private:
  uint32_t count_ = 0;
  std::vector<uint32_t> dense_;
  std::unordered_map<uint32_t, uint32_t> sparse_;
};

}  // namespace maya::trace
