// Attributes of the operations that cuDNN 9.0 had. Requirements, types and counts are
// those that cudnn_graph.h states beside each descriptor type; where it states none, as cuDNN Frontend sets them.
#include "driver_shim/cudnn/backend_rules.h"

namespace maya::cudnn {
namespace {

constexpr AttributeRule kOperationConvolutionForwardRules[] = {
    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, kFloating, 1, kAnyNumber, kRequired},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, kFloating, 1, kAnyNumber, kRequired},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, kConvolution, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, kTensor, 1, 1, kRequired | kOutput},
};

constexpr AttributeRule kOperationConvolutionBackwardFilterRules[] = {
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, kFloating, 1, kAnyNumber, kRequired},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, kFloating, 1, kAnyNumber, kRequired},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, kConvolution, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, kTensor, 1, 1, kRequired | kOutput},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, kTensor, 1, 1, kRequired},
};

constexpr AttributeRule kOperationConvolutionBackwardDataRules[] = {
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, kFloating, 1, kAnyNumber, kRequired},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, kFloating, 1, kAnyNumber, kRequired},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, kConvolution, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, kTensor, 1, 1, kRequired | kOutput},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, kTensor, 1, 1, kRequired},
};

constexpr AttributeRule kOperationPointwiseRules[] = {
    {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kPointwise, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, kTensor, 1, 1, kOutput},
    {CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, kFloating, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, kFloating, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, kTensor, 1, 1, kOutput},
    {CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_POINTWISE_TDESC, kTensor, 1, 1, 0},
};

constexpr AttributeRule kOperationGenStatsRules[] = {
    {CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_GENSTATS_XDESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, kTensor, 1, 1, kRequired | kOutput},
    {CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, kTensor, 1, 1, kRequired | kOutput},
};

constexpr AttributeRule kOperationMatmulRules[] = {
    {CUDNN_ATTR_OPERATION_MATMUL_ADESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_MATMUL_BDESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_MATMUL_CDESC, kTensor, 1, 1, kRequired | kOutput},
    {CUDNN_ATTR_OPERATION_MATMUL_DESC, kMatmul, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_MATMUL_IRREGULARLY_STRIDED_BATCH_COUNT, CUDNN_TYPE_INT64, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, kTensor, 1, 1, 0},
};

constexpr AttributeRule kOperationBnFinalizeStatisticsRules[] = {
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_STATS_MODE, CUDNN_TYPE_BN_FINALIZE_STATS_MODE, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_Y_SUM_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_Y_SQ_SUM_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_SCALE_DESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_BIAS_DESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_PREV_RUNNING_MEAN_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_PREV_RUNNING_VAR_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_UPDATED_RUNNING_MEAN_DESC, kTensor, 1, 1, kOutput},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_UPDATED_RUNNING_VAR_DESC, kTensor, 1, 1, kOutput},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_MEAN_DESC, kTensor, 1, 1, kOutput},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_INV_STD_DESC, kTensor, 1, 1, kOutput},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_SCALE_DESC, kTensor, 1, 1, kRequired | kOutput},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_BIAS_DESC, kTensor, 1, 1, kRequired | kOutput},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_ACCUM_COUNT_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_EPSILON_DESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_EXP_AVERATE_FACTOR_DESC, kTensor, 1, 1, 0},
};

constexpr AttributeRule kOperationReductionRules[] = {
    {CUDNN_ATTR_OPERATION_REDUCTION_XDESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, kTensor, 1, 1, kRequired | kOutput},
    {CUDNN_ATTR_OPERATION_REDUCTION_DESC, kReduction, 1, 1, kRequired},
};

constexpr AttributeRule kOperationBnBwdWeightsRules[] = {
    {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MEAN_DESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_INVSTD_DESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_BN_SCALE_DESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DY_DESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC, kTensor, 1, 1, kOutput},
    {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC, kTensor, 1, 1, kOutput},
    {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC, kTensor, 1, 1, kOutput},
    {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC, kTensor, 1, 1, kOutput},
    {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS, kTensor, 1, 1, kOutput},
};

constexpr AttributeRule kOperationResampleFwdRules[] = {
    {CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, kTensor, 1, 1, kRequired | kOutput},
    {CUDNN_ATTR_OPERATION_RESAMPLE_FWD_IDXDESC, kTensor, 1, 1, kOutput},
    {CUDNN_ATTR_OPERATION_RESAMPLE_FWD_ALPHA, kFloating, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_RESAMPLE_FWD_BETA, kFloating, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, kResample, 1, 1, kRequired},
};

