// Requests of the store protocol (store_server.h), taken out of a stream of bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace maya::cli {

enum class StoreQuery : uint8_t {
  kValidate = 0,
  kSet = 1,
  kCompareSet = 2,
  kGet = 3,
  kAdd = 4,
  kCheck = 5,
  kWait = 6,
  kNumberOfKeys = 7,
  kDelete = 8,
  kAppend = 9,
  kGetMany = 10,
  kSetMany = 11,
  kCancelWait = 12,
  kPing = 13,
  kQueuePush = 14,
  kQueuePop = 15,
  kQueueLength = 16,
  kListKeys = 17,
  kBarrier = 18,
};

struct StoreRequest {
  StoreQuery query = StoreQuery::kValidate;
  std::vector<std::string> keys;
  std::vector<std::string> values;  // set, append, push: 1; compare-set: expected, desired; set many: one a key
  int64_t number = 0;               // add; ping's nonce; validate's magic; clients of a barrier
};

// Limits that the protocol's own server has (8 KiB keys, 8 MiB values, 128 Ki keys).
inline constexpr uint64_t kLongestKey_bytes = 8 << 10, kLongestValue_bytes = 8 << 20, kMostKeys = 128 << 10;
inline constexpr uint32_t kStoreMagic = 0x3C85F7CE;

enum class Parse : uint8_t { kDone, kIncomplete, kInvalid };

// Takes one request from the front of `bytes`; `used` is how many bytes it had.
Parse parse_store_request(std::string_view bytes, StoreRequest* request, size_t* used);

}  // namespace maya::cli
