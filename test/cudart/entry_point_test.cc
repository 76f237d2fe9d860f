// Libraries, driver entry points, profiler control, error log.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <catch2/catch.hpp>
#include <string>

#include "test/cudart/fat_binary.h"

extern "C" {
cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();
cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char* symbol, void** function, unsigned version,
                                                  unsigned long long flags, cudaDriverEntryPointQueryResult* result);
}

TEST_CASE("driver entry points by version") {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  REQUIRE(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault, &found) == cudaSuccess);
  CHECK(found == cudaDriverEntryPointSuccess);
  CHECK(function != nullptr);

  SECTION("an unknown symbol is an answer") {
    CHECK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 12000, cudaEnableDefault, &found) ==
          cudaSuccess);
    CHECK(found == cudaDriverEntryPointSymbolNotFound);
    CHECK(function == nullptr);
  }
  SECTION("so is a version before the symbol's first") {  // cuMemAllocAsync: CUDA 11.2
    CHECK(cudaGetDriverEntryPointByVersion("cuMemAllocAsync", &function, 11010, cudaEnableDefault, &found) ==
          cudaSuccess);
    CHECK(found == cudaDriverEntryPointVersionNotSufficent);
    CHECK(function == nullptr);
  }
  SECTION("a version after the driver's is an error") {
    CHECK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 99000, cudaEnableDefault, &found) ==
          cudaErrorInvalidValue);
  }
  SECTION("per-thread forms") {
    void* legacy = nullptr;
    void* own = nullptr;
    void* twin = nullptr;
    CHECK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &legacy, 12000, cudaEnableDefault, nullptr) ==
          cudaSuccess);
    CHECK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &own, 12000, cudaEnablePerThreadDefaultStream, nullptr) ==
          cudaSuccess);
    CHECK(cudaGetDriverEntryPointByVersion_ptsz("cuLaunchKernel", &twin, 12000, cudaEnableDefault, nullptr) ==
          cudaSuccess);
    CHECK(legacy != own);
    CHECK(twin == own);
  }
  SECTION("bad arguments") {
    CHECK(cudaGetDriverEntryPointByVersion(nullptr, &function, 12000, cudaEnableDefault, &found) ==
          cudaErrorInvalidValue);
    CHECK(cudaGetDriverEntryPointByVersion("cuMemAlloc", nullptr, 12000, cudaEnableDefault, &found) ==
          cudaErrorInvalidValue);
    CHECK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, 0x100, &found) == cudaErrorInvalidValue);
  }
  cudaGetLastError();
}

TEST_CASE("libraries and their kernels") {
  const std::vector<unsigned char> container = test::ptx_container(test::kPtx);
  cudaLibrary_t library = nullptr;
  REQUIRE(cudaLibraryLoadData(&library, container.data(), nullptr, nullptr, 0, nullptr, nullptr, 0) == cudaSuccess);
  unsigned count = 0;
  CHECK(cudaLibraryGetKernelCount(&count, library) == cudaSuccess);
  CHECK(count == 2);
  cudaKernel_t kernel = nullptr;
  CHECK(cudaLibraryGetKernel(&kernel, library, "bounded") == cudaSuccess);
  CHECK(cudaLibraryGetKernel(&kernel, library, "absent") == cudaErrorSymbolNotFound);
  void* address = nullptr;
  size_t bytes = 0;
  CHECK(cudaLibraryGetGlobal(&address, &bytes, library, "counter") == cudaSuccess);
  CHECK(bytes == 16);
  CHECK(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024, 0) ==
        cudaSuccess);
  void* arguments[1] = {&address};
  CHECK(cudaLaunchKernel(kernel, dim3(1), dim3(32), arguments, 0, nullptr) == cudaSuccess);
  CHECK(cudaLibraryUnload(library) == cudaSuccess);
  CHECK(cudaLaunchKernel(kernel, dim3(1), dim3(32), arguments, 0, nullptr) == cudaErrorInvalidDeviceFunction);
  CHECK(cudaLibraryLoadFromFile(&library, "/no/such/file", nullptr, nullptr, 0, nullptr, nullptr, 0) ==
        cudaErrorFileNotFound);
  cudaGetLastError();
}

TEST_CASE("private tables are not answered") {
  const cudaUUID_t id = {};
  const void* table = &id;
  CHECK(cudaGetExportTable(&table, &id) == cudaErrorSymbolNotFound);
  CHECK(table == nullptr);
  CHECK(cudaGetExportTable(nullptr, &id) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("profiler control and the error log") {
  CHECK(cudaProfilerStart() == cudaSuccess);
  CHECK(cudaProfilerStop() == cudaSuccess);
  cudaLogsCallbackHandle handle = nullptr;
  CHECK(cudaLogsRegisterCallback([](void*, cudaLogLevel, char*, size_t) {}, nullptr, &handle) == cudaSuccess);
  CHECK(cudaLogsUnregisterCallback(handle) == cudaSuccess);
  char text[8] = "x";
  size_t size = sizeof text;
  CHECK(cudaLogsDumpToMemory(nullptr, text, &size, 0) == cudaSuccess);
  CHECK(size == 0);
  CHECK(cudaLogsRegisterCallback(nullptr, nullptr, &handle) == cudaErrorInvalidValue);
  cudaGetLastError();
}
