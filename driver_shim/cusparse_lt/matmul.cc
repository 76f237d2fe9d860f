// cuSPARSELt: plans, products, the search among algorithms, pruning and compression.
#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/common/sizes.h"
#include "driver_shim/cublas/matrix_batch.h"
#include "driver_shim/cublas/types.h"
#include "driver_shim/cusparse_lt/objects.h"

namespace maya::cusparse_lt {
namespace {

// Contiguous elements first.
cublas::MatrixBatch storage_of(const Matrix& matrix, const void* address) {
  const bool by_rows = matrix.order == 2;
  return {address,
          matrix.type,
          by_rows ? matrix.columns : matrix.rows,
          by_rows ? matrix.rows : matrix.columns,
          matrix.leading,
          matrix.stride,
          matrix.batch};
}

double bytes_of(const Matrix& matrix) {
  return static_cast<double>(cublas::storage_bytes(matrix.type, static_cast<uint64_t>(matrix.rows * matrix.columns)));
}

DataType compute_type(const Multiplication& multiplication) {
  constexpr int kInteger = 0, kHalf = 1;
  if (multiplication.compute_type == kInteger) return DataType::kInt32;
  if (multiplication.compute_type == kHalf) return DataType::kFloat16;
  return multiplication.a.type == CUDA_R_32F ? DataType::kTf32 : DataType::kFloat32;
}

// As cublasLtEpilogue_t: ReLU 2, bias 4, GELU 32.
int64_t epilogue(const Multiplication& multiplication) {
  return (multiplication.relu != 0 ? 2 : 0) | (multiplication.bias != nullptr ? 4 : 0) |
         (multiplication.gelu != 0 ? 32 : 0);
}

// A product of half the depth: sparse tensor cores skip the zeros of the structured operand, so that half of the
// multiplications remain. kNonzeros is the number of values that the structured operand keeps.
CUresult record_product(CUstream stream, const Multiplication& multiplication, const void* beta, void* d) {
  const Matrix &a = multiplication.a, &b = multiplication.b;
  const Matrix& structured = a.structured != 0 ? a : b;
  const int64_t depth = multiplication.operation_a == 0 ? a.columns : a.rows;
  const cudaDataType scalar = CUDA_R_32F;
  const int beta_class = cublas::scalar_class(beta, scalar);
  const double batch = multiplication.d.batch;
  const double dense = bytes_of(a.structured != 0 ? b : a);
  const double operands = static_cast<double>(compressed_bytes(structured)) / structured.batch + dense +
                          (beta_class != 0 ? bytes_of(multiplication.c) : 0);
  OperationRecord record(Family::kGemm, "cusparseLtMatmul");
  record.set(Key::kM, multiplication.d.rows)
      .set(Key::kN, multiplication.d.columns)
      .set(Key::kK, depth / 2)
      .set(Key::kBatch, multiplication.d.batch)
      .set(Key::kNonzeros, structured.rows * structured.columns / 2)
      .set(Key::kTypeA, static_cast<int64_t>(cublas::data_type(a.type)))
      .set(Key::kTypeB, static_cast<int64_t>(cublas::data_type(b.type)))
      .set(Key::kTypeC, static_cast<int64_t>(cublas::data_type(multiplication.c.type)))
      .set(Key::kTypeD, static_cast<int64_t>(cublas::data_type(multiplication.d.type)))
      .set(Key::kComputeType, static_cast<int64_t>(compute_type(multiplication)))
      .set(Key::kTransA, multiplication.operation_a)
      .set(Key::kTransB, multiplication.operation_b)
      .set(Key::kEpilogue, epilogue(multiplication))
      .set(Key::kBeta, beta_class)
      .set(Key::kReadBytes, shim::counted(operands * batch));
  shim::WriteList writes;
  cublas::add_matrices(storage_of(multiplication.d, d), &writes);
  return shim::record(stream, record, writes);
}

struct Call {
  const void* handle;
  const Plan* plan;
  const void *alpha, *a, *b, *beta, *c;
  void* d;
  const CUstream* streams;
  int32_t stream_count;
};

int check_call(const Call& call, const Multiplication** multiplication) {
  if (const int status = check(call.handle); status != kSuccess) return status;
  if (call.plan == nullptr || call.alpha == nullptr || call.a == nullptr || call.b == nullptr || call.beta == nullptr ||
      call.c == nullptr || call.d == nullptr || call.stream_count < 0 ||
      (call.stream_count > 0 && call.streams == nullptr))
    return kInvalidValue;
  *multiplication = object_of<Multiplication>(call.plan->multiplication);
  return *multiplication == nullptr ? kInvalidValue : kSuccess;
}

CUstream first_stream(const Call& call) { return call.stream_count > 0 ? call.streams[0] : nullptr; }

// A pass over a matrix of `read` bytes that writes `written`.
int pass(const char* api, CUstream stream, const Matrix& matrix, double read, double written,
         const shim::WriteList& writes) {
  OperationRecord record(Family::kSparse, api);
  record.set(Key::kDataType, static_cast<int64_t>(cublas::data_type(matrix.type)))
      .set(Key::kM, matrix.rows)
      .set(Key::kN, matrix.columns)
      .set(Key::kNonzeros, matrix.rows * matrix.columns / 2)
      .set(Key::kBatch, matrix.batch)
      .set(Key::kFlops, shim::counted(static_cast<double>(matrix.rows * matrix.columns) * matrix.batch))
      .set(Key::kReadBytes, shim::counted(read))
      .set(Key::kWrittenBytes, shim::counted(written));
  return shim::status_of(shim::record(stream, record, writes));
}

int prune(const char* api, const Matrix* matrix, const void* in, void* out, int algorithm, CUstream stream) {
  if (matrix == nullptr || matrix->structured == 0 || in == nullptr || out == nullptr || algorithm < 0 || algorithm > 1)
    return kInvalidValue;
  shim::WriteList writes;
  cublas::add_matrices(storage_of(*matrix, out), &writes);
  const double bytes = bytes_of(*matrix) * matrix->batch;
  return pass(api, stream, *matrix, bytes, bytes, writes);
}

// "valid: 0 correct, 1 wrong", in device memory: zero.
int prune_check(const char* api, const Matrix* matrix, const void* in, int* valid, CUstream stream) {
  if (matrix == nullptr || matrix->structured == 0 || in == nullptr || valid == nullptr) return kInvalidValue;
  shim::WriteList writes;
  writes.add(valid, sizeof *valid);
  return pass(api, stream, *matrix, bytes_of(*matrix) * matrix->batch, sizeof *valid, writes);
}

int compress(const char* api, const Matrix* matrix, const void* dense, void* compressed, CUstream stream) {
  if (matrix == nullptr || matrix->structured == 0 || dense == nullptr || compressed == nullptr) return kInvalidValue;
  shim::WriteList writes;
  writes.add(compressed, compressed_bytes(*matrix));
  return pass(api, stream, *matrix, bytes_of(*matrix) * matrix->batch, static_cast<double>(compressed_bytes(*matrix)),
              writes);
}

// Not documented: a line for alignment.
constexpr size_t kCompressionBuffer_bytes = 256;

int compressed_size(const Matrix* matrix, size_t* bytes, size_t* buffer_bytes) {
  if (matrix == nullptr || matrix->structured == 0 || bytes == nullptr || buffer_bytes == nullptr) return kInvalidValue;
  *bytes = compressed_bytes(*matrix);
  *buffer_bytes = kCompressionBuffer_bytes;
  return kSuccess;
}

const Matrix* structured_of(const void* multiplication) {
  const Multiplication* object = object_of<Multiplication>(multiplication);
  return object == nullptr ? nullptr : object->a.structured != 0 ? &object->a : &object->b;
}

const Matrix* structured_of_plan(const void* plan) {
  const Plan* object = object_of<Plan>(plan);
  return object == nullptr ? nullptr : structured_of(object->multiplication);
}

}  // namespace
}  // namespace maya::cusparse_lt

