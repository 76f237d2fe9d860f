// cuRAND's host interface: generators with their settings; generation is recorded and makes the output unknown. Tables
// of direction vectors and distributions are not supported.
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "driver_shim/common/api.h"
#include "driver_shim/common/library_handle.h"
#include "driver_shim/common/recording.h"

using namespace maya;
using namespace maya::shim;

namespace {

// Values of curandStatus (curand.h).
enum RandomStatus : int {
  kRandomSuccess = 0,
  kRandomNotInitialized = 101,
  kRandomAllocationFailed = 102,
  kTypeError = 103,
  kOutOfRange = 104,
  kLengthNotMultiple = 105,
  kLaunchFailure = 201,
};

constexpr Version kVersion{10, 4, 5};
constexpr int kFirstQuasi = 200, kLastQuasi = 204, kMaximumDimensions = 20000;
constexpr int kPseudoTypes[] = {100, 101, 121, 141, 142, 161};

struct Generator {
  static constexpr uint64_t kMagic = 0x6d61796172616e64;

  uint64_t magic = kMagic;
  int type = 0;
  bool on_host = false;
  CUstream stream = nullptr;
  unsigned long long seed = 0, offset = 0;
  int ordering = 0;
  unsigned dimensions = 1;

  bool quasi() const { return type >= kFirstQuasi && type <= kLastQuasi; }
};

bool usable(const Generator* generator) { return generator != nullptr && generator->magic == Generator::kMagic; }

bool known_type(int type) {
  for (const int pseudo : kPseudoTypes)
    if (type == pseudo) return true;
  return type >= kFirstQuasi && type <= kLastQuasi;
}

int make(Generator** generator, int type, bool on_host) {
  if (generator == nullptr) return kOutOfRange;
  if (!known_type(type)) return kTypeError;
  *generator = new (std::nothrow) Generator;
  if (*generator == nullptr) return kRandomAllocationFailed;
  (*generator)->type = type;
  (*generator)->on_host = on_host;
  return kRandomSuccess;
}

// A host generator fills host memory: zeros, as unknown device memory reads.
template <typename T>
int generate(const char* api, Generator* generator, T* output, size_t count, DataType type, size_t multiple = 1) {
  if (!usable(generator)) return kRandomNotInitialized;
  if (count % multiple != 0 || (generator->quasi() && count % generator->dimensions != 0)) return kLengthNotMultiple;
  if (count == 0) return kRandomSuccess;
  if (output == nullptr) return kOutOfRange;
  if (generator->on_host) {
    std::memset(output, 0, count * sizeof(T));
    return kRandomSuccess;
  }
  OperationRecord record(Family::kRandom, api);
  record.set(Key::kDataType, static_cast<int64_t>(type))
      .set(Key::kElements, count)
      .set(Key::kWrittenBytes, count * sizeof(T));
  shim::WriteList writes;
  writes.add(output, count * sizeof(T));
  const CUresult result = shim::record(generator->stream, record, writes);
  return result == CUDA_SUCCESS                 ? kRandomSuccess
         : result == CUDA_ERROR_NOT_INITIALIZED ? kRandomNotInitialized
                                                : kLaunchFailure;
}

}  // namespace

MAYA_API int curandCreateGenerator(Generator** generator, int type) { return make(generator, type, false); }
MAYA_API int curandCreateGeneratorHost(Generator** generator, int type) { return make(generator, type, true); }

MAYA_API int curandDestroyGenerator(Generator* generator) {
  if (!usable(generator)) return kRandomNotInitialized;
  generator->magic = 0;
  delete generator;
  return kRandomSuccess;
}

MAYA_API int curandGetVersion(int* version) {
  if (version == nullptr) return kOutOfRange;
  *version = kVersion.number();
  return kRandomSuccess;
}

MAYA_API int curandGetProperty(int type, int* value) {
  return get_property(kVersion, type, value) == kSuccess ? kRandomSuccess : kOutOfRange;
}

