#include "predictor/repetition.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "predictor/numbers.h"

namespace maya::predictor {
namespace {

constexpr size_t kGram_tokens = 4;
constexpr size_t kCandidates = 64;
// A period that explains at least this part of the most that any explains may be the step.
constexpr double kMuch = 0.5;
// Part of the longest such period's tokens, or of its optimizer work, that a shorter one must explain to be preferred:
// what a program does every few steps only is a small part, the embedding and head around the layers of a model are
// more.
constexpr double kEquallyGood = 0.98;
// A repetition of halves of units is preferred to one of whole but much shorter units unless it explains much less than
// that.
constexpr double kNotMuchLess = 0.7;
// Steps that make up a smaller part of the sequence are a coincidence.
constexpr double kLeastPart = 0.3;
constexpr size_t kMostRegions = 1024;
// Operations in a row that may have another shape than a period before, where the names agree (an embedding's backward
// pass works on the tokens that its batch happens to hold).
constexpr size_t kDataDependent_tokens = 8;

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
  size_t run = 0, loose = 0;
  for (size_t i = period; i <= tokens.size(); ++i) {
    if (i < tokens.size()) {
      const Token &token = tokens[i], &before = tokens[i - period];
      loose = token.hash == before.hash ? 0 : loose + 1;
      if (token.name == before.name && loose <= kDataDependent_tokens && (loose == 0 || run > 0)) {
        ++run;
        continue;
      }
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
    run = loose = 0;
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

// Optimizer tokens of b's regions, and how many of them lie in a's too.
bool has_optimizer_of(std::span<const Token> tokens, const Candidate& a, const Candidate& b) {
  size_t all = 0, shared = 0, at = 0;
  for (const Interval& y : b.regions) {
    for (size_t i = y.begin; i < y.end; ++i) {
      if (!tokens[i].optimizer) continue;
      ++all;
      while (at < a.regions.size() && a.regions[at].end <= i) ++at;
      if (at < a.regions.size() && a.regions[at].begin <= i) ++shared;
    }
  }
  return all > 0 && static_cast<double>(shared) >= kEquallyGood * static_cast<double>(all);
}

bool as_good(std::span<const Token> tokens, const Candidate& shorter, const Candidate& longest, bool any_optimizer) {
  const auto part = static_cast<double>(overlap(shorter, longest)) / static_cast<double>(longest.covered);
  return part >= kEquallyGood || (any_optimizer && part >= kMuch && has_optimizer_of(tokens, shorter, longest));
}

Candidate choose(std::span<const Token> tokens, const std::vector<size_t>& periods, bool whole_units,
                 bool any_optimizer) {
  std::vector<Candidate> candidates;
  size_t most = 0;
  for (const size_t period : periods) {
    Candidate candidate = evaluate(tokens, period, whole_units ? period : (period + 1) / 2);
    if (candidate.covered == 0 || candidate.regions.size() > kMostRegions) continue;
    if (!holds_optimizer(tokens, candidate, any_optimizer)) continue;
    most = std::max(most, candidate.covered);
    candidates.push_back(std::move(candidate));
  }
  if (candidates.empty()) return {};
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.period < b.period; });
  const auto longest = std::find_if(candidates.rbegin(), candidates.rend(), [&](const Candidate& candidate) {
    return static_cast<double>(candidate.covered) >= kMuch * static_cast<double>(most);
  });
  return *std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
    return candidate.period == longest->period || as_good(tokens, candidate, *longest, any_optimizer);
  });
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

// The units of one region. Whole ones are counted back from its end, which usually is the end of the last step; `from`
// and `to` bound what may be added before and behind.
void add_units(std::span<const Token> tokens, const Interval& region, size_t period, size_t from, size_t to,
               std::vector<Unit>* units) {
  std::vector<Unit> found;
  const bool whole = region.end - region.begin >= 2 * period;
  if (whole) {
    for (size_t end = region.end; end >= region.begin + period; end -= period) found.push_back({end - period, end});
    std::reverse(found.begin(), found.end());
  } else {
    // Two units that agree in their first part only: the begin of the region tells where they start.
    found = {{region.begin, region.begin + period}, {region.begin + period, std::min(to, region.begin + 2 * period)}};
  }
  const size_t unit = found.front().begin;
  const size_t length = telling_length(tokens, unit, std::min(period, tokens.size() - unit));
  const size_t half = period / 2;

  // Earlier ones, which may be longer (optimizer state is made in the first step) or have something behind them.
  std::vector<Unit> earlier;
  for (size_t first = unit; first > from + half;) {
    const size_t lowest = std::max(from, first > 2 * period + half ? first - 2 * period - half : 0);
    const size_t begin =
        nearest(tokens, lowest, first - half, std::max(from, first > period ? first - period : 0), unit, length);
    if (begin == tokens.size()) break;
    earlier.push_back({begin, first});
    first = begin;
  }
  units->insert(units->end(), earlier.rbegin(), earlier.rend());
  units->insert(units->end(), found.begin(), found.end());

  // Later ones, as far as they are whole.
  for (size_t end = units->back().end; end < to;) {
    const size_t begin = nearest(tokens, end, std::min(to, end + half + 1), end, unit, length);
    if (begin == tokens.size()) break;
    const size_t next =
        nearest(tokens, begin + half + 1, std::min(to, begin + 2 * period), begin + period, unit, length);
    const size_t last = next != tokens.size() ? next : begin + period;
    if (last > to) break;
    units->push_back({begin, last});
    end = last;
  }
}

}  // namespace

Repetition find_repetition(std::span<const Token> tokens) {
  Repetition result;
  if (tokens.size() < 2) return result;
  const bool any_optimizer = std::any_of(tokens.begin(), tokens.end(), [](const Token& t) { return t.optimizer; });
  const std::vector<size_t> periods = candidate_periods(tokens);
  Candidate chosen = choose(tokens, periods, true, any_optimizer);
  const Candidate halves = choose(tokens, periods, false, any_optimizer);
  const bool much_longer = halves.period >= 2 * chosen.period;
  if (much_longer && static_cast<double>(halves.covered) >= kNotMuchLess * static_cast<double>(chosen.covered))
    chosen = halves;
  if (chosen.period == 0) return result;

  size_t in_units = 0;
  for (size_t i = 0; i < chosen.regions.size(); ++i) {
    const size_t from = result.units.empty() ? 0 : result.units.back().end;
    const size_t to = i + 1 < chosen.regions.size() ? chosen.regions[i + 1].begin : tokens.size();
    Interval region = chosen.regions[i];
    region.begin = std::max(region.begin, from);
    if (region.end < region.begin + chosen.period) continue;
    add_units(tokens, region, chosen.period, from, std::max(to, region.end), &result.units);
  }
  for (const Unit& unit : result.units) in_units += unit.end - unit.begin;
  if (static_cast<double>(in_units) < kLeastPart * static_cast<double>(tokens.size())) return {};
  result.period = chosen.period;
  result.covered = chosen.covered;
  return result;
}

}  // namespace maya::predictor
