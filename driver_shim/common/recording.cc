#include "driver_shim/common/recording.h"

#include <algorithm>

#include "driver_shim/common/driver_access.h"
#include "driver_shim/common/sizes.h"

namespace maya::shim {

void WriteList::add(const void* address, uint64_t bytes) {
  if (address == nullptr || bytes == 0) return;
  const auto first = reinterpret_cast<CUdeviceptr>(address);
  const MemoryRange range{first, std::min<uint64_t>(bytes, UINT64_MAX - first)};
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
    add(address, plus(times(columns - 1, pitch_bytes), column_bytes));
    return;
  }
  const auto first = reinterpret_cast<uintptr_t>(address);
  for (uint64_t column = 0; column < columns; ++column) {
    const uint64_t offset = times(column, pitch_bytes);
    if (offset > UINT64_MAX - first) return;
    add(reinterpret_cast<const void*>(first + offset), column_bytes);
  }
}

void WriteList::append(const WriteList& other) {
  for (uint32_t i = 0; i < other.size(); ++i)
    add(reinterpret_cast<const void*>(other.data()[i].address), other.data()[i].bytes);
}

namespace {

// Piece by piece, so that a count that the memory does not bear out takes no memory of the host's.
template <typename Element>
bool read_array(const void* device_array, uint64_t count, std::vector<Element>* elements) {
  constexpr uint64_t kPiece = 4096;
  const MayaTable* table = driver();
  if (table == nullptr || device_array == nullptr) return false;
  elements->clear();
  for (uint64_t done = 0; done < count; done = elements->size()) {
    elements->resize(done + std::min(kPiece, count - done));
    int all_known = 0;
    const CUresult status =
        table->read(elements->data() + done, reinterpret_cast<CUdeviceptr>(device_array) + done * sizeof(Element),
                    (elements->size() - done) * sizeof(Element), &all_known);
    if (status != CUDA_SUCCESS || all_known == 0) return false;
  }
  return true;
}

}  // namespace

bool read_pointer_array(const void* device_array, uint64_t count, std::vector<void*>* pointers) {
  return read_array(device_array, count, pointers);
}

bool read_integer_array(const void* device_array, uint64_t count, bool wide, std::vector<int64_t>* integers) {
  if (wide) return read_array(device_array, count, integers);
  std::vector<int32_t> narrow;
  if (!read_array(device_array, count, &narrow)) return false;
  integers->assign(narrow.begin(), narrow.end());
  return true;
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
