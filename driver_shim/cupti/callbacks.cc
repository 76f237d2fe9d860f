// The callback API: the subscriber, and what is called back.
#include <cuda.h>
#include "driver_shim/cupti/cupti_headers.h"

#include <cstring>
#include <utility>

#include "driver_shim/common/api.h"
#include "driver_shim/cupti/api_calls.h"
#include "driver_shim/cupti/session.h"
#include "driver_shim/cupti/thread_state.h"

using namespace maya::cupti;

namespace {

constexpr CUpti_CallbackDomain kDomains[] = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API,
                                             CUPTI_CB_DOMAIN_RESOURCE,   CUPTI_CB_DOMAIN_SYNCHRONIZE,
                                             CUPTI_CB_DOMAIN_NVTX,       CUPTI_CB_DOMAIN_STATE};

bool is_domain(CUpti_CallbackDomain domain) {
  return domain > CUPTI_CB_DOMAIN_INVALID && static_cast<uint32_t>(domain) < kDomainCount;
}
bool is_callback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  return is_domain(domain) && cbid != 0 && cbid < Session::callback_ids(static_cast<Domain>(domain));
}

constexpr const char* kResourceNames[CUPTI_CBID_RESOURCE_SIZE] = {
    nullptr,
    "CONTEXT_CREATED",
    "CONTEXT_DESTROY_STARTING",
    "STREAM_CREATED",
    "STREAM_DESTROY_STARTING",
    "CU_INIT_FINISHED",
    "MODULE_LOADED",
    "MODULE_UNLOAD_STARTING",
    "MODULE_PROFILED",
    "GRAPH_CREATED",
    "GRAPH_DESTROY_STARTING",
    "GRAPH_CLONED",
    "GRAPHNODE_CREATE_STARTING",
    "GRAPHNODE_CREATED",
    "GRAPHNODE_DESTROY_STARTING",
    "GRAPHNODE_DEPENDENCY_CREATED",
    "GRAPHNODE_DEPENDENCY_DESTROY_STARTING",
    "GRAPHEXEC_CREATE_STARTING",
    "GRAPHEXEC_CREATED",
    "GRAPHEXEC_DESTROY_STARTING",
    "GRAPHNODE_CLONED",
};
constexpr const char* kSynchronizeNames[CUPTI_CBID_SYNCHRONIZE_SIZE] = {nullptr, "STREAM_SYNCHRONIZED",
                                                                        "CONTEXT_SYNCHRONIZED"};

}  // namespace

MAYA_API CUptiResult cuptiSupportedDomains(size_t* count, CUpti_DomainTable* table) {
  if (count == nullptr || table == nullptr) return finish(CUPTI_ERROR_INVALID_PARAMETER);
  static CUpti_CallbackDomain domains[std::size(kDomains)];
  std::memcpy(domains, kDomains, sizeof domains);
  *count = std::size(domains);
  *table = domains;
  return CUPTI_SUCCESS;
}

MAYA_API CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc function, void* data) {
  return guarded([&] {
    if (subscriber == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    return Session::get().subscribe(function, data, nullptr, subscriber)
               ? CUPTI_SUCCESS
               : CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  });
}
#if CUPTI_API_VERSION >= 130200
// Several subscribers at once (a beta of CUPTI 13.2) are not there: a request to allow them cannot be fulfilled.
MAYA_API CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc function, void* data,
                                       CUpti_SubscriberParams* parameters) {
  return guarded([&] {
    if (subscriber == nullptr || (parameters != nullptr && parameters->structSize < CUpti_SubscriberParams_STRUCT_SIZE))
      return CUPTI_ERROR_INVALID_PARAMETER;
    const bool several = parameters != nullptr && parameters->allowMultipleSubscribers != 0;
    const Subscriber* const known = Session::get().subscriber();
    const char* const name =
        parameters != nullptr && parameters->subscriberName != nullptr ? parameters->subscriberName : "";
    if (!several && Session::get().subscribe(function, data, name, subscriber)) return CUPTI_SUCCESS;
    if (known != nullptr && parameters != nullptr && parameters->oldSubscriberName != nullptr &&
        parameters->oldSubscriberSize != 0) {
      std::strncpy(parameters->oldSubscriberName, known->name, parameters->oldSubscriberSize - 1);
      parameters->oldSubscriberName[parameters->oldSubscriberSize - 1] = '\0';
    }
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  });
}
#endif
MAYA_API CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  return guarded(
      [&] { return Session::get().unsubscribe(subscriber) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER; });
}

