// Results that a program takes to the host although no kernel here computed them: they read as zero. When the program
// then fails, one line says so, since a check of values may have refused them.
#pragma once

namespace maya::cuda {

// Of so many bytes at most: numbers that decide something, not tensors.
inline constexpr unsigned kMostDeciding_bytes = 64;

void note_unknown_read();

}  // namespace maya::cuda
