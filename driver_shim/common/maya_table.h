// How our libraries talk to our driver beyond the public driver API: one private table, handed out by
// cuGetExportTable(&kMayaTableId). It is Maya's own: NVIDIA's private tables are never answered (design.md section 2).
// C layout, append only; `bytes` tells a newer caller what an older driver has.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "driver_shim/common/profiler_hooks.h"
#include "predictor/core/operation.h"

namespace maya {

// Bytes of a UUID made for this purpose.
inline constexpr unsigned char kMayaTableIdBytes[16] = {0x6d, 0x61, 0x79, 0x61, 0x7e, 0x51, 0x4c, 0x0b,
                                                        0x9d, 0x3a, 0x5f, 0x22, 0xc1, 0x08, 0xe4, 0x71};

struct MemoryRange {
  CUdeviceptr address;
  uint64_t bytes;
};

struct KernelLaunch {  // what the runtime's launch forms come down to
  CUkernel kernel;     // or a CUfunction cast
  uint32_t grid[3], block[3];
  uint32_t dynamic_shared_bytes;
  CUstream stream;
  void** arguments;
  const CUlaunchAttribute* attributes;
  uint32_t attribute_count;
};

// Work whose end depends on other processes (driver_shim/cuda/pending_work.h). `argument` is what the work was added
// with and stays valid for ever. Both may be called by any thread, also after the work has ended.
struct PendingCallbacks {
  int (*poll)(void* argument);  // not 0: the work has ended. Never blocks.
  // Blocks until the work has ended. synchronization 0: something only needs the bytes, and the program did not ask to
  // wait; may come back without an end where waiting on could make ranks wait for each other.
  void (*wait)(void* argument, int synchronization);
};

// What a communicator is, for the trace.
struct CommunicatorDescription {
  uint64_t unique;
  uint64_t parent;  // `unique` of the communicator it came from, 0: none
  uint32_t rank, ranks;
  int32_t device;
  const char* name;            // never null
  const int32_t* world_ranks;  // RANK of each member, -1: it had none; null: not known
  int32_t twins;               // 1: its other members are absent
};

// Layers a library may charge (virtual_device/memory.h).
enum class ChargeLayer : uint32_t { kAllocations = 0, kWorkspaces = 4, kCommunication = 5 };

struct MayaTable {
  uint32_t bytes;  // sizeof this struct in the driver

  // Records `operation` on `stream` of the current context, advances the stream's virtual clock by its estimate, and
  // makes the bytes in `writes` unknown. Errors as a launch: not initialised, no context, invalid stream handle.
  CUresult (*record_operation)(CUstream stream, const OperationRecord* operation, const MemoryRange* writes,
                               uint32_t write_count);

  // A kernel launch with the least work per call; same checks and errors as cuLaunchKernelEx.
  CUresult (*launch)(const KernelLaunch* launch);

  // Device memory charged to a layer, freed by cuMemFree. Out of memory is CUDA_ERROR_OUT_OF_MEMORY and is recorded
  // under `call`.
  CUresult (*allocate)(CUdeviceptr* address, uint64_t bytes, ChargeLayer layer, const char* call);

  // Bytes of device memory. read: unknown bytes read as zero; *all_known tells whether every byte was known (may be
  // null).
  CUresult (*read)(void* host, CUdeviceptr source, uint64_t bytes, int* all_known);
  CUresult (*write)(CUdeviceptr destination, const void* host, uint64_t bytes);
  CUresult (*copy)(CUdeviceptr destination, CUdeviceptr source, uint64_t bytes);
  CUresult (*make_unknown)(CUdeviceptr destination, uint64_t bytes);

  // An entry point of `library` that is not supported was called: counted in the trace; printed once by the caller.
  void (*note_unsupported)(const char* library, const char* entry_point);
  // A line for the trace's notices (also printed by the caller where a user must see it).
  void (*note)(int severity, const char* text);

  // Communicators (nccl): returns a small id for OperationRecord's kCommunicator. destroyed != 0 ends it.
  uint32_t (*communicator)(uint32_t id, uint64_t unique, uint32_t rank, uint32_t ranks, uint64_t charged_bytes,
                           int destroyed);

  // NVTX: call as RangeMark.Call in the trace; id for START and END.
  void (*range)(int call, const char* text, const char* domain, uint64_t id);

