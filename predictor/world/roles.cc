#include "predictor/world/roles.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace maya::predictor {
namespace {

int32_t position(int32_t rank, const Dimension& dimension) { return rank / dimension.stride % dimension.size; }

int32_t moved(int32_t rank, const Dimension& dimension, int32_t to) {
  return rank + (to - position(rank, dimension)) * dimension.stride;
}

std::vector<Dimension> all_transfers(const std::vector<RankSummary>& ran) {
  std::vector<Dimension> all;
  for (const RankSummary& summary : ran)
    for (const Dimension& dimension : summary.transfers)
      if (std::find(all.begin(), all.end(), dimension) == all.end()) all.push_back(dimension);
  return all;
}

const RankSummary* find(const std::vector<RankSummary>& ran, int32_t rank) {
  for (const RankSummary& summary : ran)
    if (summary.rank == rank) return &summary;
  return nullptr;
}

// The neighbours that show whether a dimension tells ranks apart: the next and the last position.
std::vector<int32_t> neighbours(int32_t first, const Dimension& dimension) {
  std::vector<int32_t> result;
  for (const int32_t to : {1, dimension.size - 1})
    if (const int32_t rank = moved(first, dimension, to); rank != first && (result.empty() || result[0] != rank))
      result.push_back(rank);
  return result;
}

// Dimensions in which ranks that ran differ, or could, as far as is known.
std::vector<Dimension> role_dimensions(const std::vector<RankSummary>& ran) {
  std::vector<Dimension> result;
  for (const Dimension& dimension : all_transfers(ran)) {
    bool same = true;
    for (const int32_t rank : neighbours(ran[0].rank, dimension)) {
      const RankSummary* summary = find(ran, rank);
      same = same && summary != nullptr && summary->fingerprint == ran[0].fingerprint;
    }
    if (!same) result.push_back(dimension);
  }
  return result;
}

using Role = std::vector<int32_t>;

Role role_of(int32_t rank, const std::vector<Dimension>& dimensions) {
  Role role;
  for (const Dimension& dimension : dimensions) role.push_back(position(rank, dimension));
  return role;
}

// Every combination of positions, the last dimension running fastest.
std::vector<Role> all_roles(const std::vector<Dimension>& dimensions) {
  std::vector<Role> roles = {{}};
  for (const Dimension& dimension : dimensions) {
    std::vector<Role> longer;
    for (const Role& role : roles)
      for (int32_t i = 0; i < dimension.size; ++i) {
        longer.push_back(role);
        longer.back().push_back(i);
      }
    roles = std::move(longer);
  }
  return roles;
}

uint32_t distance(const Role& a, const Role& b) {
  uint32_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<uint32_t>(std::abs(a[i] - b[i]));
  return sum;
}

// Classes of the ranks of one role, of which `ran` (indices of summaries, by rank) ran.
std::vector<RankClass> classes_of_role(const std::vector<RankSummary>& summaries, const std::vector<uint32_t>& ran,
                                       const std::vector<int32_t>& others) {
  std::vector<RankClass> classes;
  std::vector<uint64_t> fingerprints;
  for (const uint32_t index : ran) {
    const auto same = std::find(fingerprints.begin(), fingerprints.end(), summaries[index].fingerprint);
    if (same == fingerprints.end()) {
      fingerprints.push_back(summaries[index].fingerprint);
      classes.push_back({index, {summaries[index].rank}, 0});
    } else {
      RankClass& found = classes[static_cast<size_t>(same - fingerprints.begin())];
      found.ranks.push_back(summaries[index].rank);
      ++found.checked;
    }
  }
  // Those that did not run are like most that did; of equally many, like the later ones: rank 0 often does more than
  // others.
  const auto most = std::max_element(classes.rbegin(), classes.rend(), [](const RankClass& a, const RankClass& b) {
    return a.ranks.size() < b.ranks.size();
  });
  most->ranks.insert(most->ranks.end(), others.begin(), others.end());
  for (RankClass& one : classes) std::sort(one.ranks.begin() + 1, one.ranks.end());
  return classes;
}

}  // namespace

std::vector<int32_t> next_ranks(const std::vector<RankSummary>& ran, int32_t world_size, int32_t checks, int32_t most) {
  std::set<int32_t> chosen;
  const auto room = [&] { return static_cast<int32_t>(ran.size() + chosen.size()) < most; };
  const auto choose = [&](int32_t rank) {
    if (rank >= 0 && rank < world_size && find(ran, rank) == nullptr && room()) chosen.insert(rank);
  };
  for (const Dimension& dimension : all_transfers(ran))
    for (const int32_t rank : neighbours(ran[0].rank, dimension)) choose(rank);
  if (!chosen.empty()) return {chosen.begin(), chosen.end()};

  std::mt19937 random(static_cast<uint32_t>(world_size));
  const std::vector<Dimension> dimensions = role_dimensions(ran);
  std::set<Role> covered;
  for (const RankSummary& summary : ran) covered.insert(role_of(summary.rank, dimensions));
  for (const Role& role : all_roles(dimensions)) {
    if (covered.count(role) != 0) continue;
    auto rank = static_cast<int32_t>(random() % static_cast<uint32_t>(world_size));
    for (size_t i = 0; i < dimensions.size(); ++i) rank = moved(rank, dimensions[i], role[i]);
    choose(rank);
  }
  if (!chosen.empty()) return {chosen.begin(), chosen.end()};

  // What ran beyond one rank a role has checked something already.
  const auto done = static_cast<int32_t>(ran.size() - covered.size());
  const int32_t wanted = std::min(checks - done, world_size - static_cast<int32_t>(ran.size()));
  for (int32_t tries = 0; static_cast<int32_t>(chosen.size()) < wanted && room() && tries < 64; ++tries)
    choose(tries == 0 ? world_size - 1 : static_cast<int32_t>(random() % static_cast<uint32_t>(world_size)));
  return {chosen.begin(), chosen.end()};
}

WorldLayout twin_layout(const std::vector<trace::LoadedTrace>& traces) {
  WorldLayout layout;
  layout.world_size = traces[0].process.world_size();
  layout.gpus_per_node = traces[0].process.gpus_per_node();
  layout.twins = true;
  std::vector<uint32_t> order(traces.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return traces[a].process.rank() < traces[b].process.rank(); });
  std::vector<RankSummary> summaries;
  for (const uint32_t trace : order) summaries.push_back(summarize(traces[trace]));
  const std::vector<Dimension> dimensions = role_dimensions(summaries);

  std::map<Role, std::vector<uint32_t>> ran;
  for (uint32_t i = 0; i < summaries.size(); ++i) ran[role_of(summaries[i].rank, dimensions)].push_back(i);
  std::map<Role, std::vector<int32_t>> others;  // by the role that stands for them
  for (int32_t rank = 0; rank < layout.world_size; ++rank) {
    if (find(summaries, rank) != nullptr) continue;
    const Role role = role_of(rank, dimensions);
    const auto nearest = std::min_element(ran.begin(), ran.end(), [&](const auto& a, const auto& b) {
      return distance(a.first, role) < distance(b.first, role);
    });
    others[nearest->first].push_back(rank);
  }
  for (const auto& [role, indices] : ran)
    for (RankClass& one : classes_of_role(summaries, indices, others[role])) {
      one.trace = order[one.trace];
      layout.memberships.push_back(memberships_of(traces[one.trace]));
      layout.classes.push_back(std::move(one));
    }
  return layout;
}

}  // namespace maya::predictor
