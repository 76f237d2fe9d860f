#include "test/cublas/handle_fixture.h"

using namespace maya::test;

TEST_CASE_METHOD(HandleFixture, "Vectors and matrices are copied by the driver") {
  float host[32] = {};
  REQUIRE(cublasSetVector(8, 4, host, 1, device<float>(0), 1) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(fake().copies.size() == 1);
  CHECK(fake().copies[0].WidthInBytes == 32);
  CHECK(fake().copies[0].Height == 1);
  CHECK(fake().copies[0].srcMemoryType == CU_MEMORYTYPE_HOST);
  REQUIRE(cublasSetVector(8, 4, host, 2, device<float>(0), 3) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().copies[1].WidthInBytes == 4);
  CHECK(fake().copies[1].Height == 8);
  CHECK(fake().copies[1].srcPitch == 8);
  CHECK(fake().copies[1].dstPitch == 12);
  REQUIRE(cublasGetMatrix(2, 3, 4, device<float>(0), 5, host, 2) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().copies[2].srcMemoryType == CU_MEMORYTYPE_DEVICE);
  CHECK(fake().copies[2].WidthInBytes == 8);
  CHECK(fake().copies[2].Height == 3);
  CHECK(fake().copies[2].srcPitch == 20);
  CHECK(cublasSetVector(8, 4, host, 0, device<float>(0), 1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasGetMatrix(2, 3, 4, device<float>(0), 1, host, 2) == CUBLAS_STATUS_INVALID_VALUE);
}
