#include "driver_shim/cudart/registration.h"

#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "driver_shim/cudart/runtime.h"

namespace maya::cudart {
namespace {

// What nvcc puts into section .nvFatBinSegment (fatbinary_section.h of the CUDA toolkit).
struct FatBinaryWrapper {
  int magic;
  int version;
  const void* data;
  void* file_name_or_fatbins;
};
constexpr int kFatBinaryMagic = 0x466243b1;

struct Function {
  const void* host;
  const char* name;
};

struct Variable {
  const void* host;  // of a managed variable: the host's pointer, which is set by __cudaInitModule
  const char* name;
  size_t bytes;
  bool managed;
};

// One registered fat binary; its address is the handle. Filled by one thread until __cudaRegisterFatBinaryEnd publishes
// it.
struct FatBinary {
  const FatBinaryWrapper* wrapper = nullptr;
  std::vector<Function> functions;
  std::vector<Variable> variables;
  CUlibrary library = nullptr;             // guarded by the registry's mutex
  FatBinary* next_unregistered = nullptr;  // the same
};

// Guarded by its mutex. Made at the first registration and never destroyed.
struct Registry {
  std::mutex mutex;
  std::vector<FatBinary*> published;  // not yet in the maps
  std::unordered_map<const void*, std::pair<FatBinary*, const char*>> functions;
  std::unordered_map<const void*, std::pair<FatBinary*, const Variable*>> variables;
  FatBinary* unregistered = nullptr;  // kept: exit handlers run in any order, and one may come back to a handle
  uint64_t cached = 0;                // keys in the kernel table
};

Registry& registry() {
  static Registry* const instance = new Registry;
  return *instance;
}

KernelTable::Slot no_slots[2];
constexpr KernelTable kEmptyTable{63, 1, no_slots, nullptr};
constinit std::atomic<cudaError_t> resolution_error{cudaErrorInvalidDeviceFunction};

// Registration has no way to report an error: what does not fit into memory stays unregistered, and its launch says so.
template <typename Body>
void guarded(Body&& body) noexcept {
  try {
    body();
  } catch (const std::bad_alloc&) {
  }
}

void index_published(Registry& all) {
  for (FatBinary* binary : all.published) {
    for (const Function& function : binary->functions) all.functions[function.host] = {binary, function.name};
    for (const Variable& variable : binary->variables) all.variables[variable.host] = {binary, &variable};
  }
  all.published.clear();
}

KernelTable::Slot& slot_of(const KernelTable& table, const void* host) {
  uint64_t i = kernel_hash(host) >> table.shift;
  for (;; i = (i + 1) & table.mask) {
    const void* key = table.slots[i].host.load(std::memory_order_relaxed);
    if (key == host || key == nullptr) return table.slots[i];
  }
}

// The slot's kernel is set before its key, so that a reader never sees a key without its kernel.
void remember_kernel(Registry& all, const void* host, CUkernel kernel) {
  const KernelTable* table = kernel_table.load(std::memory_order_relaxed);
  if (2 * (all.cached + 1) > table->mask + 1) {
    const uint64_t slots = table == &kEmptyTable ? 256 : 2 * (table->mask + 1);
    const auto* grown = new KernelTable{static_cast<uint64_t>(64 - __builtin_ctzll(slots)), slots - 1,
                                        new KernelTable::Slot[slots], table};
    for (uint64_t i = 0; table != &kEmptyTable && i <= table->mask; ++i) {
      const void* key = table->slots[i].host.load(std::memory_order_relaxed);
      if (key == nullptr) continue;
      KernelTable::Slot& slot = slot_of(*grown, key);
      slot.kernel.store(table->slots[i].kernel.load(std::memory_order_relaxed), std::memory_order_relaxed);
      slot.host.store(key, std::memory_order_relaxed);
    }
    kernel_table.store(grown, std::memory_order_release);
    table = grown;
  }
  KernelTable::Slot& slot = slot_of(*table, host);
  if (slot.host.load(std::memory_order_relaxed) == nullptr) ++all.cached;
  slot.kernel.store(kernel, std::memory_order_release);
  slot.host.store(host, std::memory_order_release);
}

void forget_kernel(const void* host) {
  const KernelTable* table = kernel_table.load(std::memory_order_relaxed);
  KernelTable::Slot& slot = slot_of(*table, host);
  if (slot.host.load(std::memory_order_relaxed) == host) slot.kernel.store(nullptr, std::memory_order_release);
}

// Called with the registry locked.
cudaError_t load(FatBinary& binary) {
  if (binary.library != nullptr) return cudaSuccess;
  if (binary.wrapper == nullptr || binary.wrapper->magic != kFatBinaryMagic) return cudaErrorInvalidKernelImage;
  return to_runtime(initialized_call(MAYA_DRIVER(cuLibraryLoadData), &binary.library, binary.wrapper, nullptr, nullptr,
                                     0u, nullptr, nullptr, 0u));
}

cudaError_t resolve_locked(Registry& all, const void* host, CUkernel* kernel) {
  index_published(all);
  const auto found = all.functions.find(host);
  if (found == all.functions.end()) {
    const auto handle = static_cast<CUkernel>(const_cast<void*>(host));
    const char* name = nullptr;
    if (initialized_call(MAYA_DRIVER(cuKernelGetName), &name, handle) != CUDA_SUCCESS)
      return cudaErrorInvalidDeviceFunction;
    *kernel = handle;
    return cudaSuccess;  // not kept: the program may unload it, and its address may become another one's
  }
  FatBinary& binary = *found->second.first;
  if (const cudaError_t status = load(binary); status != cudaSuccess) return status;
  const CUresult status =
      initialized_call(MAYA_DRIVER(cuLibraryGetKernel), kernel, binary.library, found->second.second);
  if (status == CUDA_ERROR_NOT_FOUND) return cudaErrorInvalidDeviceFunction;
  if (status != CUDA_SUCCESS) return to_runtime(status);
  remember_kernel(all, host, *kernel);
  return cudaSuccess;
}

FatBinary* binary_of(void** handle) { return reinterpret_cast<FatBinary*>(handle); }

}  // namespace

constinit std::atomic<const KernelTable*> kernel_table{&kEmptyTable};

cudaError_t resolve_kernel(const void* host, CUkernel* kernel) noexcept {
  *kernel = nullptr;
  if (host == nullptr) return cudaErrorInvalidDeviceFunction;
  // Before the lock: in a forked child, whose copy of the lock may be held for ever, the driver says that it is not
  // initialised.
  if (const CUresult status = initialize(); status != CUDA_SUCCESS) return to_runtime(status);
  try {
    Registry& all = registry();
    std::lock_guard<std::mutex> lock(all.mutex);
    return resolve_locked(all, host, kernel);
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  }
}

cudaError_t find_function(const void* host, CUfunction* function) noexcept {
  CUkernel kernel = nullptr;
  if (const cudaError_t status = find_kernel(host, &kernel); status != cudaSuccess) return fail(status);
  return with_context(MAYA_DRIVER(cuKernelGetFunction), function, kernel);
}

cudaError_t last_resolution_error() noexcept { return resolution_error.load(std::memory_order_relaxed); }

cudaError_t find_symbol(const void* host, CUdeviceptr* address, size_t* bytes) noexcept {
  if (const CUresult status = ensure_context(); status != CUDA_SUCCESS) return to_runtime(status);
  try {
    Registry& all = registry();
    std::lock_guard<std::mutex> lock(all.mutex);
    index_published(all);
    const auto found = all.variables.find(host);
    if (host == nullptr || found == all.variables.end()) return cudaErrorInvalidSymbol;
    FatBinary& binary = *found->second.first;
    const Variable& variable = *found->second.second;
    if (const cudaError_t status = load(binary); status != cudaSuccess) return status;
    const auto get = variable.managed ? MAYA_DRIVER(cuLibraryGetManaged) : MAYA_DRIVER(cuLibraryGetGlobal);
    const CUresult status = initialized_call(get, address, bytes, binary.library, variable.name);
    return status == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : to_runtime(status);
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  }
}

}  // namespace maya::cudart

