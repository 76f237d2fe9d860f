#include "test/cublas/fake_driver.h"

#include <cstring>

#include "driver_shim/common/driver_access.h"

namespace maya::test {

FakeDriver& fake() {
  static FakeDriver driver;
  return driver;
}

void reset() { fake() = FakeDriver{}; }

namespace {

CUresult record_operation(CUstream stream, const OperationRecord* operation, const MemoryRange* writes,
                          uint32_t count) {
  if (fake().record_result != CUDA_SUCCESS) return fake().record_result;
  fake().recorded.push_back({stream, *operation, {writes, writes + count}});
  return CUDA_SUCCESS;
}

CUresult allocate(CUdeviceptr* address, uint64_t bytes, ChargeLayer layer, const char*) {
  if (fake().allocate_result != CUDA_SUCCESS) return fake().allocate_result;
  if (layer != ChargeLayer::kWorkspaces) return CUDA_ERROR_INVALID_VALUE;
  *address = 0x6000000000 + fake().charged.size() * 0x10000000;
  fake().charged[*address] = bytes;
  return CUDA_SUCCESS;
}

CUresult read(void* host, CUdeviceptr source, uint64_t bytes, int* all_known) {
  auto found = fake().memory.upper_bound(source);
  const bool starts = found != fake().memory.begin();
  if (starts) --found;
  const uint64_t offset = starts ? source - found->first : 0;
  const bool known = starts && found->second.size() >= offset && found->second.size() - offset >= bytes;
  if (known) {
    std::memcpy(host, found->second.data() + offset, bytes);
  } else {
    std::memset(host, 0, bytes);
  }
  if (all_known != nullptr) *all_known = known ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult write(CUdeviceptr destination, const void* host, uint64_t bytes) {
  const char* from = static_cast<const char*>(host);
  std::vector<char>& to = fake().memory[destination];
  to.assign(from, from + bytes);
  return CUDA_SUCCESS;
}

CUresult record_timed_operation(CUstream stream, const OperationRecord* operation, const MemoryRange* writes,
                                uint32_t count, uint64_t, void (*rest)(void* argument), void* argument) {
  const CUresult result = record_operation(stream, operation, writes, count);
  if (result == CUDA_SUCCESS && rest != nullptr) rest(argument);
  return result;
}

uint64_t now_ns() { return 0; }

CUresult context_get_current(CUcontext* context) {
  *context = fake().has_context ? reinterpret_cast<CUcontext>(0x10) : nullptr;
  return CUDA_SUCCESS;
}
CUresult initialize(unsigned) { return CUDA_SUCCESS; }
CUresult device_get(CUdevice* device, int) {
  *device = 0;
  return CUDA_SUCCESS;
}
CUresult retain(CUcontext* context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(0x10);
  return CUDA_SUCCESS;
}
CUresult set_current(CUcontext context) {
  fake().has_context = context != nullptr;
  return CUDA_SUCCESS;
}
CUresult context_get_device(CUdevice* device) { return device_get(device, 0); }
CUresult device_get_attribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = fake().compute_capability_major;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = fake().compute_capability_minor;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      *value = 2048;
      break;
    default:
      *value = 0;
  }
  return CUDA_SUCCESS;
}
CUresult push(CUcontext) { return CUDA_SUCCESS; }
CUresult pop(CUcontext*) { return CUDA_SUCCESS; }
CUresult memory_free(CUdeviceptr address) {
  return fake().charged.erase(address) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult stream_synchronize(CUstream) {
  ++fake().synchronizations;
  return CUDA_SUCCESS;
}
CUresult copy_2d(const CUDA_MEMCPY2D* copy) {
  fake().copies.push_back(*copy);
  return CUDA_SUCCESS;
}
CUresult fill_async(CUdeviceptr address, unsigned char value, size_t bytes, CUstream) {
  fake().memory[address].assign(bytes, static_cast<char>(value));
  return CUDA_SUCCESS;
}
CUresult copy_2d_async(const CUDA_MEMCPY2D* copy, CUstream) { return copy_2d(copy); }

// Events remember how many operations were recorded before them.
CUresult event_create(CUevent* event, unsigned) {
  *event = reinterpret_cast<CUevent>(new size_t(0));
  return CUDA_SUCCESS;
}
CUresult event_destroy(CUevent event) {
  delete reinterpret_cast<size_t*>(event);
  return CUDA_SUCCESS;
}
CUresult event_record(CUevent event, CUstream) {
  *reinterpret_cast<size_t*>(event) = fake().recorded.size();
  return CUDA_SUCCESS;
}
CUresult event_synchronize(CUevent) { return CUDA_SUCCESS; }
CUresult event_elapsed_time(float* milliseconds, CUevent start, CUevent end) {
  double bytes = 0;
  for (size_t i = *reinterpret_cast<size_t*>(start); i < *reinterpret_cast<size_t*>(end); ++i) {
    const OperationRecord& operation = fake().recorded[i].operation;
    bytes += static_cast<double>(operation.get(Key::kReadBytes) + operation.get(Key::kWrittenBytes));
  }
  *milliseconds = static_cast<float>(bytes * 1e-6);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace maya::test

namespace maya::shim {

const MayaTable* driver() {
  static const MayaTable table = [] {
    MayaTable made = {};
    made.bytes = sizeof made;
    made.record_operation = &test::record_operation;
    made.allocate = &test::allocate;
    made.read = &test::read;
    made.write = &test::write;
    made.now_ns = &test::now_ns;
    made.record_timed_operation = &test::record_timed_operation;
    return made;
  }();
  return &table;
}

void* driver_symbol(const char* name) {
  static const std::map<std::string, void*> symbols = {
      {"cuCtxGetCurrent", reinterpret_cast<void*>(&test::context_get_current)},
      {"cuInit", reinterpret_cast<void*>(&test::initialize)},
      {"cuDeviceGet", reinterpret_cast<void*>(&test::device_get)},
      {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(&test::retain)},
      {"cuCtxSetCurrent", reinterpret_cast<void*>(&test::set_current)},
      {"cuCtxGetDevice", reinterpret_cast<void*>(&test::context_get_device)},
      {"cuDeviceGetAttribute", reinterpret_cast<void*>(&test::device_get_attribute)},
      {"cuCtxPushCurrent_v2", reinterpret_cast<void*>(&test::push)},
      {"cuCtxPopCurrent_v2", reinterpret_cast<void*>(&test::pop)},
      {"cuMemFree_v2", reinterpret_cast<void*>(&test::memory_free)},
      {"cuStreamSynchronize", reinterpret_cast<void*>(&test::stream_synchronize)},
      {"cuMemsetD8Async", reinterpret_cast<void*>(&test::fill_async)},
      {"cuEventCreate", reinterpret_cast<void*>(&test::event_create)},
      {"cuEventDestroy_v2", reinterpret_cast<void*>(&test::event_destroy)},
      {"cuEventRecord", reinterpret_cast<void*>(&test::event_record)},
      {"cuEventSynchronize", reinterpret_cast<void*>(&test::event_synchronize)},
      {"cuEventElapsedTime", reinterpret_cast<void*>(&test::event_elapsed_time)},
      {"cuMemcpy2D_v2", reinterpret_cast<void*>(&test::copy_2d)},
      {"cuMemcpy2DAsync_v2", reinterpret_cast<void*>(&test::copy_2d_async)},
  };
  const auto found = symbols.find(name);
  return found == symbols.end() ? nullptr : found->second;
}

void report_unsupported(const char*, const char* entry_point, const char*) {
  test::fake().unsupported.push_back(entry_point);
}

}  // namespace maya::shim
