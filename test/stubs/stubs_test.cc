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
int cusparseCreate(void**);
int cusparseDestroy(void*);
int cusparseSetStream(void*, CUstream);
int cusparseGetStream(void*, CUstream*);
int cusparseGetVersion(void*, int*);
int cusparseSetPointerMode(void*, int);
int cusparseGetPointerMode(void*, int*);
const char* cusparseGetErrorName(int);
int cusparseCreateMatDescr(void**);
int cusparseDestroyMatDescr(void*);
int cusparseSetMatIndexBase(void*, int);
int cusparseGetMatIndexBase(const void*);

int cusolverGetVersion(int*);
int cusolverGetProperty(int, int*);
int cusolverDnCreate(void**);
int cusolverDnDestroy(void*);
int cusolverDnSetStream(void*, CUstream);
int cusolverSpCreate(void**);
int cusolverSpDestroy(void*);

int cufftCreate(int*);
int cufftDestroy(int);
int cufftSetStream(int, CUstream);
int cufftSetAutoAllocation(int, int);
int cufftGetVersion(int*);

int curandCreateGenerator(void**, int);
int curandCreateGeneratorHost(void**, int);
int curandDestroyGenerator(void*);
int curandSetStream(void*, CUstream);
int curandSetPseudoRandomGeneratorSeed(void*, unsigned long long);
int curandSetQuasiRandomGeneratorDimensions(void*, unsigned);
int curandGenerateUniform(void*, float*, size_t);
int curandGenerateNormal(void*, float*, size_t, float, float);

int cusparseLtInit(void*);
int cusparseLtDestroy(const void*);
int cusparseLtGetVersion(const void*, int*);
const char* cusparseLtGetErrorName(int);

struct FileError {
  int error;
  int driver_error;
};
FileError cuFileGetVersion(int*);

void nvshmem_info_get_version(int*, int*);
void nvshmem_info_get_name(char*);
}

TEST_CASE("cuSPARSE: handle, stream, pointer mode, descriptors") {
  void* handle = nullptr;
  CHECK(cusparseCreate(nullptr) == 3);
  REQUIRE(cusparseCreate(&handle) == 0);
  CUstream stream = nullptr;
  CHECK(cusparseSetStream(handle, reinterpret_cast<CUstream>(0x11)) == 0);
  CHECK(cusparseGetStream(handle, &stream) == 0);
  CHECK(stream == reinterpret_cast<CUstream>(0x11));
  int value = 0;
  CHECK(cusparseGetVersion(handle, &value) == 0);
  CHECK(value == 12710);  // CUSPARSE_VERSION of the release whose names are exported
  CHECK(cusparseSetPointerMode(handle, 2) == 3);
  CHECK(cusparseSetPointerMode(handle, 1) == 0);
  CHECK(cusparseGetPointerMode(handle, &value) == 0);
  CHECK(value == 1);
  CHECK(cusparseSetStream(nullptr, nullptr) == 1);
  CHECK(cusparseDestroy(handle) == 0);
  CHECK(std::string(cusparseGetErrorName(10)) == "CUSPARSE_STATUS_NOT_SUPPORTED");
  CHECK(std::string(cusparseGetErrorName(99)) == "unrecognized error code");

  void* descriptor = nullptr;
  REQUIRE(cusparseCreateMatDescr(&descriptor) == 0);
  CHECK(cusparseSetMatIndexBase(descriptor, 1) == 0);
  CHECK(cusparseGetMatIndexBase(descriptor) == 1);
  CHECK(cusparseSetMatIndexBase(descriptor, 2) == 3);
  CHECK(cusparseDestroyMatDescr(descriptor) == 0);
}

TEST_CASE("cuSOLVER: versions and handles; a handle of one kind is not one of the other") {
  int value = 0;
  CHECK(cusolverGetVersion(&value) == 0);
  CHECK(value == 12200);
  CHECK(cusolverGetProperty(1, &value) == 0);
  CHECK(value == 2);
  CHECK(cusolverGetProperty(3, &value) == 3);
  void *dense = nullptr, *sparse = nullptr;
  REQUIRE(cusolverDnCreate(&dense) == 0);
  REQUIRE(cusolverSpCreate(&sparse) == 0);
  CHECK(cusolverDnSetStream(sparse, nullptr) == 1);
  CHECK(cusolverDnSetStream(dense, nullptr) == 0);
  CHECK(cusolverDnDestroy(dense) == 0);
  CHECK(cusolverSpDestroy(sparse) == 0);
}

TEST_CASE("cuFFT: plan numbers") {
  int plan = 0, other = 0, version = 0;
  REQUIRE(cufftCreate(&plan) == 0);
  REQUIRE(cufftCreate(&other) == 0);
  CHECK(plan != other);
  CHECK(cufftSetStream(plan, nullptr) == 0);
  CHECK(cufftSetAutoAllocation(plan, 0) == 0);
  CHECK(cufftDestroy(plan) == 0);
  CHECK(cufftDestroy(plan) == 1);  // CUFFT_INVALID_PLAN
  CHECK(cufftSetStream(plan, nullptr) == 1);
  CHECK(cufftDestroy(other) == 0);
  CHECK(cufftGetVersion(&version) == 0);
  CHECK(version == 12200);
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

TEST_CASE("cuSPARSELt, cuFile, NVSHMEM") {
  alignas(16) unsigned char handle[512] = {};
  int value = 0, minor = 0;
  CHECK(cusparseLtGetVersion(handle, &value) == 1);
  REQUIRE(cusparseLtInit(handle) == 0);
  CHECK(cusparseLtGetVersion(handle, &value) == 0);
  CHECK(value == 801);
  CHECK(cusparseLtDestroy(handle) == 0);
  CHECK(std::string(cusparseLtGetErrorName(10)) == "CUSPARSE_STATUS_NOT_SUPPORTED");

  CHECK(cuFileGetVersion(&value).error == 0);
  CHECK(value == 1170);
  CHECK(cuFileGetVersion(nullptr).error == 5022);  // CU_FILE_INVALID_VALUE

  nvshmem_info_get_version(&value, &minor);
  CHECK((value == 1 && minor == 3));
  char name[256];
  nvshmem_info_get_name(name);
  CHECK(std::strlen(name) > 0);
}