  // Devices as the driver has them, without initialising it and without a context (NVML is called first by some
  // programs). Returns the number of devices; text is the profile of ordinal `device`; lives for ever.
  int (*device_count)();
  const char* (*device_profile_text)(int device);
  // Use of a device's memory now, by all emulated processes' allocations of this process. Zero before initialisation.
  void (*memory_use)(int device, uint64_t* capacity, uint64_t* free);

  // Modelled time, nanoseconds: the host's virtual clock.
  uint64_t (*virtual_now_ns)();

  // As read(); known parts of the range go to `runs` as (offset, bytes) in address order, as many as there is room for;
  // *run_count comes in as the room and goes out as the number that there are.
  CUresult (*read_known)(void* host, CUdeviceptr source, uint64_t bytes, MemoryRange* runs, uint32_t* run_count);

  // Work on `stream` of the current context that ends later; `results` are expected from now on. *tag is never 0.
  CUresult (*add_pending)(CUstream stream, const PendingCallbacks* callbacks, void* argument,
                          const MemoryRange* results, uint32_t count, uint32_t* tag);
  // Bytes of a result, where the program has not overwritten or freed it since.
  void (*pending_arrived)(uint32_t tag, CUdeviceptr destination, const void* host, uint64_t bytes);
  // The work has ended; what did not arrive is unknown.
  void (*end_pending)(uint32_t tag);

  // A communicator with all that is known of it: returns its id. It ends by communicator() above.
  uint32_t (*describe_communicator)(const CommunicatorDescription* description);
  // The communicator's device memory changed to `bytes`, all together: charges or releases kCommunication of `device`.
  // Out of memory is CUDA_ERROR_OUT_OF_MEMORY, is recorded under `call`, and changes nothing.
  CUresult (*charge_communicator)(int32_t device, uint64_t old_bytes, uint64_t bytes, const char* call);

  // Not 0 while `stream` of the current context is being captured into a graph: then record_operation() and launch()
  // only add to the graph, and nothing may be put on the stream that a launch of the graph would not repeat.
  int (*is_capturing)(CUstream stream);
  // As record_operation() on a stream that is being captured, for operations whose effects are more than bytes becoming
  // unknown: `replay` is called with `argument` and the stream of the launch at every launch of the graph, in the order
  // of the graph, and must not record the operation; `release` (may be null) once, when nothing can launch it any more.
  // CUDA_ERROR_ILLEGAL_STATE when the stream is not being captured; then neither is ever called.
  CUresult (*capture_operation)(CUstream stream, const OperationRecord* operation,
                                void (*replay)(void* argument, CUstream stream), void (*release)(void* argument),
                                void* argument);

  // Nanoseconds of the trace's clock, for the next.
  uint64_t (*now_ns)();
  // As record_operation(), for a call that began at entry_ns and has more to do: `rest` (may be null) is called with
  // `argument` once the operation has its place on the stream and its writes are unknown; the packet counts the time
  // from entry_ns until it comes back as Maya's own. Not called when the operation is refused or captured.
  CUresult (*record_timed_operation)(CUstream stream, const OperationRecord* operation, const MemoryRange* writes,
                                     uint32_t write_count, uint64_t entry_ns, void (*rest)(void* argument),
                                     void* argument);

  // Profiling (profiler_hooks.h). Entry points of a library that was loaded, known for ever after; all of them, the
  // latest first; what the driver tells from now on (null: nothing); contexts and streams that are there now, as they
  // were told at their creation; the trace's id of a stream, and its context.
  void (*register_entries)(EntrySlots* slots);
  const EntrySlots* (*entries)();
  void (*attach_profiler)(const ProfilerHooks* hooks);
  void (*each_resource)(void (*visit)(const DeviceResource* resource));
  CUresult (*stream_id)(CUstream stream, int per_thread, uint32_t* id, CUcontext* context);

  // launch() without attributes, in the order and the registers of cudaLaunchKernel: x in the low half of grid_xy.
  CUresult (*launch_plain)(CUkernel kernel, uint64_t grid_xy, uint32_t grid_z, uint64_t block_xy, uint32_t block_z,
                           void** arguments, uint32_t shared_bytes, CUstream stream);
};

}  // namespace maya
