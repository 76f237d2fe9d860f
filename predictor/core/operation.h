// What one device operation is, independent of who recorded it. Part of the dependency-free core that is linked
// both into the shim (live estimates) and into the predictor. Numbers of every enumerator are part of the trace
// format: append, never renumber.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace maya {

enum class Family : uint8_t {
  kUnknown = 0,
  kGemm = 1,  // dense matrix product, batched or not, with or without epilogue
  kGroupedGemm = 2,
  kAttention = 3,
  kNormalization = 4,  // layer, RMS, batch, group norm
  kSoftmax = 5,        // softmax, log-softmax, cross-entropy
  kElementwise = 6,
  kReduction = 7,
  kEmbedding = 8,
  kIndex = 9,       // gather, scatter, index, masked
  kOptimizer = 10,  // multi-tensor apply, fused optimizers
  kCopy = 11,       // explicit copies (memcpy)
  kFill = 12,       // memset and fill kernels
  kConvolution = 13,
  kCollective = 14,
  kSort = 15,  // sort, top-k, scan
  kRandom = 16,
  kVector = 17,  // BLAS level 1 and 2
  kSolver = 18,
  kFourier = 19,
  kSparse = 20,
  kRecurrent = 21,
  kPointToPoint = 22,
  kPooling = 23,
  kCustom = 24,  // kernels of a program's own, of which only the instructions are known
};
std::string_view family_name(Family family);  // "gemm", "attention", ...

enum class DataType : uint8_t {
  kNone = 0,
  kFloat64 = 1,
  kFloat32 = 2,
  kTf32 = 3,
  kFloat16 = 4,
  kBfloat16 = 5,
  kFloat8E4m3 = 6,
  kFloat8E5m2 = 7,
  kInt8 = 8,
  kInt32 = 9,
  kInt64 = 10,
  kBool = 11,
  kUint8 = 12,
  kComplex64 = 13,
  kComplex128 = 14,
  kInt16 = 15,
  kFloat4E2m1 = 16,
};
std::string_view data_type_name(DataType type);  // as PyTorch names them: "bfloat16", "float8_e4m3", "tf32"
uint32_t data_type_bits(DataType type);          // storage bits of one element; kTf32 is 32

// Named integers of an operation. Sizes are elements unless the name says bytes.
enum class Key : uint8_t {
  kNone = 0,
  kM = 1,
  kN = 2,
  kK = 3,
  kBatch = 4,  // GEMM as BLAS means them: C[m,n] = op(A)[m,k] op(B)[k,n], column major
  kTypeA = 5,
  kTypeB = 6,
  kTypeC = 7,
  kTypeD = 8,
  kComputeType = 9,  // DataType
  kTransA = 10,
  kTransB = 11,  // 0 none, 1 transpose, 2 conjugate transpose
  kLda = 12,
  kLdb = 13,
  kLdc = 14,
  kStrideA = 15,
  kStrideB = 16,
  kStrideC = 17,
  kEpilogue = 18,  // cublasLtEpilogue_t value; 0 none
  kWorkspaceBytes = 19,
  kGroups = 20,
  kElements = 21,
  kIncx = 22,
  kIncy = 23,
  kBytes = 24,     // payload of a collective or copy, per rank as NCCL counts it
  kDataType = 25,  // DataType
  kRedOp = 26,
  kRoot = 27,
  kPeer = 28,
  kCommunicator = 29,
  kSequence = 30,
  kRanks = 31,
  kCollective = 32,  // kCollective: CollectiveKind
  kSeqQ = 33,
  kSeqKv = 34,
  kHeads = 35,
  kKvHeads = 36,
  kHeadDim = 37,
  kCausal = 38,
  kDirection = 39,  // kDirection: 0 forward, 1 backward
  kRows = 40,
  kColumns = 41,
  kChannels = 42,
  kHeight = 43,
  kWidth = 44,
  kFilters = 45,
  kFilterHeight = 46,
  kFilterWidth = 47,
  kStride = 48,
  kPad = 49,
  kDilation = 50,
  kConvGroups = 51,
  kConvDirection = 52,
  kFlops = 53,
  kReadBytes = 54,
  kWrittenBytes = 55,
  kAlpha = 56,
  kBeta = 57,            // 0, 1 or 2 (= other value)
  kGroupCall = 58,       // number of the ncclGroup the call was in
  kImplementation = 59,  // Implementation; 0 = the best one of the device
  kNodes = 60,           // nodes a collective spans; 0 or 1: one
  kOperator = 61,        // Operator
  kPrefix = 62,          // attention: cached keys before the first query; seq_kv counts them
  kWindow = 63,          // attention: keys a query sees at most; 0: all
  kChannelsFirst = 64,   // convolution: 1 when pixels of one channel lie side by side (NCHW), 0: channels of one pixel
  kSteps = 65,           // solvers, Fourier transforms: kernels that wait for each other; 0 or 1: one
  kNonzeros = 66,        // stored elements of a sparse matrix
};

