#include "driver_shim/cudnn/convolution_algorithm.h"

#include <algorithm>
#include <cmath>

#include "driver_shim/cudnn/types.h"

namespace maya::cudnn {
namespace {

constexpr double kMostElements = 1ull << 52;  // beyond it sizes are garbage
constexpr int64_t kFourierTile = 32;
constexpr double kComplexBytes = 8;          // of two 32-bit floats
constexpr int64_t kMostFourierPixels = 256;  // of a padded image in each direction: documented for the FFT algorithms
constexpr int64_t kWinogradOutput = 4, kWinogradWindow = 3, kWinogradTile = kWinogradOutput + kWinogradWindow - 1;

// In floating point: sizes come from programs and may be anything; supports() refuses what would not fit.
double product(const int64_t (&sizes)[ConvolutionShape::kMaxSpatial]) {
  return static_cast<double>(sizes[0]) * static_cast<double>(sizes[1]) * static_cast<double>(sizes[2]);
}
double rounded_up(int64_t a, int64_t b) { return static_cast<double>((a + b - 1) / b); }
double power_of_two(int64_t size) {
  double power = 1;
  while (power < static_cast<double>(size)) power *= 2;
  return power;
}

bool all_one(const int64_t (&sizes)[ConvolutionShape::kMaxSpatial]) {
  return sizes[0] == 1 && sizes[1] == 1 && sizes[2] == 1;
}

bool is_float(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16;
}

double per_group(const ConvolutionShape& shape) { return static_cast<double>(shape.channels / shape.groups); }
double images(const ConvolutionShape& shape) {
  return static_cast<double>(shape.batch) * static_cast<double>(shape.channels + shape.filters);
}
double filter_maps(const ConvolutionShape& shape) { return per_group(shape) * static_cast<double>(shape.filters); }

// Complex numbers of the transformed images, filters and results.
struct Spectrum {
  double points = 0;  // of one transformed tile, half of them by symmetry
  double tiles = 1;   // of one image
  double values(const ConvolutionShape& shape) const { return points * (tiles * images(shape) + filter_maps(shape)); }
};

Spectrum spectrum_of(const ConvolutionShape& shape, ConvolutionMethod method) {
  Spectrum spectrum;
  if (method == ConvolutionMethod::kFourier) {
    const double rows = power_of_two(shape.input[0] + 2 * shape.pads[0] + shape.window[0] - 1);
    const double columns = power_of_two(shape.input[1] + 2 * shape.pads[1] + shape.window[1] - 1);
    spectrum.points = rows * (columns / 2 + 1);
  } else {
    spectrum.points = kFourierTile * (kFourierTile / 2 + 1);
    for (int i = 0; i < 2; ++i) spectrum.tiles *= rounded_up(shape.output[i], kFourierTile - shape.window[i] + 1);
  }
  return spectrum;
}

// Elements of the transformed images, filters and results of F(4x4, 3x3): 6 x 6 a tile of 4 x 4 results.
double winograd_elements(const ConvolutionShape& shape) {
  const double tiles = rounded_up(shape.output[0], kWinogradOutput) * rounded_up(shape.output[1], kWinogradOutput);
  return kWinogradTile * kWinogradTile * (tiles * images(shape) + filter_maps(shape));
}

double column_elements(const ConvolutionShape& shape) {
  return static_cast<double>(shape.channels) * product(shape.window) * product(shape.output);
}

double element_bytes(const ConvolutionShape& shape) { return storage_bits(shape.type) / 8.0; }

double scratch_bytes(const ConvolutionShape& shape, ConvolutionMethod method) {
  switch (method) {
    case ConvolutionMethod::kImplicitProduct: {
      double elements = 0, sums = 0;
      const bool half = storage_bits(shape.type) == 16;
      const bool data = shape.direction == ConvolutionDirection::kBackwardData;
      if (shape.channels_first && shape.on_tensor_cores() && shape.groups == 1) {
        // TF32 kernels write channels side by side themselves.
        const bool all = shape.type != CUDNN_DATA_FLOAT;
        elements = shape.filter_elements();
        if (all || !data) elements += shape.image_elements();
        if (all || data) elements += shape.result_elements();
      }
      if (shape.direction == ConvolutionDirection::kBackwardFilter && half)
        sums = shape.filter_elements() * sizeof(float);
      return elements * element_bytes(shape) + sums;
    }
    case ConvolutionMethod::kExplicitProduct:
      return column_elements(shape) * element_bytes(shape);
    case ConvolutionMethod::kFourier:
    case ConvolutionMethod::kFourierTiles:
      return spectrum_of(shape, method).values(shape) * kComplexBytes;
    case ConvolutionMethod::kWinogradTiles:
      return winograd_elements(shape) * sizeof(float);
    default:
      return 0;
  }
}

// The method that the learned tables stand for: without tensor cores, 3 x 3 filters are Winograd's.
ConvolutionMethod fastest(const ConvolutionShape& shape) {
  const bool transformed =
      !shape.on_tensor_cores() && supports(shape, ConvolutionMethod::kWinogradTiles, /*compute_capability_major=*/8);
  return transformed ? ConvolutionMethod::kWinogradTiles : ConvolutionMethod::kImplicitProduct;
}

Implementation implementation_of(ConvolutionMethod method) {
  switch (method) {
    case ConvolutionMethod::kImplicitProduct:
    case ConvolutionMethod::kDirectProduct:
    case ConvolutionMethod::kAtomicProduct:
      return Implementation::kDirectProduct;
    case ConvolutionMethod::kExplicitProduct:
      return Implementation::kExplicitProduct;
    case ConvolutionMethod::kFourier:
    case ConvolutionMethod::kFourierTiles:
      return Implementation::kFourierTransform;
    case ConvolutionMethod::kWinograd:
    case ConvolutionMethod::kWinogradTiles:
      return Implementation::kWinogradTransform;
  }
  return Implementation::kBest;
}

double method_flops(const ConvolutionShape& shape, ConvolutionMethod method) {
  switch (method) {
    case ConvolutionMethod::kFourier:
    case ConvolutionMethod::kFourierTiles: {
      const Spectrum spectrum = spectrum_of(shape, method);
      // 5 n log2(n) operations a complex transform of n points (Cooley and Tukey), half of them for real numbers; a
      // complex multiply-add is 8 operations.
      const double transforms = 2.5 * spectrum.values(shape) * std::log2(2 * spectrum.points);
      const double products =
          8 * spectrum.points * spectrum.tiles * static_cast<double>(shape.batch) * filter_maps(shape);
      return transforms + products;
    }
    case ConvolutionMethod::kWinogradTiles:
      // 36 multiplications instead of 144 (Lavin and Gray, 2015).
      return shape.flops() / 4;
    case ConvolutionMethod::kWinograd:
      // F(2x2, 3x3): 16 instead of 36.
      return shape.flops() * 16 / 36;
    default:
      return shape.flops();
  }
}

}  // namespace

double ConvolutionShape::image_elements() const {
  return static_cast<double>(batch) * static_cast<double>(channels) * product(input);
}
double ConvolutionShape::filter_elements() const { return filter_maps(*this) * product(window); }
double ConvolutionShape::result_elements() const {
  return static_cast<double>(batch) * static_cast<double>(filters) * product(output);
}

double ConvolutionShape::flops() const { return 2 * result_elements() * per_group(*this) * product(window); }

bool ConvolutionShape::is_sane() const {
  return std::max({image_elements(), filter_elements(), result_elements(), flops() / 1024}) < kMostElements;
}

bool ConvolutionShape::on_tensor_cores() const {
  if (type == CUDNN_DATA_FLOAT) return tensor_cores_allowed && compute_type == CUDNN_DATA_FLOAT;
  return type != CUDNN_DATA_DOUBLE;
}

namespace {

bool applies(const ConvolutionShape& shape, ConvolutionMethod method, int compute_capability_major) {
  const bool unit_steps = all_one(shape.strides) && all_one(shape.dilations);
  const bool image = shape.rank == 2 && shape.groups == 1 && is_float(shape.type);
  constexpr int kHopper = 9;
  switch (method) {
    case ConvolutionMethod::kImplicitProduct:
    case ConvolutionMethod::kDirectProduct:
      return true;
    case ConvolutionMethod::kAtomicProduct:
      return shape.direction != ConvolutionDirection::kForward;
    case ConvolutionMethod::kExplicitProduct:
      return shape.direction == ConvolutionDirection::kForward && shape.rank == 2 && shape.groups == 1;
    case ConvolutionMethod::kFourier:
      // "The window's padding is smaller than the window, and the padded image at most 256 in each direction."
      for (int i = 0; i < 2; ++i)
        if (shape.input[i] + 2 * shape.pads[i] > kMostFourierPixels || shape.pads[i] >= shape.window[i]) return false;
      return image && unit_steps && shape.channels_first;
    case ConvolutionMethod::kFourierTiles:
      for (int i = 0; i < 2; ++i)
        if (shape.window[i] > kFourierTile || shape.pads[i] >= shape.window[i]) return false;
      return image && unit_steps && shape.channels_first;
    case ConvolutionMethod::kWinograd:
      return image && unit_steps && shape.window[0] == kWinogradWindow && shape.window[1] == kWinogradWindow &&
             shape.direction != ConvolutionDirection::kBackwardFilter && compute_capability_major < kHopper;
    case ConvolutionMethod::kWinogradTiles:
      return image && unit_steps && shape.window[0] == kWinogradWindow && shape.window[1] == kWinogradWindow;
  }
  return false;
}

}  // namespace

bool supports(const ConvolutionShape& shape, ConvolutionMethod method, int compute_capability_major) {
  return applies(shape, method, compute_capability_major) && scratch_bytes(shape, method) < kMostElements;
}

bool is_deterministic(ConvolutionMethod method) { return method != ConvolutionMethod::kAtomicProduct; }

uint64_t workspace_bytes(const ConvolutionShape& shape, ConvolutionMethod method) {
  return static_cast<uint64_t>(scratch_bytes(shape, method));
}

int64_t scratch_traffic_bytes(const ConvolutionShape& shape, ConvolutionMethod method) {
  if (method == fastest(shape)) return 0;
  const double images = method == ConvolutionMethod::kExplicitProduct ? static_cast<double>(shape.batch) : 1;
  return static_cast<int64_t>(std::min(scratch_bytes(shape, method) * images, kMostElements));
}

OperationRecord convolution_record(const ConvolutionShape& shape, ConvolutionMethod method, const char* api) {
  const auto fold = [&](const int64_t(&sizes)[ConvolutionShape::kMaxSpatial]) {
    double outer = 1;
    for (int i = 0; i + 1 < shape.rank; ++i) outer *= static_cast<double>(sizes[i]);
    return static_cast<int64_t>(outer);
  };
  const auto last = [&](const int64_t(&sizes)[ConvolutionShape::kMaxSpatial]) { return sizes[shape.rank - 1]; };
  const bool pixels = shape.channels > 1 && product(shape.input) > 1;
  OperationRecord record(Family::kConvolution, api);
  record.set(Key::kBatch, shape.batch)
      .set(Key::kChannels, shape.channels)
      .set(Key::kHeight, fold(shape.input))
      .set(Key::kWidth, last(shape.input))
      .set(Key::kFilters, shape.filters)
      .set(Key::kFilterHeight, fold(shape.window))
      .set(Key::kFilterWidth, last(shape.window))
      .set(Key::kStride, shape.strides[0])
      .set(Key::kPad, shape.pads[0])
      .set(Key::kDilation, shape.dilations[0])
      .set(Key::kConvGroups, shape.groups)
      .set(Key::kConvDirection, static_cast<int64_t>(shape.direction))
      .set(Key::kChannelsFirst, shape.channels_first && pixels ? 1 : 0)
      .set(Key::kDataType, static_cast<int64_t>(data_type(shape.type)));
  const bool tensor_cores = shape.on_tensor_cores();
  if (!tensor_cores) record.set(Key::kComputeType, static_cast<int64_t>(data_type(shape.type)));
  const bool forward = shape.direction == ConvolutionDirection::kForward,
             data = shape.direction == ConvolutionDirection::kBackwardData;
  const double element = element_bytes(shape);
  const double image = shape.image_elements() * element, filter = shape.filter_elements() * element,
               result = shape.result_elements() * element;
  double read = (forward ? image : result) + (forward || data ? filter : image);
  double written = forward ? result : data ? image : filter;
  // What Winograd saves is in the estimate of the fastest method already.
  double flops = shape.flops();
  if (method != fastest(shape)) {
    record.set(Key::kImplementation, static_cast<int64_t>(implementation_of(method)));
    const auto scratch = static_cast<double>(scratch_traffic_bytes(shape, method));
    read += scratch, written += scratch, flops = method_flops(shape, method);
  }
  record.set(Key::kFlops, static_cast<int64_t>(flops));
  return record.set(Key::kReadBytes, static_cast<int64_t>(read)).set(Key::kWrittenBytes, static_cast<int64_t>(written));
}

}  // namespace maya::cudnn
