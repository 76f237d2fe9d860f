// A convolution and the ways to compute it: which algorithms support it, the scratch memory that each asks for, and the
// work that each records. Shared by the operation API (cudnnConvolution*) and the engines of the backend API.
//
// cuDNN documents which algorithm supports what ("cudnnConvolutionFwdAlgo_t" and the two for the backward directions,
// cudnn_ops.h) but no sizes of workspaces: these follow from the method, as stated at workspace_bytes().
#pragma once

#include <cudnn.h>

#include <cstdint>

#include "predictor/core/operation.h"

namespace maya::cudnn {

enum class ConvolutionDirection : int64_t { kForward = 0, kBackwardData = 1, kBackwardFilter = 2 };  // kConvDirection

// Sizes of a convolution of 1 to 3 spatial dimensions, whatever its direction: `input` is the image (or its gradient),
// `output` the response (or its gradient).
struct ConvolutionShape {
  static constexpr int kMaxSpatial = 3;

  ConvolutionDirection direction = ConvolutionDirection::kForward;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;          // of the tensors
  cudnnDataType_t compute_type = CUDNN_DATA_FLOAT;  // of the sums
  bool tensor_cores_allowed = true;                 // for 32-bit floats: TF32
  bool channels_first = false;                      // pixels of a channel lie side by side
  int rank = 0;
  int64_t batch = 1, channels = 1, filters = 1, groups = 1;
  int64_t input[kMaxSpatial] = {1, 1, 1}, window[kMaxSpatial] = {1, 1, 1}, output[kMaxSpatial] = {1, 1, 1};
  int64_t pads[kMaxSpatial] = {}, strides[kMaxSpatial] = {1, 1, 1}, dilations[kMaxSpatial] = {1, 1, 1};

  double image_elements() const;
  double filter_elements() const;
  double result_elements() const;
  // Multiplications and additions of the direct method.
  double flops() const;
  // Nothing below overflows. Refuse other shapes.
  bool is_sane() const;
  // The types have a path through tensor cores.
  bool on_tensor_cores() const;
};

enum class ConvolutionMethod : uint8_t {
  kImplicitProduct,  // matrix product over tiles gathered on the fly, indices precomputed: tensor cores where allowed
  kDirectProduct,    // the same without precomputed indices, and without tensor cores
  kAtomicProduct,    // kDirectProduct whose partial sums are added by atomics: not deterministic
  kExplicitProduct,  // columns are written out for one image after the other, then multiplied
  kFourier,          // transform of whole images
  kFourierTiles,     // transforms of tiles of 32 x 32
  kWinograd,         // F(2x2, 3x3) in one kernel
  kWinogradTiles,    // F(4x4, 3x3) in three steps
};

bool supports(const ConvolutionShape& shape, ConvolutionMethod method, int compute_capability_major);
bool is_deterministic(ConvolutionMethod method);

// Scratch memory, bytes. Implicit products convert images of channels side by side into the layout that tensor cores
// want, and sum gradients of 16-bit filters up in 32 bits; explicit ones hold the columns of one image; transforms hold
// the transformed images, filters and results.
uint64_t workspace_bytes(const ConvolutionShape& shape, ConvolutionMethod method);

// What a method moves through its scratch memory beside the tensors, bytes in each of the two directions; 0 for the
// fastest method of the shape.
int64_t scratch_traffic_bytes(const ConvolutionShape& shape, ConvolutionMethod method);

// The operation with all that an estimate needs. The fastest method of a shape carries no kImplementation, so that
// learned tables apply; the others carry one, and their own arithmetic and traffic.
OperationRecord convolution_record(const ConvolutionShape& shape, ConvolutionMethod method, const char* api);

}  // namespace maya::cudnn