MAYA_API CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  return guarded([&] {
    if (!Session::get().is_subscriber(subscriber) || !is_callback(domain, cbid)) return CUPTI_ERROR_INVALID_PARAMETER;
    Session::get().set_callback(static_cast<Domain>(domain), cbid, enable != 0);
    return CUPTI_SUCCESS;
  });
}
MAYA_API CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                       CUpti_CallbackDomain domain) {
  return guarded([&] {
    if (!Session::get().is_subscriber(subscriber) || !is_domain(domain)) return CUPTI_ERROR_INVALID_PARAMETER;
    Session::get().set_domain(static_cast<Domain>(domain), enable != 0);
    return CUPTI_SUCCESS;
  });
}
MAYA_API CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
  return guarded([&] {
    if (!Session::get().is_subscriber(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
    for (const CUpti_CallbackDomain domain : kDomains)
      Session::get().set_domain(static_cast<Domain>(domain), enable != 0);
    return CUPTI_SUCCESS;
  });
}
MAYA_API CUptiResult cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber,
                                           CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  return guarded([&] {
    if (enable == nullptr || !Session::get().is_subscriber(subscriber) || !is_callback(domain, cbid))
      return CUPTI_ERROR_INVALID_PARAMETER;
    *enable = Session::get().calls_back(static_cast<Domain>(domain), cbid) ? 1 : 0;
    return CUPTI_SUCCESS;
  });
}
#if CUPTI_API_VERSION >= 130200
MAYA_API CUptiResult cuptiGetEnabledCallbacks(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                              CUpti_CallbackId* buffer, uint32_t* room, uint32_t* count) {
  return guarded([&] {
    if (count == nullptr || !is_domain(domain) || (buffer != nullptr && room == nullptr) ||
        (subscriber != nullptr && !Session::get().is_subscriber(subscriber)))
      return CUPTI_ERROR_INVALID_PARAMETER;
    uint32_t found = 0;
    for (uint32_t cbid = 1; cbid < Session::callback_ids(static_cast<Domain>(domain)); ++cbid) {
      if (!Session::get().calls_back(static_cast<Domain>(domain), cbid)) continue;
      if (buffer != nullptr && found < *room) buffer[found] = cbid;
      ++found;
    }
    *count = found;
    return CUPTI_SUCCESS;
  });
}
#endif

MAYA_API CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char** name) {
  if (name == nullptr) return finish(CUPTI_ERROR_INVALID_PARAMETER);
  *name = nullptr;
  if (!is_callback(domain, cbid)) return finish(CUPTI_ERROR_INVALID_PARAMETER);
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      *name = driver_identifier(cbid);
      break;
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      *name = runtime_identifier(cbid);
      break;
    case CUPTI_CB_DOMAIN_RESOURCE:
      *name = kResourceNames[cbid];
      break;
    case CUPTI_CB_DOMAIN_SYNCHRONIZE:
      *name = kSynchronizeNames[cbid];
      break;
    default:
      break;
  }
  return finish(*name != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER);
}

MAYA_API CUptiResult cuptiGetLastError() {
  try {
    return std::exchange(thread_state().last_error, CUPTI_SUCCESS);
  } catch (...) {
    return CUPTI_ERROR_OUT_OF_MEMORY;
  }
}
