#include "driver_shim/cupti/api_calls.h"

#include <unistd.h>

#include <cstring>
#include <string>

#include "driver_shim/common/driver_access.h"
#include "driver_shim/cupti/buffers.h"
#include "driver_shim/cupti/clock.h"

namespace maya::cupti {
namespace {

constexpr char kRuntimeLibrary[] = "libcudart.so.";

void add_external(const ThreadState& thread, uint32_t correlation) {
  for (uint32_t kind = 1; kind < kCorrelationKindCount; ++kind) {
    if (thread.external[kind].empty()) continue;
    CorrelationRecord record{};
    record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    record.externalKind = static_cast<CUpti_ExternalCorrelationKind>(kind);
    record.externalId = thread.external[kind].back();
    record.correlationId = correlation;
    Buffers::get().add(record);
  }
}

bool is_own_runtime(const char* library) {
  constexpr size_t kLength = sizeof kRuntimeLibrary - 1;
  static const std::string own = kRuntimeLibrary + std::to_string(MAYA_CUDA_MAJOR);
  return std::strncmp(library, kRuntimeLibrary, kLength) == 0 && own == library;
}

}  // namespace

ApiCall::ApiCall(ThreadState& thread, Domain domain, uint32_t cbid, const char* name, const void* parameters,
                 const char* symbol_name)
    : thread_(thread),
      domain_(domain),
      cbid_(cbid),
      calls_back_(Session::get().calls_back(domain, cbid)),
      records_(Session::get().records(domain, cbid)) {
  data_.functionName = name;
  data_.functionParams = parameters;
  data_.symbolName = symbol_name;
  data_.correlationData = &correlation_data_;
}

void ApiCall::enter() {
  ++thread_.depth;
  thread_.correlation = Session::next_correlation();
  thread_.worked = false;
  thread_.untold_runtime_call = domain_ == Domain::kRuntime && !calls_back_;
  data_.correlationId = thread_.correlation;
  if (calls_back_) {
    if (data_.symbolName == nullptr)
      data_.symbolName = domain_ == Domain::kRuntime ? runtime_symbol(cbid_, data_.functionParams)
                                                     : driver_symbol_name(cbid_, data_.functionParams);
    call_back(CUPTI_API_ENTER, nullptr);
  }
  if (records_) start_ = timestamp();
}

void ApiCall::exit(void* result) {
  const uint64_t end = records_ ? timestamp() : 0;
  const Session& session = Session::get();
  if (session.enabled(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) && (records_ || thread_.worked))
    add_external(thread_, data_.correlationId);
  if (records_) {
    ApiRecord record{};
    record.kind = domain_ == Domain::kRuntime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
    record.cbid = cbid_;
    record.start = start_;
    record.end = end;
    record.processId = static_cast<uint32_t>(getpid());
    record.threadId = thread_id();
    record.correlationId = data_.correlationId;
    if (result != nullptr) std::memcpy(&record.returnValue, result, sizeof record.returnValue);
    Buffers::get().add(record);
  }
  if (calls_back_) call_back(CUPTI_API_EXIT, result);
  Buffers::get().deliver_ready();
  --thread_.depth;
}

void ApiCall::tell_driver_launch(ThreadState& thread, const void* parameters, const char* symbol_name) {
  constexpr uint32_t kLaunch = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
  if (!thread.untold_runtime_call || !Session::get().calls_back(Domain::kDriver, kLaunch)) return;
  ApiCall call(thread, Domain::kDriver, kLaunch, "cuLaunchKernel", parameters, symbol_name);
  call.data_.correlationId = thread.correlation;
  CUresult result = CUDA_SUCCESS;
  call.call_back(CUPTI_API_ENTER, nullptr);
  call.call_back(CUPTI_API_EXIT, &result);
}

void ApiCall::call_back(CUpti_ApiCallbackSite site, void* result) {
  data_.callbackSite = site;
  data_.functionReturnValue = result;
  data_.context = nullptr;
  data_.contextUid = 0;
  if (MAYA_DRIVER(cuCtxGetCurrent)(&data_.context) == CUDA_SUCCESS && data_.context != nullptr) {
    unsigned long long id = 0;
    if (MAYA_DRIVER(cuCtxGetId)(data_.context, &id) == CUDA_SUCCESS) data_.contextUid = static_cast<uint32_t>(id);
  }
  Session::get().call_back(domain_, cbid_, &data_);
}

void wrap_entries(const EntrySlots& library, bool wrapped) {
  WrappedCalls calls{nullptr, 0};
  if (std::strcmp(library.library, "libcuda.so.1") == 0)
    calls = driver_calls();
  else if (is_own_runtime(library.library))
    calls = runtime_calls();
  uint32_t next = 0;
  for (uint32_t i = 0; i < calls.count; ++i) {
    while (next < library.count && std::strcmp(library.slots[next].name, calls.calls[i].name) < 0) ++next;
    if (next == library.count) return;
    const EntrySlot& entry = library.slots[next];
    if (std::strcmp(entry.name, calls.calls[i].name) != 0) continue;
    *calls.calls[i].body = entry.body;
    entry.slot->store(wrapped ? calls.calls[i].wrapper : entry.body, std::memory_order_release);
  }
}

}  // namespace maya::cupti