using namespace maya::cudart;

// The registration interface of nvcc's generated code: crt/host_runtime.h of the CUDA toolkit declares it.

MAYA_API void** __cudaRegisterFatBinary(void* wrapper) {
  void** handle = nullptr;
  guarded([&] {
    auto* binary = new FatBinary;
    binary->wrapper = static_cast<const FatBinaryWrapper*>(wrapper);
    handle = reinterpret_cast<void**>(binary);
  });
  return handle;
}

MAYA_API void __cudaRegisterFatBinaryEnd(void** handle) {
  if (handle == nullptr) return;
  guarded([&] {
    Registry& all = registry();
    std::lock_guard<std::mutex> lock(all.mutex);
    all.published.push_back(binary_of(handle));
  });
}

MAYA_API void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*, uint3*,
                                     dim3*, dim3*, int*) {
  if (handle == nullptr || host == nullptr || name == nullptr) return;
  guarded([&] { binary_of(handle)->functions.push_back({host, name}); });
}

MAYA_API void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, size_t bytes, int, int) {
  if (handle == nullptr || host == nullptr || name == nullptr) return;
  guarded([&] { binary_of(handle)->variables.push_back({host, name, bytes, false}); });
}

MAYA_API void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int, size_t bytes, int,
                                       int) {
  if (handle == nullptr || host == nullptr || name == nullptr) return;
  guarded([&] { binary_of(handle)->variables.push_back({host, name, bytes, true}); });
}

