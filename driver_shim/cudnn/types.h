// cuDNN's data types in terms of the trace's, and their sizes.
#pragma once

#include <cudnn.h>

#include <cstdint>

#include "predictor/core/operation.h"

namespace maya::cudnn {

DataType data_type(cudnnDataType_t type);
// Bits of one element in memory; 0 for no such type. The vectorised 8-bit types count one element of the vector.
uint32_t storage_bits(cudnnDataType_t type);
inline uint64_t storage_bytes(cudnnDataType_t type, uint64_t elements) {
  return (elements * storage_bits(type) + 7) / 8;
}

}  // namespace maya::cudnn
