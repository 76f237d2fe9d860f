#include <string>

#include "test/cublas/handle_fixture.h"

using namespace maya;
using namespace maya::test;

TEST_CASE_METHOD(HandleFixture, "A strided batch without gaps is one range") {
  REQUIRE(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_T, 2, 3, 4, &one, device<float>(0), 2, 8,
                                    device<float>(256), 3, 12, &zero, device<float>(512), 2, 6,
                                    5) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kBatch) == 5);
  CHECK(fake().field(Key::kTransB) == 1);
  CHECK(fake().field(Key::kStrideA) == 8);
  CHECK(fake().field(Key::kStrideB) == 12);
  CHECK(fake().field(Key::kStrideC) == 6);
  // 5 matrices of 6 floats, one after the other.
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(512), 120)});
}

TEST_CASE_METHOD(HandleFixture, "Gaps between the matrices of a batch, also backwards") {
  REQUIRE(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, device<float>(0), 1, 1,
                                    device<float>(256), 1, 1, &zero, device<float>(512), 1, 4,
                                    2) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(512), 4), range(device<float>(528), 4)});
  REQUIRE(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, device<float>(0), 1, 1,
                                    device<float>(256), 1, 1, &zero, device<float>(512), 1, -4,
                                    2) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(496), 4), range(device<float>(512), 4)});
}

TEST_CASE_METHOD(HandleFixture, "Heads side by side: interleaved matrices become one range when they are many") {
  // 16 heads of 8 columns in rows of 16 * 8 elements: C of head h starts at 8 h, its columns are 128 apart.
  REQUIRE(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 32, 4, &one, device<float>(0), 8, 32,
                                    device<float>(256), 4, 128, &zero, device<float>(4096), 128, 8,
                                    16) == CUBLAS_STATUS_SUCCESS);
  // 32 rows of 128 floats, all of them.
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(4096), 32 * 128 * 4)});
}

TEST_CASE_METHOD(HandleFixture, "Outputs behind a pointer array are read from device memory") {
  float* const* outputs = upload<float*>(8192, {device<float>(0x1000), device<float>(0x3000)});
  REQUIRE(cublasSgemmBatched(
              handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, upload<const float*>(9000, {nullptr, nullptr}), 2,
              upload<const float*>(9100, {nullptr, nullptr}), 2, &zero, outputs, 2, 2) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kBatch) == 2);
  CHECK(fake().last().writes ==
        std::vector<MemoryRange>{range(device<float>(0x1000), 16), range(device<float>(0x3000), 16)});

  // An array that nobody has filled: recorded, and nothing can be said about what it writes.
  REQUIRE(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, device<const float*>(10000), 2,
                             device<const float*>(10100), 2, &zero, device<float*>(10200), 2,
                             2) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().writes.empty());
}

TEST_CASE_METHOD(HandleFixture, "A batch whose pointer array is not there takes no memory by its count") {
  const int batch = INT32_MAX;  // 16 GiB of pointers
  REQUIRE(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, device<const float*>(10000), 2,
                             device<const float*>(10100), 2, &zero, device<float*>(10200), 2,
                             batch) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kBatch) == batch);
  CHECK(fake().last().writes.empty());
}

// Address space ends at 2^64: what would lie behind it is left out, and nothing wraps round to its beginning.
TEST_CASE_METHOD(HandleFixture, "Outputs of strides that leave the address space stay inside it") {
  for (const long long stride : {INT64_MAX, INT64_MIN, INT64_MAX / 4, INT64_MIN / 4}) {
    REQUIRE(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 3, 4, &one, device<float>(0), 2, 8,
                                      device<float>(256), 4, 12, &zero, device<float>(512), 4, stride,
                                      40) == CUBLAS_STATUS_SUCCESS);
    for (const MemoryRange& written : fake().last().writes) CHECK(written.address + written.bytes >= written.address);
  }
}

TEST_CASE_METHOD(HandleFixture, "A batch of more outputs than fit on the stack") {
  std::vector<float*> addresses;
  std::vector<MemoryRange> expected;
  for (int i = 0; i < 100; ++i) {
    addresses.push_back(device<float>(0x10000 + i * 0x100));
    expected.push_back(range(addresses.back(), 16));
  }
  float* const* outputs = upload<float*>(8192, addresses);
  REQUIRE(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, device<const float*>(1), 2,
                             device<const float*>(2), 2, &zero, outputs, 2, 100) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().writes == expected);
}

TEST_CASE_METHOD(HandleFixture, "cublasGemmStridedBatchedEx and cublasGemmBatchedEx keep types") {
  REQUIRE(cublasGemmStridedBatchedEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 4, 4, 8, &one, device<char>(0), CUDA_R_16BF, 8,
                                     32, device<char>(1024), CUDA_R_16BF, 8, 32, &zero, device<char>(2048), CUDA_R_16BF,
                                     4, 16, 3, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kTypeA) == static_cast<int64_t>(DataType::kBfloat16));
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<char>(2048), 3 * 16 * 2)});
  CHECK(cublasGemmStridedBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 8, &one, device<char>(0), CUDA_R_16BF, 4, 32,
                                   device<char>(1024), CUDA_R_16BF, 8, 32, &zero, device<char>(2048), CUDA_R_16BF, 4,
                                   16, -1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE_METHOD(HandleFixture, "Groups of products are one operation with their total work") {
  const cublasOperation_t plain[] = {CUBLAS_OP_N, CUBLAS_OP_N};
  const int m[] = {2, 8}, n[] = {3, 8}, k[] = {4, 8}, sizes[] = {2, 1};
  const float ones[] = {1, 1}, zeros[] = {0, 0};
  float* const* outputs = upload<float*>(8192, {device<float>(0x1000), device<float>(0x2000), device<float>(0x3000)});
  REQUIRE(cublasSgemmGroupedBatched(handle, plain, plain, m, n, k, ones, device<const float*>(0), m,
                                    device<const float*>(64), k, zeros, outputs, m, 2, sizes) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().operation.family == Family::kGroupedGemm);
  CHECK(fake().field(Key::kGroups) == 2);
  CHECK(fake().field(Key::kBatch) == 3);
  CHECK(fake().field(Key::kM) == 8);
  // 2 * (2*2*3*4) + 2*8*8*8 = 96 + 1024.
  CHECK(fake().field(Key::kFlops) == 1120);
  // Read: 2 * (8 + 12) + 64 + 64 floats; written: 2 * 6 + 64 floats.
  CHECK(fake().field(Key::kReadBytes) == 672);
  CHECK(fake().field(Key::kWrittenBytes) == 304);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(0x1000), 24),
                                                         range(device<float>(0x2000), 24),
                                                         range(device<float>(0x3000), 256)});
  const int bad[] = {1, 8};
  CHECK(cublasSgemmGroupedBatched(handle, plain, plain, m, n, k, ones, device<const float*>(0), bad,
                                  device<const float*>(64), k, zeros, outputs, m, 2,
                                  sizes) == CUBLAS_STATUS_INVALID_VALUE);
}