// Called by generated code before the first use of a managed variable: gives the host its address. Returns nonzero when
// done.
MAYA_API char __cudaInitModule(void** handle) {
  if (handle == nullptr) return 0;
  for (const Variable& variable : binary_of(handle)->variables) {
    if (!variable.managed) continue;
    CUdeviceptr address = 0;
    size_t bytes = 0;
    if (const cudaError_t status = find_symbol(variable.host, &address, &bytes); status != cudaSuccess) {
      fail(status);
      return 0;
    }
    *static_cast<void**>(const_cast<void*>(variable.host)) = reinterpret_cast<void*>(address);
  }
  return 1;
}

// At dlclose or exit.
MAYA_API void __cudaUnregisterFatBinary(void** handle) {
  if (handle == nullptr) return;
  guarded([&] {
    FatBinary& binary = *binary_of(handle);
    Registry& all = registry();
    CUlibrary library = nullptr;
    {
      std::lock_guard<std::mutex> lock(all.mutex);
      std::erase(all.published, &binary);
      for (const Function& function : binary.functions) {
        const auto found = all.functions.find(function.host);
        if (found == all.functions.end() || found->second.first != &binary) continue;
        all.functions.erase(found);
        forget_kernel(function.host);
      }
      for (const Variable& variable : binary.variables) {
        const auto found = all.variables.find(variable.host);
        if (found != all.variables.end() && found->second.first == &binary) all.variables.erase(found);
      }
      binary.functions.clear();
      binary.variables.clear();
      std::swap(library, binary.library);
      if (all.unregistered != &binary && binary.next_unregistered == nullptr) {
        binary.next_unregistered = all.unregistered;
        all.unregistered = &binary;
      }
    }
    if (library != nullptr) initialized_call(MAYA_DRIVER(cuLibraryUnload), library);
  });
}

MAYA_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  if (kernel == nullptr) return fail(cudaErrorInvalidValue);
  CUkernel found = nullptr;
  const cudaError_t status = find_kernel(host, &found);
  *kernel = reinterpret_cast<cudaKernel_t>(found);
  if (status == cudaSuccess) return cudaSuccess;
  resolution_error.store(status, std::memory_order_relaxed);
  return fail(status);
}

MAYA_API cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  if (kernel == nullptr) return fail(cudaErrorInvalidValue);
  CUkernel found = nullptr;
  const cudaError_t status = find_kernel(host, &found);
  if (status != cudaSuccess) return fail(status);
  *kernel = reinterpret_cast<cudaKernel_t>(found);
  return cudaSuccess;
}

MAYA_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  if (function == nullptr) return fail(cudaErrorInvalidValue);
  CUfunction found = nullptr;
  const cudaError_t status = find_function(symbol, &found);
  if (status == cudaSuccess) *function = found;
  return status;
}

MAYA_API cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  if (pointer == nullptr) return fail(cudaErrorInvalidValue);
  CUdeviceptr address = 0;
  size_t bytes = 0;
  if (const cudaError_t status = find_symbol(symbol, &address, &bytes); status != cudaSuccess) return fail(status);
  *pointer = reinterpret_cast<void*>(address);
  return cudaSuccess;
}

MAYA_API cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  if (size == nullptr) return fail(cudaErrorInvalidValue);
  CUdeviceptr address = 0;
  size_t bytes = 0;
  if (const cudaError_t status = find_symbol(symbol, &address, &bytes); status != cudaSuccess) return fail(status);
  *size = bytes;
  return cudaSuccess;
}
