#include <cstring>

#include "driver_memory_helpers.h"

using namespace memory_test;

TEST_CASE("texture and surface objects give back what they were made from") {
  PrimaryContext context;
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR shape{64, 64, CU_AD_FORMAT_FLOAT, 1};
  REQUIRE(cuArrayCreate_v2(&array, &shape) == CUDA_SUCCESS);
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  CUDA_TEXTURE_DESC texture = {};
  texture.filterMode = CU_TR_FILTER_MODE_LINEAR;
  CUtexObject object = 0;
  REQUIRE(cuTexObjectCreate(&object, &resource, &texture, nullptr) == CUDA_SUCCESS);
  CUDA_RESOURCE_DESC seen = {};
  CUDA_TEXTURE_DESC seen_texture = {};
  CUDA_RESOURCE_VIEW_DESC seen_view = {};
  REQUIRE(cuTexObjectGetResourceDesc(&seen, object) == CUDA_SUCCESS);
  CHECK(seen.res.array.hArray == array);
  REQUIRE(cuTexObjectGetTextureDesc(&seen_texture, object) == CUDA_SUCCESS);
  CHECK(seen_texture.filterMode == CU_TR_FILTER_MODE_LINEAR);
  CHECK(cuTexObjectGetResourceViewDesc(&seen_view, object) == CUDA_ERROR_INVALID_VALUE);
  CUsurfObject surface = 0;
  REQUIRE(cuSurfObjectCreate(&surface, &resource) == CUDA_SUCCESS);
  REQUIRE(cuSurfObjectGetResourceDesc(&seen, surface) == CUDA_SUCCESS);
  CHECK(cuSurfObjectDestroy(surface) == CUDA_SUCCESS);
  CHECK(cuSurfObjectDestroy(surface) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuTexObjectDestroy(object) == CUDA_SUCCESS);
  CHECK(cuTexObjectDestroy(object) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuTexObjectDestroy(0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
  CHECK(cuTexObjectCreate(&object, &resource, &texture, nullptr) == CUDA_ERROR_INVALID_VALUE);  // the array is gone
  CHECK(cuTexObjectCreate(&object, nullptr, &texture, nullptr) == CUDA_ERROR_INVALID_VALUE);

  const CUdeviceptr device = allocate(1024);
  resource = {};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear.devPtr = device;
  resource.res.linear.format = CU_AD_FORMAT_FLOAT;
  resource.res.linear.numChannels = 1;
  resource.res.linear.sizeInBytes = 1024;
  REQUIRE(cuTexObjectCreate(&object, &resource, &texture, nullptr) == CUDA_SUCCESS);
  CHECK(cuTexObjectDestroy(object) == CUDA_SUCCESS);
  CHECK(cuTexObjectCreate(&object, &resource, &texture, &seen_view) ==
        CUDA_ERROR_INVALID_VALUE);                                             // a view is for arrays
  CHECK(cuSurfObjectCreate(&surface, &resource) == CUDA_ERROR_INVALID_VALUE);  // a surface is an array
  resource.res.linear.sizeInBytes = 1028;
  CHECK(cuTexObjectCreate(&object, &resource, &texture, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree_v2(device) == CUDA_SUCCESS);
}
