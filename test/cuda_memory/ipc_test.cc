// Handles between processes.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "driver_memory_helpers.h"

using namespace memory_test;

TEST_CASE("handles of memory and events: made here, not opened here") {
  PrimaryContext context;
  const CUdeviceptr address = allocate(1000);
  CUipcMemHandle memory = {}, other = {};
  REQUIRE(cuIpcGetMemHandle(&memory, address) == CUDA_SUCCESS);
  CUdeviceptr opened = 0;
  CHECK(cuIpcOpenMemHandle_v2(&opened, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuIpcOpenMemHandle_v2(&opened, memory, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuIpcOpenMemHandle_v2(&opened, other, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuIpcCloseMemHandle(address) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuIpcGetMemHandle(&memory, 0x1234) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuIpcGetMemHandle(nullptr, address) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuMemFree_v2(address) == CUDA_SUCCESS);
  const CUdeviceptr again = allocate(1000);
  REQUIRE(again == address);
  REQUIRE(cuIpcGetMemHandle(&other, again) == CUDA_SUCCESS);
  CHECK(std::memcmp(&memory, &other, sizeof(memory)) != 0);  // documented: a unique handle for the new memory
  REQUIRE(cuMemFree_v2(again) == CUDA_SUCCESS);

  CUevent event = nullptr, plain = nullptr, opened_event = nullptr;
  REQUIRE(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
  REQUIRE(cuEventCreate(&plain, 0) == CUDA_SUCCESS);
  CUipcEventHandle handle = {};
  REQUIRE(cuIpcGetEventHandle(&handle, event) == CUDA_SUCCESS);
  CHECK(cuIpcGetEventHandle(&handle, plain) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuIpcOpenEventHandle(&opened_event, CUipcEventHandle{}) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuEventDestroy_v2(event) == CUDA_SUCCESS);
  CHECK(cuEventDestroy_v2(plain) == CUDA_SUCCESS);
}

TEST_CASE("memory of another process has an address and a size, no charge, and unknown bytes") {
  PrimaryContext context;
  const CUdeviceptr address = allocate(5 * kMiB);
  upload(address, pattern(100));
  CUipcMemHandle handle = {};
  REQUIRE(cuIpcGetMemHandle(&handle, address) == CUDA_SUCCESS);
  // The handle as it would come from another process: the process id is its third word.
  uint64_t process = 0;
  std::memcpy(&process, handle.reserved + 16, 8);
  REQUIRE(process == static_cast<uint64_t>(getpid()));
  ++process;
  std::memcpy(handle.reserved + 16, &process, 8);
  const size_t before = free_bytes();
  CUdeviceptr opened = 0, second = 0;
  REQUIRE(cuIpcOpenMemHandle_v2(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_SUCCESS);
  REQUIRE(cuIpcOpenMemHandle_v2(&second, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_SUCCESS);
  CHECK(second == opened);  // documented: the same pointer, counted
  CHECK(free_bytes() == before);
  CHECK(download(opened, 100) == Bytes(100, 0));
  upload(opened, pattern(100));
  CHECK(cuIpcCloseMemHandle(opened) == CUDA_SUCCESS);
  CHECK(download(opened, 100) == pattern(100));
  CHECK(cuIpcCloseMemHandle(opened) == CUDA_SUCCESS);
  CHECK(cuIpcCloseMemHandle(opened) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
}
