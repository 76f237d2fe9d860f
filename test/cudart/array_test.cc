// Arrays, textures and surfaces.
#include <cuda_runtime_api.h>

#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

namespace {

struct Array {
  Array(const cudaChannelFormatDesc& format, size_t width, size_t height) {
    REQUIRE(cudaMallocArray(&handle, &format, width, height, cudaArraySurfaceLoadStore) == cudaSuccess);
  }
  ~Array() { cudaFreeArray(handle); }
  cudaArray_t handle = nullptr;
};

const cudaChannelFormatDesc kFloat = {32, 0, 0, 0, cudaChannelFormatKindFloat};
const cudaChannelFormatDesc kByte4 = {8, 8, 8, 8, cudaChannelFormatKindUnsigned};

}  // namespace

TEST_CASE("an array keeps its shape, its format and its bytes") {
  Array array(kFloat, 16, 4);
  cudaChannelFormatDesc format = {};
  cudaExtent extent = {};
  unsigned flags = 0;
  CHECK(cudaArrayGetInfo(&format, &extent, &flags, array.handle) == cudaSuccess);
  CHECK(format.x == 32);
  CHECK(format.y == 0);
  CHECK(format.f == cudaChannelFormatKindFloat);
  CHECK(extent.width == 16);
  CHECK(extent.height == 4);
  CHECK(flags == cudaArraySurfaceLoadStore);
  CHECK(cudaGetChannelDesc(&format, array.handle) == cudaSuccess);
  CHECK(format.x == 32);

  std::vector<float> up(64), down(64);
  std::iota(up.begin(), up.end(), 1.f);
  CHECK(cudaMemcpy2DToArray(array.handle, 0, 0, up.data(), 64, 64, 4, cudaMemcpyHostToDevice) == cudaSuccess);
  Array second(kFloat, 16, 4);
  CHECK(cudaMemcpy2DArrayToArray(second.handle, 0, 0, array.handle, 0, 0, 64, 4, cudaMemcpyDeviceToDevice) ==
        cudaSuccess);
  CHECK(cudaMemcpy2DFromArrayAsync(down.data(), 64, second.handle, 0, 0, 64, 4, cudaMemcpyDeviceToHost, nullptr) ==
        cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(down == up);
}

TEST_CASE("three-dimensional copies count elements where an array takes part") {
  Array array(kByte4, 8, 2);  // 4 bytes an element
  std::vector<unsigned char> up(3 * 4), down(3 * 4);
  std::iota(up.begin(), up.end(), 1);
  cudaMemcpy3DParms parameters = {};
  parameters.srcPtr = {up.data(), 12, 12, 1};
  parameters.dstArray = array.handle;
  parameters.dstPos = {5, 1, 0};  // elements 5, 6, 7 of row 1: bytes 20..31
  parameters.extent = {3, 1, 1};
  parameters.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&parameters) == cudaSuccess);
  CHECK(cudaMemcpy2DFromArray(down.data(), 12, array.handle, 20, 1, 12, 1, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(down == up);
  parameters.dstPos = {6, 1, 0};  // 6 + 3 > 8
  CHECK(cudaMemcpy3D(&parameters) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("texture and surface objects") {
  Array array(kFloat, 16, 4);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array.handle;
  cudaTextureDesc texture = {};
  cudaTextureObject_t object = 0;
  CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr) == cudaSuccess);
  CHECK(object != 0);
  CHECK(cudaDestroyTextureObject(object) == cudaSuccess);
  cudaSurfaceObject_t surface = 0;
  CHECK(cudaCreateSurfaceObject(&surface, &resource) == cudaSuccess);
  CHECK(cudaDestroySurfaceObject(surface) == cudaSuccess);
  void* linear = nullptr;
  REQUIRE(cudaMalloc(&linear, 4096) == cudaSuccess);
  resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = linear;
  resource.res.linear.desc = kFloat;
  resource.res.linear.sizeInBytes = 4096;
  CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr) == cudaSuccess);
  CHECK(cudaDestroyTextureObject(object) == cudaSuccess);
  CHECK(cudaCreateSurfaceObject(&surface, &resource) == cudaErrorInvalidValue);
  resource.res.linear.desc = {32, 16, 0, 0, cudaChannelFormatKindFloat};
  CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr) == cudaErrorInvalidChannelDescriptor);
  CHECK(cudaCreateTextureObject(nullptr, &resource, &texture, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaFree(linear) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("mipmapped arrays; errors of arrays") {
  cudaMipmappedArray_t mipmap = nullptr;
  REQUIRE(cudaMallocMipmappedArray(&mipmap, &kFloat, {16, 16, 0}, 3, 0) == cudaSuccess);
  cudaArray_t level = nullptr;
  CHECK(cudaGetMipmappedArrayLevel(&level, mipmap, 2) == cudaSuccess);
  cudaExtent extent = {};
  CHECK(cudaArrayGetInfo(nullptr, &extent, nullptr, level) == cudaSuccess);
  CHECK(extent.width == 4);  // 16 / 2 / 2
  CHECK(cudaGetMipmappedArrayLevel(&level, mipmap, 3) == cudaErrorInvalidValue);
  CHECK(cudaFreeMipmappedArray(mipmap) == cudaSuccess);
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc odd = {24, 0, 0, 0, cudaChannelFormatKindUnsigned};
  CHECK(cudaMallocArray(&array, &odd, 16, 4, 0) == cudaErrorInvalidChannelDescriptor);
  CHECK(cudaMallocArray(nullptr, &kFloat, 16, 4, 0) == cudaErrorInvalidValue);
  CHECK(cudaMallocArray(&array, nullptr, 16, 4, 0) == cudaErrorInvalidValue);
  CHECK(cudaFreeArray(nullptr) == cudaSuccess);
  CHECK(cudaCreateChannelDesc(8, 8, 0, 0, cudaChannelFormatKindSigned).y == 8);
  cudaGetLastError();
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

// In cuda_runtime_api.h the deprecated copies take a count of bytes; where a row of the array ends, they go on in the
// next.
TEST_CASE("copies of a run of bytes go on in the next row") {
  Array array(kFloat, 16, 4), second(kFloat, 8, 8);  // rows of 64 and of 32 bytes
  std::vector<float> up(40), down(64, -1.f);
  std::iota(up.begin(), up.end(), 1.f);
  // From element 4 of row 1 on: 12 in row 1, 16 in row 2, 12 in row 3.
  CHECK(cudaMemcpyToArray(array.handle, 16, 1, up.data(), 160, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpy2DFromArray(down.data(), 64, array.handle, 0, 0, 64, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(down[19] == 0.f);
  CHECK(down[20] == 1.f);
  CHECK(down[59] == 40.f);
  CHECK(down[60] == 0.f);
  CHECK(cudaMemcpyArrayToArray(second.handle, 4, 0, array.handle, 16, 1, 160, cudaMemcpyDeviceToDevice) == cudaSuccess);
  std::vector<float> again(40, -1.f);
  CHECK(cudaMemcpyFromArrayAsync(again.data(), second.handle, 4, 0, 160, cudaMemcpyDeviceToHost, nullptr) ==
        cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(again == up);
  CHECK(cudaMemcpyToArray(array.handle, 64, 0, up.data(), 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpyToArray(array.handle, 0, 3, up.data(), 128, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  cudaGetLastError();
}

#pragma GCC diagnostic pop

TEST_CASE("texture and surface objects give back what they were made of") {
  Array array(kFloat, 16, 4);
  cudaResourceDesc resource = {}, resource_back = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array.handle;
  cudaTextureDesc texture = {}, back = {};
  texture.addressMode[0] = cudaAddressModeClamp;
  texture.addressMode[1] = cudaAddressModeMirror;
  texture.filterMode = cudaFilterModeLinear;
  texture.readMode = cudaReadModeElementType;
  texture.normalizedCoords = 1;
  texture.borderColor[2] = 0.5f;
  texture.maxAnisotropy = 4;
  texture.minMipmapLevelClamp = 1.5f;
  cudaTextureObject_t object = 0;
  REQUIRE(cudaCreateTextureObject(&object, &resource, &texture, nullptr) == cudaSuccess);
  REQUIRE(cudaGetTextureObjectTextureDesc(&back, object) == cudaSuccess);
  CHECK(back.addressMode[0] == cudaAddressModeClamp);
  CHECK(back.addressMode[1] == cudaAddressModeMirror);
  CHECK(back.filterMode == cudaFilterModeLinear);
  CHECK(back.readMode == cudaReadModeElementType);
  CHECK(back.normalizedCoords == 1);
  CHECK(back.sRGB == 0);
  CHECK(back.borderColor[2] == 0.5f);
  CHECK(back.maxAnisotropy == 4);
  CHECK(back.minMipmapLevelClamp == 1.5f);
  REQUIRE(cudaGetTextureObjectResourceDesc(&resource_back, object) == cudaSuccess);
  CHECK(resource_back.resType == cudaResourceTypeArray);
  CHECK(resource_back.res.array.array == array.handle);
  cudaResourceViewDesc view = {};
  CHECK(cudaGetTextureObjectResourceViewDesc(&view, object) == cudaErrorInvalidValue);  // it has none
  CHECK(cudaGetTextureObjectTextureDesc(nullptr, object) == cudaErrorInvalidValue);
  CHECK(cudaDestroyTextureObject(object) == cudaSuccess);

  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, 1024) == cudaSuccess);
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = memory;
  resource.res.linear.desc = kByte4;
  resource.res.linear.sizeInBytes = 1024;
  texture = {};
  texture.readMode = cudaReadModeNormalizedFloat;
  REQUIRE(cudaCreateTextureObject(&object, &resource, &texture, nullptr) == cudaSuccess);
  REQUIRE(cudaGetTextureObjectResourceDesc(&resource_back, object) == cudaSuccess);
  CHECK(resource_back.res.linear.devPtr == memory);
  CHECK(resource_back.res.linear.sizeInBytes == 1024);
  CHECK(resource_back.res.linear.desc.w == 8);
  CHECK(resource_back.res.linear.desc.f == cudaChannelFormatKindUnsigned);
  REQUIRE(cudaGetTextureObjectTextureDesc(&back, object) == cudaSuccess);
  CHECK(back.readMode == cudaReadModeNormalizedFloat);
  CHECK(cudaDestroyTextureObject(object) == cudaSuccess);
  CHECK(cudaFree(memory) == cudaSuccess);
  cudaGetLastError();
}
