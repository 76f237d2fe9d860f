// What our driver tells our libcupti while a profiler is attached. Handed over through MayaTable. C layout, append
// only.
//
// Times are of the host clock (MayaTable::now_ns, nanoseconds). The device's clock is virtual: while nobody profiles,
// the host does not sleep where the program waits for the device; the virtual clock jumps instead. While a profiler is
// attached, such waits really take their modelled time (Driver::wait_until), so the virtual clock runs as fast as the
// host's and one constant maps one to the other: a kernel starts after the call that launched it and ends before the
// wait for it returns, and work of one stream never overlaps. The trace does not change: the slept time is recorded as
// Maya's own.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "driver_shim/common/entry_slots.h"
#include "predictor/core/operation.h"

namespace maya {

enum class WorkKind : uint32_t { kKernel = 0, kOperation = 1, kCopy = 2, kFill = 3, kGraph = 4 };

// A piece of work that was put on a stream. Valid during the call that hands it over.
struct DeviceWork {
  WorkKind kind;
  int32_t device;
  CUcontext context;
  uint32_t context_id;  // cuCtxGetId
  uint32_t stream;      // the trace's stream id
  uint64_t start_ns, end_ns;
  uint64_t call_ns;     // when the call began that put it there
  uint32_t graph;       // executable graph, 0: none
  uint64_t graph_node;  // 0: none
  // kKernel
  const char* name;  // mangled
  uint32_t grid[3], block[3], cluster[3];
  uint32_t dynamic_shared_bytes, static_shared_bytes, registers, local_bytes;
  int32_t priority;
  uint32_t cooperative;
  // kOperation: what a real library would have launched as one kernel or more
  const OperationRecord* operation;
  // kCopy, kFill
  uint32_t copy_kind;  // as in the trace: Copy.Kind
  uint32_t pageable, asynchronous;
  uint64_t bytes;
  uint32_t value;
  int32_t source_device, destination_device;  // kCopy between devices; -1: not known
};

// A wait, or an event that was recorded.
enum class SynchronizationKind : uint32_t {
  kEventSynchronize = 0,
  kStreamWaitEvent = 1,
  kStreamSynchronize = 2,
  kContextSynchronize = 3,
  kEventRecord = 4,
};
struct DeviceSynchronization {
  SynchronizationKind kind;
  int32_t device;
  CUcontext context;
  uint32_t context_id;
  uint32_t stream;         // UINT32_MAX: none
  CUstream stream_handle;  // kStreamSynchronize
  uint32_t event;          // the trace's event id, 0: none
  uint64_t start_ns, end_ns;
  uint64_t device_ns;  // kEventRecord: when the event happens on the device
};

enum class ResourceKind : uint32_t {
  kInitialized = 0,
  kContextCreated = 1,
  kContextDestroyStarting = 2,
  kStreamCreated = 3,
  kStreamDestroyStarting = 4,
};
struct DeviceResource {
  ResourceKind kind;
  int32_t device;
  CUcontext context;
  uint32_t context_id;
  uint32_t stream;
  CUstream stream_handle;
  uint32_t stream_flags;
  int32_t stream_priority;
};

struct MemoryChange {
  uint32_t released;  // 0: allocated
  uint32_t kind;      // virtual_device/memory.h: AllocationKind
  int32_t device;
  uint64_t address, bytes;
  CUcontext context;  // may be null
};

// All are called by the threads that make the CUDA calls, without a lock of the driver. None may be null.
struct ProfilerHooks {
  uint32_t bytes;       // sizeof this struct in the caller
  uint32_t real_waits;  // not 0: waits take their time
  void (*work)(const DeviceWork* work);
  void (*synchronization)(const DeviceSynchronization* synchronization);
  void (*resource)(const DeviceResource* resource);
  void (*memory)(const MemoryChange* change);
  void (*range)(int call, const char* text, const char* domain, uint64_t id);  // as MayaTable::range
  void (*library_loaded)(const EntrySlots* slots);
};

}  // namespace maya
