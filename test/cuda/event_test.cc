// Events and the virtual clock.
#include <time.h>

#include <cstring>

#include "driver_shim/common/maya_table.h"
#include "test/cuda/driver_helpers.h"

using driver_test::CurrentContext;

namespace {

const maya::MayaTable& table() {
  CUuuid id;
  memcpy(&id, maya::kMayaTableIdBytes, sizeof id);
  const void* found = nullptr;
  REQUIRE(cuGetExportTable(&found, &id) == CUDA_SUCCESS);
  return *static_cast<const maya::MayaTable*>(found);
}

// A matrix product of 2 * 8192^3 = 1.0995e12 operations: at most 989.4e12 a second on an H100 (datasheet), so at
// least 1.111 ms.
constexpr double kProduct_ms = 1.111;
void enqueue_product(CUstream stream) {
  maya::OperationRecord product(maya::Family::kGemm, "test");
  product.set(maya::Key::kM, 8192).set(maya::Key::kN, 8192).set(maya::Key::kK, 8192).set(maya::Key::kBatch, 1);
  for (const maya::Key type : {maya::Key::kTypeA, maya::Key::kTypeB, maya::Key::kTypeC, maya::Key::kTypeD})
    product.set(type, static_cast<int64_t>(maya::DataType::kBfloat16));
  product.set(maya::Key::kComputeType, static_cast<int64_t>(maya::DataType::kFloat32));
  REQUIRE(table().record_operation(stream, &product, nullptr, 0) == CUDA_SUCCESS);
}

double wall_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

struct Timer {
  Timer() {
    REQUIRE(cuEventCreate(&start, 0) == CUDA_SUCCESS);
    REQUIRE(cuEventCreate(&end, 0) == CUDA_SUCCESS);
  }
  ~Timer() {
    cuEventDestroy_v2(start);
    cuEventDestroy_v2(end);
  }
  float elapsed() const {
    float milliseconds = -1;
    CHECK(cuEventSynchronize(end) == CUDA_SUCCESS);
    CHECK(cuEventElapsedTime_v2(&milliseconds, start, end) == CUDA_SUCCESS);
    return milliseconds;
  }
  CUevent start = nullptr, end = nullptr;
};

}  // namespace

