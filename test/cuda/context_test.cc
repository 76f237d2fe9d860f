// Contexts: primary and created, the stack of each thread, settings.
#include <thread>

#include "test/cuda/driver_helpers.h"

using driver_test::CurrentContext;

TEST_CASE("Primary context: reference count and state") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  unsigned int flags = 9;
  int active = 9;
  CHECK(cuDevicePrimaryCtxGetState(1, &flags, &active) == CUDA_SUCCESS);
  CHECK(active == 0);
  CHECK(cuDevicePrimaryCtxSetFlags_v2(1, CU_CTX_SCHED_BLOCKING_SYNC) == CUDA_SUCCESS);
  CHECK(cuDevicePrimaryCtxSetFlags_v2(1, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDevicePrimaryCtxSetFlags_v2(1, 0x100) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDevicePrimaryCtxRelease_v2(1) == CUDA_ERROR_INVALID_CONTEXT);  // never retained

  CUcontext first = nullptr, second = nullptr;
  CHECK(cuDevicePrimaryCtxRetain(&first, 1) == CUDA_SUCCESS);
  CHECK(cuDevicePrimaryCtxRetain(&second, 1) == CUDA_SUCCESS);
  CHECK(first == second);
  CHECK(cuDevicePrimaryCtxSetFlags(1, 0) == CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE);  // the form before CUDA 11.0
  CHECK(cuDevicePrimaryCtxGetState(1, &flags, &active) == CUDA_SUCCESS);
  CHECK(active == 1);
  CHECK(flags == CU_CTX_SCHED_BLOCKING_SYNC);
  CHECK(cuCtxDestroy_v2(first) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuDevicePrimaryCtxRelease_v2(1) == CUDA_SUCCESS);
  CHECK(cuDevicePrimaryCtxGetState(1, &flags, &active) == CUDA_SUCCESS);
  CHECK(active == 1);
  CHECK(cuDevicePrimaryCtxRelease_v2(1) == CUDA_SUCCESS);
  CHECK(cuDevicePrimaryCtxGetState(1, &flags, &active) == CUDA_SUCCESS);
  CHECK(active == 0);
  CHECK(cuCtxPushCurrent_v2(first) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(cuDevicePrimaryCtxRetain(&first, 2) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuDevicePrimaryCtxRetain(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDevicePrimaryCtxSetFlags_v2(1, 0) == CUDA_SUCCESS);
}

TEST_CASE("Resetting the primary context frees what it holds, and retaining brings it back") {
  CurrentContext current;
  size_t before = 0, total = 0, after = 0;
  CHECK(cuMemGetInfo_v2(&before, &total) == CUDA_SUCCESS);
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc_v2(&address, 64 << 20) == CUDA_SUCCESS);
  CHECK(cuMemGetInfo_v2(&after, &total) == CUDA_SUCCESS);
  CHECK(before - after == 64 << 20);
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
  CHECK(cuDevicePrimaryCtxReset_v2(0) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(address) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_INVALID_HANDLE);
  CUcontext again = nullptr;
  CHECK(cuDevicePrimaryCtxRetain(&again, 0) == CUDA_SUCCESS);
  CHECK(again == current.get());
  CHECK(cuMemGetInfo_v2(&after, &total) == CUDA_SUCCESS);
  CHECK(after == before);
  CHECK(cuDevicePrimaryCtxRelease_v2(0) == CUDA_SUCCESS);
}

TEST_CASE("Created contexts and the stack") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  CUcontext none = reinterpret_cast<CUcontext>(1), a = nullptr, b = nullptr, popped = nullptr;
  CHECK(cuCtxGetCurrent(&none) == CUDA_SUCCESS);
  CHECK(none == nullptr);
  CHECK(cuCtxPopCurrent_v2(&popped) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxSynchronize() == CUDA_ERROR_INVALID_CONTEXT);

  CHECK(cuCtxCreate_v4(&a, nullptr, CU_CTX_SCHED_SPIN, 0) == CUDA_SUCCESS);
  CHECK(cuCtxCreate_v2(&b, 0, 1) == CUDA_SUCCESS);
  CUdevice device = -1;
  CHECK(cuCtxGetDevice(&device) == CUDA_SUCCESS);
  CHECK(device == 1);
  CHECK(cuCtxGetDevice_v2(&device, a) == CUDA_SUCCESS);
  CHECK(device == 0);
  unsigned long long id_a = 0, id_b = 0, id_current = 0;
  CHECK(cuCtxGetId(a, &id_a) == CUDA_SUCCESS);
  CHECK(cuCtxGetId(b, &id_b) == CUDA_SUCCESS);
  CHECK(cuCtxGetId(nullptr, &id_current) == CUDA_SUCCESS);
  CHECK(id_a != id_b);
  CHECK(id_current == id_b);
  CHECK(cuCtxPopCurrent_v2(&popped) == CUDA_SUCCESS);
  CHECK(popped == b);
  unsigned int flags = 0, version = 0;
  CHECK(cuCtxGetFlags(&flags) == CUDA_SUCCESS);
  CHECK(flags == CU_CTX_SCHED_SPIN);
  CHECK(cuCtxSetFlags(CU_CTX_SCHED_YIELD) == CUDA_SUCCESS);
  CHECK(cuCtxGetFlags(&flags) == CUDA_SUCCESS);
  CHECK(flags == CU_CTX_SCHED_YIELD);
  CHECK(cuCtxGetApiVersion(b, &version) == CUDA_SUCCESS);
  CHECK(version == 3020);
  // Destroying a context that is current elsewhere: that thread gets CONTEXT_IS_DESTROYED.
  CUresult elsewhere = CUDA_SUCCESS, before = CUDA_ERROR_UNKNOWN;
  std::thread([&] {
    before = cuCtxSetCurrent(b);
    std::thread([&] { cuCtxDestroy_v2(b); }).join();
    elsewhere = cuCtxSynchronize();
  }).join();
  CHECK(before == CUDA_SUCCESS);
  CHECK(elsewhere == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(cuCtxDestroy_v2(b) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  // Destroying the current one pops it.
  CHECK(cuCtxDestroy_v2(a) == CUDA_SUCCESS);
  CHECK(cuCtxGetCurrent(&none) == CUDA_SUCCESS);
  CHECK(none == nullptr);

  CHECK(cuCtxCreate_v2(&a, 0x100, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuCtxCreate_v2(&a, 0, 7) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuCtxCreate_v2(nullptr, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CUexecAffinityParam affinity{};
  CHECK(cuCtxCreate_v3(&a, &affinity, 1, 0, 0) == CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
  CHECK(cuCtxCreate_v3(&a, nullptr, 1, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  for (const uintptr_t garbage : {uintptr_t{1}, uintptr_t{0xdeadbeef}, ~uintptr_t{0}}) {
    CHECK(cuCtxSetCurrent(reinterpret_cast<CUcontext>(garbage)) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxDestroy_v2(reinterpret_cast<CUcontext>(garbage)) == CUDA_ERROR_INVALID_CONTEXT);
  }
}

TEST_CASE("Attach and detach count uses") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  CUcontext made = nullptr, attached = nullptr;
  CHECK(cuCtxAttach(&attached, 0) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxCreate_v2(&made, 0, 0) == CUDA_SUCCESS);
  CHECK(cuCtxAttach(&attached, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuCtxAttach(&attached, 0) == CUDA_SUCCESS);
  CHECK(attached == made);
  CHECK(cuCtxDetach(made) == CUDA_SUCCESS);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(cuCtxDetach(made) == CUDA_SUCCESS);
  CHECK(cuCtxSetCurrent(made) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_CASE("A fresh thread has no context") {
  CurrentContext current;
  CUresult status = CUDA_SUCCESS;
  CUcontext seen = reinterpret_cast<CUcontext>(1);
  std::thread([&] {
    CUdevice device = 0;
    status = cuCtxGetDevice(&device);
    cuCtxGetCurrent(&seen);
  }).join();
  CHECK(status == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(seen == nullptr);
}

TEST_CASE("Limits") {
  CurrentContext current;
  size_t value = 0;
  CHECK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE) == CUDA_SUCCESS);
  CHECK(value == 1024);  // CUDA programming guide
  CHECK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096) == CUDA_SUCCESS);
  CHECK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE) == CUDA_SUCCESS);
  CHECK(value == 4096);
  CHECK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1 << 30) == CUDA_ERROR_INVALID_VALUE);  // 512 KiB of local memory a thread
  CHECK(cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE) == CUDA_SUCCESS);
  CHECK(value == 8u << 20);  // CUDA programming guide, dynamic global memory allocation
  // "This limit is only applicable to devices of compute capability < 9.0."
  CHECK(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2) == CUDA_ERROR_UNSUPPORTED_LIMIT);
  CHECK(cuCtxGetLimit(&value, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH) == CUDA_ERROR_UNSUPPORTED_LIMIT);
  CHECK(cuCtxGetLimit(&value, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT) == CUDA_SUCCESS);
  CHECK(value == 2048);  // stated for CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT
  CHECK(cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 4096) == CUDA_SUCCESS);  // a hint, clamped to 128
  CHECK(cuCtxGetLimit(&value, CU_LIMIT_MAX_L2_FETCH_GRANULARITY) == CUDA_SUCCESS);
  CHECK(value == 128);
  CHECK(cuCtxSetLimit(CU_LIMIT_MAX, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuCtxGetLimit(&value, CU_LIMIT_MAX) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("Cache and shared memory configuration, priorities, persisting lines") {
  CurrentContext current;
  CUfunc_cache cache = CU_FUNC_CACHE_PREFER_EQUAL;
  CHECK(cuCtxGetCacheConfig(&cache) == CUDA_SUCCESS);
  CHECK(cache == CU_FUNC_CACHE_PREFER_NONE);
  CHECK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1) == CUDA_SUCCESS);
  CHECK(cuCtxGetCacheConfig(&cache) == CUDA_SUCCESS);
  CHECK(cache == CU_FUNC_CACHE_PREFER_L1);
  CHECK(cuCtxSetCacheConfig(static_cast<CUfunc_cache>(9)) == CUDA_ERROR_INVALID_VALUE);
  CUsharedconfig banks = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
  CHECK(cuCtxGetSharedMemConfig(&banks) == CUDA_SUCCESS);
  CHECK(banks == CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
  CHECK(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE) == CUDA_SUCCESS);
  int least = 9, greatest = 9;
  CHECK(cuCtxGetStreamPriorityRange(&least, &greatest) == CUDA_SUCCESS);
  CHECK(least == 0);
  CHECK(greatest == -5);
  CHECK(cuCtxGetStreamPriorityRange(nullptr, nullptr) == CUDA_SUCCESS);
  CHECK(cuCtxResetPersistingL2Cache() == CUDA_SUCCESS);
}

TEST_CASE("Peer access is one way and between different devices") {
  CurrentContext first(0);
  CUcontext second = nullptr;
  REQUIRE(cuDevicePrimaryCtxRetain(&second, 1) == CUDA_SUCCESS);
  CHECK(cuCtxEnablePeerAccess(second, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuCtxEnablePeerAccess(nullptr, 0) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxEnablePeerAccess(first.get(), 0) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxDisablePeerAccess(second) == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  CHECK(cuCtxEnablePeerAccess(second, 0) == CUDA_SUCCESS);
  CHECK(cuCtxEnablePeerAccess(second, 0) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  CHECK(cuCtxDisablePeerAccess(second) == CUDA_SUCCESS);
  CHECK(cuDevicePrimaryCtxRelease_v2(1) == CUDA_SUCCESS);
}

TEST_CASE("A context costs device memory, once a device") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  CUcontext first = nullptr, second = nullptr;
  size_t one = 0, two = 0, total = 0;
  CHECK(cuCtxCreate_v2(&first, 0, 0) == CUDA_SUCCESS);
  CHECK(cuMemGetInfo_v2(&one, &total) == CUDA_SUCCESS);
  CHECK(one < total);
  CHECK(cuCtxCreate_v2(&second, 0, 0) == CUDA_SUCCESS);
  CHECK(cuMemGetInfo_v2(&two, &total) == CUDA_SUCCESS);
  CHECK(one == two);
  CHECK(cuCtxDestroy_v2(second) == CUDA_SUCCESS);
  CHECK(cuCtxDestroy_v2(first) == CUDA_SUCCESS);
}
