// cublasLt's descriptors from hostile calls: whatever is made, set and read in whatever order gets a status, and what
// is multiplied or transformed with them is recorded with sizes that are counted. The input is a list of calls, an
// opcode and its operands each.
#include <cublasLt.h>

#include <algorithm>
#include <cstring>

#include "test/fuzz/input.h"
#include "test/fuzz/recorded_operations.h"

namespace {

using maya::test::device;
using Input = maya::test::FuzzInput;

constexpr int kSlots = 8;
constexpr int kMostAttribute = 40;

cudaDataType type_of(Input& input) {
  // The common ones, and now and then any number.
  constexpr cudaDataType kTypes[] = {CUDA_R_16BF, CUDA_R_16F, CUDA_R_32F, CUDA_R_8F_E4M3,
                                     CUDA_R_8I,   CUDA_R_32I, CUDA_C_32F};
  const uint8_t choice = input.byte();
  return choice < std::size(kTypes) ? kTypes[choice] : static_cast<cudaDataType>(choice);
}

cublasComputeType_t compute_of(Input& input) {
  const uint8_t choice = input.byte();
  return choice == 0 ? CUBLAS_COMPUTE_32F : static_cast<cublasComputeType_t>(choice);
}

class Session {
 public:
  Session() {
    maya::test::reset();
    if (cublasLtCreate(&handle_) != CUBLAS_STATUS_SUCCESS) std::abort();
    for (auto& layout : layouts_) cublasLtMatrixLayoutInit(&layout, CUDA_R_16BF, 64, 64, 64);
    cublasLtMatmulDescInit(&matmul_, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatrixTransformDescInit(&transform_, CUDA_R_32F);
    cublasLtMatmulPreferenceInit(&preference_);
    cublasLtEmulationDescInit(&emulation_);
    // Sizes of grouped products: known values, 16 groups.
    maya::test::upload<int64_t>(kGroups, {64, 128, 0, -1, 1ll << 40, 1ll << 62, 7, 9, 64, 64, 64, 64, 64, 64, 64, 64});
  }
  ~Session() { cublasLtDestroy(handle_); }

  void run(Input& input) {
    while (!input.empty()) {
      switch (input.byte() % 10) {
        case 0:
          make_layout(input);
          break;
        case 1:
          make_grouped_layout(input);
          break;
        case 2:
          change(input, &layout(input), &cublasLtMatrixLayoutSetAttribute, &cublasLtMatrixLayoutGetAttribute);
          break;
        case 3:
          change_matmul(input);
          break;
        case 4:
          change(input, &transform_, &cublasLtMatrixTransformDescSetAttribute,
                 &cublasLtMatrixTransformDescGetAttribute);
          break;
        case 5:
          change(input, &preference_, &cublasLtMatmulPreferenceSetAttribute, &cublasLtMatmulPreferenceGetAttribute);
          break;
        case 6:
          change(input, &emulation_, &cublasLtEmulationDescSetAttribute, &cublasLtEmulationDescGetAttribute);
          break;
        case 7:
          choose(input);
          break;
        case 8:
          multiply(input);
          break;
        case 9:
          transform(input);
          break;
      }
    }
    maya::test::check_recorded_operations();
  }

 private:
  static constexpr uint64_t kGroups = 1 << 20;

  cublasLtMatrixLayoutOpaque_t& layout(Input& input) { return layouts_[input.byte() % kSlots]; }

  void make_layout(Input& input) {
    auto& made = layout(input);
    const cudaDataType type = type_of(input);
    const int64_t rows = input.number(), columns = input.number(), leading = input.number();
    cublasLtMatrixLayoutInit(&made, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), leading);
  }

  void make_grouped_layout(Input& input) {
    auto& made = layout(input);
    const cudaDataType type = type_of(input);
    const int groups = static_cast<int>(input.number());
    const auto* sizes = device<int64_t>(kGroups);
    const bool known = input.byte() % 2 == 0;
    cublasLtGroupedMatrixLayoutInit(&made, type, groups, sizes, sizes, known ? sizes : device<int64_t>(0));
  }

  // Any attribute with any value of any size up to 16 bytes, then all of them read.
  template <typename Descriptor, typename Id>
  void change(Input& input, Descriptor* descriptor, cublasStatus_t (*set)(Descriptor*, Id, const void*, size_t),
              cublasStatus_t (*get)(Descriptor*, Id, void*, size_t, size_t*)) {
    set_any(input, descriptor, set, input.byte());
    unsigned char value[16];
    size_t written = 0;
    for (int id = 0; id < kMostAttribute; ++id)
      for (const size_t bytes : {0, 1, 2, 4, 8, 16}) get(descriptor, static_cast<Id>(id), value, bytes, &written);
  }

