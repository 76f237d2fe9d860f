// Stream attributes: kept and handed back. Only the priority has a meaning elsewhere.
#include <cuda.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "driver_shim/cuda/stream_call.h"

using maya::cuda::Call;
using maya::cuda::Stream;
using maya::cuda::WhileCaptured;
using maya::cuda::with_stream;

namespace {

template <typename Body>
CUresult on_stream(CUstream handle, bool per_thread, bool valid, Body&& body) {
  return with_stream(handle, per_thread, valid, std::forward<Body>(body), WhileCaptured::kAllowed);
}

struct Attributes {
  CUaccessPolicyWindow window{};
  CUsynchronizationPolicy policy = CU_SYNC_POLICY_AUTO;
  CUlaunchMemSyncDomainMap domain_map{0, 1};  // the defaults stated for CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP
  CUlaunchMemSyncDomain domain = CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
};

// Streams that had an attribute set, by id. Never freed: streams may be destroyed at exit.
struct AttributeTable {
  std::mutex mutex;
  std::map<uint32_t, Attributes> by_stream;
};

AttributeTable& table() {
  static AttributeTable& made = *new AttributeTable;
  return made;
}

bool valid_attribute(CUstreamAttrID attribute) {
  return attribute == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW ||
         attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY || attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY ||
         attribute == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP || attribute == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
}

CUresult get(CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue* value, bool per_thread) {
  return on_stream(handle, per_thread, value != nullptr && valid_attribute(attribute), [&](Call&, Stream& stream) {
    std::lock_guard<std::mutex> lock(table().mutex);
    const auto found = table().by_stream.find(stream.id());
    const Attributes attributes = found == table().by_stream.end() ? Attributes{} : found->second;
    switch (attribute) {
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        value->accessPolicyWindow = attributes.window;
        break;
      case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        value->syncPolicy = attributes.policy;
        break;
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        value->priority = stream.priority();
        break;
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        value->memSyncDomainMap = attributes.domain_map;
        break;
      default:
        value->memSyncDomain = attributes.domain;
    }
    return CUDA_SUCCESS;
  });
}

bool valid_value(CUstreamAttrID attribute, const CUstreamAttrValue& value) {
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      return value.accessPolicyWindow.hitRatio >= 0 && value.accessPolicyWindow.hitRatio <= 1;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      return value.syncPolicy >= CU_SYNC_POLICY_AUTO && value.syncPolicy <= CU_SYNC_POLICY_BLOCKING_SYNC;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      return value.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT ||
             value.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
    default:
      return true;
  }
}

CUresult set(CUstream handle, CUstreamAttrID attribute, const CUstreamAttrValue* value, bool per_thread) {
  const bool valid = value != nullptr && valid_attribute(attribute) && valid_value(attribute, *value);
  return on_stream(handle, per_thread, valid, [&](Call&, Stream& stream) {
    std::lock_guard<std::mutex> lock(table().mutex);
    Attributes& attributes = table().by_stream[stream.id()];
    switch (attribute) {
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        attributes.window = value->accessPolicyWindow;
        break;
      case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        attributes.policy = value->syncPolicy;
        break;
      case CU_LAUNCH_ATTRIBUTE_PRIORITY: {
        int least = 0, greatest = 0;
        if (cuCtxGetStreamPriorityRange(&least, &greatest) == CUDA_SUCCESS)
          stream.set_priority(std::clamp(value->priority, greatest, least));
        break;
      }
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        attributes.domain_map = value->memSyncDomainMap;
        break;
      default:
        attributes.domain = value->memSyncDomain;
    }
    return CUDA_SUCCESS;
  });
}

CUresult copy(CUstream destination, CUstream source, bool per_thread) {
  return on_stream(destination, per_thread, true, [&](Call&, Stream& to) {
    return on_stream(source, per_thread, true, [&](Call&, Stream& from) {
      if (to.context() != from.context()) return CUDA_ERROR_INVALID_VALUE;
      std::lock_guard<std::mutex> lock(table().mutex);
      const auto found = table().by_stream.find(from.id());
      table().by_stream[to.id()] = found == table().by_stream.end() ? Attributes{} : found->second;
      return CUDA_SUCCESS;
    });
  });
}

}  // namespace

namespace maya::cuda {

void forget_stream_attributes(uint32_t stream_id) {
  std::lock_guard<std::mutex> lock(table().mutex);
  table().by_stream.erase(stream_id);
}

}  // namespace maya::cuda

CUresult cuStreamGetAttribute(CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  return get(stream, attribute, value, false);
}
CUresult cuStreamGetAttribute_ptsz(CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  return get(stream, attribute, value, true);
}
CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID attribute, const CUstreamAttrValue* value) {
  return set(stream, attribute, value, false);
}
CUresult cuStreamSetAttribute_ptsz(CUstream stream, CUstreamAttrID attribute, const CUstreamAttrValue* value) {
  return set(stream, attribute, value, true);
}
CUresult cuStreamCopyAttributes(CUstream destination, CUstream source) { return copy(destination, source, false); }
CUresult cuStreamCopyAttributes_ptsz(CUstream destination, CUstream source) { return copy(destination, source, true); }
