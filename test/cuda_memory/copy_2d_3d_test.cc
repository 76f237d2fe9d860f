// 2-D and 3-D copies, and arrays.
#include "driver_memory_helpers.h"

using namespace memory_test;

namespace {

CUDA_MEMCPY2D host_to_device(const Bytes& from, size_t from_pitch, CUdeviceptr to, size_t to_pitch, size_t width,
                             size_t height) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from.data();
  copy.srcPitch = from_pitch;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = to;
  copy.dstPitch = to_pitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
}

}  // namespace

TEST_CASE("a 2-D copy moves its box and nothing beside it") {
  PrimaryContext context;
  CUdeviceptr device = 0;
  size_t pitch = 0;
  REQUIRE(cuMemAllocPitch_v2(&device, &pitch, 100, 20, 4) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD8_v2(device, 0xaa, pitch * 20) == CUDA_SUCCESS);
  const Bytes host = pattern(30 * 20);
  CUDA_MEMCPY2D copy = host_to_device(host, 30, device, pitch, 16, 8);
  copy.srcXInBytes = 3;
  copy.srcY = 2;
  copy.dstXInBytes = 40;
  copy.dstY = 5;
  REQUIRE(cuMemcpy2D_v2(&copy) == CUDA_SUCCESS);
  const Bytes all = download(device, pitch * 20);
  bool right = true;
  for (size_t y = 0; y < 20; ++y)
    for (size_t x = 0; x < pitch; ++x) {
      const bool in_box = y >= 5 && y < 13 && x >= 40 && x < 56;
      const unsigned char expected = in_box ? host[(y - 5 + 2) * 30 + (x - 40 + 3)] : 0xaa;
      right = right && all[y * pitch + x] == expected;
    }
  CHECK(right);

  // And down again, through CU_MEMORYTYPE_UNIFIED.
  Bytes back(16 * 8);
  CUDA_MEMCPY2D down = {};
  down.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  down.srcDevice = device;
  down.srcPitch = pitch;
  down.srcXInBytes = 40;
  down.srcY = 5;
  down.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  down.dstDevice = unified(back.data());
  down.dstPitch = 16;
  down.WidthInBytes = 16;
  down.Height = 8;
  REQUIRE(cuMemcpy2DAsync_v2(&down, nullptr) == CUDA_SUCCESS);
  for (size_t y = 0; y < 8; ++y)
    CHECK(Bytes(&back[y * 16], &back[y * 16] + 16) == Bytes(&host[(y + 2) * 30 + 3], &host[(y + 2) * 30 + 3] + 16));
  CHECK(cuMemFree_v2(device) == CUDA_SUCCESS);
}

