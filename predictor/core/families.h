// The estimators, one file per family. Each takes the work and gives nanoseconds; estimate() applies the physical bound
// and the interval afterwards. All are pure functions. Internal to the estimate core.
#pragma once

#include "predictor/core/estimate.h"
#include "predictor/core/limits.h"

namespace maya::model {

// C[m,n] = A[m,k] B[k,n], `batch` times. Tiles, waves, split-K and memory traffic; see gemm.cc.
struct GemmShape {
  double m = 0, n = 0, k = 0, batch = 1;
  double bytes = 0;          // read and written, all batches
  double element_bytes = 2;  // of A and B
  DataType type = DataType::kBfloat16;
  bool tensor_cores = true;
};
double gemm_ns(const device::DeviceProfile& profile, const GemmShape& shape);
double gemm_family_ns(const device::DeviceProfile& profile, const Work& work);  // GEMM and grouped GEMM
double convolution_ns(const device::DeviceProfile& profile, const Work& work);  // as an implicit GEMM
double attention_ns(const device::DeviceProfile& profile, const Work& work);
// Seconds in which all multiprocessors start that many instructions of warps: each starts one in each of its four
// partitions in every cycle (CUDA C++ programming guide, throughput of native arithmetic instructions, 8.0 to 10.0), of
// which kernels reach a share, an engineering estimate.
double issue_seconds(const device::DeviceProfile& profile, double instructions);
// What a multiprocessor has to do at the same time is partly done one after the other: a norm of the times.
inline constexpr double kOverlap = 3;
// Time of memory-bound work in a row of such work over its time from memory alone: what the one before has left in the
// second-level cache is not fetched. 1 for what is much larger than the cache.
double cache_relief(const device::DeviceProfile& profile, const Work& work);
// Time of CUTLASS's memory-efficient attention over FlashAttention-2's, forward and backward alike.
double memory_efficient_slowdown(double head_dim);
double custom_ns(const device::DeviceProfile& profile, const Work& work);        // kernels with counted instructions
double memory_bound_ns(const device::DeviceProfile& profile, const Work& work);  // every other family

}  // namespace maya::model
