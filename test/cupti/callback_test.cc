// The callback API: entry and exit of calls, their parameters and results, resources and synchronisation.
#include <cublas_v2.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "test/cupti/profile.h"

using namespace maya::test;

namespace {

struct Seen {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId cbid;
  CUpti_ApiCallbackSite site;
  std::string function, symbol;
  uint32_t correlation, context_id;
  uint64_t bytes;  // cudaMalloc's parameter
  int result;
};
std::vector<Seen> seen;
std::vector<CUpti_ResourceData> resources;

void CUPTIAPI on_callback(void* data, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* details) {
  CHECK(data == &seen);
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) resources.push_back(*static_cast<const CUpti_ResourceData*>(details));
  Seen row{domain, cbid, CUPTI_API_ENTER, "", "", 0, 0, 0, -1};
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    const auto& call = *static_cast<const CUpti_CallbackData*>(details);
    row.site = call.callbackSite;
    row.function = call.functionName;
    row.symbol = call.symbolName != nullptr ? call.symbolName : "";
    row.correlation = call.correlationId;
    row.context_id = call.contextUid;
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid == CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020)
      row.bytes = static_cast<const cudaMalloc_v3020_params*>(call.functionParams)->size;
    if (call.callbackSite == CUPTI_API_ENTER) {
      *call.correlationData = 77;
      int count = 0;
      cudaGetDeviceCount(&count);  // calls made here are not reported
    } else {
      CHECK(*call.correlationData == 77);
      row.result = *static_cast<const int*>(call.functionReturnValue);
    }
  }
  seen.push_back(row);
}

class Subscription {
 public:
  Subscription() {
    seen.clear();
    resources.clear();
    REQUIRE(cuptiSubscribe(&handle, on_callback, &seen) == CUPTI_SUCCESS);
  }
  ~Subscription() { cuptiUnsubscribe(handle); }
  CUpti_SubscriberHandle handle = nullptr;
};

}  // namespace

TEST_CASE("Calls of the runtime call back at entry and exit with their parameters and result") {
  cudaFree(nullptr);
  Subscription subscription;
  REQUIRE(cuptiEnableCallback(1, subscription.handle, CUPTI_CB_DOMAIN_RUNTIME_API,
                              CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020) == CUPTI_SUCCESS);
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, 4321) == cudaSuccess);
  cudaFree(memory);  // not enabled
  CHECK(cudaMalloc(nullptr, 1) == cudaErrorInvalidValue);
  REQUIRE(seen.size() == 4);
  for (int i = 0; i < 2; ++i) {
    CHECK(seen[i].domain == CUPTI_CB_DOMAIN_RUNTIME_API);
    CHECK(seen[i].function == "cudaMalloc");
    CHECK(seen[i].bytes == 4321);
    CHECK(seen[i].context_id == 1);
    CHECK(seen[i].site == (i == 0 ? CUPTI_API_ENTER : CUPTI_API_EXIT));
  }
  CHECK(seen[0].correlation == seen[1].correlation);
  CHECK(seen[1].result == cudaSuccess);
  CHECK(seen[3].result == cudaErrorInvalidValue);
  CHECK(seen[3].correlation != seen[1].correlation);
  cudaGetLastError();

  uint32_t enabled = 0;
  REQUIRE(cuptiGetCallbackState(&enabled, subscription.handle, CUPTI_CB_DOMAIN_RUNTIME_API,
                                CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020) == CUPTI_SUCCESS);
  CHECK(enabled == 1);
  REQUIRE(cuptiEnableDomain(0, subscription.handle, CUPTI_CB_DOMAIN_RUNTIME_API) == CUPTI_SUCCESS);
  REQUIRE(cudaMalloc(&memory, 1) == cudaSuccess);
  cudaFree(memory);
  CHECK(seen.size() == 4);
}

TEST_CASE("Launches name their kernel, also those that a library makes") {
  empty_kernel();
  cublasHandle_t handle = nullptr;
  REQUIRE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  float* memory = nullptr;
  REQUIRE(cudaMalloc(reinterpret_cast<void**>(&memory), 1 << 20) == cudaSuccess);
  Subscription subscription;
  REQUIRE(cuptiEnableDomain(1, subscription.handle, CUPTI_CB_DOMAIN_DRIVER_API) == CUPTI_SUCCESS);
  launch();
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  CHECK(seen[0].function == "cuLaunchKernel");
  CHECK(seen[0].symbol == "empty_kernel");
  REQUIRE(cuptiEnableDomain(0, subscription.handle, CUPTI_CB_DOMAIN_DRIVER_API) == CUPTI_SUCCESS);

  seen.clear();
  REQUIRE(cuptiEnableCallback(1, subscription.handle, CUPTI_CB_DOMAIN_RUNTIME_API,
                              CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000) == CUPTI_SUCCESS);
  const float one = 1, zero = 0;
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, memory, 64, memory, 64, &zero, memory, 64);
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].function == "cudaLaunchKernel");
  CHECK(seen[0].symbol.find("gemm") != std::string::npos);
  CHECK(seen[1].result == cudaSuccess);

  // A client that only listens to the driver hears of them, too.
  REQUIRE(cuptiEnableDomain(0, subscription.handle, CUPTI_CB_DOMAIN_RUNTIME_API) == CUPTI_SUCCESS);
  REQUIRE(cuptiEnableCallback(1, subscription.handle, CUPTI_CB_DOMAIN_DRIVER_API,
                              CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) == CUPTI_SUCCESS);
  seen.clear();
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, memory, 64, memory, 64, &zero, memory, 64);
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].function == "cuLaunchKernel");
  CHECK(seen[0].symbol.find("gemm") != std::string::npos);
  CHECK(seen[1].result == CUDA_SUCCESS);
  cudaFree(memory);
  cublasDestroy(handle);
}

