// Streams: creation, properties, attributes, capture state, host functions, memory operations.
#include <thread>

#include "test/cuda/driver_helpers.h"

using driver_test::CurrentContext;

TEST_CASE("Creating and destroying streams") {
  CurrentContext current;
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamCreate(&stream, 2) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -100) == CUDA_SUCCESS);
  int priority = 9;
  CHECK(cuStreamGetPriority(stream, &priority) == CUDA_SUCCESS);
  CHECK(priority == -5);  // clamped
  unsigned int flags = 0;
  CHECK(cuStreamGetFlags(stream, &flags) == CUDA_SUCCESS);
  CHECK(flags == CU_STREAM_NON_BLOCKING);
  CUcontext context = nullptr;
  CHECK(cuStreamGetCtx(stream, &context) == CUDA_SUCCESS);
  CHECK(context == current.get());
  CUgreenCtx green = reinterpret_cast<CUgreenCtx>(1);
  CHECK(cuStreamGetCtx_v2(stream, &context, &green) == CUDA_SUCCESS);
  CHECK(green == nullptr);
  CUdevice device = -1;
  CHECK(cuStreamGetDevice(stream, &device) == CUDA_SUCCESS);
  CHECK(device == 0);
  unsigned long long id = 0, legacy_id = 0, named_id = 1;
  CHECK(cuStreamGetId(stream, &id) == CUDA_SUCCESS);
  CHECK(cuStreamGetId(nullptr, &legacy_id) == CUDA_SUCCESS);
  CHECK(cuStreamGetId(CU_STREAM_LEGACY, &named_id) == CUDA_SUCCESS);
  CHECK(id != legacy_id);
  CHECK(legacy_id == named_id);
  CHECK(cuStreamGetPriority(stream, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamQuery(stream) == CUDA_SUCCESS);
  CHECK(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  CHECK(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
  CHECK(cuStreamDestroy_v2(stream) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuStreamDestroy_v2(nullptr) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuStreamDestroy_v2(CU_STREAM_LEGACY) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("Every thread has a default stream of its own in the per-thread twins") {
  CurrentContext current;
  unsigned long long mine = 0, again = 0, named = 0, legacy = 0, theirs = 0;
  CHECK(cuStreamGetId_ptsz(nullptr, &mine) == CUDA_SUCCESS);
  CHECK(cuStreamGetId_ptsz(nullptr, &again) == CUDA_SUCCESS);
  CHECK(cuStreamGetId(CU_STREAM_PER_THREAD, &named) == CUDA_SUCCESS);
  CHECK(cuStreamGetId_ptsz(CU_STREAM_LEGACY, &legacy) == CUDA_SUCCESS);
  std::thread([&] {
    cuCtxSetCurrent(current.get());
    cuStreamGetId_ptsz(nullptr, &theirs);
  }).join();
  CHECK(mine == again);
  CHECK(mine == named);
  CHECK(mine != legacy);
  CHECK(theirs != 0);
  CHECK(theirs != mine);
}

TEST_CASE("Nothing is capturing") {
  CurrentContext current;
  CUstream stream = nullptr;
  REQUIRE(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
  for (CUstream handle : {stream, static_cast<CUstream>(nullptr)}) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    CHECK(cuStreamIsCapturing(handle, &status) == CUDA_SUCCESS);
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
    status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    CHECK(cuStreamGetCaptureInfo(handle, &status, nullptr) == CUDA_SUCCESS);
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
    status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    CHECK(cuStreamGetCaptureInfo_v3(handle, &status, nullptr, nullptr, nullptr, nullptr, nullptr) == CUDA_SUCCESS);
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
  }
  CHECK(cuStreamIsCapturing(stream, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(cuStreamBeginCapture_v2(stream, static_cast<CUstreamCaptureMode>(7)) == CUDA_ERROR_INVALID_VALUE);
  CUgraph graph = nullptr;
  CHECK(cuStreamEndCapture(stream, &graph) == CUDA_ERROR_ILLEGAL_STATE);

  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  CHECK(cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
  CHECK(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
  CHECK(cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
  CHECK(mode == CU_STREAM_CAPTURE_MODE_RELAXED);
  CHECK(cuThreadExchangeStreamCaptureMode(nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
}

TEST_CASE("Attributes are kept, copied and checked") {
  CurrentContext current;
  CUstream a = nullptr, b = nullptr;
  REQUIRE(cuStreamCreate(&a, 0) == CUDA_SUCCESS);
  REQUIRE(cuStreamCreate(&b, 0) == CUDA_SUCCESS);
  CUstreamAttrValue value{};
  CHECK(cuStreamGetAttribute(a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value) == CUDA_SUCCESS);
  CHECK(value.syncPolicy == CU_SYNC_POLICY_AUTO);
  value.syncPolicy = CU_SYNC_POLICY_YIELD;
  CHECK(cuStreamSetAttribute(a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value) == CUDA_SUCCESS);
  CHECK(cuStreamCopyAttributes(b, a) == CUDA_SUCCESS);
  value = {};
  CHECK(cuStreamGetAttribute(b, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value) == CUDA_SUCCESS);
  CHECK(value.syncPolicy == CU_SYNC_POLICY_YIELD);
  value.accessPolicyWindow.hitRatio = 1.5f;
  CHECK(cuStreamSetAttribute(a, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamGetAttribute(a, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamGetAttribute(a, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamDestroy_v2(a) == CUDA_SUCCESS);
  CHECK(cuStreamDestroy_v2(b) == CUDA_SUCCESS);
}

TEST_CASE("Host functions and callbacks run once, in order, before the call returns") {
  CurrentContext current;
  int calls = 0;
  const CUhostFn add = [](void* data) { ++*static_cast<int*>(data); };
  CHECK(cuLaunchHostFunc(nullptr, add, &calls) == CUDA_SUCCESS);
  CHECK(calls == 1);
  CHECK(cuLaunchHostFunc(nullptr, nullptr, &calls) == CUDA_ERROR_INVALID_VALUE);
  CUresult seen = CUDA_ERROR_UNKNOWN;
  const CUstreamCallback callback = [](CUstream, CUresult status, void* data) {
    *static_cast<CUresult*>(data) = status;
  };
  CHECK(cuStreamAddCallback(nullptr, callback, &seen, 0) == CUDA_SUCCESS);
  CHECK(seen == CUDA_SUCCESS);
  CHECK(cuStreamAddCallback(nullptr, callback, &seen, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLaunchHostFunc(reinterpret_cast<CUstream>(0x1234), add, &calls) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("Memory operations write words that can be read back") {
  CurrentContext current;
  CUdeviceptr address = 0;
  REQUIRE(cuMemAlloc_v2(&address, 64) == CUDA_SUCCESS);
  CHECK(cuStreamWriteValue32_v2(nullptr, address, 0x12345678, 0) == CUDA_SUCCESS);
  CHECK(cuStreamWriteValue64_v2(nullptr, address + 8, 0x1122334455667788, 0) == CUDA_SUCCESS);
  CHECK(cuStreamWaitValue32_v2(nullptr, address, 0x12345678, CU_STREAM_WAIT_VALUE_EQ) == CUDA_SUCCESS);
  uint32_t words[4] = {};
  CHECK(cuMemcpyDtoH_v2(words, address, sizeof words) == CUDA_SUCCESS);
  CHECK(words[0] == 0x12345678);
  CHECK(words[2] == 0x55667788);
  CHECK(words[3] == 0x11223344);
  CHECK(cuStreamWriteValue32_v2(nullptr, address + 2, 1, 0) == CUDA_ERROR_INVALID_VALUE);  // not aligned
  CHECK(cuStreamWriteValue32_v2(nullptr, 0, 1, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamWaitValue32_v2(nullptr, address, 1, CU_STREAM_WAIT_VALUE_FLUSH) == CUDA_ERROR_NOT_SUPPORTED);
  CUstreamBatchMemOpParams operations[2] = {};
  operations[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operations[0].writeValue.address = address + 16;
  operations[0].writeValue.value = 7;
  operations[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operations[1].waitValue.address = address + 16;
  operations[1].waitValue.value = 7;
  CHECK(cuStreamBatchMemOp_v2(nullptr, 2, operations, 0) == CUDA_SUCCESS);
  CHECK(cuMemcpyDtoH_v2(words, address + 16, 4) == CUDA_SUCCESS);
  CHECK(words[0] == 7);
  CHECK(cuStreamBatchMemOp_v2(nullptr, 257, operations, 0) ==
        CUDA_ERROR_INVALID_VALUE);  // cuda.h: count must be at most 256
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
}

TEST_CASE("User objects and logs") {
  CurrentContext current;
  int destroyed = 0;
  CUuserObject object = nullptr;
  const CUhostFn destroy = [](void* data) { ++*static_cast<int*>(data); };
  CHECK(cuUserObjectCreate(&object, &destroyed, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) == CUDA_SUCCESS);
  CHECK(cuUserObjectRetain(object, 2) == CUDA_SUCCESS);
  CHECK(cuUserObjectRelease(object, 4) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuUserObjectRelease(object, 2) == CUDA_SUCCESS);
  CHECK(destroyed == 0);
  CHECK(cuUserObjectRelease(object, 1) == CUDA_SUCCESS);
  CHECK(destroyed == 1);
  CHECK(cuUserObjectRelease(object, 1) == CUDA_ERROR_INVALID_VALUE);

  CUlogsCallbackHandle handle = nullptr;
  CHECK(cuLogsRegisterCallback([](void*, CUlogLevel, char*, size_t) {}, nullptr, &handle) == CUDA_SUCCESS);
  CHECK(cuLogsUnregisterCallback(handle) == CUDA_SUCCESS);
  CHECK(cuLogsUnregisterCallback(handle) == CUDA_ERROR_INVALID_VALUE);
  char text[8] = "x";
  size_t size = sizeof text;
  CHECK(cuLogsDumpToMemory(nullptr, text, &size, 0) == CUDA_SUCCESS);
  CHECK(size == 0);
  CHECK(text[0] == 0);
}
