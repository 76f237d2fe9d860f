// Norms of Transformer Engine. All that they work on is in one structure (public header common/normalization/common.h):
// blocks that share the rows, blocks of a row, rows, columns; input, means, deviations, weight, workspace and barriers
// of rows of several blocks; then, for the forward direction, result, bias, epsilon, scale, [its bytes], inverse scale
// and largest absolute value, and for the backward one gradient, [a sum's other half], sums for bias and weight of each
// block, the input's gradient, those of bias and weight. Releases have or lack what is in brackets: sizes tell.
#include "virtual_device/values/effect.h"
#include "virtual_device/values/number.h"
#include "virtual_device/values/product.h"

namespace maya::device {

namespace {

constexpr std::string_view kSpace = "transformer_engine::normalization::";
constexpr uint32_t kBlocks = 0, kBlocksOfRow = 4, kRows = 8, kColumns = 12;  // offsets of numbers of 32 bits
constexpr uint32_t kMeans = 24, kDeviations = 32, kWorkspace = 48, kBarriers = 56, kResult = 72;

enum class Extent { kOne, kRows, kColumns, kMatrix, kBlocksOfColumns };

// What is written behind one pointer.
struct Written {
  uint32_t offset;  // of the pointer
  Extent extent;
  uint32_t element_bytes;
};

uint32_t bytes_of(std::string_view type) {
  if (type == "__half" || type == "__nv_bfloat16") return 2;
  if (type == "__nv_fp8_e4m3" || type == "__nv_fp8_e5m2") return 1;
  return element_bytes(element_type(type));
}

class EngineNormEffect : public ComputedEffect {
 public:
  EngineNormEffect(std::vector<Written> written, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), written_(std::move(written)) {}

  bool watch(std::vector<PointerSlot>* pointers) const override { return watch_otherwise(pointers); }

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    const auto number = [&](uint32_t offset) { return argument<int32_t>(launch, 0, offset); };
    const int32_t blocks = number(kBlocks), rows = number(kRows), columns = number(kColumns);
    if (blocks < 0 || rows < 0 || columns < 0) return false;
    for (const Written& written : written_) {
      const bool of_rows = written.extent == Extent::kRows || written.extent == Extent::kMatrix;
      const bool of_columns = written.extent != Extent::kOne && written.extent != Extent::kRows;
      const uint64_t bytes = Product()
                                 .times(of_rows ? rows : 1)
                                 .times(of_columns ? columns : 1)
                                 .times(written.extent == Extent::kBlocksOfColumns ? blocks : 1)
                                 .times(written.element_bytes)
                                 .value();
      forget(memory, argument<Address>(launch, 0, written.offset), bytes);
    }
    if (number(kBlocksOfRow) != 1)
      for (const uint32_t offset : {kWorkspace, kBarriers})
        forget_reach(launch, memory, argument<Address>(launch, 0, offset));
    return true;
  }

 private:
  const std::vector<Written> written_;
};

std::vector<Written> written_forward(const KernelInfo& kernel, const KernelName& name) {
  constexpr uint32_t kWithBytesOfScale = 136, kWithout = 128;
  const auto traits = nested_arguments(name.template_arguments[0], "Kernel_traits");
  const uint32_t size = kernel.parameters[0].size;
  if (traits.size() < 4 || (size != kWithBytesOfScale && size != kWithout)) return {};
  const uint32_t result = bytes_of(traits[2]), computed = bytes_of(traits[3]), inverse = size - 24;
  if (result == 0 || computed == 0) return {};
  return {{kMeans, Extent::kRows, computed},
          {kDeviations, Extent::kRows, computed},
          {kResult, Extent::kMatrix, result},
          {inverse, Extent::kOne, sizeof(float)},
          {inverse + 8, Extent::kOne, sizeof(float)}};
}

std::vector<Written> written_backward(const KernelInfo& kernel, const KernelName& name) {
  constexpr uint32_t kWithSum = 128, kWithout = 120;
  const uint32_t size = kernel.parameters[0].size;
  if (size != kWithSum && size != kWithout) return {};
  // The last five words: sums for bias and weight, the input's gradient, those of bias and weight.
  const uint32_t sums = size - 40;
  if (name.function.find("_finalize_") != std::string::npos) {
    const auto traits = nested_arguments(name.template_arguments[0], "Kernel_traits_finalize");
    const uint32_t weight = bytes_of(traits.size() > 1 ? traits[1] : std::string_view(name.template_arguments[0]));
    if (weight == 0) return {};
    return {{sums + 24, Extent::kColumns, weight}, {sums + 32, Extent::kColumns, weight}};
  }
  const auto traits = nested_arguments(name.template_arguments[0], "Kernel_traits");
  if (traits.size() < 4) return {};
  const uint32_t input = bytes_of(traits[1]), computed = bytes_of(traits[3]);
  if (input == 0 || computed == 0) return {};
  return {{sums, Extent::kBlocksOfColumns, computed},
          {sums + 8, Extent::kBlocksOfColumns, computed},
          {sums + 16, Extent::kMatrix, input}};
}

}  // namespace

std::unique_ptr<Effect> make_engine_norm_effect(const KernelInfo& kernel, const KernelName& name,
                                                std::vector<ScalarSlot>* scalars) {
  if (!name.function.starts_with(kSpace) || kernel.parameters.size() != 1 || name.parameters.size() != 1 ||
      name.template_arguments.empty())
    return nullptr;
  const std::string_view structure = name.parameters[0];
  std::vector<Written> written;
  if (structure.ends_with("::ForwardKernelParams"))
    written = written_forward(kernel, name);
  else if (structure.ends_with("::BackwardKernelParams"))
    written = written_backward(kernel, name);
  if (written.empty()) return nullptr;
  return std::make_unique<EngineNormEffect>(std::move(written), make_pointer_effect(kernel, name, scalars));
}

}  // namespace maya::device
