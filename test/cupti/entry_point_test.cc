// Every entry point of the activity and callback API with the results that the headers document; the rest of CUPTI is
// refused.
#include <cupti_profiler_target.h>
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <string>

#include "test/cupti/profile.h"

using namespace maya::test;

TEST_CASE("Null arguments") {
  cudaFree(nullptr);
  CHECK(cuptiGetVersion(nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiGetTimestamp(nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiGetContextId(nullptr, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiGetStreamId(nullptr, nullptr, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiGetStreamIdEx(nullptr, nullptr, 0, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiGetDeviceId(nullptr, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiGetGraphId(nullptr, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiGetGraphExecId(nullptr, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiGetGraphNodeId(nullptr, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiGetThreadIdType(nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiComputeCapabilitySupported(9, 0, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiDeviceSupported(0, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiDeviceVirtualizationMode(0, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiActivityRegisterCallbacks(nullptr, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiActivityRegisterTimestampCallback(nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiActivityGetNumDroppedRecords(nullptr, 0, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiActivityGetStructSize(CUPTI_ACTIVITY_KIND_RUNTIME, 0, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiActivityGetEnabledKinds(nullptr, nullptr, nullptr, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiActivityEnable_v2(nullptr, CUPTI_ACTIVITY_KIND_RUNTIME, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiSubscribe(nullptr, nullptr, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiSubscribe_v2(nullptr, nullptr, nullptr, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiUnsubscribe(nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiEnableCallback(1, nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, 1) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiEnableDomain(1, nullptr, CUPTI_CB_DOMAIN_RUNTIME_API) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiEnableAllDomains(1, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiGetCallbackState(nullptr, nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, 1) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 1, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiSupportedDomains(nullptr, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiGetResultString(CUPTI_SUCCESS, nullptr) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, nullptr, nullptr) ==
        CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, nullptr, nullptr) ==
        CUPTI_ERROR_INVALID_PARAMETER);
  // "Returns the last error ... and resets it to CUPTI_SUCCESS."
  CHECK(cuptiGetLastError() == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiGetLastError() == CUPTI_SUCCESS);
}

TEST_CASE("Bad values") {
  CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_INVALID) == CUPTI_ERROR_INVALID_KIND);
  CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_COUNT) == CUPTI_ERROR_INVALID_KIND);
  CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_PC_SAMPLING) == CUPTI_ERROR_INVALID_KIND);
  CHECK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_INVALID) == CUPTI_ERROR_INVALID_KIND);
  CHECK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_INVALID, 1) ==
        CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_INVALID, nullptr) ==
        CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, nullptr) ==
        CUPTI_ERROR_QUEUE_EMPTY);
  size_t bytes = 0;
  CHECK(cuptiActivityGetStructSize(CUPTI_ACTIVITY_KIND_RUNTIME, 120000, &bytes) == CUPTI_ERROR_NOT_SUPPORTED);
  CHECK(cuptiActivityGetStructSize(CUPTI_ACTIVITY_KIND_INVALID, 0, &bytes) == CUPTI_ERROR_INVALID_KIND);
  CHECK(cuptiGetStreamIdEx(nullptr, reinterpret_cast<CUstream>(0x1234560), 0, reinterpret_cast<uint32_t*>(&bytes)) ==
        CUPTI_ERROR_INVALID_STREAM);
  uint32_t id = 0;
  CHECK(cuptiGetContextId(nullptr, &id) == CUPTI_ERROR_INVALID_CONTEXT);
  CHECK(cuptiGetContextId(reinterpret_cast<CUcontext>(0x1234560), &id) == CUPTI_ERROR_INVALID_CONTEXT);
  CHECK(cuptiGetDeviceId(reinterpret_cast<CUcontext>(0x1234560), &id) == CUPTI_ERROR_INVALID_DEVICE);
  int support = 1;
  CHECK(cuptiDeviceSupported(99, &support) == CUPTI_ERROR_INVALID_DEVICE);
  CHECK(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE) == CUPTI_ERROR_NOT_SUPPORTED);
  const char* text = nullptr;
  CHECK(cuptiGetResultString(static_cast<CUptiResult>(12345), &text) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiGetCallbackName(CUPTI_CB_DOMAIN_INVALID, 1, &text) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE, &text) ==
        CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_CASE("Attributes keep their value and check their size") {
  // cupti_activity.h: "The default value is 250."
  size_t value = 0, bytes = sizeof value;
  REQUIRE(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes, &value) == CUPTI_SUCCESS);
  CHECK(value == 250);
  value = 100;
  REQUIRE(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes, &value) == CUPTI_SUCCESS);
  value = 0;
  REQUIRE(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes, &value) == CUPTI_SUCCESS);
  CHECK(value == 100);
  bytes = 4;
  CHECK(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes, &value) ==
        CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
  uint8_t flag = 1;
  bytes = sizeof flag;
  CHECK(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &flag) == CUPTI_SUCCESS);
}

TEST_CASE("Names, numbers and sizes are those of the headers") {
  uint32_t version = 0;
  REQUIRE(cuptiGetVersion(&version) == CUPTI_SUCCESS);
  CHECK(version == CUPTI_API_VERSION);
  const char* text = nullptr;
  REQUIRE(cuptiGetResultString(CUPTI_ERROR_MAX_LIMIT_REACHED, &text) == CUPTI_SUCCESS);
  CHECK(std::string(text) == "CUPTI_ERROR_MAX_LIMIT_REACHED");
  REQUIRE(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 211, &text) == CUPTI_SUCCESS);
  CHECK(std::string(text) == "cudaLaunchKernel_v7000");
  REQUIRE(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 307, &text) == CUPTI_SUCCESS);
  CHECK(std::string(text) == "cuLaunchKernel");
  size_t bytes = 0;
  REQUIRE(cuptiActivityGetStructSize(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0, &bytes) == CUPTI_SUCCESS);
  CHECK(bytes == sizeof(CUpti_ActivityKernel11));
  CUpti_DomainTable domains = nullptr;
  REQUIRE(cuptiSupportedDomains(&bytes, &domains) == CUPTI_SUCCESS);
  CHECK(bytes == 6);
  CHECK(domains[0] == CUPTI_CB_DOMAIN_DRIVER_API);
  int support = 0;
  REQUIRE(cuptiDeviceSupported(0, &support) == CUPTI_SUCCESS);
  CHECK(support == 1);
  CUcontext context = nullptr;
  uint32_t id = 0;
  cudaFree(nullptr);
  cuCtxGetCurrent(&context);
  REQUIRE(cuptiGetContextId(context, &id) == CUPTI_SUCCESS);
  CHECK(id == 1);
  REQUIRE(cuptiGetDeviceId(context, &id) == CUPTI_SUCCESS);
  CHECK(id == 0);
  REQUIRE(cuptiGetStreamIdEx(context, nullptr, 0, &id) == CUPTI_SUCCESS);
  CHECK(id == 7);
  // "only available on NVIDIA Blackwell architecture and later": the default device is an H100.
  CHECK(cuptiActivityEnableHWTrace(1) == CUPTI_ERROR_NOT_SUPPORTED);
}

TEST_CASE("Single functions can be recorded and left out") {
  cudaFree(nullptr);
  int device = 0, count = 0;
  Profile profile({CUPTI_ACTIVITY_KIND_RUNTIME});
  REQUIRE(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, 0) == CUPTI_SUCCESS);
  cudaGetDevice(&device);
  cudaGetDeviceCount(&count);
  profile.stop();
  const auto calls = Profile::all<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME);
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].cbid == CUPTI_RUNTIME_TRACE_CBID_cudaGetDeviceCount_v3020);

  Profile other({});
  REQUIRE(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, 1) == CUPTI_SUCCESS);
  cudaGetDevice(&device);
  cudaGetDeviceCount(&count);
  REQUIRE(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, 0) == CUPTI_SUCCESS);
  other.stop();
  CHECK(Profile::all<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME).size() == 1);
}

TEST_CASE("Event, metric and profiling interfaces are refused") {
  CUpti_Profiler_Initialize_Params parameters = {CUpti_Profiler_Initialize_Params_STRUCT_SIZE, nullptr};
  CHECK(cuptiProfilerInitialize(&parameters) == CUPTI_ERROR_NOT_SUPPORTED);
  CUpti_EventGroup group = nullptr;
  CHECK(cuptiEventGroupCreate(nullptr, &group, 0) == CUPTI_ERROR_NOT_SUPPORTED);
}

TEST_CASE("While nobody profiles, entry points lead to the functions themselves") {
  // A call through the exported name and one through the pointer that a profile had turned give the same.
  { Profile profile({CUPTI_ACTIVITY_KIND_RUNTIME}); }
  int device = -1;
  CHECK(cudaGetDevice(&device) == cudaSuccess);
  CHECK(device == 0);
  size_t dropped = 0;
  cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  cudaGetDevice(&device);
  cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  CHECK(dropped == 0);
}