TEST_CASE("Streams and synchronisation call back") {
  cudaFree(nullptr);
  Subscription subscription;
  REQUIRE(cuptiEnableDomain(1, subscription.handle, CUPTI_CB_DOMAIN_RESOURCE) == CUPTI_SUCCESS);
  REQUIRE(cuptiEnableDomain(1, subscription.handle, CUPTI_CB_DOMAIN_SYNCHRONIZE) == CUPTI_SUCCESS);
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  cudaStreamSynchronize(stream);
  cudaDeviceSynchronize();
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  REQUIRE(seen.size() == 4);
  CHECK(seen[0].cbid == CUPTI_CBID_RESOURCE_STREAM_CREATED);
  CHECK(seen[1].cbid == CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED);
  CHECK(seen[2].cbid == CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED);
  CHECK(seen[3].cbid == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING);
  REQUIRE(resources.size() == 2);
  for (const CUpti_ResourceData& resource : resources) CHECK(resource.resourceHandle.stream == stream);
  CUcontext current = nullptr;
  cuCtxGetCurrent(&current);
  CHECK(resources[0].context == current);

  seen.clear();
  CUcontext made = nullptr;
  REQUIRE(cuCtxCreate(&made, nullptr, 0, 0) == CUDA_SUCCESS);
  REQUIRE(cuCtxDestroy(made) == CUDA_SUCCESS);
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
  CHECK(seen[1].cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
  CHECK(resources[2].context == made);
  cuCtxSetCurrent(current);
}

TEST_CASE("One subscriber at a time") {
  Subscription subscription;
  CUpti_SubscriberHandle other = nullptr;
  CHECK(cuptiSubscribe(&other, on_callback, &seen) == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  CUpti_SubscriberParams parameters = {};
  CHECK(cuptiSubscribe_v2(&other, on_callback, &seen, &parameters) == CUPTI_ERROR_INVALID_PARAMETER);  // no structSize
  REQUIRE(cuptiUnsubscribe(subscription.handle) == CUPTI_SUCCESS);
  CHECK(cuptiUnsubscribe(subscription.handle) == CUPTI_ERROR_INVALID_PARAMETER);
  parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  parameters.subscriberName = "test";
  REQUIRE(cuptiSubscribe_v2(&subscription.handle, on_callback, &seen, &parameters) == CUPTI_SUCCESS);
  char name[64] = "";
  parameters.oldSubscriberName = name;
  parameters.oldSubscriberSize = sizeof name;
  CHECK(cuptiSubscribe_v2(&other, on_callback, &seen, &parameters) == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  CHECK(std::string(name) == "CUPTI for test");  // cupti_callbacks.h: 'adds it as "CUPTI for <subscriberName>"'
}

TEST_CASE("Finalizing from an exit callback, as cuptiFinalize's own example does") {
  static bool finalized;
  finalized = false;
  CUpti_SubscriberHandle handle = nullptr;
  REQUIRE(cuptiSubscribe(
              &handle,
              [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* details) {
                if (static_cast<const CUpti_CallbackData*>(details)->callbackSite != CUPTI_API_EXIT) return;
                finalized = cuptiFinalize() == CUPTI_SUCCESS;
              },
              nullptr) == CUPTI_SUCCESS);
  REQUIRE(cuptiEnableDomain(1, handle, CUPTI_CB_DOMAIN_RUNTIME_API) == CUPTI_SUCCESS);
  int device = -1;
  REQUIRE(cudaGetDevice(&device) == cudaSuccess);
  CHECK(finalized);
  CHECK(cuptiUnsubscribe(handle) == CUPTI_ERROR_INVALID_PARAMETER);
  // And attached again.
  Profile profile({CUPTI_ACTIVITY_KIND_RUNTIME});
  REQUIRE(cudaGetDevice(&device) == cudaSuccess);
  profile.stop();
  CHECK(Profile::all<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME).size() == 1);
}