constexpr AttributeRule kOperationResampleBwdRules[] = {
    {CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC, kTensor, 1, 1, kRequired | kOutput},
    {CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_RESAMPLE_BWD_IDXDESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_RESAMPLE_BWD_ALPHA, kFloating, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_RESAMPLE_BWD_BETA, kFloating, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC, kResample, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_RESAMPLE_BWD_XDESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_RESAMPLE_BWD_YDESC, kTensor, 1, 1, 0},
};

constexpr AttributeRule kOperationConcatRules[] = {
    {CUDNN_ATTR_OPERATION_CONCAT_AXIS, CUDNN_TYPE_INT64, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_CONCAT_INPUT_DESCS, kTensor, 1, kAnyNumber, kRequired},
    {CUDNN_ATTR_OPERATION_CONCAT_INPLACE_INDEX, CUDNN_TYPE_INT64, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_CONCAT_OUTPUT_DESC, kTensor, 1, 1, kRequired | kOutput},
};

constexpr AttributeRule kOperationSignalRules[] = {
    {CUDNN_ATTR_OPERATION_SIGNAL_MODE, CUDNN_TYPE_SIGNAL_MODE, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_SIGNAL_FLAGDESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_SIGNAL_VALUE, CUDNN_TYPE_INT64, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_SIGNAL_XDESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_SIGNAL_YDESC, kTensor, 1, 1, kOutput},
};

constexpr AttributeRule kOperationNormForwardRules[] = {
    {CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC, kTensor, 1, 1, kOutput},
    {CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC, kTensor, 1, 1, kOutput},
    {CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, kTensor, 1, 1, kRequired | kOutput},
    {CUDNN_ATTR_OPERATION_NORM_FWD_PEER_STAT_DESCS, kTensor, 1, kAnyNumber, kOutput},
};

constexpr AttributeRule kOperationNormBackwardRules[] = {
    {CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_NORM_BWD_EPSILON_DESC, kTensor, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, kTensor, 1, 1, kOutput},
    {CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, kTensor, 1, 1, kOutput},
    {CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, kTensor, 1, 1, kRequired | kOutput},
    {CUDNN_ATTR_OPERATION_NORM_BWD_PEER_STAT_DESCS, kTensor, 1, kAnyNumber, kOutput},
};

constexpr AttributeRule kOperationReshapeRules[] = {
    {CUDNN_ATTR_OPERATION_RESHAPE_XDESC, kTensor, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, kTensor, 1, 1, kRequired | kOutput},
    {CUDNN_ATTR_OPERATION_RESHAPE_MODE, CUDNN_TYPE_RESHAPE_MODE, 1, 1, 0},
};

constexpr AttributeRule kOperationRngRules[] = {
    {CUDNN_ATTR_OPERATION_RNG_YDESC, kTensor, 1, 1, kRequired | kOutput},
    {CUDNN_ATTR_OPERATION_RNG_SEED, kSeed, 1, 1, 0},
    {CUDNN_ATTR_OPERATION_RNG_DESC, kRng, 1, 1, kRequired},
    {CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC, kTensor, 1, 1, 0},
};

constexpr DescriptorRules kDescriptors[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, kOperationConvolutionForwardRules},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, kOperationConvolutionBackwardFilterRules},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, kOperationConvolutionBackwardDataRules},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, kOperationPointwiseRules},
    {CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR, kOperationGenStatsRules},
    {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, kOperationMatmulRules},
    {CUDNN_BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR, kOperationBnFinalizeStatisticsRules},
    {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, kOperationReductionRules},
    {CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR, kOperationBnBwdWeightsRules},
    {CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR, kOperationResampleFwdRules},
    {CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR, kOperationResampleBwdRules},
    {CUDNN_BACKEND_OPERATION_CONCAT_DESCRIPTOR, kOperationConcatRules},
    {CUDNN_BACKEND_OPERATION_SIGNAL_DESCRIPTOR, kOperationSignalRules},
    {CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR, kOperationNormForwardRules},
    {CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR, kOperationNormBackwardRules},
    {CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, kOperationReshapeRules},
    {CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR, kOperationRngRules},
};

}  // namespace

const DescriptorRules* operation_rules(cudnnBackendDescriptorType_t type) { return find_rules(kDescriptors, type); }

}  // namespace maya::cudnn
