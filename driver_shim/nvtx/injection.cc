// NVTX ranges and marks go into the trace (NVTX documentation, "Tool support": InitializeInjectionNvtx2 and the
// callback tables). Steps that a program marks with ranges are found by them. Domains and registered strings are handed
// out as interned texts.
#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "driver_shim/common/driver_access.h"

namespace {

enum RangeCall { kPush = 0, kPop = 1, kStart = 2, kEnd = 3, kMark = 4 };  // RangeMark.Call of the trace

void record(RangeCall call, const char* text, const char* domain, uint64_t id) {
  if (const maya::MayaTable* driver = maya::shim::driver(); driver != nullptr) driver->range(call, text, domain, id);
}

// Texts that handles point at live as long as the process.
const char* kept(const std::string& text) {
  static std::mutex mutex;
  static auto* const all = new std::set<std::string>;
  std::lock_guard<std::mutex> lock(mutex);
  return all->insert(text).first->c_str();
}

std::string narrow(const wchar_t* text) {
  std::string result;
  for (; text != nullptr && *text != 0; ++text) result += *text < 128 ? static_cast<char>(*text) : '?';
  return result;
}

const char* text_of(const nvtxEventAttributes_t* event) {
  if (event == nullptr) return "";
  switch (event->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return event->message.ascii != nullptr ? event->message.ascii : "";
    case NVTX_MESSAGE_TYPE_UNICODE:
      return kept(narrow(event->message.unicode));
    case NVTX_MESSAGE_TYPE_REGISTERED:
      return reinterpret_cast<const char*>(event->message.registered);
    default:
      return "";
  }
}

const char* text_of(nvtxDomainHandle_t domain) {
  return domain != nullptr ? reinterpret_cast<const char*>(domain) : "";
}

std::atomic<nvtxRangeId_t> range_ids{0};
thread_local int depth = 0;

nvtxRangeId_t start(const char* text, const char* domain) {
  const nvtxRangeId_t id = ++range_ids;
  record(kStart, text, domain, id);
  return id;
}
int push(const char* text, const char* domain) {
  record(kPush, text, domain, 0);
  return depth++;
}
// Documented: the level of the range that ends, negative when there is none.
int pop(const char* domain) {
  if (depth == 0) return -2;
  record(kPop, "", domain, 0);
  return --depth;
}

void mark_ex(const nvtxEventAttributes_t* event) { record(kMark, text_of(event), "", 0); }
void mark_a(const char* text) { record(kMark, text, "", 0); }
void mark_w(const wchar_t* text) { record(kMark, narrow(text).c_str(), "", 0); }
nvtxRangeId_t start_ex(const nvtxEventAttributes_t* event) { return start(text_of(event), ""); }
nvtxRangeId_t start_a(const char* text) { return start(text, ""); }
nvtxRangeId_t start_w(const wchar_t* text) { return start(narrow(text).c_str(), ""); }
void end(nvtxRangeId_t id) { record(kEnd, "", "", id); }
int push_ex(const nvtxEventAttributes_t* event) { return push(text_of(event), ""); }
int push_a(const char* text) { return push(text, ""); }
int push_w(const wchar_t* text) { return push(narrow(text).c_str(), ""); }
int pop_any() { return pop(""); }

void domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  record(kMark, text_of(event), text_of(domain), 0);
}
nvtxRangeId_t domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  return start(text_of(event), text_of(domain));
}
void domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id) { record(kEnd, "", text_of(domain), id); }
int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  return push(text_of(event), text_of(domain));
}
int domain_pop(nvtxDomainHandle_t domain) { return pop(text_of(domain)); }
nvtxDomainHandle_t domain_create_a(const char* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(const_cast<char*>(kept(name != nullptr ? name : "")));
}
nvtxDomainHandle_t domain_create_w(const wchar_t* name) { return domain_create_a(narrow(name).c_str()); }
nvtxStringHandle_t register_a(nvtxDomainHandle_t, const char* text) {
  return reinterpret_cast<nvtxStringHandle_t>(const_cast<char*>(kept(text != nullptr ? text : "")));
}
nvtxStringHandle_t register_w(nvtxDomainHandle_t, const wchar_t* text) {
  return register_a(nullptr, narrow(text).c_str());
}

template <typename Function>
void put(NvtxFunctionTable table, unsigned int entries, unsigned int index, Function* function) {
  if (index < entries && table[index] != nullptr) *table[index] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  if (get_table == nullptr) return 0;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks)) return 0;
  NvtxFunctionTable table = nullptr;
  unsigned int entries = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &entries) != 0) {
    put(table, entries, NVTX_CBID_CORE_MarkEx, mark_ex);
    put(table, entries, NVTX_CBID_CORE_MarkA, mark_a);
    put(table, entries, NVTX_CBID_CORE_MarkW, mark_w);
    put(table, entries, NVTX_CBID_CORE_RangeStartEx, start_ex);
    put(table, entries, NVTX_CBID_CORE_RangeStartA, start_a);
    put(table, entries, NVTX_CBID_CORE_RangeStartW, start_w);
    put(table, entries, NVTX_CBID_CORE_RangeEnd, end);
    put(table, entries, NVTX_CBID_CORE_RangePushEx, push_ex);
    put(table, entries, NVTX_CBID_CORE_RangePushA, push_a);
    put(table, entries, NVTX_CBID_CORE_RangePushW, push_w);
    put(table, entries, NVTX_CBID_CORE_RangePop, pop_any);
  }
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &entries) != 0) {
    put(table, entries, NVTX_CBID_CORE2_DomainMarkEx, domain_mark);
    put(table, entries, NVTX_CBID_CORE2_DomainRangeStartEx, domain_start);
    put(table, entries, NVTX_CBID_CORE2_DomainRangeEnd, domain_end);
    put(table, entries, NVTX_CBID_CORE2_DomainRangePushEx, domain_push);
    put(table, entries, NVTX_CBID_CORE2_DomainRangePop, domain_pop);
    put(table, entries, NVTX_CBID_CORE2_DomainRegisterStringA, register_a);
    put(table, entries, NVTX_CBID_CORE2_DomainRegisterStringW, register_w);
    put(table, entries, NVTX_CBID_CORE2_DomainCreateA, domain_create_a);
    put(table, entries, NVTX_CBID_CORE2_DomainCreateW, domain_create_w);
  }
  return 1;
}