  template <typename Descriptor, typename Id>
  void set_any(Input& input, Descriptor* descriptor, cublasStatus_t (*set)(Descriptor*, Id, const void*, size_t),
               int id) {
    int64_t value[2] = {input.number(), 0};
    constexpr size_t kSizes[] = {4, 8, 1, 2, 16, 0};
    set(descriptor, static_cast<Id>(id), value, kSizes[input.byte() % std::size(kSizes)]);
  }

  // A descriptor in a descriptor is a pointer in host memory: only one that is there.
  void change_matmul(Input& input) {
    const int id = input.byte();
    if (id == CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR) {
      cublasLtEmulationDesc_t emulation = &emulation_;
      cublasLtMatmulDescSetAttribute(&matmul_, CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, &emulation, sizeof emulation);
      return;
    }
    set_any(input, &matmul_, &cublasLtMatmulDescSetAttribute, id);
    unsigned char value[16];
    size_t written = 0;
    cublasLtMatmulDescGetAttribute(&matmul_, static_cast<cublasLtMatmulDescAttributes_t>(id), value, sizeof value,
                                   &written);
  }

  // Heuristics, then the algorithm changed and checked.
  void choose(Input& input) {
    constexpr int kMost = 4;
    cublasLtMatmulHeuristicResult_t results[kMost] = {};
    results[0].algo = algorithm_;
    int returned = 0;
    auto &a = layout(input), &b = layout(input), &c = layout(input), &d = layout(input);
    cublasLtMatmulAlgoGetHeuristic(handle_, &matmul_, &a, &b, &c, &d, &preference_, input.byte() % (kMost + 1), results,
                                   &returned);
    if (returned > 0) algorithm_ = results[input.byte() % returned].algo;
    int64_t value = input.number();
    cublasLtMatmulAlgoConfigSetAttribute(
        &algorithm_, static_cast<cublasLtMatmulAlgoConfigAttributes_t>(input.byte() % 12), &value, 4);
    if (input.byte() % 4 == 0) std::memcpy(&algorithm_, &value, sizeof value);
    cublasLtMatmulAlgoCheck(handle_, &matmul_, &a, &b, &c, &d, &algorithm_, results);
    unsigned char capability[64];
    size_t written = 0;
    for (int id = 0; id < kMostAttribute; ++id)
      cublasLtMatmulAlgoCapGetAttribute(&algorithm_, static_cast<cublasLtMatmulAlgoCapAttributes_t>(id), capability,
                                        sizeof capability, &written);
    cublasLtMatmulAlgoInit(handle_, compute_of(input), type_of(input), type_of(input), type_of(input), type_of(input),
                           type_of(input), static_cast<int>(input.number()), &algorithm_);
  }

  void multiply(Input& input) {
    auto &a = layout(input), &b = layout(input), &c = layout(input), &d = layout(input);
    if (input.byte() % 8 == 0) cublasLtMatmulDescInit(&matmul_, compute_of(input), type_of(input));
    const bool with_algorithm = input.byte() % 2 == 1;
    cublasLtMatmul(handle_, &matmul_, scalars_, device<char>(0), &a, device<char>(0x10000), &b, scalars_,
                   device<char>(0x20000), &c, device<char>(0x20000), &d, with_algorithm ? &algorithm_ : nullptr,
                   nullptr, 0, nullptr);
  }

  void transform(Input& input) {
    auto &a = layout(input), &b = layout(input), &c = layout(input);
    const bool two = input.byte() % 2 == 1;
    cublasLtMatrixTransform(handle_, &transform_, scalars_, device<char>(0), &a, scalars_,
                            two ? device<char>(0x10000) : nullptr, two ? &b : nullptr, device<char>(0x20000), &c,
                            nullptr);
  }

  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatrixLayoutOpaque_t layouts_[kSlots];
  cublasLtMatmulDescOpaque_t matmul_;
  cublasLtMatrixTransformDescOpaque_t transform_;
  cublasLtMatmulPreferenceOpaque_t preference_;
  cublasLtEmulationDescOpaque_t emulation_;
  cublasLtMatmulAlgo_t algorithm_ = {};
  const double scalars_[2] = {1, 0};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  Session().run(input);
  return 0;
}
