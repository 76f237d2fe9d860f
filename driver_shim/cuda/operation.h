// The one body behind MayaTable::record_operation.
#pragma once

#include "driver_shim/common/maya_table.h"
#include "predictor/core/estimator.h"

namespace maya::cuda {

// What an operation is in the trace, and how long it takes. `operation` is without the number of its group.
struct ResolvedOperation {
  uint32_t id = 0;
  uint64_t duration_ns = 0;
};
ResolvedOperation resolve_operation(const Estimator& estimator, const OperationRecord& operation);
// The packet of one operation; `group`: of collective calls, 0: none.
void write_operation(uint32_t id, uint32_t group, uint32_t stream, uint64_t entry_ns, uint64_t own_ns = 0);

// MayaTable::capture_operation.
CUresult capture_operation(CUstream stream, const OperationRecord* operation,
                           void (*replay)(void* argument, CUstream stream), void (*release)(void* argument),
                           void* argument) noexcept;
// MayaTable::is_capturing.
int is_capturing(CUstream stream) noexcept;

CUresult record_operation(CUstream stream, const OperationRecord* operation, const MemoryRange* writes,
                          uint32_t write_count) noexcept;
// MayaTable::record_timed_operation.
CUresult record_timed_operation(CUstream stream, const OperationRecord* operation, const MemoryRange* writes,
                                uint32_t write_count, uint64_t entry_ns, void (*rest)(void* argument),
                                void* argument) noexcept;

}  // namespace maya::cuda