// Which operation of its family: what tells apart operations that move the same bytes. Part of the trace format, as
// the other enumerations.
enum class Operator : uint8_t {
  kNone = 0,
  // elementwise
  kAdd = 1,  // binary arithmetic on two tensors
  kMul = 2,
  kDiv = 3,
  kScalar = 4,  // arithmetic of a tensor with a number
  kCopy = 5,    // copies and casts by kernel
  kRelu = 6,
  kGelu = 7,
  kSilu = 8,
  kTanh = 9,  // and other transcendental functions of one tensor
  kPow = 10,
  kCompare = 11,  // comparisons and logic
  kWhere = 12,
  kDropout = 13,
  kGatedActivation = 14,  // SwiGLU, GEGLU
  kRotary = 15,           // rotary position embedding
  kConcatenate = 16,
  // normalization
  kLayerNorm = 32,
  kRmsNorm = 33,
  kBatchNorm = 34,
  kGroupNorm = 35,
  kLayerNormParameters = 36,  // backward pass over the weights only
  kFusedAddRmsNorm = 37,
  // softmax
  kSoftmax = 48,
  kLogSoftmax = 49,
  kCrossEntropy = 50,
  kNllLoss = 51,
  // reduction
  kSum = 64,
  kMax = 65,  // and min, argmax, argmin
  kNorm = 66,
  kMean = 67,
  // optimizer
  kAdam = 80,
  kSgd = 81,
  kForeach = 82,  // one arithmetic operation over a list of tensors
  // grouped GEMM
  kMixtureOfExperts = 96,  // whole fused expert layer: both products and the activation between them
  // solver
  kFactorization = 112,  // Cholesky, LU, LDL, QR; also their explicit inverses and orthogonal factors
  kTriangularSolve = 113,
  kEigenvalues = 114,
  kSingularValues = 115,
};
std::string_view operator_name(Operator op);         // "add", "layer_norm", ...; "" for kNone
Operator operator_from_name(std::string_view name);  // as PyTorch calls it; kNone when unknown

// How an operation is carried out, where that decides its speed.
enum class Implementation : uint8_t {
  kBest = 0,
  kFlashAttention2 = 1,  // attention: mma.sync kernels, as PyTorch brings them
  kMemoryEfficient = 2,  // attention: CUTLASS fused multi-head attention kernels
  kStrided = 3,          // elementwise and index kernels over non-contiguous tensors
  // convolution: methods that are not the best one; flops and bytes of the record are the method's own
  kDirectProduct = 4,     // no precomputed indices, no tensor cores
  kExplicitProduct = 5,   // columns written out, then multiplied
  kFourierTransform = 6,  // no tensor cores
  kWinogradTransform = 7,
  kBroadcast = 8,  // elementwise kernels of several inputs, all but one repeated: masks, biases, numbers in tensors
};

// "m", "batch", "type_a"...; "key<number>" for keys of a newer Maya.
std::string key_name(uint32_t key);

enum class CollectiveKind : uint8_t {
  kAllReduce = 0,
  kBroadcast = 1,
  kReduce = 2,
  kAllGather = 3,
  kReduceScatter = 4,
  kSend = 5,
  kRecv = 6,
  kAllToAll = 7,
  kGather = 8,
  kScatter = 9,
};

// A plain value that crosses the C boundary between our libraries: no pointers but `api`, which is a string literal.
struct OperationRecord {
  static constexpr int kMaxFields = 28;
  struct Field {
    Key key;
    int64_t value;
  };

  Family family = Family::kUnknown;
  uint8_t count = 0;
  const char* api = "";
  Field fields[kMaxFields];

  OperationRecord() = default;
  OperationRecord(Family f, const char* name) : family(f), api(name) {}
  // Adds a field; zero values are left out (absent reads as 0). Returns *this. More than kMaxFields fields are a
  // programming error.
  OperationRecord& set(Key key, int64_t value) {
    if (value != 0 && count < kMaxFields) fields[count++] = {key, value};
    return *this;
  }
  // Takes a field out: it reads as 0 afterwards.
  void clear(Key key) {
    uint8_t kept = 0;
    for (int i = 0; i < count; ++i)
      if (fields[i].key != key) fields[kept++] = fields[i];
    count = kept;
  }
  int64_t get(Key key) const {
    for (int i = 0; i < count; ++i)
      if (fields[i].key == key) return fields[i].value;
    return 0;
  }
};

// How an elementwise or index kernel walks its tensors, which decides what share of the memory bandwidth it reaches.
enum class AccessPattern : uint16_t { kInOrder = 0, kStrided = 1, kBroadcast = 2 };

inline AccessPattern access_pattern(const OperationRecord& shape) {
  switch (static_cast<Implementation>(shape.get(Key::kImplementation))) {
    case Implementation::kStrided:
      return AccessPattern::kStrided;
    case Implementation::kBroadcast:
      return AccessPattern::kBroadcast;
    default:
      return AccessPattern::kInOrder;
  }
}

}  // namespace maya