MAYA_API int curandSetStream(Generator* generator, CUstream stream) {
  if (!usable(generator)) return kRandomNotInitialized;
  generator->stream = stream;
  return kRandomSuccess;
}

MAYA_API int curandSetPseudoRandomGeneratorSeed(Generator* generator, unsigned long long seed) {
  if (!usable(generator)) return kRandomNotInitialized;
  if (generator->quasi()) return kTypeError;
  generator->seed = seed;
  return kRandomSuccess;
}

MAYA_API int curandSetGeneratorOffset(Generator* generator, unsigned long long offset) {
  if (!usable(generator)) return kRandomNotInitialized;
  generator->offset = offset;
  return kRandomSuccess;
}

MAYA_API int curandSetGeneratorOrdering(Generator* generator, int ordering) {
  constexpr int kFirstPseudo = 100, kLastPseudo = 104, kQuasiDefault = 201;
  if (!usable(generator)) return kRandomNotInitialized;
  const bool fits =
      generator->quasi() ? ordering == kQuasiDefault : ordering >= kFirstPseudo && ordering <= kLastPseudo;
  if (!fits) return kOutOfRange;
  generator->ordering = ordering;
  return kRandomSuccess;
}

MAYA_API int curandSetQuasiRandomGeneratorDimensions(Generator* generator, unsigned dimensions) {
  if (!usable(generator)) return kRandomNotInitialized;
  if (!generator->quasi()) return kTypeError;
  if (dimensions < 1 || dimensions > kMaximumDimensions) return kOutOfRange;
  generator->dimensions = dimensions;
  return kRandomSuccess;
}

MAYA_API int curandGenerateSeeds(Generator* generator) {
  return usable(generator) ? kRandomSuccess : kRandomNotInitialized;
}

MAYA_API int curandGenerate(Generator* generator, unsigned* output, size_t count) {
  return generate("curandGenerate", generator, output, count, DataType::kInt32);
}

MAYA_API int curandGenerateLongLong(Generator* generator, unsigned long long* output, size_t count) {
  return generate("curandGenerateLongLong", generator, output, count, DataType::kInt64);
}

MAYA_API int curandGenerateUniform(Generator* generator, float* output, size_t count) {
  return generate("curandGenerateUniform", generator, output, count, DataType::kFloat32);
}

MAYA_API int curandGenerateUniformDouble(Generator* generator, double* output, size_t count) {
  return generate("curandGenerateUniformDouble", generator, output, count, DataType::kFloat64);
}

// Normal values of a pseudo-random generator come in pairs: the count must be even.
MAYA_API int curandGenerateNormal(Generator* generator, float* output, size_t count, float, float) {
  return generate("curandGenerateNormal", generator, output, count, DataType::kFloat32,
                  usable(generator) && generator->quasi() ? 1 : 2);
}

MAYA_API int curandGenerateNormalDouble(Generator* generator, double* output, size_t count, double, double) {
  return generate("curandGenerateNormalDouble", generator, output, count, DataType::kFloat64,
                  usable(generator) && generator->quasi() ? 1 : 2);
}

MAYA_API int curandGenerateLogNormal(Generator* generator, float* output, size_t count, float, float) {
  return generate("curandGenerateLogNormal", generator, output, count, DataType::kFloat32,
                  usable(generator) && generator->quasi() ? 1 : 2);
}

MAYA_API int curandGenerateLogNormalDouble(Generator* generator, double* output, size_t count, double, double) {
  return generate("curandGenerateLogNormalDouble", generator, output, count, DataType::kFloat64,
                  usable(generator) && generator->quasi() ? 1 : 2);
}

MAYA_API int curandGeneratePoisson(Generator* generator, unsigned* output, size_t count, double lambda) {
  if (usable(generator) && lambda <= 0) return kOutOfRange;
  return generate("curandGeneratePoisson", generator, output, count, DataType::kInt32);
}