TEST_CASE("documented errors of 2-D copies") {
  PrimaryContext context;
  const CUdeviceptr device = allocate(100 * 10);
  const Bytes host = pattern(100 * 10);
  const CUDA_MEMCPY2D good = host_to_device(host, 100, device, 100, 100, 10);
  REQUIRE(cuMemcpy2D_v2(&good) == CUDA_SUCCESS);
  CHECK(download(device, 1000) == host);
  const auto fails = [&](auto&& change) {
    CUDA_MEMCPY2D copy = good;
    change(copy);
    return cuMemcpy2D_v2(&copy);
  };
  CHECK(cuMemcpy2D_v2(nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(fails([](auto& c) { c.srcPitch = 99; }) == CUDA_ERROR_INVALID_VALUE);    // less than the width
  CHECK(fails([](auto& c) { c.dstXInBytes = 1; }) == CUDA_ERROR_INVALID_VALUE);  // less than offset + width
  CHECK(fails([](auto& c) { c.dstPitch = size_t{1} << 31; }) ==
        CUDA_ERROR_INVALID_VALUE);                                           // above CU_DEVICE_ATTRIBUTE_MAX_PITCH
  CHECK(fails([](auto& c) { c.Height = 11; }) == CUDA_ERROR_INVALID_VALUE);  // beyond the allocation
  CHECK(fails([](auto& c) { c.dstY = 1; }) == CUDA_ERROR_INVALID_VALUE);
  CHECK(fails([](auto& c) { c.srcHost = nullptr; }) == CUDA_ERROR_INVALID_VALUE);
  CHECK(fails([](auto& c) { c.dstDevice = 0; }) == CUDA_ERROR_INVALID_VALUE);
  CHECK(fails([](auto& c) { c.srcMemoryType = static_cast<CUmemorytype>(9); }) == CUDA_ERROR_INVALID_VALUE);
  CHECK(fails([](auto& c) { c.srcMemoryType = CU_MEMORYTYPE_ARRAY; }) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(fails([](auto& c) { c.Height = SIZE_MAX; }) == CUDA_ERROR_INVALID_VALUE);
  CHECK(fails([](auto& c) { c.srcY = SIZE_MAX; }) == CUDA_ERROR_INVALID_VALUE);
  CHECK(fails([](auto& c) { c.Height = 0; }) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(device) == CUDA_SUCCESS);
}

TEST_CASE("3-D copies keep to height and depth") {
  PrimaryContext context;
  const Bytes host = pattern(8 * 6 * 5);  // 8 wide, 6 high, 5 deep
  const CUdeviceptr device = allocate(8 * 6 * 5);
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.srcPitch = 8;
  copy.srcHeight = 6;
  copy.srcXInBytes = 1;
  copy.srcY = 2;
  copy.srcZ = 3;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device;
  copy.dstPitch = 10;
  copy.dstHeight = 4;
  copy.WidthInBytes = 5;
  copy.Height = 3;
  copy.Depth = 2;
  REQUIRE(cuMemcpy3D_v2(&copy) == CUDA_SUCCESS);
  const Bytes all = download(device, 100);
  for (size_t z = 0; z < 2; ++z)
    for (size_t y = 0; y < 3; ++y)
      for (size_t x = 0; x < 5; ++x) CHECK(all[(z * 4 + y) * 10 + x] == host[((z + 3) * 6 + y + 2) * 8 + x + 1]);
  CHECK(all[5] == 0);
  copy.srcLOD = 1;
  CHECK(cuMemcpy3D_v2(&copy) == CUDA_ERROR_INVALID_VALUE);
  copy.srcLOD = 0;
  copy.dstHeight = 2;  // less than the height of the box, and two slices
  CHECK(cuMemcpy3D_v2(&copy) == CUDA_ERROR_INVALID_VALUE);
  copy.dstHeight = 4;
  copy.Depth = 100;
  CHECK(cuMemcpy3D_v2(&copy) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpy3D_v2(nullptr) == CUDA_ERROR_INVALID_VALUE);

  CUDA_MEMCPY3D_PEER peer = {};
  peer.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  peer.srcDevice = device;
  peer.srcContext = context.get();
  peer.srcPitch = 10;
  peer.srcHeight = 4;
  peer.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  peer.dstDevice = device + 120;
  peer.dstContext = context.get();
  peer.dstPitch = 5;
  peer.dstHeight = 3;
  peer.WidthInBytes = 5;
  peer.Height = 3;
  peer.Depth = 2;
  REQUIRE(cuMemcpy3DPeer(&peer) == CUDA_SUCCESS);
  CHECK(download(device + 120, 5) == Bytes(all.begin(), all.begin() + 5));
  peer.dstContext = nullptr;
  CHECK(cuMemcpy3DPeer(&peer) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuMemFree_v2(device) == CUDA_SUCCESS);
}

TEST_CASE("arrays hold bytes, have descriptors, and are charged") {
  PrimaryContext context;
  const size_t before = free_bytes();
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR shape{1000, 700, CU_AD_FORMAT_FLOAT, 2};  // 8 bytes an element: 5.6 MB
  REQUIRE(cuArrayCreate_v2(&array, &shape) == CUDA_SUCCESS);
  CHECK(before - free_bytes() >= 1000 * 700 * 8);
  CUDA_ARRAY_DESCRIPTOR seen = {};
  REQUIRE(cuArrayGetDescriptor_v2(&seen, array) == CUDA_SUCCESS);
  CHECK(seen.Width == 1000);
  CHECK(seen.Height == 700);
  CHECK(seen.Format == CU_AD_FORMAT_FLOAT);
  CHECK(seen.NumChannels == 2);
  CUDA_ARRAY3D_DESCRIPTOR seen_3d = {};
  REQUIRE(cuArray3DGetDescriptor_v2(&seen_3d, array) == CUDA_SUCCESS);
  CHECK(seen_3d.Depth == 0);

  const Bytes data = pattern(800);
  REQUIRE(cuMemcpyHtoA_v2(array, 80, data.data(), 800) == CUDA_SUCCESS);
  Bytes back(800);
  REQUIRE(cuMemcpyAtoH_v2(back.data(), array, 80, 800) == CUDA_SUCCESS);
  CHECK(back == data);
  const CUdeviceptr device = allocate(800);
  REQUIRE(cuMemcpyAtoD_v2(device, array, 80, 800) == CUDA_SUCCESS);
  CHECK(download(device, 800) == data);
  REQUIRE(cuMemcpyDtoA_v2(array, 8000, device, 800) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyAtoA_v2(array, 16000, array, 8000, 800) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyAtoHAsync_v2(back.data(), array, 16000, 800, nullptr) == CUDA_SUCCESS);
  CHECK(back == data);
  CHECK(cuMemcpyHtoA_v2(array, 5600000 - 8, data.data(), 16) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyHtoA_v2(array, 4, data.data(), 8) == CUDA_ERROR_INVALID_VALUE);  // not on an element
  CHECK(cuMemcpyHtoA_v2(nullptr, 0, data.data(), 8) == CUDA_ERROR_INVALID_HANDLE);

  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = data.data();
  copy.srcPitch = 80;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.dstXInBytes = 1000 * 8 - 80;
  copy.dstY = 690;
  copy.WidthInBytes = 80;
  copy.Height = 10;
  REQUIRE(cuMemcpy2D_v2(&copy) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyAtoH_v2(back.data(), array, 700 * 8000 - 80, 80) == CUDA_SUCCESS);  // last row, last 80 bytes
  CHECK(Bytes(back.begin(), back.begin() + 80) == Bytes(data.end() - 80, data.end()));
  copy.dstY = 691;
  CHECK(cuMemcpy2D_v2(&copy) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree_v2(device) == CUDA_SUCCESS);
  CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
  CHECK(cuArrayDestroy(array) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(free_bytes() == before);
}

TEST_CASE("documented errors of arrays") {
  PrimaryContext context;
  CUarray array = nullptr;
  const auto create = [&](CUDA_ARRAY3D_DESCRIPTOR shape) { return cuArray3DCreate_v2(&array, &shape); };
  CHECK(create({0, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0}) == CUDA_ERROR_INVALID_VALUE);
  CHECK(create({16, 16, 0, CU_AD_FORMAT_FLOAT, 3, 0}) == CUDA_ERROR_INVALID_VALUE);  // 1, 2 or 4 channels
  CHECK(create({16, 8, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP}) == CUDA_ERROR_INVALID_VALUE);  // width = height
  CHECK(create({16, 16, 5, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP}) == CUDA_ERROR_INVALID_VALUE);  // six faces
  CHECK(create({16, 0, 5, CU_AD_FORMAT_FLOAT, 1, 0}) == CUDA_ERROR_INVALID_VALUE);  // depth without height
  CHECK(create({16, 16, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE}) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(cuArray3DCreate_v2(nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuArrayGetDescriptor_v2(nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(create({16, 16, 6, CU_AD_FORMAT_HALF, 4, CUDA_ARRAY3D_CUBEMAP}) == CUDA_SUCCESS);
  CUarray plane = nullptr;
  CHECK(cuArrayGetPlane(&plane, array, 0) == CUDA_ERROR_INVALID_VALUE);  // not a multi-planar format
  CUDA_ARRAY_SPARSE_PROPERTIES sparse = {};
  CHECK(cuArrayGetSparseProperties(&sparse, array) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
}

TEST_CASE("mipmapped arrays: levels are clamped and halve") {
  PrimaryContext context;
  CUmipmappedArray mipmap = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR shape{64, 16, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0};
  REQUIRE(cuMipmappedArrayCreate(&mipmap, &shape, 100) == CUDA_SUCCESS);  // 1 + floor(log2(64)) = 7
  CUarray level = nullptr;
  CUDA_ARRAY_DESCRIPTOR seen = {};
  REQUIRE(cuMipmappedArrayGetLevel(&level, mipmap, 5) == CUDA_SUCCESS);
  REQUIRE(cuArrayGetDescriptor_v2(&seen, level) == CUDA_SUCCESS);
  CHECK(seen.Width == 2);
  CHECK(seen.Height == 1);
  CHECK(cuMipmappedArrayGetLevel(&level, mipmap, 6) == CUDA_SUCCESS);
  CHECK(cuMipmappedArrayGetLevel(&level, mipmap, 7) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuArrayDestroy(level) == CUDA_ERROR_INVALID_HANDLE);  // goes with the whole
  CHECK(cuMipmappedArrayDestroy(mipmap) == CUDA_SUCCESS);
  CHECK(cuMipmappedArrayDestroy(mipmap) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuArrayGetDescriptor_v2(&seen, level) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("3-D batch operations count in elements") {
  PrimaryContext context;
  CUstream stream = nullptr;
  REQUIRE(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR shape{32, 8, CU_AD_FORMAT_FLOAT, 1};
  REQUIRE(cuArrayCreate_v2(&array, &shape) == CUDA_SUCCESS);
  const Bytes data = pattern(10 * 4 * 3);  // rows of 10 elements, 3 rows
  CUDA_MEMCPY3D_BATCH_OP operation = {};
  operation.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  operation.src.op.ptr.ptr = unified(data.data());
  operation.src.op.ptr.rowLength = 10;
  operation.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
  operation.dst.op.array.array = array;
  operation.dst.op.array.offset = {4, 2, 0};
  operation.extent = {5, 3, 1};
  operation.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  REQUIRE(cuMemcpy3DBatchAsync_v2(1, &operation, 0, stream) == CUDA_SUCCESS);
  Bytes back(20);
  REQUIRE(cuMemcpyAtoH_v2(back.data(), array, (3 * 32 + 4) * 4, 20) == CUDA_SUCCESS);
  CHECK(back == Bytes(data.begin() + 40, data.begin() + 60));
  CHECK(cuMemcpy3DBatchAsync_v2(1, &operation, 1, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpy3DBatchAsync_v2(1, &operation, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
  operation.extent.width = 0;
  CHECK(cuMemcpy3DBatchAsync_v2(1, &operation, 0, stream) == CUDA_ERROR_INVALID_VALUE);
  operation.extent.width = 11;  // longer than its row
  CHECK(cuMemcpy3DWithAttributesAsync(&operation, 0, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
  CHECK(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
}
