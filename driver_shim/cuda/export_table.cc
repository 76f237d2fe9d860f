// cuGetExportTable answers for Maya's own table only. NVIDIA's private tables are not known here and are never answered
// (design.md section 2).
#include <cuda.h>
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <string>
#include <string_view>

#include "driver_shim/common/maya_table.h"
#include "driver_shim/cuda/allocation.h"
#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/launch.h"
#include "driver_shim/cuda/operation.h"
#include "driver_shim/cuda/pending_work.h"
#include "driver_shim/cuda/profiler.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/stream_call.h"

namespace maya::cuda {
namespace {

CUresult allocate(CUdeviceptr* address, uint64_t bytes, ChargeLayer layer, const char* entry_point) {
  return enter(Needs::kContext, [&](Call& call) {
    if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return allocate_device_memory(call.driver(), call.context(), bytes, static_cast<device::Layer>(layer),
                                  entry_point == nullptr ? "" : entry_point, address);
  });
}

CUresult read(void* host, CUdeviceptr source, uint64_t bytes, int* all_known) {
  return enter(Needs::kInitialized, [&](Call& call) {
    if (all_known != nullptr) *all_known = call.memory().known(source, bytes);
    return memory_result(call.memory().read(host, source, bytes));
  });
}

CUresult write(CUdeviceptr destination, const void* host, uint64_t bytes) {
  return enter(Needs::kInitialized,
               [&](Call& call) { return memory_result(call.memory().write(destination, host, bytes)); });
}

CUresult copy(CUdeviceptr destination, CUdeviceptr source, uint64_t bytes) {
  return enter(Needs::kInitialized,
               [&](Call& call) { return memory_result(call.memory().copy(destination, source, bytes)); });
}

CUresult make_unknown(CUdeviceptr destination, uint64_t bytes) {
  return enter(Needs::kInitialized, [&](Call& call) {
    call.memory().make_unknown(destination, bytes);
    return CUDA_SUCCESS;
  });
}

void note_unsupported(const char* library, const char* entry_point) {
  Recorder::get().unsupported(library, entry_point);
}

void note(int severity, const char* text) {
  enter(Needs::kInitialized, [&](Call&) {
    Recorder::get().notice(severity, text);
    return CUDA_SUCCESS;
  });
}

uint32_t next_communicator() {
  static std::atomic<uint32_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

uint32_t communicator(uint32_t id, uint64_t unique, uint32_t rank, uint32_t ranks, uint64_t charged_bytes,
                      int destroyed) {
  uint32_t answer = 0;
  enter(Needs::kContext, [&](Call& call) {
    answer = destroyed != 0 ? id : next_communicator();
    Recorder::get().communicator(answer, unique, rank, ranks, static_cast<uint32_t>(call.context().device),
                                 charged_bytes, destroyed != 0);
    return CUDA_SUCCESS;
  });
  return answer;
}

void range(int kind, const char* text, const char* domain, uint64_t id) {
  Profiler::tell_range(kind, text == nullptr ? "" : text, domain == nullptr ? "" : domain, id);
  enter(Needs::kInitialized, [&](Call&) {
    Recorder::get().range(kind, text == nullptr ? "" : text, domain == nullptr ? "" : domain, id);
    return CUDA_SUCCESS;
  });
}

int device_count() { return configuration().valid ? configuration().machine_devices : 0; }

const char* device_profile_text(int device) {
  return device < 0 || device >= device_count() ? nullptr : configuration().profile_text.c_str();
}

void memory_use(int device, uint64_t* capacity, uint64_t* free) {
  *capacity = 0;
  *free = 0;
  enter(Needs::kInitialized, [&](Call& call) {
    if (device < 0 || device >= call.driver().device_count()) return CUDA_ERROR_INVALID_DEVICE;
    const device::DeviceMemoryUse use = call.memory().use(device);
    *capacity = use.capacity_bytes;
    *free = use.free_bytes;
    return CUDA_SUCCESS;
  });
}

uint64_t virtual_now_ns() {
  Driver* driver = Driver::get();
  return driver == nullptr ? trace::now_ns() : driver->virtual_now_ns();
}

CUresult read_known(void* host, CUdeviceptr source, uint64_t bytes, MemoryRange* runs, uint32_t* run_count) {
  return enter(Needs::kInitialized, [&](Call& call) {
    device::Memory::Runs found;
    const device::MemoryStatus status = call.memory().read_known(host, source, bytes, &found);
    for (size_t i = 0; i < found.size() && i < *run_count; ++i) runs[i] = {found[i].first, found[i].second};
    *run_count = static_cast<uint32_t>(found.size());
    return memory_result(status);
  });
}

CUresult add_pending(CUstream handle, const PendingCallbacks* callbacks, void* argument, const MemoryRange* results,
                     uint32_t count, uint32_t* tag) {
  return with_stream(handle, false, true, [&](Call& call, Stream& stream) {
    *tag = PendingWork::add(call.driver(), stream, *callbacks, argument, results, count);
    return CUDA_SUCCESS;
  });
}

void pending_arrived(uint32_t tag, CUdeviceptr destination, const void* host, uint64_t bytes) {
  enter(Needs::kInitialized, [&](Call& call) {
    call.memory().arrive(tag, destination, host, bytes);
    return CUDA_SUCCESS;
  });
}

void end_pending(uint32_t tag) {
  enter(Needs::kInitialized, [&](Call& call) {
    PendingWork::end(call.driver(), tag);
    return CUDA_SUCCESS;
  });
}

uint32_t describe_communicator(const CommunicatorDescription* description) {
  const uint32_t id = next_communicator();
  enter(Needs::kInitialized, [&](Call&) {
    Recorder::get().communicator(id, *description);
    return CUDA_SUCCESS;
  });
  return id;
}

CUresult charge_communicator(int32_t device, uint64_t old_bytes, uint64_t bytes, const char* entry_point) {
  return enter(Needs::kInitialized, [&](Call& call) {
    constexpr auto kLayer = device::Layer::kCommunication;
    if (bytes > old_bytes) {
      const uint64_t more = bytes - old_bytes;
      if (call.memory().charge(device, kLayer, more) != device::MemoryStatus::kOk) {
        record_allocation_failure(call.driver(), device, more, entry_point);
        return CUDA_ERROR_OUT_OF_MEMORY;
      }
      Recorder::get().allocation(layer_charge(device, kLayer, more));
    } else if (bytes < old_bytes) {
      call.memory().release(device, kLayer, old_bytes - bytes);
      Recorder::get().free(layer_charge(device, kLayer, old_bytes - bytes));
    }
    return CUDA_SUCCESS;
  });
}

constexpr MayaTable kTable = {
    .bytes = sizeof(MayaTable),
    .record_operation = &record_operation,
    .launch = &launch_from_library,
    .allocate = &allocate,
    .read = &read,
    .write = &write,
    .copy = &copy,
    .make_unknown = &make_unknown,
    .note_unsupported = &note_unsupported,
    .note = &note,
    .communicator = &communicator,
    .range = &range,
    .device_count = &device_count,
    .device_profile_text = &device_profile_text,
    .memory_use = &memory_use,
    .virtual_now_ns = &virtual_now_ns,
    .read_known = &read_known,
    .add_pending = &add_pending,
    .pending_arrived = &pending_arrived,
    .end_pending = &end_pending,
    .describe_communicator = &describe_communicator,
    .charge_communicator = &charge_communicator,
    .is_capturing = &is_capturing,
    .capture_operation = &capture_operation,
    .now_ns = &trace::now_ns,
    .record_timed_operation = &record_timed_operation,
    .register_entries = &Profiler::register_entries,
    .entries = &Profiler::entries,
    .attach_profiler = &Profiler::attach,
    .each_resource = &Profiler::each_resource,
    .stream_id = &Profiler::stream_id,
    .launch_plain = &launch_plain_from_library,
};

// NVIDIA's compilers ask too, and do without: they need no driver (design.md section 2). By the file's name, also where
// a wheel has put a hash into it.
bool is_compiler(const char* path) {
  const char* slash = strrchr(path, '/');
  const std::string_view name = slash == nullptr ? path : slash + 1;
  for (const std::string_view compiler : {"libnvrtc", "libnvJitLink", "libnvvm", "libnvptxcompiler"})
    if (name.starts_with(compiler)) return true;
  return false;
}

// NVIDIA's runtime asks for its own table first thing and cannot go on without it: says so once, naming the object that
// asked.
void explain_refusal(const void* caller) noexcept {
  static std::atomic<bool> said{false};
  Dl_info object{};
  const char* name = dladdr(caller, &object) != 0 && object.dli_fname != nullptr ? object.dli_fname : "the program";
  if (is_compiler(name) || said.exchange(true, std::memory_order_relaxed)) return;
  try {
    print_line(
        std::string(name) +
        " holds NVIDIA's own CUDA runtime, which only works with NVIDIA's driver; run the program with maya-run, "
        "or, when the runtime is linked statically, link it with -cudart shared");
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace
}  // namespace maya::cuda

CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  if (memcmp(id->bytes, maya::kMayaTableIdBytes, sizeof id->bytes) == 0) {
    *table = &maya::cuda::kTable;
    return CUDA_SUCCESS;
  }
  maya::cuda::explain_refusal(__builtin_return_address(0));
  return CUDA_ERROR_NOT_FOUND;
}
