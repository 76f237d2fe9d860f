// One packet as one line: for people, or as JSON.
#pragma once

#include <string>
#include <string_view>

#include "cli/trace/definitions.h"
#include "trace_proto/reader.h"

namespace maya::cli::trace {

// "launch", "operation", "pause", or the name of the packet's kind in maya_trace.proto.
std::string_view kind_name(const maya::trace::PacketView& packet);

// Seconds since the process's first packet, thread, kind, then what it says, with names in place of ids where `process`
// defines them.
std::string packet_line(const maya::trace::PacketView& packet, const ProcessDefinitions& process);

// {"offset", "time_ns", "process_index", "thread", "kind", "packet": the Packet with the field names of
// maya_trace.proto}. Fields at their default are left out, enumerators are names.
std::string packet_json(const maya::trace::PacketView& packet);

}  // namespace maya::cli::trace
