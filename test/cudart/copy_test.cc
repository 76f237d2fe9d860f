#include <cuda_runtime_api.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <vector>

extern "C" {
cudaError_t cudaMemcpy_ptds(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync_ptsz(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind,
                                 cudaStream_t stream);
cudaError_t cudaMemset_ptds(void* pointer, int value, size_t bytes);
cudaError_t cudaMemcpy2D_ptds(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind);
}

namespace {

std::vector<unsigned char> counting(size_t bytes) {
  std::vector<unsigned char> result(bytes);
  std::iota(result.begin(), result.end(), 0);
  return result;
}

struct DeviceBuffer {
  explicit DeviceBuffer(size_t bytes) { REQUIRE(cudaMalloc(&pointer, bytes) == cudaSuccess); }
  ~DeviceBuffer() { cudaFree(pointer); }
  unsigned char* bytes() { return static_cast<unsigned char*>(pointer); }
  void* pointer = nullptr;
};

}  // namespace

TEST_CASE("bytes that went up come back, in every direction and form") {
  const auto up = counting(1000);
  std::vector<unsigned char> down(1000);
  DeviceBuffer first(1000), second(1000);
  SECTION("synchronous") {
    CHECK(cudaMemcpy(first.pointer, up.data(), 1000, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(cudaMemcpy(second.pointer, first.pointer, 1000, cudaMemcpyDeviceToDevice) == cudaSuccess);
    CHECK(cudaMemcpy(down.data(), second.pointer, 1000, cudaMemcpyDeviceToHost) == cudaSuccess);
  }
  SECTION("direction from the addresses") {
    CHECK(cudaMemcpy(first.pointer, up.data(), 1000, cudaMemcpyDefault) == cudaSuccess);
    CHECK(cudaMemcpy(second.pointer, first.pointer, 1000, cudaMemcpyDefault) == cudaSuccess);
    CHECK(cudaMemcpy(down.data(), second.pointer, 1000, cudaMemcpyDefault) == cudaSuccess);
  }
  SECTION("between host addresses") {
    CHECK(cudaMemcpy(down.data(), up.data(), 1000, cudaMemcpyHostToHost) == cudaSuccess);
  }
  SECTION("asynchronous") {
    cudaStream_t stream = nullptr;
    REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
    CHECK(cudaMemcpyAsync(first.pointer, up.data(), 1000, cudaMemcpyHostToDevice, stream) == cudaSuccess);
    CHECK(cudaMemcpyAsync(second.pointer, first.pointer, 1000, cudaMemcpyDeviceToDevice, stream) == cudaSuccess);
    CHECK(cudaMemcpyAsync(down.data(), second.pointer, 1000, cudaMemcpyDefault, stream) == cudaSuccess);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  }
  SECTION("per-thread default stream") {
    CHECK(cudaMemcpy_ptds(first.pointer, up.data(), 1000, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(cudaMemcpyAsync_ptsz(second.pointer, first.pointer, 1000, cudaMemcpyDeviceToDevice, nullptr) == cudaSuccess);
    CHECK(cudaMemcpy_ptds(down.data(), second.pointer, 1000, cudaMemcpyDeviceToHost) == cudaSuccess);
  }
  SECTION("between devices") {
    CHECK(cudaMemcpy(first.pointer, up.data(), 1000, cudaMemcpyHostToDevice) == cudaSuccess);
    REQUIRE(cudaSetDevice(1) == cudaSuccess);
    DeviceBuffer remote(1000);
    CHECK(cudaMemcpyPeer(remote.pointer, 1, first.pointer, 0, 1000) == cudaSuccess);
    CHECK(cudaMemcpyPeerAsync(second.pointer, 0, remote.pointer, 1, 1000, nullptr) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
    CHECK(cudaMemcpy(down.data(), second.pointer, 1000, cudaMemcpyDeviceToHost) == cudaSuccess);
  }
  CHECK(down == up);
}

TEST_CASE("errors of copies") {
  std::vector<unsigned char> host(64);
  DeviceBuffer buffer(64);
  CHECK(cudaMemcpy(buffer.pointer, host.data(), 64, static_cast<cudaMemcpyKind>(9)) == cudaErrorInvalidMemcpyDirection);
  CHECK(cudaMemcpyAsync(buffer.pointer, host.data(), 64, static_cast<cudaMemcpyKind>(-1), nullptr) ==
        cudaErrorInvalidMemcpyDirection);
  CHECK(cudaMemcpy(nullptr, host.data(), 64, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(buffer.pointer, nullptr, 64, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpy(host.data(), buffer.pointer, size_t{1} << 40, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemcpyPeer(buffer.pointer, 0, buffer.pointer, 9, 64) == cudaErrorInvalidDevice);
  CHECK(cudaMemset(reinterpret_cast<void*>(8), 0, 64) == cudaErrorInvalidValue);
  CHECK(cudaMemset(nullptr, 0, 0) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("sets and pitched copies") {
  DeviceBuffer buffer(64 * 8);
  CHECK(cudaMemset(buffer.pointer, 0x155, 64 * 8) == cudaSuccess);  // the value is one byte
  CHECK(cudaMemset_ptds(buffer.pointer, 1, 64) == cudaSuccess);
  CHECK(cudaMemset2D(buffer.pointer, 64, 2, 16, 4) == cudaSuccess);
  CHECK(cudaMemset2DAsync(buffer.bytes() + 32, 64, 3, 8, 2, nullptr) == cudaSuccess);
  CHECK(cudaMemset2D(buffer.pointer, 8, 2, 16, 4) == cudaErrorInvalidValue);  // rows longer than the pitch
  std::vector<unsigned char> all(64 * 8);
  CHECK(cudaMemcpy(all.data(), buffer.pointer, all.size(), cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(all[0] == 2);
  CHECK(all[16] == 1);
  CHECK(all[32] == 3);
  CHECK(all[64] == 2);
  CHECK(all[64 + 16] == 0x55);
  CHECK(all[64 + 32] == 3);
  CHECK(all[4 * 64] == 0x55);

  const auto up = counting(10 * 8);
  std::vector<unsigned char> down(10 * 8);
  CHECK(cudaMemcpy2D(buffer.pointer, 64, up.data(), 10, 10, 8, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpy2D_ptds(down.data(), 10, buffer.pointer, 64, 10, 8, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(down == up);
  down.assign(80, 0);
  CHECK(cudaMemcpy2DAsync(down.data(), 10, buffer.pointer, 64, 10, 8, cudaMemcpyDefault, nullptr) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(down == up);
  CHECK(cudaMemcpy2D(down.data(), 8, buffer.pointer, 64, 10, 8, cudaMemcpyDeviceToHost) == cudaErrorInvalidPitchValue);
  CHECK(cudaMemcpy2D(down.data(), 10, nullptr, 64, 10, 8, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy2D(down.data(), 10, buffer.pointer, 64, 10, 8, static_cast<cudaMemcpyKind>(7)) ==
        cudaErrorInvalidMemcpyDirection);
  cudaGetLastError();
}

TEST_CASE("three-dimensional copies") {
  const auto up = counting(4 * 3 * 2);
  std::vector<unsigned char> down(up.size());
  cudaPitchedPtr box;
  REQUIRE(cudaMalloc3D(&box, {4, 3, 2}) == cudaSuccess);
  cudaMemcpy3DParms parameters = {};
  parameters.srcPtr = {const_cast<unsigned char*>(up.data()), 4, 4, 3};
  parameters.dstPtr = box;
  parameters.extent = {4, 3, 2};
  parameters.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&parameters) == cudaSuccess);
  parameters.srcPtr = box;
  parameters.dstPtr = {down.data(), 4, 4, 3};
  parameters.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3DAsync(&parameters, nullptr) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(down == up);
  parameters.extent = {0, 3, 2};
  CHECK(cudaMemcpy3D(&parameters) == cudaSuccess);
  parameters.kind = static_cast<cudaMemcpyKind>(17);
  CHECK(cudaMemcpy3D(&parameters) == cudaErrorInvalidMemcpyDirection);
  parameters.srcPtr.ptr = nullptr;
  CHECK(cudaMemcpy3D(&parameters) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy3D(nullptr) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy3DPeer(nullptr) == cudaErrorInvalidValue);
  CHECK(cudaFree(box.ptr) == cudaSuccess);
  cudaGetLastError();
}