using namespace maya::cusparse_lt;

MAYA_API int cusparseLtMatmulPlanInit(const void* handle, void* plan, const void* multiplication,
                                      const void* algorithm) {
  if (const int status = check(handle); status != kSuccess) return status;
  const Algorithm* selected = object_of<Algorithm>(algorithm);
  if (plan == nullptr || object_of<Multiplication>(multiplication) == nullptr || selected == nullptr)
    return kInvalidValue;
  Plan made;
  made.multiplication = multiplication;
  made.algorithm = *selected;
  store(plan, made);
  return kSuccess;
}

MAYA_API int cusparseLtMatmulPlanDestroy(const void* plan) {
  if (object_of<Plan>(plan) == nullptr) return kInvalidValue;
  std::memset(const_cast<void*>(plan), 0, sizeof(Plan));
  return kSuccess;
}

// Work memory is what split-K needs: a sum in 32 bits for each part that another kernel adds up.
MAYA_API int cusparseLtMatmulGetWorkspace(const void* handle, const void* plan, size_t* bytes) {
  if (const int status = check(handle); status != kSuccess) return status;
  const Plan* object = object_of<Plan>(plan);
  const Multiplication* multiplication =
      object == nullptr ? nullptr : object_of<Multiplication>(object->multiplication);
  if (multiplication == nullptr || bytes == nullptr) return kInvalidValue;
  const int64_t parts = object->algorithm.split_k > 1 ? object->algorithm.split_k - 1 : 0;
  const auto elements = static_cast<uint64_t>(multiplication->d.rows * multiplication->d.columns);
  *bytes = maya::shim::times(static_cast<uint64_t>(parts), elements * sizeof(float));
  return kSuccess;
}

