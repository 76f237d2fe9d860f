// Fat binaries and what they register: kernels, variables, managed variables.
//
// Programs register everything before main (import torch: 477 fat binaries, 24,133 kernels), so registration keeps
// pointers only. A fat binary becomes a CUlibrary when its first kernel is launched or its first variable is asked for;
// a kernel that was found once sits in a small table that launches read without a lock.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace maya::cudart {

// Open addressing, at most half full, so that every probe ends. Never shrinks; replaced tables are kept, since readers
// hold no lock.
struct KernelTable {
  struct Slot {
    std::atomic<const void*> host{nullptr};
    std::atomic<CUkernel> kernel{nullptr};
  };
  uint64_t shift;  // 64 - log2(slots)
  uint64_t mask;   // slots - 1
  Slot* slots;
  const KernelTable* previous;  // the one that it replaced, which readers may still look at
};
extern constinit std::atomic<const KernelTable*> kernel_table;

inline uint64_t kernel_hash(const void* host) noexcept {
  return reinterpret_cast<uintptr_t>(host) * 0x9e3779b97f4a7c15ull;  // Fibonacci hashing: 2^64 / golden ratio
}

// The kernel of a host function that was resolved before, else null. Lock-free.
inline CUkernel cached_kernel(const void* host) noexcept {
  const KernelTable* table = kernel_table.load(std::memory_order_acquire);
  for (uint64_t i = kernel_hash(host) >> table->shift;; i = (i + 1) & table->mask) {
    const void* key = table->slots[i].host.load(std::memory_order_acquire);
    if (key == host) return table->slots[i].kernel.load(std::memory_order_acquire);
    if (key == nullptr) return nullptr;
  }
}

// The kernel behind a host function, or behind a cudaKernel_t given as one. Initialises the driver, needs no context.
// Errors are not yet remembered: cudaErrorInvalidDeviceFunction (never registered, or not in its image),
// cudaErrorNoKernelImageForDevice, cudaErrorInvalidKernelImage, those of cuInit.
cudaError_t resolve_kernel(const void* host, CUkernel* kernel) noexcept;
inline cudaError_t find_kernel(const void* host, CUkernel* kernel) noexcept {
  *kernel = cached_kernel(host);
  return *kernel != nullptr ? cudaSuccess : resolve_kernel(host, kernel);
}

// The same as a function of the current context, which is made if there is none.
cudaError_t find_function(const void* host, CUfunction* function) noexcept;

// Why the last __cudaGetKernel of this process failed: its caller keeps a null handle, and the launch with it gives
// this error.
cudaError_t last_resolution_error() noexcept;

// Address in the current context and size of a registered variable. cudaErrorInvalidSymbol when it is not one.
cudaError_t find_symbol(const void* host, CUdeviceptr* address, size_t* bytes) noexcept;

}  // namespace maya::cudart
