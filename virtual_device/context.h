// A context of one device: owner of streams, events, modules and allocations; carries the sticky error.
#pragma once

#include <atomic>
#include <cstdint>

namespace maya::device {

class Stream;

struct Context {
  Context(int ordinal, uint32_t context_flags, bool is_primary, uint64_t unique_id)
      : device(ordinal), flags(context_flags), primary(is_primary), id(unique_id) {}
  int device;
  std::atomic<uint32_t> flags;
  bool primary;
  uint64_t id;                              // cuCtxGetId
  std::atomic<uint32_t> sticky_error{0};    // a CUresult that every later call in this context returns; 0 none
  Stream* default_stream = nullptr;         // legacy default stream
  uint32_t api_version = 0;
};

}  // namespace maya::device
