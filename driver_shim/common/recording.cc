#include "driver_shim/common/recording.h"

#include <algorithm>

#include "driver_shim/common/driver_access.h"

namespace maya::shim {

void WriteList::add(const void* address, uint64_t bytes) {
  if (address == nullptr || bytes == 0) return;
  const MemoryRange range{reinterpret_cast<CUdeviceptr>(address), bytes};
  if (overflow_.empty() && count_ < kInlineRanges) {
    inline_[count_++] = range;
    return;
  }
  if (overflow_.empty()) overflow_.assign(inline_, inline_ + count_);
  overflow_.push_back(range);
}

void WriteList::add_matrix(const void* address, uint64_t column_bytes, uint64_t columns, uint64_t pitch_bytes) {
  if (columns == 0 || column_bytes == 0) return;
  if (column_bytes == pitch_bytes || columns == 1 || columns > kInlineRanges) {
    add(address, (columns - 1) * pitch_bytes + column_bytes);
    return;
  }
  for (uint64_t column = 0; column < columns; ++column)
    add(static_cast<const char*>(address) + column * pitch_bytes, column_bytes);
}

void WriteList::append(const WriteList& other) {
  for (uint32_t i = 0; i < other.size(); ++i)
    add(reinterpret_cast<const void*>(other.data()[i].address), other.data()[i].bytes);
}

bool read_pointer_array(const void* device_array, uint64_t count, std::vector<void*>* pointers) {
  const MayaTable* table = driver();
  if (table == nullptr || device_array == nullptr) return false;
  pointers->resize(count);
  int all_known = 0;
  const CUresult status =
      table->read(pointers->data(), reinterpret_cast<CUdeviceptr>(device_array), count * sizeof(void*), &all_known);
  return status == CUDA_SUCCESS && all_known != 0;
}

CUresult record(CUstream stream, const OperationRecord& operation, const WriteList& writes) {
  const MayaTable* table = driver();
  if (table == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  return table->record_operation(stream, &operation, writes.data(), writes.size());
}

CUresult record_success(CUstream stream, const OperationRecord& operation, const WriteList& writes,
                        MemoryRange report) {
  const MayaTable* table = driver();
  if (table == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (report.address == 0 || report.bytes == 0) return record(stream, operation, writes);
  WriteList all;
  all.append(writes);
  all.add(reinterpret_cast<const void*>(report.address), report.bytes);
  const auto write_zeros = [](void* argument) {
    constexpr char kZeros[1024] = {};
    const MemoryRange& range = *static_cast<const MemoryRange*>(argument);
    for (uint64_t done = 0; done < range.bytes; done += sizeof kZeros)
      driver()->write(range.address + done, kZeros, std::min<uint64_t>(sizeof kZeros, range.bytes - done));
  };
  return table->record_timed_operation(stream, &operation, all.data(), all.size(), table->now_ns(), write_zeros,
                                       &report);
}

}  // namespace maya::shim
