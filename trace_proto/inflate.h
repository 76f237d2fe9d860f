// Opens one zstd frame of untrusted bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace maya::trace {

// Appends nothing but replaces *out. False when the frame is damaged, cut, or holds more than `limit_bytes`; *reason
// says which.
bool inflate(const uint8_t* frame, size_t size, size_t limit_bytes, std::vector<uint8_t>* out, std::string* reason);

}  // namespace maya::trace
