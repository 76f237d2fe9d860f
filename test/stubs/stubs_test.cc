// The libraries that are only present. Their headers are not needed to build, so the functions are declared here as a
// program sees them in memory: handles are pointers, enumerations are int.
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <string>

#include "test/cublas/fake_driver.h"

using namespace maya;
using namespace maya::test;

extern "C" {
int curandCreateGenerator(void**, int);
int curandCreateGeneratorHost(void**, int);
int curandDestroyGenerator(void*);
int curandSetStream(void*, CUstream);
int curandSetPseudoRandomGeneratorSeed(void*, unsigned long long);
int curandSetQuasiRandomGeneratorDimensions(void*, unsigned);
int curandGenerateUniform(void*, float*, size_t);
int curandGenerateNormal(void*, float*, size_t, float, float);

struct FileError {
  int error;
  int driver_error;
};
FileError cuFileGetVersion(int*);

void nvshmem_info_get_version(int*, int*);
void nvshmem_info_get_name(char*);
}

TEST_CASE("cuRAND: generation is recorded and makes its output unknown") {
  reset();
  void* generator = nullptr;
  CHECK(curandCreateGenerator(&generator, 7) == 103);  // CURAND_STATUS_TYPE_ERROR
  REQUIRE(curandCreateGenerator(&generator, 100) == 0);
  CHECK(curandSetPseudoRandomGeneratorSeed(generator, 1234) == 0);
  CHECK(curandSetStream(generator, reinterpret_cast<CUstream>(0x22)) == 0);
  REQUIRE(curandGenerateUniform(generator, device<float>(0), 100) == 0);
  CHECK(fake().last().operation.family == Family::kRandom);
  CHECK(fake().last().stream == reinterpret_cast<CUstream>(0x22));
  CHECK(fake().field(Key::kElements) == 100);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(0), 400)});
  // Normal values of a pseudo-random generator come in pairs.
  CHECK(curandGenerateNormal(generator, device<float>(0), 101, 0, 1) == 105);
  CHECK(curandGenerateNormal(generator, device<float>(0), 102, 0, 1) == 0);
  CHECK(curandSetQuasiRandomGeneratorDimensions(generator, 3) == 103);
  CHECK(curandDestroyGenerator(generator) == 0);
  CHECK(curandGenerateUniform(nullptr, device<float>(0), 1) == 101);

  REQUIRE(curandCreateGenerator(&generator, 201) == 0);
  CHECK(curandSetQuasiRandomGeneratorDimensions(generator, 3) == 0);
  CHECK(curandGenerateUniform(generator, device<float>(0), 100) == 105);
  CHECK(curandGenerateUniform(generator, device<float>(0), 99) == 0);
  CHECK(curandDestroyGenerator(generator) == 0);

  float host[4] = {1, 2, 3, 4};
  REQUIRE(curandCreateGeneratorHost(&generator, 100) == 0);
  CHECK(curandGenerateUniform(generator, host, 4) == 0);
  CHECK((host[0] == 0 && host[3] == 0));
  curandDestroyGenerator(generator);
}

TEST_CASE("cuFile, NVSHMEM") {
  int value = 0, minor = 0;
  CHECK(cuFileGetVersion(&value).error == 0);
  CHECK(value == 1170);
  CHECK(cuFileGetVersion(nullptr).error == 5022);  // CU_FILE_INVALID_VALUE

  nvshmem_info_get_version(&value, &minor);
  CHECK((value == 1 && minor == 3));
  char name[256];
  nvshmem_info_get_name(name);
  CHECK(std::strlen(name) > 0);
}
