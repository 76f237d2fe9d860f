// cuSPARSE: the handle, the matrix descriptor of the typed routines, and what all routines share. A handle is used by
// one thread at a time, as documented.
#pragma once

#include <library_types.h>

#include <cstdint>

#include "driver_shim/common/library_handle.h"
#include "driver_shim/common/recording.h"

namespace maya::cusparse {

using shim::kInvalidValue;
using shim::kNotInitialized;
using shim::kSuccess;
using shim::usable;
inline constexpr int kNotSupported = 10;  // CUSPARSE_STATUS_NOT_SUPPORTED

using Handle = shim::LibraryHandle<0x6d61796173707273>;

// cusparseMatDescr_t. General, lower, non-unit, zero: the documented defaults.
struct MatrixDescriptor {
  int type = 0, fill_mode = 0, diagonal = 0, index_base = 0;
};

inline bool valid_operation(int operation) { return operation >= 0 && operation <= 2; }

// What an operation does and moves, for one member of a batch.
struct Cost {
  double flops;  // of real numbers; complex ones are counted by run()
  double read_bytes, written_bytes;
  int64_t steps = 1;  // kernels that wait for each other
};

// Sizes for the trace: `nonzeros` stored elements; m, n, k as the operation has them, 0 where it has no such size.
struct Shape {
  cudaDataType type;
  int64_t m, n, k, nonzeros, batch = 1;
};

int run(const Handle* handle, Family family, const char* api, const Shape& shape, const Cost& cost,
        const shim::WriteList& writes);

// Kernels of a triangular solution: rows that wait for each other form levels, and how many there are is in the
// indices. Taken as for the five-point grid of so many points, 2 sqrt(n).
int64_t solution_steps(int64_t rows);

// Work memory of the products: cuSPARSE documents no formula. One index for each 512 stored elements, which is what a
// balanced partition of them takes, in units of 256 bytes.
size_t partition_bytes(int64_t nonzeros);

}  // namespace maya::cusparse
