// Matrix kernels that are launched by name: CUTLASS and cuBLAS kernels of programs that bring their own. The tile is in
// the name, the grid says how many tiles there are, and the depth k is not known: it is taken as kGuessedDepth, so the
// estimate is marked unknown.
#include <algorithm>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

constexpr size_t kNotFound = std::string_view::npos;
constexpr int64_t kGuessedDepth = 512;

struct Tile {
  int64_t m = 128, n = 128;
};

// The first "<number>x<number>" of the name.
Tile tile_in(std::string_view text) {
  for (size_t at = text.find('x'); at != kNotFound; at = text.find('x', at + 1)) {
    size_t begin = at, end = at + 1;
    while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    const int64_t m = number_in(text.substr(begin, at - begin), 0), n = number_in(text.substr(at + 1, end - at - 1), 0);
    if (m >= 16 && n >= 16 && m <= 512 && n <= 512) return {m, n};
  }
  return {};
}

DataType type_in(std::string_view text) {
  if (text.find("bf16") != kNotFound || text.find("bfloat16") != kNotFound) return DataType::kBfloat16;
  if (text.find("e4m3") != kNotFound) return DataType::kFloat8E4m3;
  if (text.find("tf32") != kNotFound) return DataType::kTf32;
  if (text.find("hgemm") != kNotFound || text.find("h884") != kNotFound || text.find("f16") != kNotFound ||
      text.find("h16816") != kNotFound || text.find("half") != kNotFound)
    return DataType::kFloat16;
  if (text.find("dgemm") != kNotFound) return DataType::kFloat64;
  if (text.find("sgemm") != kNotFound) return DataType::kFloat32;
  return DataType::kBfloat16;
}

}  // namespace

bool matrix_work(const LaunchContext& context, Work* work) {
  const std::string_view text = context.text;
  const bool matrix = text.find("gemm") != kNotFound || text.starts_with("nvjet_") || text.find("gemv") != kNotFound ||
                      context.name.qualified.starts_with("cutlass::");
  if (!matrix) return false;
  const Tile tile = tile_in(text);
  const DataType type = type_in(text);
  OperationRecord record(Family::kGemm, "");
  record.set(Key::kM, tile.m)
      .set(Key::kN, whole(static_cast<double>(tile.n) * std::max(context.blocks(), 1.0)))
      .set(Key::kK, kGuessedDepth)
      .set(Key::kTypeA, static_cast<int64_t>(type));
  *work = work_of(record);
  work->guessed = true;
  return true;
}

}  // namespace maya::model
