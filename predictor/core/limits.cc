#include "predictor/core/limits.h"

#include <algorithm>

namespace maya::model {

Generation generation_of(const device::DeviceProfile& profile) {
  if (profile.compute_major >= 10) return Generation::kBlackwell;
  if (profile.compute_major == 9) return Generation::kHopper;
  if (profile.compute_major == 8 && profile.compute_minor == 9) return Generation::kAda;
  return Generation::kAmpere;
}

double peak_of(const device::DeviceProfile& profile, DataType type, bool tensor_cores) {
  switch (type) {
    case DataType::kFloat64:
    case DataType::kComplex128:
      return tensor_cores && profile.peak_fp64_tensor > 0 ? profile.peak_fp64_tensor : profile.peak_fp64;
    case DataType::kTf32:
      return profile.peak_tf32;
    case DataType::kFloat16:
      return tensor_cores ? profile.peak_fp16 : profile.peak_fp32;
    case DataType::kBfloat16:
      return tensor_cores ? profile.peak_bf16 : profile.peak_fp32;
    case DataType::kFloat8E4m3:
    case DataType::kFloat8E5m2:
      if (!tensor_cores) return profile.peak_fp32;
      return profile.peak_fp8 > 0 ? profile.peak_fp8 : profile.peak_fp16;
    case DataType::kFloat4E2m1:
      if (!tensor_cores) return profile.peak_fp32;
      // Blackwell's 4-bit peak is twice its 8-bit peak (datasheet of HGX B200).
      return profile.peak_fp8 > 0 ? 2 * profile.peak_fp8 : profile.peak_fp16;
    case DataType::kInt8:
    case DataType::kUint8:
      if (!tensor_cores) return profile.peak_fp32;
      return profile.peak_int8 > 0 ? profile.peak_int8 : profile.peak_fp16;
    case DataType::kNone:
    case DataType::kFloat32:
    case DataType::kInt32:
    case DataType::kInt64:
    case DataType::kBool:
    case DataType::kComplex64:
    case DataType::kInt16:
      return profile.peak_fp32;
  }
  return profile.peak_fp32;
}

double roofline_ns(const device::DeviceProfile& profile, const Work& work) {
  double compute = work.flops / peak_of(profile, work.type, work.tensor_cores) * 1e9;
  // Winograd's F(4x4, 3x3) needs a quarter of the multiplications of a direct 3x3 convolution (Lavin and Gray, 2015);
  // cuDNN uses it for 32-bit floats. Other methods carry their own operation count.
  constexpr double kWinogradSaving = 4;
  if (work.family == Family::kConvolution && !work.tensor_cores && work.shape.get(Key::kFilterHeight) >= 3 &&
      work.shape.get(Key::kImplementation) == 0)
    compute /= kWinogradSaving;
  // What fits into the L2 cache may come from there.
  const bool cached = bytes_of(work) <= static_cast<double>(profile.l2_bytes);
  const double bandwidth = cached ? std::max(profile.l2_bandwidth, profile.memory_bandwidth) : profile.memory_bandwidth;
  double memory = bytes_of(work) / bandwidth * 1e9;
  const double waited = work.waited_cycles / profile.clock_khz * 1e6;
  return std::max({compute, memory, waited, profile.kernel_floor_ns});
}

}  // namespace maya::model
