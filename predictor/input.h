// Finds and loads the trace files that a command is given.
#pragma once

#include <string>
#include <vector>

#include "predictor/failure.h"
#include "trace_proto/loaded_trace.h"

namespace maya::predictor {

struct Input {
  std::vector<trace::LoadedTrace> traces;  // those with device work first in order of (rank, path); then the others
  std::vector<std::string> warnings;       // one line each
};

// Every path is a trace file or a folder, which stands for all files *.pb in it (not below it). Failures: missing or
// unreadable path, a folder without traces, a file that is no trace, damaged before its first packet or of a newer
// format, traces with device work of different runs.
Failure load_input(const std::vector<std::string>& paths, Input* input);

// True when the process launched anything on a device or allocated memory there.
bool has_device_work(const trace::LoadedTrace& trace);

}  // namespace maya::predictor
