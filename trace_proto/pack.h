// Lossless compression of a trace file. The result is a trace file, too: a sequence of packets, each of which holds a
// zstd frame with whole chunks as they stood in the file. Padding is left out. Reader opens it like any other.
#pragma once

#include <cstdint>
#include <string>

#include "trace_proto/reader.h"

namespace maya::trace {

struct PackResult {
  ReadStatus input = ReadStatus::kOk;  // anything else: nothing was written
  bool damaged = false;                // the input is damaged: nothing was written
  bool written = false;
  std::string error;  // one line when not written
  uint64_t input_bytes = 0;
  uint64_t output_bytes = 0;
  uint64_t packets = 0;
};

// Packs `input` into `output`; the two may be the same path. The output appears under its name only when it is whole
// and has been read back and found to hold the same packets. An existing output is replaced only when it is the input
// itself or `replace` is set.
PackResult pack(const std::string& input, const std::string& output, bool replace);

}  // namespace maya::trace
