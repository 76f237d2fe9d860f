// cuSOLVER's dense routines: the handle, and how a routine comes to the driver. A handle is used by one thread at a
// time, as documented.
#pragma once

#include <cublas_v2.h>
#include <library_types.h>

#include <cstdint>
#include <type_traits>

#include "driver_shim/common/library_handle.h"
#include "driver_shim/common/recording.h"
#include "driver_shim/cublas/matrix_batch.h"
#include "driver_shim/cublas/types.h"

namespace maya::cusolver {

struct DenseHandle : shim::LibraryHandle<0x6d617961646e736f> {
  int deterministic_mode = 1;  // CUSOLVER_DETERMINISTIC_RESULTS, the documented default
  int math_mode = 1;           // CUSOLVER_DEFAULT_MATH
};

// Parameter objects: cusolverDnParams_t, syevjInfo_t, gesvdjInfo_t.
struct Parameters {};
struct JacobiInfo {
  double tolerance = 0;  // machine epsilon
  int maximum_sweeps = 100;
  int sorted = 1;
};

using shim::kInvalidValue;
using shim::kNotInitialized;
using shim::kSuccess;
using shim::usable;
inline constexpr int kNotSupported = 9;  // CUSOLVER_STATUS_NOT_SUPPORTED

// The type of singular values, eigenvalues and norms that belongs to T.
template <typename T>
using Real = std::conditional_t<std::is_same_v<T, double> || std::is_same_v<T, cuDoubleComplex>, double, float>;

inline bool valid_leading(int64_t leading, int64_t rows) { return leading >= 1 && leading >= rows; }
inline bool valid_fill(int uplo) { return uplo == CUBLAS_FILL_MODE_LOWER || uplo == CUBLAS_FILL_MODE_UPPER; }
inline bool valid_job(int job) { return job == 0 || job == 1; }  // cusolverEigMode_t

struct Routine {
  const char* api;
  Operator op;
  cudaDataType type;
  int64_t rows, columns, batch;
  double flops;   // real operations of one problem of real numbers
  int64_t steps;  // kernels that wait for each other
};

// Records the routine: `writes` become unknown, the `count` integers at `info` known zeros. Matrices are read and
// written once as far as Key::kReadBytes and Key::kWrittenBytes go.
int run(const DenseHandle* handle, const Routine& routine, const shim::WriteList& writes, const int* info,
        int64_t count);

// Adds matrices that are written; nothing for a null address.
void add(const void* address, cudaDataType type, int64_t rows, int64_t columns, int64_t leading,
         shim::WriteList* writes, int64_t stride = 0, int64_t batch = 1);

// A number of work elements or bytes as the *_bufferSize functions answer it: at least 1. kInvalidValue when it does
// not fit. cuSOLVER documents no formulas: sizes follow LAPACK's optimal ones with blocks of kBlock columns.
int answer(double elements, int* lwork);

inline constexpr int64_t kBlock = 32;

// Kernels of a blocked factorization: panel, row exchanges or triangular solution, and update for each block column.
inline int64_t factorization_steps(int64_t columns) { return 3 * ((columns + kBlock - 1) / kBlock); }
inline int64_t solution_steps(int64_t columns) { return 2 * ((columns + kBlock - 1) / kBlock); }

// Operation counts, real operations of real matrices: LAPACK Working Note 41 (appendix C), leading terms, unless said
// otherwise.
inline double cube(double n) { return n * n * n; }
inline double cholesky_flops(double n) { return cube(n) / 3; }
inline double lu_flops(double m, double n) { return m >= n ? m * n * n - cube(n) / 3 : n * m * m - cube(m) / 3; }
inline double qr_flops(double m, double n) {
  return m >= n ? 2 * m * n * n - 2 * cube(n) / 3 : 2 * n * m * m - 2 * cube(m) / 3;
}
inline double form_q_flops(double m, double n, double k) {
  return 4 * m * n * k - 2 * (m + n) * k * k + 4 * cube(k) / 3;
}
inline double apply_q_flops(double m, double n, double k, bool left) {
  return left ? 4 * n * m * k - 2 * n * k * k : 4 * n * m * k - 2 * m * k * k;
}
// Golub and Van Loan, Matrix Computations, chapter 8: symmetric QR 4/3 n^3 for values alone, 9 n^3 with vectors.
inline double symmetric_flops(double n, bool vectors) { return (vectors ? 9.0 : 4.0 / 3) * cube(n); }
// The same, chapter 7: 10 n^3 for the values of a general matrix, 25 n^3 with vectors.
inline double general_flops(double n, bool vectors) { return (vectors ? 25.0 : 10.0) * cube(n); }
// The same, section 8.6: values alone, with the leading columns of U and V, with all of U and V.
enum class Vectors { kNone, kThin, kFull };
double svd_flops(double m, double n, Vectors vectors);
// One-sided Jacobi: a sweep turns n (n - 1) / 2 pairs of columns, 12 m operations for each with its inner products, and
// 6 n for V. kSweeps sweeps, in the middle of the six to ten that such methods take (the same, section 8.5).
inline constexpr double kSweeps = 8;
double jacobi_svd_flops(double m, double n, bool vectors);
// Two-sided cyclic Jacobi, section 8.5: 4 n^3 a sweep, 2 n^3 more for the vectors.
inline double jacobi_flops(double n, bool vectors) { return kSweeps * (vectors ? 6 : 4) * cube(n); }
// Column by column: two matrix-vector products each. Jacobi: rounds of pairs that touch each other nowhere.
inline int64_t reduction_steps(int64_t columns) { return 2 * columns; }
inline int64_t jacobi_steps(int64_t columns) { return static_cast<int64_t>(kSweeps) * (columns > 1 ? columns - 1 : 1); }

}  // namespace maya::cusolver
