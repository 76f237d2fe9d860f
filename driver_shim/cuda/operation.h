// The one body behind MayaTable::record_operation.
#pragma once

#include "driver_shim/common/maya_table.h"

namespace maya::cuda {

CUresult record_operation(CUstream stream, const OperationRecord* operation, const MemoryRange* writes,
                          uint32_t write_count) noexcept;

}  // namespace maya::cuda
