// Records of contexts, streams, memory and NVTX ranges.
#pragma once

#include "driver_shim/common/profiler_hooks.h"

namespace maya::cupti {

// A context or stream that came to be: CUPTI_ACTIVITY_KIND_CONTEXT, STREAM. Others leave no record. Throws
// std::bad_alloc.
void add_resource(const DeviceResource& resource);

// ProfilerHooks::memory: CUPTI_ACTIVITY_KIND_MEMORY2.
void on_memory(const MemoryChange* change);
// ProfilerHooks::range: CUPTI_ACTIVITY_KIND_MARKER.
void on_range(int call, const char* text, const char* domain, uint64_t id);

}  // namespace maya::cupti
