#include "predictor/closing_repetition.h"

#include <algorithm>

namespace maya::predictor {
namespace {

constexpr size_t kLeastPeriod = 8;
// What a program does after its last step: copies of results, a synchronisation's work.
constexpr size_t kMostTail = 64;

bool same(std::span<const Token> tokens, size_t begin, size_t other, size_t length) {
  for (size_t i = length; i-- > 0;)  // from the end: most candidates differ there at once
    if (tokens[begin + i].hash != tokens[other + i].hash) return false;
  return true;
}

Repetition units_of(std::span<const Token> tokens, size_t end, size_t period) {
  size_t begin = end - 2 * period;
  while (begin >= period && same(tokens, begin - period, begin, period)) begin -= period;
  Repetition result{period, end - begin, {}};
  if (begin > 0) result.units.push_back({0, begin});
  for (; begin < end; begin += period) result.units.push_back({begin, begin + period});
  return result;
}

}  // namespace

Repetition closing_repetition(std::span<const Token> tokens) {
  std::vector<size_t> optimizers(tokens.size() + 1, 0);  // before each token
  for (size_t i = 0; i < tokens.size(); ++i) optimizers[i + 1] = optimizers[i] + (tokens[i].optimizer ? 1 : 0);
  for (size_t tail = 0; tail <= kMostTail && tail < tokens.size(); ++tail) {
    const size_t end = tokens.size() - tail;
    for (size_t period = kLeastPeriod; 2 * period <= end; ++period) {
      const bool updates = optimizers.back() == 0 || optimizers[end] > optimizers[end - period];
      if (updates && same(tokens, end - 2 * period, end - period, period)) return units_of(tokens, end, period);
    }
  }
  return {};
}

}  // namespace maya::predictor
