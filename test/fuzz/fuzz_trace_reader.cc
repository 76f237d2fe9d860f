// The trace reader and the loader over arbitrary bytes.
#include <cstdlib>

#include "trace_proto/loaded_trace.h"
#include "trace_proto/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto reader = maya::trace::Reader::from_memory(data, size);
  maya::trace::PacketView packet;
  uint64_t packets = 0;
  while (reader->next(&packet)) {
    ++packets;
    if (packet.offset >= size || packet.size > maya::trace::Limits::kPacket_bytes) std::abort();
  }
  if (packets != reader->packets()) std::abort();
  if (reader->complete() && (reader->damage_count() != 0 || reader->unfinished_chunks() != 0)) std::abort();
  const maya::trace::LoadResult result = maya::trace::load_trace(data, size);
  if (result.status != reader->status()) std::abort();
  for (const auto& trace : result.traces) {
    for (size_t i = 1; i < trace.events.size(); ++i)
      if (trace.events[i].time_ns < trace.events[i - 1].time_ns) std::abort();
    for (const auto& event : trace.events)
      if (event.kind == maya::trace::EventKind::kLaunch && event.index != maya::trace::kNoDefinition &&
          event.index >= trace.configurations.size())
        std::abort();
  }
  return 0;
}
