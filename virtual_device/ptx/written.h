// Which arguments of a kernel point at what it may write.
#pragma once

#include <vector>

#include "virtual_device/ptx/program.h"

namespace maya::device::ptx {

// By ordinal of the parameter: false when no store, atomic or copy to device memory has an address that can come from
// it. All true when addresses may come from memory, or code may be called that is not shown.
std::vector<bool> written_parameters(const Program& program, uint32_t parameters);

}  // namespace maya::device::ptx
