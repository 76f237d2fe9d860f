// What fuzz targets of compute libraries check in whatever was recorded: sizes and costs are counted, not overflowed.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "test/cublas/fake_driver.h"

namespace maya::test {

inline void check_recorded_operations() {
  constexpr Key kCounts[] = {Key::kM,     Key::kN,         Key::kK,           Key::kBatch,
                             Key::kRows,  Key::kColumns,   Key::kElements,    Key::kNonzeros,
                             Key::kFlops, Key::kReadBytes, Key::kWrittenBytes};
  for (const Recorded& recorded : fake().recorded) {
    for (const Key key : kCounts) {
      if (recorded.operation.get(key) >= 0) continue;
      std::fprintf(stderr, "%s: field %d is negative\n", recorded.operation.api, static_cast<int>(key));
      std::abort();
    }
    for (const MemoryRange& range : recorded.writes) {
      if (range.address + range.bytes >= range.address) continue;
      std::fprintf(stderr, "%s: writes beyond the end of the address space\n", recorded.operation.api);
      std::abort();
    }
  }
}

}  // namespace maya::test