TEST_CASE("Documented errors of events") {
  CurrentContext current;
  CUevent event = nullptr, untimed = nullptr, timed = nullptr;
  CHECK(cuEventCreate(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuEventCreate(&event, 8) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuEventCreate(&event, CU_EVENT_INTERPROCESS) == CUDA_ERROR_INVALID_VALUE);  // needs CU_EVENT_DISABLE_TIMING
  CHECK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
  CHECK(cuEventDestroy_v2(event) == CUDA_SUCCESS);
  CHECK(cuEventDestroy_v2(event) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuEventQuery(event) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuEventRecord(event, nullptr) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuEventSynchronize(nullptr) == CUDA_ERROR_INVALID_HANDLE);

  REQUIRE(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
  REQUIRE(cuEventCreate(&timed, CU_EVENT_DEFAULT) == CUDA_SUCCESS);
  float milliseconds = 0;
  // "If cuEventRecord() has not been called on either event then CUDA_ERROR_INVALID_HANDLE is returned."
  CHECK(cuEventElapsedTime_v2(&milliseconds, timed, timed) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuEventQuery(timed) == CUDA_SUCCESS);  // nothing to wait for
  CHECK(cuEventRecord(untimed, nullptr) == CUDA_SUCCESS);
  CHECK(cuEventRecord(timed, nullptr) == CUDA_SUCCESS);
  CHECK(cuEventRecordWithFlags(timed, nullptr, 2) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  // "If either event was created with the CU_EVENT_DISABLE_TIMING flag, then this function will return
  // CUDA_ERROR_INVALID_HANDLE."
  CHECK(cuEventElapsedTime(&milliseconds, timed, untimed) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuEventElapsedTime(nullptr, timed, timed) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuEventElapsedTime(&milliseconds, timed, timed) == CUDA_SUCCESS);
  CHECK(milliseconds == 0.0f);
  CHECK(cuEventDestroy_v2(untimed) == CUDA_SUCCESS);
  CHECK(cuEventDestroy_v2(timed) == CUDA_SUCCESS);
}

TEST_CASE("An event belongs to its context") {
  CurrentContext first(0);
  CUevent event = nullptr;
  REQUIRE(cuEventCreate(&event, 0) == CUDA_SUCCESS);
  {
    CurrentContext second(1);
    CHECK(cuEventRecord(event, nullptr) ==
          CUDA_ERROR_INVALID_HANDLE);                             // "hEvent and hStream must be from the same context"
    CHECK(cuStreamWaitEvent(nullptr, event, 0) == CUDA_SUCCESS);  // waiting may cross contexts
    // "cudaEventElapsedTime() will fail if the two input events are associated to different devices."
    CUevent other = nullptr;
    REQUIRE(cuEventCreate(&other, 0) == CUDA_SUCCESS);
    CHECK(cuEventRecord(other, nullptr) == CUDA_SUCCESS);
    REQUIRE(cuCtxPushCurrent_v2(first.get()) == CUDA_SUCCESS);
    CHECK(cuEventRecord(event, nullptr) == CUDA_SUCCESS);
    REQUIRE(cuCtxPopCurrent_v2(nullptr) == CUDA_SUCCESS);
    // "cudaEventSynchronize() and cudaEventQuery() will succeed even if ..."
    CHECK(cuEventSynchronize(event) == CUDA_SUCCESS);
    CHECK(cuEventSynchronize(other) == CUDA_SUCCESS);
    CHECK(cuEventQuery(event) == CUDA_SUCCESS);
    float milliseconds = -1;
    CHECK(cuEventElapsedTime_v2(&milliseconds, event, other) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuEventElapsedTime(&milliseconds, other, event) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(milliseconds == -1);
    CHECK(cuEventDestroy_v2(other) == CUDA_SUCCESS);
    CHECK(cuCtxRecordEvent(second.get(), event) == CUDA_ERROR_INVALID_HANDLE);
  }
  CHECK(cuCtxRecordEvent(first.get(), event) == CUDA_SUCCESS);
  CHECK(cuCtxWaitEvent(first.get(), event) == CUDA_SUCCESS);
  CHECK(cuEventDestroy_v2(event) == CUDA_SUCCESS);
}

TEST_CASE("Elapsed time is modelled time, and waiting for it takes none") {
  CurrentContext current;
  Timer timer;
  const double before_ms = wall_ms();
  CHECK(cuEventRecord(timer.start, nullptr) == CUDA_SUCCESS);
  for (int i = 0; i < 1000; ++i) enqueue_product(nullptr);
  CHECK(cuEventRecord(timer.end, nullptr) == CUDA_SUCCESS);
  float milliseconds = 0;
  CHECK(cuEventQuery(timer.end) == CUDA_ERROR_NOT_READY);
  CHECK(cuEventElapsedTime(&milliseconds, timer.start, timer.end) == CUDA_ERROR_NOT_READY);
  CHECK(cuEventElapsedTime_v2(&milliseconds, timer.start, timer.end) == CUDA_ERROR_NOT_READY);
  CHECK(cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY);
  milliseconds = timer.elapsed();
  CHECK(milliseconds > 1000 * kProduct_ms);
  CHECK(milliseconds < 4000 * kProduct_ms);
  CHECK(cuStreamQuery(nullptr) == CUDA_SUCCESS);
  CHECK(wall_ms() - before_ms < 500);
}

TEST_CASE("Polling ends: every poll that finds work unfinished moves the clock by a microsecond") {
  CurrentContext current;
  Timer timer;
  enqueue_product(nullptr);
  CHECK(cuEventRecord(timer.end, nullptr) == CUDA_SUCCESS);
  int polls = 0;
  while (cuEventQuery(timer.end) == CUDA_ERROR_NOT_READY && polls < 1000000) ++polls;
  CHECK(polls > 0);
  CHECK(polls < 5000);  // 1.1 to 4 ms in steps of at least a microsecond
}

TEST_CASE("Streams overlap, waits and the legacy default stream order them") {
  CurrentContext current;
  CUstream a = nullptr, b = nullptr, blocking = nullptr;
  REQUIRE(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  REQUIRE(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  REQUIRE(cuStreamCreate(&blocking, CU_STREAM_DEFAULT) == CUDA_SUCCESS);
  enqueue_product(a);  // so that everything is warm
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);

  // One product each on two non-blocking streams: the second stream's end is one product after the start.
  Timer overlapped;
  CHECK(cuEventRecord(overlapped.start, a) == CUDA_SUCCESS);
  for (int i = 0; i < 100; ++i) enqueue_product(a);
  for (int i = 0; i < 100; ++i) enqueue_product(b);
  CHECK(cuEventRecord(overlapped.end, b) == CUDA_SUCCESS);
  const float alone = overlapped.elapsed();
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);

  // With an event wait they follow one another.
  Timer chained, middle;
  CHECK(cuEventRecord(chained.start, a) == CUDA_SUCCESS);
  for (int i = 0; i < 100; ++i) enqueue_product(a);
  CHECK(cuEventRecord(middle.start, a) == CUDA_SUCCESS);
  CHECK(cuStreamWaitEvent(b, middle.start, 0) == CUDA_SUCCESS);
  for (int i = 0; i < 100; ++i) enqueue_product(b);
  CHECK(cuEventRecord(chained.end, b) == CUDA_SUCCESS);
  CHECK(chained.elapsed() > 1.8f * alone);
  CHECK(chained.elapsed() < 2.2f * alone);

  // The legacy default stream waits for blocking streams and they for it; non-blocking streams do not take part.
  const auto end_after = [&](CUstream first, CUstream second) {
    cuCtxSynchronize();
    Timer timer;
    CHECK(cuEventRecord(timer.start, first) == CUDA_SUCCESS);
    for (int i = 0; i < 100; ++i) enqueue_product(first);
    for (int i = 0; i < 100; ++i) enqueue_product(second);
    CHECK(cuEventRecord(timer.end, second) == CUDA_SUCCESS);
    return timer.elapsed() / alone;
  };
  CHECK(end_after(blocking, nullptr) == Approx(2).margin(0.3));
  CHECK(end_after(nullptr, blocking) == Approx(2).margin(0.3));
  CHECK(end_after(nullptr, CU_STREAM_PER_THREAD) == Approx(2).margin(0.3));
  CHECK(end_after(a, nullptr) == Approx(1).margin(0.3));
  CHECK(end_after(nullptr, a) == Approx(1).margin(0.3));
  for (CUstream stream : {a, b, blocking}) CHECK(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
}

TEST_CASE("Synchronising brings the virtual clock to the end of the work") {
  CurrentContext current;
  const uint64_t before_ns = table().virtual_now_ns();
  for (int i = 0; i < 100; ++i) enqueue_product(nullptr);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(static_cast<double>(table().virtual_now_ns() - before_ns) > 100 * kProduct_ms * 1e6);
}
