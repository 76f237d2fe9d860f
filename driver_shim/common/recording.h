// One library operation on its way to the driver: the record and the ranges of device memory that it writes. Lives on
// the stack of an entry point; not shared between threads. Allocates only when more than kInlineRanges ranges are
// written.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "driver_shim/common/maya_table.h"
#include "predictor/core/operation.h"

namespace maya::shim {

class WriteList {
 public:
  WriteList() = default;
  WriteList(const WriteList&) = delete;
  WriteList& operator=(const WriteList&) = delete;

  static constexpr uint32_t kInlineRanges = 64;

  // Null addresses and empty ranges are left out.
  void add(const void* address, uint64_t bytes);
  // A matrix of `columns` columns of `column_bytes`, one each `pitch_bytes`. Exact, one range a column, up to
  // kInlineRanges columns with gaps between them; above that one range over everything, gaps included: what lies in the
  // gaps is then taken for unknown too.
  void add_matrix(const void* address, uint64_t column_bytes, uint64_t columns, uint64_t pitch_bytes);

  void append(const WriteList& other);

  const MemoryRange* data() const { return overflow_.empty() ? inline_ : overflow_.data(); }
  uint32_t size() const { return overflow_.empty() ? count_ : static_cast<uint32_t>(overflow_.size()); }

 private:
  MemoryRange inline_[kInlineRanges];
  uint32_t count_ = 0;
  std::vector<MemoryRange> overflow_;
};

// `count` device pointers from the array at `device_array` (device memory, as the batched calls of cuBLAS take it).
// False when the array is not readable or not all of it is known: then nobody can tell what the operation writes.
bool read_pointer_array(const void* device_array, uint64_t count, std::vector<void*>* pointers);
// The same for integers of 4 or 8 bytes.
bool read_integer_array(const void* device_array, uint64_t count, bool wide, std::vector<int64_t>* integers);

// Hands the operation to the driver. CUDA_ERROR_NOT_INITIALIZED when there is no driver of ours.
CUresult record(CUstream stream, const OperationRecord& operation, const WriteList& writes);

// As record(), and `report` holds known zeros afterwards: the status words with which a routine says that it succeeded.
// Under stream capture they are unknown like the other results, and so read as zero too.
CUresult record_success(CUstream stream, const OperationRecord& operation, const WriteList& writes, MemoryRange report);

}  // namespace maya::shim
