// Sizes as people write them: 40GiB, 512M, 80gb, 1073741824.
#pragma once

#include <cstdint>
#include <string_view>

namespace maya::device {

// A number, with decimals or without, and a unit: none or B (bytes), K M G T with or without iB (powers of 1024), or kB
// MB GB TB (powers of 1000); capital letters or small. False, and *bytes untouched, for anything else and for values
// beyond 2^63.
bool parse_size(std::string_view text, uint64_t* bytes);

}  // namespace maya::device
