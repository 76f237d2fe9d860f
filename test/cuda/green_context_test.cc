// Green contexts, as cuda.h describes them under "Green Contexts". The device is an H100 SXM: 132 multiprocessors, and,
// at compute capability 9.0, multiples of 8.
#include <vector>

#include "test/cuda/driver_helpers.h"

using namespace driver_test;

namespace {

constexpr CUresult kNot = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;

CUdevResource whole_device() {
  CUdevResource resource{};
  REQUIRE(cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS);
  return resource;
}

CU_DEV_SM_RESOURCE_GROUP_PARAMS group(unsigned int count, unsigned int together = 0, unsigned int flags = 0) {
  CU_DEV_SM_RESOURCE_GROUP_PARAMS made{};
  made.smCount = count, made.coscheduledSmCount = together, made.flags = flags;
  return made;
}

CUgreenCtx make_green(CUdevResource part) {
  CUdevResourceDesc descriptor = nullptr;
  CUgreenCtx made = nullptr;
  REQUIRE(cuDevResourceGenerateDesc(&descriptor, &part, 1) == CUDA_SUCCESS);
  REQUIRE(cuGreenCtxCreate(&made, descriptor, 0, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_SUCCESS);
  return made;
}

// Half of the device or so.
CUgreenCtx make_green() {
  CUdevResource part{};
  const CUdevResource all = whole_device();
  unsigned int groups = 1;
  REQUIRE(cuDevSmResourceSplitByCount(&part, &groups, &all, nullptr, 0, 64) == CUDA_SUCCESS);
  return make_green(part);
}

unsigned int multiprocessors_of(CUgreenCtx green) {
  CUdevResource resource{};
  REQUIRE(cuGreenCtxGetDevResource(green, &resource, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS);
  return resource.sm.smCount;
}

}  // namespace

TEST_CASE("A device's resources") {
  CurrentContext current;
  const CUdevResource all = whole_device();
  CHECK(all.sm.smCount == 132);
  CHECK(all.sm.minSmPartitionSize == 8);
  CHECK(all.sm.smCoscheduledAlignment == 8);
  CUdevResource queues{};
  CHECK(cuDeviceGetDevResource(0, &queues, CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG) == CUDA_SUCCESS);
  CHECK(queues.wqConfig.device == 0);
  CHECK(queues.wqConfig.wqConcurrencyLimit == 8);  // CUDA_DEVICE_MAX_CONNECTIONS when it is not set
  CHECK(queues.wqConfig.sharingScope == CU_WORKQUEUE_SCOPE_DEVICE_CTX);
  CHECK(cuDeviceGetDevResource(9, &queues, CU_DEV_RESOURCE_TYPE_SM) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuDeviceGetDevResource(0, nullptr, CU_DEV_RESOURCE_TYPE_SM) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceGetDevResource(0, &queues, static_cast<CUdevResourceType>(7)) == CUDA_ERROR_INVALID_RESOURCE_TYPE);
  CHECK(cuStreamGetDevResource(nullptr, &queues, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS);
  CHECK(queues.sm.smCount == 132);
  CHECK(cuStreamGetDevResource(nullptr, &queues, CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG) ==
        CUDA_ERROR_INVALID_RESOURCE_TYPE);
}

TEST_CASE("Equal partitions") {
  CurrentContext current;
  const CUdevResource all = whole_device();
  CUdevResource parts[40] = {}, rest{};
  unsigned int groups = 0;
  const auto split = [&](CUdevResource* to, unsigned int wanted, unsigned int flags, unsigned int least) {
    groups = wanted;
    return cuDevSmResourceSplitByCount(to, &groups, &all, &rest, flags, least);
  };
  REQUIRE(split(nullptr, 0, 0, 10) == CUDA_SUCCESS);
  CHECK(groups == 8);  // 10 is rounded up to 16, and 132 / 16 = 8.25
  REQUIRE(split(parts, 3, 0, 10) == CUDA_SUCCESS);
  CHECK(groups == 3);
  CHECK(parts[2].sm.smCount == 16);
  CHECK(rest.sm.smCount == 132 - 3 * 16);
  REQUIRE(split(parts, 40, 0, 0) == CUDA_SUCCESS);
  CHECK(groups == 16);  // of 8, the smallest: 132 / 8 = 16.5
  CHECK(rest.sm.smCount == 4);
  REQUIRE(split(parts, 40, CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, 33) == CUDA_SUCCESS);
  CHECK(groups == 3);  // of 34, the next multiple of 2
  CHECK(parts[0].sm.smCount == 34);
  CHECK(split(parts, 40, 0, 133) == CUDA_ERROR_INVALID_VALUE);
  CHECK(split(parts, 40, 0x80, 8) == CUDA_ERROR_INVALID_VALUE);
  CHECK(split(parts, 0, 0, 8) == kNot);
  // "The output results cannot be split again without first creating a descriptor and a green context."
  const CUdevResource part = parts[0];
  groups = 1;
  CHECK(cuDevSmResourceSplitByCount(parts, &groups, &part, nullptr, 0, 8) == kNot);
  CUdevResource empty{};
  CHECK(cuDevSmResourceSplitByCount(parts, &groups, &empty, nullptr, 0, 8) == CUDA_ERROR_INVALID_RESOURCE_TYPE);
}

TEST_CASE("Structured groups") {
  CurrentContext current;
  const CUdevResource all = whole_device();
  CUdevResource parts[2] = {}, rest{};
  std::vector<CU_DEV_SM_RESOURCE_GROUP_PARAMS> wanted;
  const auto split = [&](CUdevResource* to) {
    return cuDevSmResourceSplit(to, static_cast<unsigned int>(wanted.size()), &all, &rest, 0, wanted.data());
  };
  // The three examples of the documentation.
  wanted = {group(0)};
  REQUIRE(split(parts) == CUDA_SUCCESS);
  CHECK(wanted[0].smCount == 128);
  CHECK(parts[0].sm.smCount == 128);
  CHECK(rest.sm.smCount == 4);
  wanted = {group(10, 2)};
  REQUIRE(split(parts) == CUDA_SUCCESS);
  CHECK(parts[0].sm.smCount == 10);
  CHECK(parts[0].sm.smCoscheduledAlignment == 2);
  wanted = {group(8, 4), group(0, 2, CU_DEV_SM_RESOURCE_GROUP_BACKFILL)};
  REQUIRE(split(parts) == CUDA_SUCCESS);
  CHECK(parts[1].sm.smCount == 124);
  CHECK(rest.type == CU_DEV_RESOURCE_TYPE_INVALID);

  wanted = {group(64), group(64)};
  CHECK(split(parts) == CUDA_SUCCESS);
  wanted = {group(66), group(66)};
  CHECK(split(parts) == kNot);  // not a multiple of 8
  wanted = {group(66, 0, CU_DEV_SM_RESOURCE_GROUP_BACKFILL), group(66, 0, CU_DEV_SM_RESOURCE_GROUP_BACKFILL)};
  CHECK(split(parts) == CUDA_SUCCESS);
  wanted = {group(128), group(0)};
  CHECK(split(parts) == kNot);  // nothing left for a result
  CHECK(split(nullptr) == CUDA_SUCCESS);
  CHECK(wanted[1].smCount == 0);  // but it may be found out
  wanted = {group(136)};
  CHECK(split(parts) == kNot);
  wanted = {group(8, 3)};
  CHECK(split(parts) == CUDA_ERROR_INVALID_VALUE);
  wanted = {group(64, 64)};
  CHECK(split(parts) == CUDA_ERROR_INVALID_VALUE);  // at most 32 together
  CHECK(cuDevSmResourceSplit(parts, 0, &all, nullptr, 0, wanted.data()) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("What a descriptor may hold") {
  CurrentContext current;
  CUdevResource all = whole_device(), queues{}, parts[2] = {}, others[2] = {};
  REQUIRE(cuDeviceGetDevResource(0, &queues, CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG) == CUDA_SUCCESS);
  unsigned int groups = 2;
  REQUIRE(cuDevSmResourceSplitByCount(parts, &groups, &all, nullptr, 0, 16) == CUDA_SUCCESS);
  REQUIRE(cuDevSmResourceSplitByCount(others, &groups, &all, nullptr, 0, 16) == CUDA_SUCCESS);
  CUdevResourceDesc descriptor = nullptr;
  const auto describe = [&](std::vector<CUdevResource> list) {
    return cuDevResourceGenerateDesc(&descriptor, list.data(), static_cast<unsigned int>(list.size()));
  };
  CHECK(describe({parts[0], parts[1]}) == CUDA_SUCCESS);
  CHECK(describe({parts[0], queues}) == CUDA_SUCCESS);
  CHECK(describe({parts[0], others[1]}) == kNot);  // of different splits
  CHECK(describe({CUdevResource{}}) == CUDA_ERROR_INVALID_RESOURCE_TYPE);
  CHECK(describe({}) == CUDA_ERROR_INVALID_VALUE);
  CUgreenCtx green = nullptr;
  REQUIRE(describe({parts[0], parts[1]}) == CUDA_SUCCESS);
  CHECK(cuGreenCtxCreate(&green, descriptor, 0, 0) == CUDA_ERROR_INVALID_VALUE);  // the flag is required
  CHECK(cuGreenCtxCreate(&green, nullptr, 0, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuGreenCtxCreate(&green, descriptor, 0, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_SUCCESS);
  CHECK(multiprocessors_of(green) == 32);
  CHECK(cuGreenCtxDestroy(green) == CUDA_SUCCESS);
}

TEST_CASE("A green context, its streams and events") {
  CurrentContext current;
  const CUgreenCtx green = make_green();
  CHECK(multiprocessors_of(green) == 64);
  CUcontext context = nullptr, of_stream = nullptr;
  CUgreenCtx green_of_stream = nullptr;
  CUstream stream = nullptr;
  REQUIRE(cuCtxFromGreenCtx(&context, green) == CUDA_SUCCESS);
  CHECK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_DEFAULT, 0) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, -99) == CUDA_SUCCESS);
  int priority = 0;
  CHECK(cuStreamGetPriority(stream, &priority) == CUDA_SUCCESS);
  CHECK(priority == -5);  // clamped
  CHECK(cuStreamGetCtx_v2(stream, &of_stream, &green_of_stream) == CUDA_SUCCESS);
  CHECK(of_stream == context);
  CHECK(green_of_stream == green);
  CUdevResource resource{};
  CHECK(cuStreamGetDevResource(stream, &resource, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS);
  CHECK(resource.sm.smCount == 64);

  unsigned long long id = 0, same = 1;
  CHECK(cuGreenCtxGetId(nullptr, &id) == CUDA_ERROR_INVALID_CONTEXT);  // none is current
  CHECK(cuGreenCtxGetId(green, &id) == CUDA_SUCCESS);
  REQUIRE(cuCtxPushCurrent_v2(context) == CUDA_SUCCESS);
  CHECK(cuGreenCtxGetId(nullptr, &same) == CUDA_SUCCESS);
  CHECK(id == same);
  CUstream plain = nullptr;
  REQUIRE(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  CHECK(cuStreamGetGreenCtx(plain, &green_of_stream) == CUDA_SUCCESS);
  CHECK(green_of_stream == green);  // it was current
  REQUIRE(cuCtxPopCurrent_v2(nullptr) == CUDA_SUCCESS);
  CHECK(cuStreamGetGreenCtx(nullptr, &green_of_stream) == CUDA_SUCCESS);
  CHECK(green_of_stream == nullptr);

  CHECK(cuStreamDestroy_v2(plain) == CUDA_SUCCESS);
  CHECK(cuCtxDestroy_v2(context) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuGreenCtxDestroy(green) == CUDA_SUCCESS);
  CHECK(cuGreenCtxDestroy(green) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(cuCtxFromGreenCtx(&context, green) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  // "Any subsequent API calls involving these streams will return CUDA_ERROR_STREAM_DETACHED with the exception of
  // cuStreamDestroy."
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_STREAM_DETACHED);
  CHECK(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
}

TEST_CASE("Memory, kernels and events of the primary context work on streams of its green contexts") {
  CurrentContext primary;
  Module module;
  const CUgreenCtx green = make_green();
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
  REQUIRE(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
  REQUIRE(cuEventCreate(&event, CU_EVENT_DEFAULT) == CUDA_SUCCESS);
  REQUIRE(cuMemAlloc_v2(&memory, 64) == CUDA_SUCCESS);
  CHECK(cuMemsetD32Async(memory, 5, 16, stream) == CUDA_SUCCESS);
  CHECK(cuLaunchKernel(module.function("nothing"), 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr) == CUDA_SUCCESS);
  CHECK(cuGreenCtxWaitEvent(green, event) == CUDA_SUCCESS);
  CUevent of_green = nullptr;
  REQUIRE(cuEventCreate(&of_green, CU_EVENT_DEFAULT) == CUDA_SUCCESS);
  CUcontext device_context = nullptr;
  REQUIRE(cuCtxGetCurrent(&device_context) == CUDA_SUCCESS);
  CUdevice device = 0;
  CUcontext first = nullptr;
  REQUIRE(cuCtxGetDevice(&device) == CUDA_SUCCESS);
  REQUIRE(cuDevicePrimaryCtxRetain(&first, device) == CUDA_SUCCESS);
  // Events are of the same primary context, or they are refused.
  const CUresult expected = first == device_context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  CHECK(cuEventRecord(event, stream) == expected);
  CHECK(cuGreenCtxRecordEvent(green, of_green) == expected);
  CHECK(cuGreenCtxDestroy(green) == CUDA_SUCCESS);
  CHECK(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
  cuMemFree_v2(memory);
  cuEventDestroy_v2(event);
  cuEventDestroy_v2(of_green);
  cuDevicePrimaryCtxRelease_v2(device);
}
