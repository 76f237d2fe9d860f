#include "cli/run/twin_store.h"

#include <cstdio>
#include <functional>

namespace maya::cli {
namespace {

constexpr size_t kUniqueId_bytes = 128;  // nccl.h: NCCL_UNIQUE_ID_BYTES

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The key with every number written as '#': "rank_12/x" and "rank_3/x" have one form.
std::string form_of(const std::string& key) {
  std::string form;
  for (size_t i = 0; i < key.size(); ++i)
    if (!is_digit(key[i]))
      form += key[i];
    else if (i == 0 || !is_digit(key[i - 1]))
      form += '#';
  return form;
}

// As our NCCL library knows its ids (driver_shim/nccl/rendezvous.h): eight letters, then a number of 16 bytes.
std::string id_of(const std::string& key) {
  char number[17];
  snprintf(number, sizeof number, "%016zx", std::hash<std::string>{}(key));
  std::string id = std::string("MAYANCL1") + number;
  id.resize(kUniqueId_bytes, '\0');
  return id;
}

}  // namespace

std::optional<std::string> twin_value(const std::string& key, const StoreValues& values) {
  const std::string form = form_of(key);
  for (const auto& [other, value] : values)
    if (value.size() != kUniqueId_bytes && form_of(other) == form) return value;
  return id_of(key);
}

}  // namespace maya::cli
