// Names of maya::Key for people.
#pragma once

#include <cstdint>
#include <string>

namespace maya::cli::trace {

// "m", "batch", "type_a"...; "key<number>" for keys of a newer Maya.
std::string key_name(uint32_t key);

}  // namespace maya::cli::trace
