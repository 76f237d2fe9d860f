#include <cuda_runtime_api.h>

#include <catch2/catch.hpp>
#include <string>
#include <thread>

TEST_CASE("names and texts of errors") {
  // Names: driver_types.h. Texts: what programs print; those that PyTorch's users search for.
  CHECK(std::string(cudaGetErrorName(cudaSuccess)) == "cudaSuccess");
  CHECK(std::string(cudaGetErrorString(cudaSuccess)) == "no error");
  CHECK(std::string(cudaGetErrorName(cudaErrorMemoryAllocation)) == "cudaErrorMemoryAllocation");
  CHECK(std::string(cudaGetErrorString(cudaErrorMemoryAllocation)) == "out of memory");
  CHECK(std::string(cudaGetErrorString(cudaErrorIllegalAddress)) == "an illegal memory access was encountered");
  CHECK(std::string(cudaGetErrorString(cudaErrorNoDevice)) == "no CUDA-capable device is detected");
  CHECK(std::string(cudaGetErrorString(cudaErrorNoKernelImageForDevice)) ==
        "no kernel image is available for execution on the device");
  CHECK(std::string(cudaGetErrorName(static_cast<cudaError_t>(12345))) == "unrecognized error code");
  CHECK(std::string(cudaGetErrorString(static_cast<cudaError_t>(-1))) == "unrecognized error code");
}

TEST_CASE("the last error is kept until it is asked for, and success does not clear it") {
  cudaGetLastError();
  CHECK(cudaSetDevice(1000) == cudaErrorInvalidDevice);
  int device = 0;
  CHECK(cudaGetDevice(&device) == cudaSuccess);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  CHECK(cudaPeekAtLastError() == cudaSuccess);
}

TEST_CASE("the last error belongs to a thread") {
  cudaGetLastError();
  cudaError_t seen = cudaErrorUnknown;
  std::thread([&] {
    cudaSetDevice(-1);
    seen = cudaPeekAtLastError();
  }).join();
  CHECK(seen == cudaErrorInvalidDevice);
  CHECK(cudaPeekAtLastError() == cudaSuccess);
}
