// NVTX with NVTX_INJECTION64_PATH naming this library: ranges become marker records by way of the driver, as those do
// that come through our own injection library. Its code (driver_shim/nvtx/injection.cc) is part of this library.
#include "driver_shim/common/api.h"

extern "C" int InitializeInjectionNvtx2(void* get_table);

MAYA_API int cuptiNvtxInitialize2(void* get_table) { return InitializeInjectionNvtx2(get_table); }
