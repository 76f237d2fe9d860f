// Access to our libcuda.so.1 for the other replacement libraries. Linked statically into each of them.
#pragma once

#include "driver_shim/common/maya_table.h"

namespace maya::shim {

// The driver's private table; loads libcuda.so.1 from the folder of the calling library at first use (never another
// one). Null only when that file is missing or is not ours: then one line was printed that names it and the remedy.
// Thread safe, lock-free after the first call.
const MayaTable* driver();

// A driver entry point by its exported name (with _v2 and so on). Null when missing.
void* driver_symbol(const char* name);

// Typed form: DRIVER(cuMemAlloc_v2)(&p, n). Resolved once per call site.
#define MAYA_DRIVER(name)                                                                                 \
  ([]() -> decltype(&::name) {                                                                            \
    static const auto function = reinterpret_cast<decltype(&::name)>(::maya::shim::driver_symbol(#name)); \
    return function;                                                                                      \
  }())

// An unsupported entry point was called: prints `maya: <library>: <name> is not supported ...` once per name and
// process, and counts it.
void report_unsupported(const char* library, const char* entry_point, const char* status_name);

}  // namespace maya::shim
