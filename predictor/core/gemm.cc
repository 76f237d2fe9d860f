// Dense matrix products. The model follows what a GEMM kernel does: it cuts C into tiles, one block each, and deals the
// blocks out to the multiprocessors in waves; each tile costs its multiply-adds at the tile's share of peak plus a
// prologue worth some elements of k; large k over few tiles is split; traffic to L2 and to memory bounds the whole. The
// library picks the tile and the split, so the model takes the fastest. Its constants, one set per generation, were
// fitted to the bf16 tables of public GEMM measurements (aiconfigurator, CUDA-graph replays): median error 4.3 % on
// H100, 5.0 % on H200, 5.3 % on A100, 7.4 % on L40S, 5.7 % on B200.
#include <algorithm>
#include <cmath>
#include <limits>

#include "predictor/core/families.h"

namespace maya::model {
namespace {

constexpr int kTileClasses = 5;

struct Constants {
  double tile_efficiency[kTileClasses];  // share of peak inside the main loop, by tile class
  double prologue_k;                     // prologue and epilogue of a tile, in elements of k
  double floor_ns;                       // fixed cost of the kernel
  double memory_efficiency;              // share of memory bandwidth that streaming operands reach
  double l2_efficiency;                  // of the profile's L2 bandwidth
  double overlap_power;                  // how sharply the larger of compute and memory time wins
  double wave_quantisation;              // 1: a part wave costs a whole one; 0: work spreads evenly
  double split_ns;                       // second pass of a split over k
  // Above 1e11 operations the clock falls at the power limit: efficiency lost for each power of ten.
  double power_slope;
  // Ceiling of the share of peak over seconds at the power limit; bursts go above it. From the H200 and B200 tables
  // measured at the power limit, from the tables' long-running shapes elsewhere.
  double sustained_fraction;
};

constexpr Constants kConstants[kGenerations] = {
    // Ampere
    {{0.876, 0.855, 0.703, 0.602, 0.226}, 160, 2684, 0.768, 0.72, 3.0, 0.785, 1909, 0.042, 0.82},
    // Ada
    {{0.612, 0.612, 0.601, 0.601, 0.444}, 66, 1683, 0.785, 1.47, 3.6, 0.085, 1203, 0.073, 0.62},
    // Hopper
    {{0.925, 0.925, 0.830, 0.798, 0.242}, 100, 2555, 0.833, 1.66, 5.7, 0.111, 2734, 0.115, 0.73},
    // Blackwell
    {{0.946, 0.946, 0.686, 0.464, 0.199}, 21, 2073, 0.828, 1.78, 3.2, 0.412, 3698, 0.042, 0.66},
};

struct Tile {
  int m, n, tile_class;
};
constexpr Tile kTiles[] = {{256, 128, 0}, {128, 256, 0}, {192, 128, 0}, {128, 192, 0}, {128, 128, 1}, {64, 256, 1},
                           {256, 64, 1},  {128, 64, 2},  {64, 128, 2},  {64, 64, 3},   {64, 32, 4},   {32, 64, 4}};
struct Split {
  double parts, share;
};
constexpr Split kSplits[] = {{1, 1}, {2, 1.0 / 2}, {4, 1.0 / 4}, {8, 1.0 / 8}, {16, 1.0 / 16}};
constexpr double kLeastSplitDepth_k = 128;

// Kernels on the ordinary units (32-bit floats without TF32) lose less with small tiles than tensor-core kernels do.
// Fitted to the fp32 tables of NeuSight (A100 PCIe, H100).
constexpr double kOrdinaryTileEfficiency[kTileClasses] = {0.88, 0.88, 0.82, 0.72, 0.52};
constexpr double kOrdinaryPrologue_k = 32;
constexpr double kOrdinarySustainedFraction = 0.84;

// std::ceil without a call into the mathematics library: this is the hot path of live estimates.
double round_up(double value) {
  constexpr double kAllWholeAbove = 4503599627370496.0;  // 2^52
  if (value >= kAllWholeAbove) return value;
  const auto below = static_cast<double>(static_cast<int64_t>(value));
  return below < value ? below + 1 : below;
}

// Main-loop efficiency of other types relative to 16-bit floats.
double type_factor(DataType type, bool tensor_cores) {
  if (!tensor_cores) return 1.0;
  switch (type) {
    case DataType::kFloat8E4m3:
    case DataType::kFloat8E5m2:
    case DataType::kInt8:
      return 0.80;
    default:
      return 1.0;
  }
}

}  // namespace

double gemm_ns(const device::DeviceProfile& profile, const GemmShape& shape) {
  const Constants& c = kConstants[static_cast<int>(generation_of(profile))];
  const double peak = peak_of(profile, shape.type, shape.tensor_cores);
  const double multiprocessors = profile.multiprocessors;
  const double l2_bytes_per_ns = profile.l2_bandwidth * c.l2_efficiency * 1e-9;
  const double flops = 2 * shape.m * shape.n * shape.k * shape.batch;
  const double power = flops > 1e11 ? std::min(std::log10(flops * 1e-11), 2.0) : 0;
  const double efficiency = type_factor(shape.type, shape.tensor_cores) * (1 - c.power_slope * power);
  const double peak_per_multiprocessor_ns = peak / multiprocessors * efficiency * 1e-9;

  const double* tile_efficiency = shape.tensor_cores ? c.tile_efficiency : kOrdinaryTileEfficiency;
  const double prologue_k = shape.tensor_cores ? c.prologue_k : kOrdinaryPrologue_k;

  const double compute_scale = 2 / peak_per_multiprocessor_ns;
  const double traffic_scale = shape.element_bytes / l2_bytes_per_ns;
  // Partial sums are written and read back as 32-bit floats.
  const double partial_ns = shape.m * shape.n * shape.batch * 8 / l2_bytes_per_ns;
  const double per_multiprocessor = 1 / multiprocessors;

  double best = std::numeric_limits<double>::max();
  for (const Tile& tile : kTiles) {
    const double tiles = round_up(shape.m / tile.m) * round_up(shape.n / tile.n) * shape.batch;
    const double tile_compute = compute_scale * tile.m * tile.n / tile_efficiency[tile.tile_class];
    const double tile_traffic = traffic_scale * (tile.m + tile.n);
    for (const Split& split : kSplits) {
      const double depth = shape.k * split.share;
      if (split.parts > 1 && depth < kLeastSplitDepth_k) break;
      const double units = tiles * split.parts;
      const double even = units * per_multiprocessor;
      const double waves = c.wave_quantisation * round_up(even) + (1 - c.wave_quantisation) * std::max(1.0, even);
      double time = std::max(waves * tile_compute, units * tile_traffic) * (depth + prologue_k);
      if (split.parts > 1) time += c.split_ns + split.parts * partial_ns;
      best = std::min(best, time);
      if (even >= 1) break;  // the device is full: splitting further only adds the second pass
    }
  }
  const double ceiling = shape.tensor_cores ? c.sustained_fraction : kOrdinarySustainedFraction;
  best = std::max(best, flops / (peak * ceiling * type_factor(shape.type, shape.tensor_cores)) * 1e9);
  const double memory = shape.bytes / (profile.memory_bandwidth * c.memory_efficiency) * 1e9;
  const double larger = std::max(best, memory), smaller = std::min(best, memory);
  if (larger <= 0) return c.floor_ns;
  return c.floor_ns + larger * std::pow(1 + std::pow(smaller / larger, c.overlap_power), 1 / c.overlap_power);
}

double gemm_family_ns(const device::DeviceProfile& profile, const Work& work) {
  const OperationRecord& shape = work.shape;
  GemmShape gemm;
  gemm.m = static_cast<double>(shape.get(Key::kM));
  gemm.n = static_cast<double>(shape.get(Key::kN));
  gemm.k = static_cast<double>(shape.get(Key::kK));
  // The pixels of a convolution hold its batch already.
  const int64_t batch = work.family == Family::kConvolution ? 1 : shape.get(Key::kBatch);
  gemm.batch = static_cast<double>(std::max<int64_t>({batch, shape.get(Key::kGroups), 1}));
  gemm.bytes = bytes_of(work);
  gemm.element_bytes = data_type_bits(work.type) / 8.0;
  gemm.type = work.type;
  gemm.tensor_cores = work.tensor_cores;
  return gemm_ns(profile, gemm);
}

double convolution_ns(const device::DeviceProfile& profile, const Work& work) {
  // Implicit GEMM: m = pixels of the output, n = filters, k = what one output value sums over. work_of() leaves them in
  // the shape. Gathering the input tile by tile costs over a plain GEMM: about a quarter on Ampere, more where the GEMM
  // is quicker. From the published ResNet-50 steps that bench/accuracy/steps reproduces.
  const double gather_factor = generation_of(profile) >= Generation::kHopper ? 1.6 : 1.25;
  return gather_factor * gemm_family_ns(profile, work);
}

}  // namespace maya::model
