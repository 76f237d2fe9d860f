#include <cuda_runtime_api.h>

#include <catch2/catch.hpp>

extern "C" {
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream);
cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaStreamGetId_ptsz(cudaStream_t stream, unsigned long long* id);
}

TEST_CASE("streams keep what they were made with") {
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -1) == cudaSuccess);
  int priority = 9, device = 9;
  unsigned flags = 9;
  unsigned long long id = 0, other = 0;
  CHECK(cudaStreamGetPriority(stream, &priority) == cudaSuccess);
  CHECK(priority == -1);
  CHECK(cudaStreamGetFlags(stream, &flags) == cudaSuccess);
  CHECK(flags == cudaStreamNonBlocking);
  CHECK(cudaStreamGetDevice(stream, &device) == cudaSuccess);
  CHECK(device == 0);
  CHECK(cudaStreamGetId(stream, &id) == cudaSuccess);
  CHECK(cudaStreamGetId(nullptr, &other) == cudaSuccess);
  CHECK(id != other);
  CHECK(cudaStreamGetId_ptsz(nullptr, &id) == cudaSuccess);
  CHECK(id != other);  // the thread's own stream is not the legacy one
  CHECK(cudaStreamQuery(stream) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(cudaStreamSynchronize_ptsz(nullptr) == cudaSuccess);
  cudaStreamAttrValue value = {};
  value.syncPolicy = cudaSyncPolicyBlockingSync;
  CHECK(cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value) == cudaSuccess);
  value.syncPolicy = cudaSyncPolicyAuto;
  CHECK(cudaStreamGetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value) == cudaSuccess);
  CHECK(value.syncPolicy == cudaSyncPolicyBlockingSync);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamCreate(nullptr) == cudaErrorInvalidValue);
  CHECK(cudaStreamCreateWithFlags(&stream, 0x80) == cudaErrorInvalidValue);
  CHECK(cudaStreamGetPriority(nullptr, nullptr) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("events") {
  cudaEvent_t start = nullptr, end = nullptr, untimed = nullptr;
  REQUIRE(cudaEventCreate(&start) == cudaSuccess);
  REQUIRE(cudaEventCreateWithFlags(&end, cudaEventBlockingSync) == cudaSuccess);
  REQUIRE(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming) == cudaSuccess);
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, start, end) == cudaErrorInvalidResourceHandle);  // neither was recorded
  CHECK(cudaEventRecord(start, nullptr) == cudaSuccess);
  CHECK(cudaEventRecordWithFlags(end, nullptr, cudaEventRecordDefault) == cudaSuccess);
  CHECK(cudaEventSynchronize(end) == cudaSuccess);
  CHECK(cudaEventQuery(end) == cudaSuccess);
  CHECK(cudaEventElapsedTime(&milliseconds, start, end) == cudaSuccess);
  CHECK(milliseconds >= 0);
  CHECK(cudaEventRecord_ptsz(untimed, nullptr) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(nullptr, untimed, 0) == cudaSuccess);
  CHECK(cudaEventElapsedTime(&milliseconds, start, untimed) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventElapsedTime(nullptr, start, end) == cudaErrorInvalidValue);
  for (cudaEvent_t event : {start, end, untimed}) CHECK(cudaEventDestroy(event) == cudaSuccess);
  CHECK(cudaEventDestroy(start) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventCreate(nullptr) == cudaErrorInvalidValue);
  CHECK(cudaEventCreateWithFlags(&start, 0x100) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("host functions and callbacks run in stream order") {
  int calls = 0;
  CHECK(cudaLaunchHostFunc(
            nullptr, [](void* data) { *static_cast<int*>(data) += 1; }, &calls) == cudaSuccess);
  CHECK(cudaStreamAddCallback(
            nullptr,
            [](cudaStream_t, cudaError_t status, void* data) {
              *static_cast<int*>(data) += status == cudaSuccess ? 10 : 100;
            },
            &calls, 0) == cudaSuccess);
  CHECK(cudaStreamSynchronize(nullptr) == cudaSuccess);
  CHECK(calls == 11);
  CHECK(cudaLaunchHostFunc(nullptr, nullptr, nullptr) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("nothing is being captured") {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  CHECK(cudaStreamIsCapturing(nullptr, &status) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusNone);
  status = cudaStreamCaptureStatusActive;
  unsigned long long id = 7;
  CHECK(cudaStreamGetCaptureInfo(nullptr, &status, &id, nullptr, nullptr, nullptr, nullptr) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusNone);
  CHECK(cudaStreamIsCapturing(nullptr, nullptr) == cudaErrorInvalidValue);
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  CHECK(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
  CHECK(mode == cudaStreamCaptureModeGlobal);  // documented default
  CHECK(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
  CHECK(mode == cudaStreamCaptureModeRelaxed);
  CHECK(cudaThreadExchangeStreamCaptureMode(nullptr) == cudaErrorInvalidValue);
  cudaGetLastError();
}
