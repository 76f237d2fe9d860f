// Device resources: what a device has, how its multiprocessors are split, and descriptors of such lists.
#include <cuda.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/green_context.h"
#include "virtual_device/handle_pool.h"

namespace maya::cuda {
namespace {

constexpr uint32_t kFinestAlignment = 2;         // of co-scheduled multiprocessors, on every device
constexpr uint32_t kMostCoscheduledHopper = 32;  // documented maximum from compute capability 9.0 on
constexpr size_t kMostDescriptors = 1 << 20;

// Where a resource came from; kept in the part of CUdevResource that is the driver's own.
struct Origin {
  static constexpr uint64_t kMagic = 0x6d617961'72657331;  // "mayares1"
  uint64_t magic = kMagic;
  int64_t device = 0;
  uint64_t split = 0;       // of one call; 0: not from a split
  uint64_t splittable = 1;  // results of cuDevSmResourceSplitByCount are not
};
static_assert(sizeof(Origin) <= sizeof(CUdevResource::_internal_padding));

bool origin_of(const CUdevResource& resource, Origin* out) {
  std::memcpy(out, resource._internal_padding, sizeof(*out));
  return out->magic == Origin::kMagic;
}

CUdevResource make_resource(CUdevResourceType type, const Origin& origin) {
  CUdevResource made = {};
  made.type = type;
  std::memcpy(made._internal_padding, &origin, sizeof(origin));
  return made;
}

// Documented general guideline: multiples of 8 from compute capability 9.0 on, of 2 before.
uint32_t default_alignment(const Driver& driver, int device) {
  return driver.profile(device).compute_major >= 9 ? 8 : kFinestAlignment;
}

// Smallest partition by default: 8 from compute capability 9.0 on, 4 on 8.x (CUDA 12.4, cuDevSmResourceSplitByCount).
uint32_t smallest_partition(const Driver& driver, int device) {
  return driver.profile(device).compute_major >= 9 ? 8 : 4;
}

CUdevResource multiprocessors(const Driver& driver, const Origin& origin, uint32_t count, uint32_t alignment,
                              uint32_t flags) {
  CUdevResource made = make_resource(CU_DEV_RESOURCE_TYPE_SM, origin);
  made.sm = {count, std::min(smallest_partition(driver, static_cast<int>(origin.device)), std::max(alignment, 2u)),
             alignment, flags};
  return made;
}

// Hardware queues: what CUDA_DEVICE_MAX_CONNECTIONS says, 8 by default, at most 32.
uint32_t connections() {
  const char* given = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  const long wanted = given == nullptr ? 8 : std::strtol(given, nullptr, 10);
  return static_cast<uint32_t>(std::clamp(wanted, 1l, 32l));
}

device::HandlePool<ResourceDescriptor>& descriptors() {
  static auto& made = *new device::HandlePool<ResourceDescriptor>(kMostDescriptors);
  return made;
}

uint64_t new_split() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// The input of a split: multiprocessors of this driver's.
CUresult check_input(Call& call, const CUdevResource* input, Origin* origin) {
  if (input == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (input->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  if (!origin_of(*input, origin)) return CUDA_ERROR_INVALID_VALUE;
  if (origin->device >= call.driver().device_count()) return CUDA_ERROR_INVALID_DEVICE;
  return origin->splittable != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
}

void put_remainder(Call& call, CUdevResource* remainder, const Origin& origin, uint32_t count) {
  if (remainder == nullptr) return;
  *remainder = {};
  if (count == 0) return;
  *remainder = multiprocessors(call.driver(), origin, count, kFinestAlignment, CU_DEV_SM_RESOURCE_GROUP_BACKFILL);
}

CUresult split_by_count(Call& call, CUdevResource* result, unsigned int* groups, const CUdevResource* input,
                        CUdevResource* remainder, unsigned int flags, unsigned int least) {
  constexpr unsigned int kFlags =
      CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING | CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
  Origin origin;
  if (const CUresult status = check_input(call, input, &origin); status != CUDA_SUCCESS) return status;
  if (groups == nullptr || (flags & ~kFlags) != 0 || least > input->sm.smCount) return CUDA_ERROR_INVALID_VALUE;
  const bool fine = (flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING) != 0;
  const int device = static_cast<int>(origin.device);
  const uint32_t alignment = fine ? kFinestAlignment : default_alignment(call.driver(), device);
  const uint32_t smallest = fine ? kFinestAlignment : smallest_partition(call.driver(), device);
  const uint32_t size = (std::max(least, smallest) + alignment - 1) / alignment * alignment;
  const uint32_t possible = input->sm.smCount / size;
  const uint32_t made = result == nullptr ? possible : std::min(possible, *groups);
  if (result != nullptr && made == 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  origin.split = new_split();
  put_remainder(call, remainder, origin, input->sm.smCount - made * size);
  origin.splittable = 0;
  if (result != nullptr) std::fill_n(result, made, multiprocessors(call.driver(), origin, size, alignment, 0));
  *groups = made;
  return CUDA_SUCCESS;
}

// How many multiprocessors one group gets of `left`; CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION where that is not as
// documented.
CUresult group_size(const CU_DEV_SM_RESOURCE_GROUP_PARAMS& group, uint32_t coscheduled, uint32_t left, bool for_result,
                    uint32_t* out) {
  const bool backfill = (group.flags & CU_DEV_SM_RESOURCE_GROUP_BACKFILL) != 0;
  const uint32_t together = left / coscheduled * coscheduled;
  const uint32_t most = backfill && together != 0 ? left / 2 * 2 : together;
  *out = group.smCount == 0 ? most : group.smCount;
  if (*out == 0) return for_result ? CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION : CUDA_SUCCESS;
  const bool valid = *out % 2 == 0 && *out <= most && *out >= coscheduled && (backfill || *out % coscheduled == 0);
  return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
}

CUresult split(Call& call, CUdevResource* result, unsigned int groups, const CUdevResource* input,
               CUdevResource* remainder, unsigned int flags, CU_DEV_SM_RESOURCE_GROUP_PARAMS* parameters) {
  Origin origin;
  if (const CUresult status = check_input(call, input, &origin); status != CUDA_SUCCESS) return status;
  if (groups == 0 || flags != 0 || parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const int device = static_cast<int>(origin.device);
  const uint32_t usual = default_alignment(call.driver(), device);
  const uint32_t most_together = usual == kFinestAlignment ? kFinestAlignment : kMostCoscheduledHopper;
  std::vector<CUdevResource> made;
  std::vector<uint32_t> sizes;
  origin.split = new_split();
  uint32_t left = input->sm.smCount;
  for (unsigned int i = 0; i < groups; ++i) {
    const CU_DEV_SM_RESOURCE_GROUP_PARAMS& group = parameters[i];
    const uint32_t coscheduled = group.coscheduledSmCount == 0 ? usual : group.coscheduledSmCount;
    if ((group.flags & ~static_cast<unsigned int>(CU_DEV_SM_RESOURCE_GROUP_BACKFILL)) != 0 || coscheduled % 2 != 0 ||
        coscheduled > most_together)
      return CUDA_ERROR_INVALID_VALUE;
    uint32_t size = 0;
    if (const CUresult status = group_size(group, coscheduled, left, result != nullptr, &size); status != CUDA_SUCCESS)
      return status;
    left -= size;
    sizes.push_back(size);
    made.push_back(multiprocessors(call.driver(), origin, size, coscheduled, group.flags));
  }
  for (unsigned int i = 0; i < groups; ++i) parameters[i].smCount = sizes[i];
  if (result != nullptr) std::copy(made.begin(), made.end(), result);
  put_remainder(call, remainder, origin, left);
  return CUDA_SUCCESS;
}

CUresult describe(Call& call, CUdevResourceDesc* out, const CUdevResource* resources, unsigned int count) {
  if (out == nullptr || resources == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  const CUdevResource* first_sm = nullptr;
  for (unsigned int i = 0; i < count; ++i) {
    const CUdevResource& resource = resources[i];
    if (resource.type == CU_DEV_RESOURCE_TYPE_INVALID) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    const int device = device_of(resource);
    if (device < 0 || device >= call.driver().device_count()) return CUDA_ERROR_INVALID_VALUE;
    if (device != device_of(resources[0])) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    if (resource.type != CU_DEV_RESOURCE_TYPE_SM) continue;
    if (first_sm == nullptr) {
      first_sm = &resource;
      continue;
    }
    Origin origin, first;
    origin_of(resource, &origin), origin_of(*first_sm, &first);
    if (origin.split == 0 || origin.split != first.split ||
        resource.sm.smCoscheduledAlignment != first_sm->sm.smCoscheduledAlignment)
      return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  }
  ResourceDescriptor* made = descriptors().create(std::vector<CUdevResource>(resources, resources + count));
  if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = reinterpret_cast<CUdevResourceDesc>(made);
  return CUDA_SUCCESS;
}

}  // namespace

const ResourceDescriptor* descriptor_of(CUdevResourceDesc handle) { return descriptors().get(handle); }

int device_of(const CUdevResource& resource) {
  Origin origin;
  if (!origin_of(resource, &origin)) return -1;
  // The only field of a resource that a program sets: what it says has to go with where it came from.
  if (resource.type == CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG && resource.wqConfig.device != origin.device) return -1;
  return static_cast<int>(origin.device);
}

CUresult get_resource(Call& call, int device, const GreenContext* green, CUdevResourceType type, CUdevResource* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Origin origin;
  origin.device = device;
  const Driver& driver = call.driver();
  switch (type) {
    case CU_DEV_RESOURCE_TYPE_SM: {
      uint32_t count = 0, alignment = default_alignment(driver, device), flags = 0;
      for (size_t i = 0; green != nullptr && i < green->resources.size(); ++i) {
        const CUdevResource& part = green->resources[i];
        if (part.type != CU_DEV_RESOURCE_TYPE_SM) continue;
        count += part.sm.smCount;
        alignment = part.sm.smCoscheduledAlignment;
        flags = part.sm.flags;
      }
      if (count == 0) count = driver.profile(device).multiprocessors;
      *out = multiprocessors(driver, origin, count, alignment, flags);
      return CUDA_SUCCESS;
    }
    case CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG:
      *out = make_resource(type, origin);
      out->wqConfig = {device, connections(), CU_WORKQUEUE_SCOPE_DEVICE_CTX};
      for (size_t i = 0; green != nullptr && i < green->resources.size(); ++i)
        if (green->resources[i].type == type) out->wqConfig = green->resources[i].wqConfig;
      return CUDA_SUCCESS;
    case CU_DEV_RESOURCE_TYPE_WORKQUEUE:
      *out = make_resource(type, origin);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  }
}

}  // namespace maya::cuda

using namespace maya::cuda;

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* out, CUdevResourceType type) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    if (device < 0 || device >= call.driver().device_count()) return CUDA_ERROR_INVALID_DEVICE;
    return get_resource(call, device, nullptr, type, out);
  });
}

CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned int* groups, const CUdevResource* input,
                                     CUdevResource* remainder, unsigned int flags, unsigned int least) {
  return enter(Needs::kInitialized,
               [&](Call& call) { return split_by_count(call, result, groups, input, remainder, flags, least); });
}

CUresult cuDevSmResourceSplit(CUdevResource* result, unsigned int groups, const CUdevResource* input,
                              CUdevResource* remainder, unsigned int flags,
                              CU_DEV_SM_RESOURCE_GROUP_PARAMS* parameters) {
  return enter(Needs::kInitialized,
               [&](Call& call) { return split(call, result, groups, input, remainder, flags, parameters); });
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* out, CUdevResource* resources, unsigned int count) {
  return enter(Needs::kInitialized, [&](Call& call) { return describe(call, out, resources, count); });
}
