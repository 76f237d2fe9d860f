#include "cli/run/store_request.h"

#include <string.h>

namespace maya::cli {
namespace {

// Reads from the front of a view; after one failure everything fails.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T number() {
    T value{};
    if (state_ != Parse::kDone) return value;
    if (bytes_.size() - at_ < sizeof value) {
      state_ = Parse::kIncomplete;
      return value;
    }
    memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string text(uint64_t longest) {
    const auto length = number<uint64_t>();
    if (state_ != Parse::kDone) return {};
    if (length > longest) {
      state_ = Parse::kInvalid;
      return {};
    }
    if (bytes_.size() - at_ < length) {
      state_ = Parse::kIncomplete;
      return {};
    }
    at_ += length;
    return std::string(bytes_.substr(at_ - length, length));
  }
  std::string key() { return text(kLongestKey_bytes); }
  std::string value() { return text(kLongestValue_bytes); }
  uint64_t count() {
    const auto value = number<uint64_t>();
    if (state_ == Parse::kDone && value > kMostKeys) state_ = Parse::kInvalid;
    return state_ == Parse::kDone ? value : 0;
  }
  bool good() const { return state_ == Parse::kDone; }
  void refuse() { state_ = Parse::kInvalid; }
  Parse state() const { return state_; }
  size_t used() const { return at_; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  Parse state_ = Parse::kDone;
};

}  // namespace

Parse parse_store_request(std::string_view bytes, StoreRequest* request, size_t* used) {
  Cursor cursor(bytes);
  *request = {};
  request->query = static_cast<StoreQuery>(cursor.number<uint8_t>());
  if (!cursor.good()) return cursor.state();
  uint64_t count = 0;
  switch (request->query) {
    case StoreQuery::kValidate:
      request->number = cursor.number<uint32_t>();
      if (cursor.good() && request->number != kStoreMagic) cursor.refuse();
      break;
    case StoreQuery::kPing:
      request->number = cursor.number<uint32_t>();
      break;
    case StoreQuery::kSet:
    case StoreQuery::kAppend:
    case StoreQuery::kQueuePush:
      request->keys.push_back(cursor.key());
      request->values.push_back(cursor.value());
      break;
    case StoreQuery::kCompareSet:
      request->keys.push_back(cursor.key());
      request->values.push_back(cursor.value());
      request->values.push_back(cursor.value());
      break;
    case StoreQuery::kAdd:
    case StoreQuery::kBarrier:
      request->keys.push_back(cursor.key());
      request->number = cursor.number<int64_t>();
      break;
    case StoreQuery::kGet:
    case StoreQuery::kDelete:
    case StoreQuery::kQueuePop:
    case StoreQuery::kQueueLength:
      request->keys.push_back(cursor.key());
      break;
    case StoreQuery::kCheck:
    case StoreQuery::kWait:
    case StoreQuery::kGetMany:
      count = cursor.count();
      for (uint64_t i = 0; i < count && cursor.good(); ++i) request->keys.push_back(cursor.key());
      break;
    case StoreQuery::kSetMany:
      count = cursor.count();
      for (uint64_t i = 0; i < count && cursor.good(); ++i) {
        request->keys.push_back(cursor.key());
        request->values.push_back(cursor.value());
      }
      break;
    case StoreQuery::kNumberOfKeys:
    case StoreQuery::kCancelWait:
    case StoreQuery::kListKeys:
      break;
    default:
      cursor.refuse();
  }
  *used = cursor.used();
  return cursor.state();
}

}  // namespace maya::cli
