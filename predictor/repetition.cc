#include "predictor/repetition.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "predictor/numbers.h"

namespace maya::predictor {
namespace {

constexpr size_t kGram_tokens = 4;
constexpr size_t kCandidates = 64;
// Part of the best candidate's tokens that a shorter one must explain to be preferred: what a program does every few
// steps only (logging) is a small part, the embedding and head around the layers of a model are more.
constexpr double kEquallyGood = 0.98;
// A repetition of whole units is preferred to one of halves unless it explains much less.
constexpr double kMuchLess = 0.7;
// Steps that make up a smaller part of the sequence are a coincidence.
constexpr double kLeastPart = 0.3;

struct Interval {
  size_t begin;
  size_t end;
};

struct Candidate {
  size_t period = 0;
  size_t covered = 0;             // tokens that equal the one a period before or after
  std::vector<Interval> regions;  // from the first of the tokens of a run to the last; disjoint, ascending
};

uint64_t gram(std::span<const Token> tokens, size_t at, size_t length) {
  uint64_t hash = 0;
  for (size_t i = 0; i < length; ++i) hash = mix(hash, tokens[at + i].hash);
  return hash;
}

// Distances between neighbouring equal grams, those that occur most (weighted by their length) first.
std::vector<size_t> candidate_periods(std::span<const Token> tokens) {
  const size_t length = tokens.size() < 8 * kGram_tokens ? 1 : kGram_tokens;
  std::unordered_map<uint64_t, size_t> last;
  std::unordered_map<size_t, size_t> counts;
  for (size_t i = 0; i + length <= tokens.size(); ++i) {
    const auto [found, is_new] = last.try_emplace(gram(tokens, i, length), i);
    if (!is_new) {
      ++counts[i - found->second];
      found->second = i;
    }
  }
  std::vector<std::pair<size_t, size_t>> ranked;  // weight, distance
  for (const auto& [distance, count] : counts) ranked.emplace_back(count * distance, distance);
  std::sort(ranked.begin(), ranked.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  if (ranked.size() > kCandidates) ranked.resize(kCandidates);
  std::vector<size_t> periods;
  for (const auto& [weight, distance] : ranked) periods.push_back(distance);
  return periods;
}

// What repeats at this distance in runs of at least `shortest` equal tokens.
Candidate evaluate(std::span<const Token> tokens, size_t period, size_t shortest) {
  Candidate candidate;
  candidate.period = period;
  size_t run = 0;
  for (size_t i = period; i <= tokens.size(); ++i) {
    if (i < tokens.size() && tokens[i].hash == tokens[i - period].hash) {
      ++run;
      continue;
    }
    if (run > 0 && run >= shortest) {
      candidate.covered += run + std::min(run, period);
      const Interval region{i - run - period, i};
      if (!candidate.regions.empty() && candidate.regions.back().end >= region.begin) {
        candidate.regions.back().end = region.end;
      } else {
        candidate.regions.push_back(region);
      }
    }
    run = 0;
  }
  // Neighbouring runs may share tokens.
  size_t in_regions = 0;
  for (const Interval& region : candidate.regions) in_regions += region.end - region.begin;
  candidate.covered = std::min(candidate.covered, in_regions);
  return candidate;
}

size_t overlap(const Candidate& a, const Candidate& b) {
  size_t total = 0;
  for (const Interval& x : a.regions)
    for (const Interval& y : b.regions)
      total += std::max(std::min(x.end, y.end), std::max(x.begin, y.begin)) - std::max(x.begin, y.begin);
  return total;
}

// Every unit must hold optimizer work, if the program does such work.
bool holds_optimizer(std::span<const Token> tokens, const Candidate& candidate, bool any_optimizer) {
  if (!any_optimizer) return true;
  for (const Interval& region : candidate.regions) {
    size_t since = 0;
    for (size_t i = region.begin; i < region.end; ++i) {
      since = tokens[i].optimizer ? 0 : since + 1;
      if (since > candidate.period + candidate.period / 2) return false;
    }
    if (since == region.end - region.begin) return false;
  }
  return true;
}

// The candidate that explains most, then the shortest that is as good.
Candidate choose(std::span<const Token> tokens, const std::vector<size_t>& periods, bool whole_units,
                 bool any_optimizer) {
  std::vector<Candidate> candidates;
  const Candidate* best = nullptr;
  for (const size_t period : periods) {
    Candidate candidate = evaluate(tokens, period, whole_units ? period : (period + 1) / 2);
    if (candidate.covered > 0 && candidate.regions.size() <= 1024 && holds_optimizer(tokens, candidate, any_optimizer))
      candidates.push_back(std::move(candidate));
  }
  for (const Candidate& candidate : candidates)
    if (best == nullptr || candidate.covered > best->covered) best = &candidate;
  if (best == nullptr) return {};
  const Candidate* shortest = best;
  for (const Candidate& candidate : candidates)
    if (candidate.period < shortest->period &&
        static_cast<double>(overlap(candidate, *best)) >= kEquallyGood * static_cast<double>(best->covered))
      shortest = &candidate;
  return *shortest;
}

// Length of the gram at the start of the unit that occurs there only, within the unit.
size_t telling_length(std::span<const Token> tokens, size_t start, size_t period) {
  size_t length = std::min<size_t>(period, 8);
  for (; length < std::min<size_t>(period, 64); length *= 2) {
    size_t times = 0;
    for (size_t i = start; i + length <= start + period; ++i)
      times += gram(tokens, i, length) == gram(tokens, start, length);
    if (times == 1) break;
  }
  return std::min(length, period);
}

// The place in [from, to) nearest to `expected` where the gram begins; tokens.size() when there is none.
size_t nearest(std::span<const Token> tokens, size_t from, size_t to, size_t expected, size_t unit, size_t length) {
  size_t best = tokens.size();
  for (size_t i = from; i < to && i + length <= tokens.size(); ++i) {
    bool same = true;
    for (size_t k = 0; same && k < length; ++k) same = tokens[i + k].hash == tokens[unit + k].hash;
    if (!same) continue;
    const auto distance = [&](size_t at) { return at > expected ? at - expected : expected - at; };
    if (best == tokens.size() || distance(i) < distance(best)) best = i;
  }
  return best;
}

}  // namespace

Repetition find_repetition(std::span<const Token> tokens) {
  Repetition result;
  if (tokens.size() < 2) return result;
  const bool any_optimizer = std::any_of(tokens.begin(), tokens.end(), [](const Token& t) { return t.optimizer; });
  const std::vector<size_t> periods = candidate_periods(tokens);
  Candidate chosen = choose(tokens, periods, true, any_optimizer);
  const Candidate halves = choose(tokens, periods, false, any_optimizer);
  if (static_cast<double>(chosen.covered) < kMuchLess * static_cast<double>(halves.covered)) chosen = halves;
  if (chosen.period == 0) return result;

  const size_t period = chosen.period;
  const Interval region =
      *std::max_element(chosen.regions.begin(), chosen.regions.end(),
                        [](const auto& a, const auto& b) { return a.end - a.begin < b.end - b.begin; });
  result.period = period;
  result.covered = chosen.covered;

  // Steps of the longest region, counted back from its end, which usually is the end of the last step.
  std::vector<size_t> starts;
  size_t start = region.end;
  while (start >= region.begin + period) {
    start -= period;
    starts.push_back(start);
  }
  std::reverse(starts.begin(), starts.end());
  if (region.end - region.begin < 2 * period) {
    // Two steps that agree in their first part only: the run's begin tells where they start.
    starts = {region.begin, region.begin + period};
  }
  const size_t unit = starts.front();
  const size_t length = telling_length(tokens, unit, std::min(period, tokens.size() - unit));

  // Earlier steps, which may be longer (optimizer state is made in the first one) or have something between them.
  std::vector<size_t> earlier;
  for (size_t first = unit; first > period / 2;) {
    const size_t expected = first > period ? first - period : 0;
    const size_t from = first > 5 * period / 2 ? first - 5 * period / 2 : 0;
    const size_t found = nearest(tokens, from, first - period / 2, expected, unit, length);
    if (found == tokens.size()) break;
    earlier.push_back(found);
    first = found;
  }
  // Later ones, as far as they are whole.
  size_t end = std::min(starts.back() + period, tokens.size());
  if (region.end - region.begin < 2 * period) end = tokens.size();
  while (end < tokens.size()) {
    const size_t found = nearest(tokens, end, std::min(tokens.size(), end + period / 2 + 1), end, unit, length);
    if (found == tokens.size()) break;
    const size_t next = nearest(tokens, found + period / 2 + 1, std::min(tokens.size(), found + 2 * period),
                                found + period, unit, length);
    const size_t last = next != tokens.size() ? next : found + period;
    if (last > tokens.size()) break;
    starts.push_back(found);
    end = last;
  }
  result.starts.assign(earlier.rbegin(), earlier.rend());
  result.starts.insert(result.starts.end(), starts.begin(), starts.end());
  result.end = end;
  if (static_cast<double>(end - result.starts.front()) < kLeastPart * static_cast<double>(tokens.size())) return {};
  return result;
}

}  // namespace maya::predictor