MAYA_API int cusparseLtMatmul(const void* handle, const void* plan, const void* alpha, const void* A, const void* B,
                              const void* beta, const void* C, void* D, void*, CUstream* streams, int32_t count) {
  const Call call = {handle, object_of<Plan>(plan), alpha, A, B, beta, C, D, streams, count};
  const Multiplication* multiplication = nullptr;
  if (const int status = check_call(call, &multiplication); status != kSuccess) return status;
  return maya::shim::status_of(record_product(first_stream(call), *multiplication, beta, D));
}

// Runs every configuration as often as the plan says and keeps the first: all take the same modelled time.
MAYA_API int cusparseLtMatmulSearch(const void* handle, void* plan, const void* alpha, const void* A, const void* B,
                                    const void* beta, const void* C, void* D, void*, CUstream* streams, int32_t count) {
  Plan* object = object_of<Plan>(plan);
  const Call call = {handle, object, alpha, A, B, beta, C, D, streams, count};
  const Multiplication* multiplication = nullptr;
  if (const int status = check_call(call, &multiplication); status != kSuccess) return status;
  const int runs = Algorithm::kConfigurations * object->algorithm.search_iterations;
  for (int i = 0; i < runs; ++i) {
    const CUresult result = record_product(first_stream(call), *multiplication, beta, D);
    if (result != CUDA_SUCCESS) return maya::shim::status_of(result);
  }
  object->algorithm.configuration = 0;
  return kSuccess;
}

MAYA_API int cusparseLtSpMMAPrune(const void* handle, const void* multiplication, const void* in, void* out,
                                  int algorithm, CUstream stream) {
  const int status = check(handle);
  return status != kSuccess ? status
                            : prune("cusparseLtSpMMAPrune", structured_of(multiplication), in, out, algorithm, stream);
}

MAYA_API int cusparseLtSpMMAPrune2(const void* handle, const void* matrix, int, int operation, const void* in,
                                   void* out, int algorithm, CUstream stream) {
  if (const int status = check(handle); status != kSuccess) return status;
  if (operation < 0 || operation > 1) return kInvalidValue;
  return prune("cusparseLtSpMMAPrune2", object_of<Matrix>(matrix), in, out, algorithm, stream);
}

MAYA_API int cusparseLtSpMMAPruneCheck(const void* handle, const void* multiplication, const void* in, int* valid,
                                       CUstream stream) {
  const int status = check(handle);
  return status != kSuccess
             ? status
             : prune_check("cusparseLtSpMMAPruneCheck", structured_of(multiplication), in, valid, stream);
}

MAYA_API int cusparseLtSpMMAPruneCheck2(const void* handle, const void* matrix, int, int operation, const void* in,
                                        int* valid, CUstream stream) {
  if (const int status = check(handle); status != kSuccess) return status;
  if (operation < 0 || operation > 1) return kInvalidValue;
  return prune_check("cusparseLtSpMMAPruneCheck2", object_of<Matrix>(matrix), in, valid, stream);
}

MAYA_API int cusparseLtSpMMACompressedSize(const void* handle, const void* plan, size_t* bytes, size_t* buffer_bytes) {
  const int status = check(handle);
  return status != kSuccess ? status : compressed_size(structured_of_plan(plan), bytes, buffer_bytes);
}

MAYA_API int cusparseLtSpMMACompressedSize2(const void* handle, const void* matrix, size_t* bytes,
                                            size_t* buffer_bytes) {
  const int status = check(handle);
  return status != kSuccess ? status : compressed_size(object_of<Matrix>(matrix), bytes, buffer_bytes);
}

MAYA_API int cusparseLtSpMMACompress(const void* handle, const void* plan, const void* dense, void* compressed, void*,
                                     CUstream stream) {
  const int status = check(handle);
  return status != kSuccess ? status
                            : compress("cusparseLtSpMMACompress", structured_of_plan(plan), dense, compressed, stream);
}

MAYA_API int cusparseLtSpMMACompress2(const void* handle, const void* matrix, int, int operation, const void* dense,
                                      void* compressed, void*, CUstream stream) {
  if (const int status = check(handle); status != kSuccess) return status;
  if (operation < 0 || operation > 1) return kInvalidValue;
  return compress("cusparseLtSpMMACompress2", object_of<Matrix>(matrix), dense, compressed, stream);
}
