// Driver entry point access: the function of the requested version, from the same table that the exports are made from.
#include <cuda.h>

#include <cstring>
#include <string_view>

#include "driver_shim/common/entry_table.h"

namespace {

using maya::shim::EntryPoint;

struct Found {
  bool known = false;  // some version of the function exists
  const EntryPoint* entry = nullptr;
};

bool all_digits(std::string_view text) {
  for (const char c : text)
    if (c < '0' || c > '9') return false;
  return !text.empty();
}

// True when `name` is `symbol` itself or one of its versions: cuMemAlloc, cuMemAlloc_v2. Twins for per-thread streams
// are left out.
bool is_version_of(std::string_view name, std::string_view symbol) {
  if (name.substr(0, symbol.size()) != symbol) return false;
  const std::string_view rest = name.substr(symbol.size());
  return rest.empty() || (rest.substr(0, 2) == "_v" && all_digits(rest.substr(2)));
}

bool is_twin_of(std::string_view name, std::string_view legacy) {
  if (name.substr(0, legacy.size()) != legacy) return false;
  const std::string_view rest = name.substr(legacy.size());
  return rest == "_ptsz" || rest == "_ptds";
}

// Since CUDA 12.0 the plain name stands for another function (cuda.h maps it by a macro).
constexpr std::string_view kInstantiate = "cuGraphInstantiate", kInstantiateNow = "cuGraphInstantiateWithFlags";
constexpr uint32_t kInstantiateChanged = 12000;

Found find(std::string_view symbol, uint32_t version, bool per_thread) {
  if (symbol == kInstantiate && version >= kInstantiateChanged) symbol = kInstantiateNow;
  Found found;
  for (size_t i = 0; i < maya::shim::kEntryPointCount; ++i) {
    const EntryPoint& entry = maya::shim::kEntryPoints[i];
    if (!is_version_of(entry.name, symbol)) continue;
    found.known = true;
    if (entry.since <= version && (found.entry == nullptr || entry.since >= found.entry->since)) found.entry = &entry;
  }
  if (!per_thread || found.entry == nullptr) return found;
  for (size_t i = 0; i < maya::shim::kEntryPointCount; ++i) {
    const EntryPoint& entry = maya::shim::kEntryPoints[i];
    if (entry.since <= version && is_twin_of(entry.name, found.entry->name)) found.entry = &entry;
  }
  return found;
}

}  // namespace

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  constexpr cuuint64_t kBoth = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (symbol == nullptr || function == nullptr || version < 0 || version > CUDA_VERSION || (flags & ~kBoth) != 0 ||
      flags == kBoth)
    return CUDA_ERROR_INVALID_VALUE;
  const Found found =
      find(symbol, static_cast<uint32_t>(version), (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
  *function = found.entry == nullptr ? nullptr : found.entry->address;
  if (status != nullptr)
    *status = found.entry != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : found.known          ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                     : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return CUDA_SUCCESS;
}

// The form of CUDA 11.3 has no status: it tells by its result.
CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  const CUresult result = cuGetProcAddress_v2(symbol, function, version, flags, &status);
  return result == CUDA_SUCCESS && status != CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_ERROR_NOT_FOUND : result;
}
