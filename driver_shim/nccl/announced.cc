#include "driver_shim/nccl/announced.h"

#include <stdlib.h>

#include <charconv>

namespace maya::nccl {
namespace {

constexpr int32_t kMostRanks = 1 << 20;

}  // namespace

std::vector<int32_t> parse_ranks(std::string_view text) {
  std::vector<int32_t> numbers;
  char separator = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int32_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0) return {};
    numbers.push_back(number);
    at = next;
    if (at == end) break;
    if ((*at != ':' && *at != ',') || (separator != 0 && *at != separator)) return {};
    separator = *at++;
    if (at == end) return {};
  }
  if (separator != ':') return numbers;
  if (numbers.size() != 3 || numbers[1] < 1 || numbers[2] > kMostRanks) return {};
  std::vector<int32_t> ranks;
  for (int32_t i = 0; i < numbers[2]; ++i) ranks.push_back(numbers[0] + i * numbers[1]);
  return ranks;
}

std::vector<int32_t> announced_ranks() {
  const char* text = secure_getenv("MAYA_GROUP_RANKS");
  return text == nullptr ? std::vector<int32_t>() : parse_ranks(text);
}

}  // namespace maya::nccl
