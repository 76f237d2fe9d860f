// Plans of cuFFT: small numbers for the program, what a plan will do for us. Any thread may use any plan; one plan is
// used by one thread at a time, as cuFFT documents.
#pragma once

#include <cuda.h>
#include <library_types.h>

#include <cstddef>
#include <cstdint>

namespace maya::cufft {

// Values of cufftResult (cufft.h).
enum Result : int {
  kSuccess = 0,
  kInvalidPlan = 1,
  kAllocFailed = 2,
  kInvalidType = 3,
  kInvalidValue = 4,
  kInternalError = 5,
  kExecFailed = 6,
  kSetupFailed = 7,
  kInvalidSize = 8,
  kNotSupported = 16,
};

// Values of cufftType (cufft.h).
enum Type : int { kC2C = 0x29, kR2C = 0x2a, kC2R = 0x2c, kZ2Z = 0x69, kD2Z = 0x6a, kZ2D = 0x6c };

inline constexpr int kMaximumRank = 3;

// What is transformed, from where to where; sizes in elements. Strides are in force on both sides.
struct Transform {
  int rank = 0;
  int64_t sizes[kMaximumRank] = {};  // of the real or complex signal, slowest dimension first
  int64_t input_embed[kMaximumRank] = {}, output_embed[kMaximumRank] = {};  // storage dimensions; [0] is not used
  int64_t input_stride = 1, input_distance = 0;
  int64_t output_stride = 1, output_distance = 0;
  int64_t batch = 1;
  cudaDataType input_type = CUDA_C_32F, output_type = CUDA_C_32F, execution_type = CUDA_C_32F;
};

struct Plan {
  CUstream stream = nullptr;
  bool allocates_work_area = true;
  bool made = false;
  Transform transform;
  int type = 0;  // Type of the plan; 0 when no cufftType describes it (half precision)
  size_t work_bytes = 0;
  CUdeviceptr own_work_area = 0;  // charged to the workspaces
  void* work_area = nullptr;
};

// The number of a new plan. kAllocFailed, kInvalidValue for a null pointer.
int create(int* number);
// Removes it and gives back what it had. kInvalidPlan.
int destroy(int number);
// Null when there is no such plan. The plan stays where it is until it is destroyed.
Plan* find(int number);

// Completes a transform from a caller's arguments: `sizes` of `rank` dimensions, and the advanced layout, where a null
// embed means contiguous data. Integer: int or long long. kInvalidValue, kInvalidSize.
struct Layout {
  const long long* embed;
  long long stride, distance;
};
int complete(int rank, const long long* sizes, const Layout& input, const Layout& output, long long batch,
             Transform* transform);
// Types of a cufftType. kInvalidType.
int set_type(int type, Transform* transform);

// The plan is ready to run `transform`: its work area's bytes in *work_bytes (may be null), allocated when the plan
// does so. kInvalidPlan for no plan or one that was made before.
int make(int number, const Transform& transform, int type, size_t* work_bytes);

// Records the transform. `direction` -1 forward, 1 inverse.
int execute(const Plan& plan, const char* api, const void* input, void* output, int direction);

// Bytes of a plan's work area. cuFFT documents only a bound (eight times the signal, in complex elements); seen sizes
// are the signal once where all prime factors are small. Bluestein's method works on a padded signal.
size_t work_bytes(const Transform& transform);

// Stored elements from the first to the last one of all signals of the output.
int64_t output_span(const Transform& transform);

struct Cost {
  double flops;
  double passes;  // over all data, each a kernel
};
// 5 n log2 n operations for a complex signal of n points (the count that FFT benchmarks use), half of it where one side
// is real. One pass a dimension while its points fit into shared memory, one more each factor of 2^13 (2^12 in double
// precision). Prime factors above 127 take Bluestein's method: two transforms of the next power of two above 2 n.
Cost cost_of(const Transform& transform);

}  // namespace maya::cufft
