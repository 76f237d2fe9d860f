#include "test/cublas/handle_fixture.h"

using namespace maya;
using namespace maya::test;

TEST_CASE_METHOD(HandleFixture, "getrfBatched writes the factors, the pivots and info") {
  float* const* matrices = upload<float*>(8192, {device<float>(0x1000), device<float>(0x2000)});
  REQUIRE(cublasSgetrfBatched(handle, 3, matrices, 3, device<int>(0x4000), device<int>(0x5000), 2) ==
          CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().operation.family == Family::kSolver);
  CHECK(fake().field(Key::kBatch) == 2);
  // 2/3 n^3 operations each: 18.
  CHECK(fake().field(Key::kFlops) == 36);
  CHECK(fake().last().writes ==
        std::vector<MemoryRange>{range(device<float>(0x1000), 36), range(device<float>(0x2000), 36),
                                 range(device<int>(0x4000), 24), range(device<int>(0x5000), 8)});
}

TEST_CASE_METHOD(HandleFixture, "info names the wrong argument") {
  int info = 42;
  CHECK(cublasSgetrsBatched(handle, CUBLAS_OP_N, 3, 1, device<const float*>(0), 2, nullptr, device<float*>(64), 3,
                            &info, 1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(info == -5);
  CHECK(cublasSgetrsBatched(handle, CUBLAS_OP_N, 3, 1, device<const float*>(0), 3, nullptr, device<float*>(64), 3,
                            &info, 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(info == 0);
  CHECK(cublasSgelsBatched(handle, CUBLAS_OP_N, 2, 3, 1, device<float*>(0), 2, device<float*>(64), 2, &info, nullptr,
                           1) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(cublasSmatinvBatched(handle, 33, device<const float*>(0), 33, device<float*>(64), 33, device<int>(0), 1) ==
        CUBLAS_STATUS_INVALID_VALUE);
}
