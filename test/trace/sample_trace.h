// One small trace with every kind of packet, whose bytes are the same at every run: what the golden files were made
// from.
#pragma once

#include <string>

namespace maya::test {

std::string golden_trace();

}  // namespace maya::test
