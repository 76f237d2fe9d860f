// A convolution of the operation API: descriptors checked and brought into one shape.
#pragma once

#include "driver_shim/cudnn/convolution_algorithm.h"
#include "driver_shim/cudnn/descriptors.h"
#include "driver_shim/cudnn/handle.h"

namespace maya::cudnn {

// As cudnnConvolutionForward and its siblings document: null descriptors and tensors that do not belong together are
// BAD_PARAM; negative strides and other than 4 or 5 dimensions are NOT_SUPPORTED.
cudnnStatus_t convolution_shape(ConvolutionDirection direction, const cudnnTensorStruct* image,
                                const cudnnFilterStruct* filter, const cudnnConvolutionStruct* convolution,
                                const cudnnTensorStruct* result, ConvolutionShape* shape);

// What an algorithm of cuDNN's enumerations is; false: it exists in name only ("not implemented").
bool method_of(cudnnConvolutionFwdAlgo_t algorithm, ConvolutionMethod* method);
bool method_of(cudnnConvolutionBwdDataAlgo_t algorithm, ConvolutionMethod* method);
bool method_of(cudnnConvolutionBwdFilterAlgo_t algorithm, ConvolutionMethod* method);

// The major compute capability of the current context's device; 0 when there is none.
int compute_capability_major();

}  // namespace maya::cudnn
