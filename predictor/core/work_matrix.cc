// Matrix kernels that are launched by name: CUTLASS and cuBLAS kernels of programs that bring their own. The tile is in
// the name, the grid says how many tiles there are, and the depth k is not known: it is taken as kGuessedDepth, so the
// estimate is marked unknown.
#include <algorithm>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

constexpr int64_t kGuessedDepth = 512;

DataType type_in(std::string_view text) {
  if (contains(text, "bf16") || contains(text, "bfloat16")) return DataType::kBfloat16;
  if (contains(text, "e4m3") || contains(text, "fp8") || text.starts_with("nvjet_q")) return DataType::kFloat8E4m3;
  if (contains(text, "tf32") || contains(text, "s1688gemm")) return DataType::kTf32;
  if (contains(text, "hgemm") || contains(text, "h884") || contains(text, "f16") || contains(text, "h16816") ||
      contains(text, "half"))
    return DataType::kFloat16;
  if (contains(text, "dgemm")) return DataType::kFloat64;
  if (contains(text, "sgemm")) return DataType::kFloat32;
  return DataType::kBfloat16;
}

}  // namespace

bool matrix_work(const LaunchContext& context, Work* work) {
  const std::string_view text = context.text;
  constexpr std::string_view kParts[] = {"gemm", "XXT_kernel", "ba_plus_cAA"};  // the latter two: Muon's products
  // Inductor's templates ("triton_tem_fused_addmm_0") have their sizes compiled in.
  bool matrix =
      text.starts_with("nvjet_") || text.starts_with("triton_tem_") || context.name.qualified.starts_with("cutlass::");
  for (std::string_view part : kParts) matrix = matrix || contains(text, part);
  if (!matrix) return false;
  int64_t m = 128, n = 128;
  constexpr int64_t kLeastTile = 16, kMostTile = 512;
  if (!tile_in(text, kLeastTile, kMostTile, &m, &n)) m = n = 128;
  const DataType type = type_in(text);
  OperationRecord record(Family::kGemm, "");
  record.set(Key::kM, m)
      .set(Key::kN, whole(static_cast<double>(n) * std::max(context.blocks(), 1.0)))
      .set(Key::kK, kGuessedDepth)
      .set(Key::kTypeA, static_cast<int64_t>(type == DataType::kTf32 ? DataType::kFloat32 : type))
      .set(Key::kComputeType, type == DataType::kTf32 ? static_cast<int64_t>(DataType::kTf32) : 0);
  if (contains(text, "grouped_gemm")) record.family = Family::kGroupedGemm;
  *work = work_of(record);
  work->guessed = true;
  return true;
}

}  // namespace maya::model
