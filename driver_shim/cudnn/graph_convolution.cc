// The convolution of an operation graph as a shape.
#include <algorithm>

#include "driver_shim/cudnn/graph_operation.h"

namespace maya::cudnn {

ConvolutionAttributes convolution_attributes(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC};
    default:
      return {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC};
  }
}

bool is_convolution(cudnnBackendDescriptorType_t type) {
  return type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
}

// Image [N, G C, spatial...], filter [G K, C, spatial...], response [N, G K, spatial...]; with one dimension more,
// groups stand between samples or filters and maps.
bool convolution_of(const BackendNode& operation, ConvolutionShape* shape) {
  const ConvolutionAttributes names = convolution_attributes(operation.type);
  const GraphTensor image = tensor_of(*operation.child(names.image)),
                    filter = tensor_of(*operation.child(names.filter)),
                    result = tensor_of(*operation.child(names.result));
  const BackendNodePtr convolution = operation.child(names.description);
  const auto rank = static_cast<size_t>(convolution->integer(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
  const bool grouped = image.dimensions.size() == rank + 3;
  *shape = {};
  shape->direction = operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
                         ? ConvolutionDirection::kForward
                     : operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
                         ? ConvolutionDirection::kBackwardData
                         : ConvolutionDirection::kBackwardFilter;
  shape->type = image.type;
  shape->compute_type = static_cast<cudnnDataType_t>(convolution->enumerator(CUDNN_ATTR_CONVOLUTION_COMP_TYPE));
  shape->rank = static_cast<int>(rank);
  shape->batch = image.dimensions[0];
  if (grouped) {
    shape->groups = image.dimensions[1];
    if (shape->groups > INT32_MAX || image.dimensions[2] > INT32_MAX || filter.dimensions[1] > INT32_MAX) return false;
    shape->channels = shape->groups * image.dimensions[2];
    shape->filters = shape->groups * filter.dimensions[1];
  } else {
    shape->channels = image.dimensions[1];
    shape->filters = filter.dimensions[0];
    shape->groups = std::max<int64_t>(1, shape->channels / filter.dimensions[1]);
  }
  const size_t maps = grouped ? 3 : 2;
  const std::vector<int64_t> strides = convolution->integers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
                             dilations = convolution->integers(CUDNN_ATTR_CONVOLUTION_DILATIONS),
                             pads = convolution->integers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  for (size_t i = 0; i < rank; ++i) {
    shape->input[i] = image.dimensions[i + maps], shape->output[i] = result.dimensions[i + maps];
    shape->window[i] = filter.dimensions[i + maps];
    shape->pads[i] = std::max<int64_t>(pads[i], 0);
    shape->strides[i] = strides[i], shape->dilations[i] = dilations[i];
  }
  // Channels side by side have stride 1; neighbours in memory are pixels otherwise.
  shape->channels_first = image.strides[maps - 1] != 1;
  return shape->is_sane();
}

bool convolution_in(const BackendNode& graph, ConvolutionShape* shape) {
  const BackendAttribute* operations = graph.find(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  if (operations == nullptr) return false;
  for (const BackendNodePtr& operation : operations->children)
    if (is_convolution(operation->type)) return convolution_of(*operation, shape);
  return false;
}

}  // namespace maya::cudnn
