// A context of one device: owner of streams, events, modules and allocations; carries the sticky error.
//
// Contexts are never freed: a destroyed one stays behind as a tombstone, so that a thread that still has it current, or
// a stale handle, gets the documented error instead of another context that was put in its place. Thread safe by
// atomics.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "virtual_device/stream_group.h"

namespace maya::device {

class Stream;

struct Context {
  Context(int ordinal, uint32_t context_flags, bool is_primary, uint64_t unique_id)
      : device(ordinal), flags(context_flags), primary(is_primary), id(unique_id) {}
  int device;
  std::atomic<uint32_t> flags;
  bool primary;
  uint64_t id;                            // cuCtxGetId
  Context* root = this;                   // of a green context: the primary context that it is a part of
  void* green = nullptr;                  // what the driver keeps of a green context; opaque here
  std::atomic<bool> alive{false};         // a primary context is alive while it is active, and may come to life again
  std::atomic<uint32_t> sticky_error{0};  // a CUresult that every later call in this context returns; 0 none
  std::atomic<Stream*> default_stream{nullptr};  // legacy default stream; set while alive
  uint32_t api_version = 0;
  std::atomic<uint32_t> usage{1};  // cuCtxAttach, cuCtxDetach
  static constexpr int kLimitCount = 7;
  std::atomic<uint64_t> limits[kLimitCount] = {};  // by CUlimit, up to CU_LIMIT_PERSISTING_L2_CACHE_SIZE
  std::atomic<int> cache_config{0};                // CUfunc_cache
  std::atomic<uint32_t> captured_streams{0};       // streams of it that are being captured into graphs

  // Modelled time of the work enqueued, all streams together; never null. May miss some where threads enqueue at once.
  std::atomic<uint64_t>* busy_ns = &own_busy_ns;
  std::atomic<uint64_t> own_busy_ns{0};

  // Virtual time: the end of the last work of each kind of stream. The legacy default stream keeps its own clock here.
  std::atomic<uint64_t> legacy_ready_ns{0};  // the legacy default stream
  StreamGroup blocking;                      // the other streams that order with it
  StreamGroup non_blocking;                  // streams made with CU_STREAM_NON_BLOCKING
  uint64_t all_ready_ns() const {
    return std::max({legacy_ready_ns.load(std::memory_order_relaxed), blocking.latest_ns(), non_blocking.latest_ns()});
  }
};

}  // namespace maya::device
