// A driver of the tests' making, in the place of driver_shim/common/driver_access.cc: it keeps what is recorded,
// charged and freed, and serves device memory that a test has put there. Its device moves a byte a nanosecond.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "driver_shim/common/maya_table.h"

namespace maya::test {

struct Recorded {
  CUstream stream;
  OperationRecord operation;
  std::vector<MemoryRange> writes;
};

struct FakeDriver {
  std::vector<Recorded> recorded;
  std::map<CUdeviceptr, uint64_t> charged;          // live charges to the workspaces layer
  std::map<CUdeviceptr, std::vector<char>> memory;  // known device memory
  std::vector<std::string> unsupported;
  int synchronizations = 0;
  int compute_capability_major = 9, compute_capability_minor = 0;
  bool has_context = true;
  CUresult record_result = CUDA_SUCCESS;
  CUresult allocate_result = CUDA_SUCCESS;
  std::vector<CUDA_MEMCPY2D> copies;

  const Recorded& last() const { return recorded.back(); }
  int64_t field(Key key) const { return recorded.back().operation.get(key); }
};

// The one of this process; reset() before every test.
FakeDriver& fake();
void reset();

// Device addresses for tests; never dereferenced.
template <typename T>
T* device(uint64_t offset_bytes) {
  return reinterpret_cast<T*>(0x7000000000 + offset_bytes);
}

// Puts values into device memory, known, and returns where they are.
template <typename T>
T* upload(uint64_t offset_bytes, const std::vector<T>& values) {
  const char* bytes = reinterpret_cast<const char*>(values.data());
  T* address = device<T>(offset_bytes);
  fake().memory[reinterpret_cast<CUdeviceptr>(address)].assign(bytes, bytes + values.size() * sizeof(T));
  return address;
}

inline MemoryRange range(const void* address, uint64_t bytes) {
  return {reinterpret_cast<CUdeviceptr>(address), bytes};
}

}  // namespace maya::test

namespace maya {
inline bool operator==(const MemoryRange& a, const MemoryRange& b) {
  return a.address == b.address && a.bytes == b.bytes;
}
}  // namespace maya
