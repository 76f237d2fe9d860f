// The entry points of one library as data: generated from its entries.txt by make_entry_tables.
#pragma once

#include <cstddef>
#include <cstdint>

namespace maya::shim {

enum class EntryStatus : uint8_t { kEmulated, kInert, kUnsupported };

struct EntryPoint {
  const char* name;  // exported name
  uint32_t since;    // version of first appearance, 0 unknown
  EntryStatus status;
  void* address;
};

extern const char* const kLibraryName;
extern const EntryPoint kEntryPoints[];
extern const std::size_t kEntryPointCount;

void report_unsupported(const char* library, const char* entry_point, const char* status_name);

}  // namespace maya::shim
