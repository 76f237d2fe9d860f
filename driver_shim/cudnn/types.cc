#include "driver_shim/cudnn/types.h"

namespace maya::cudnn {

DataType data_type(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_FAST_FLOAT_FOR_FP8:
      return DataType::kFloat32;
    case CUDNN_DATA_DOUBLE:
      return DataType::kFloat64;
    case CUDNN_DATA_HALF:
      return DataType::kFloat16;
    case CUDNN_DATA_BFLOAT16:
      return DataType::kBfloat16;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_INT8x4:
    case CUDNN_DATA_INT8x32:
      return DataType::kInt8;
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_UINT8x4:
    case CUDNN_DATA_FP8_E8M0:
      return DataType::kUint8;
    case CUDNN_DATA_INT32:
      return DataType::kInt32;
    case CUDNN_DATA_INT64:
      return DataType::kInt64;
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_BYTE_BOOLEAN:
      return DataType::kBool;
    case CUDNN_DATA_FP8_E4M3:
      return DataType::kFloat8E4m3;
    case CUDNN_DATA_FP8_E5M2:
      return DataType::kFloat8E5m2;
    case CUDNN_DATA_FP4_E2M1:
      return DataType::kFloat4E2m1;
    case CUDNN_DATA_COMPLEX_FP32:
      return DataType::kComplex64;
    case CUDNN_DATA_COMPLEX_FP64:
      return DataType::kComplex128;
    default:
      return DataType::kNone;
  }
}

uint32_t storage_bits(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_BOOLEAN:
      return 1;
    case CUDNN_DATA_FP4_E2M1:
    case CUDNN_DATA_INT4:
    case CUDNN_DATA_UINT4:
      return 4;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_INT8x4:
    case CUDNN_DATA_UINT8x4:
    case CUDNN_DATA_INT8x32:
    case CUDNN_DATA_FP8_E4M3:
    case CUDNN_DATA_FP8_E5M2:
    case CUDNN_DATA_FP8_E8M0:
    case CUDNN_DATA_FP8_E5M3:
    case CUDNN_DATA_BYTE_BOOLEAN:
      return 8;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 16;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_FAST_FLOAT_FOR_FP8:
    case CUDNN_DATA_INT32:
    case CUDNN_DATA_UINT32:
      return 32;
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
    case CUDNN_DATA_COMPLEX_FP32:
      return 64;
    case CUDNN_DATA_COMPLEX_FP64:
      return 128;
  }
  return 0;
}

}  // namespace maya::cudnn
