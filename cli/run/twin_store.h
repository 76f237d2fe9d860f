// What the store of a rank that runs alone answers for keys that only absent ranks would set.
#pragma once

#include <optional>
#include <string>

#include "cli/run/store_server.h"

namespace maya::cli {

// The value of a key that is there and has the same form (numbers aside): what the twin of this rank would have set.
// Without one, or when that value is the unique id of an NCCL communicator: an id of the key's own, which is 128 bytes
// (NCCL_UNIQUE_ID_BYTES).
std::optional<std::string> twin_value(const std::string& key, const StoreValues& values);

}  // namespace maya::cli
