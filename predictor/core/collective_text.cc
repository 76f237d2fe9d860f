// The text form of a CollectiveTable.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "predictor/core/collective_table.h"

namespace maya {
namespace {

constexpr std::string_view kDistanceNames[kCollectiveDistances] = {
    "measured", "other_size", "other_ranks", "outside", "other_kind", "other_fabric", "none"};
constexpr std::string_view kNetworkNames[] = {"none", "infiniband", "roce", "efa", "tcpx", "ethernet"};

struct LinkEntry {
  std::string_view key;
  double* (*value)(LinkModel*);
};
constexpr LinkEntry kLinkKeys[] = {
    {"floor_ns", [](LinkModel* m) { return &m->floor_ns; }},
    {"step_ll_ns", [](LinkModel* m) { return &m->step_ns[0]; }},
    {"step_ll128_ns", [](LinkModel* m) { return &m->step_ns[1]; }},
    {"step_simple_ns", [](LinkModel* m) { return &m->step_ns[2]; }},
    {"wire_share", [](LinkModel* m) { return &m->wire_share; }},
    {"local_share", [](LinkModel* m) { return &m->local_share; }},
    {"switch_share", [](LinkModel* m) { return &m->switch_share; }},
    {"pair_share", [](LinkModel* m) { return &m->pair_share; }},
    {"ramp_bytes", [](LinkModel* m) { return &m->ramp_bytes; }},
};
struct NetworkEntry {
  std::string_view key;
  double* (*value)(NetworkModel*);
};
constexpr NetworkEntry kNetworkKeys[] = {
    {"floor_ns", [](NetworkModel* m) { return &m->floor_ns; }},
    {"step_share", [](NetworkModel* m) { return &m->step_share; }},
    {"wire_share", [](NetworkModel* m) { return &m->wire_share; }},
    {"pair_share", [](NetworkModel* m) { return &m->pair_share; }},
    {"ramp_bytes", [](NetworkModel* m) { return &m->ramp_bytes; }},
};

std::string_view next_word(std::string_view* line) {
  const size_t first = line->find_first_not_of(" \t\r");
  if (first == std::string_view::npos) {
    *line = {};
    return {};
  }
  const size_t end = std::min(line->find_first_of(" \t\r", first), line->size());
  const std::string_view word = line->substr(first, end - first);
  *line = line->substr(end);
  return word;
}

template <typename Number>
bool parse_number(std::string_view text, Number* value) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return status == std::errc() && end == text.data() + text.size();
}

bool parse_positive(std::string_view text, double* value) {
  return parse_number(text, value) && std::isfinite(*value) && *value > 0;
}

template <typename Model, size_t kCount, typename Entry>
bool parse_figures(const Entry (&keys)[kCount], std::string_view line, Model* model) {
  for (std::string_view word = next_word(&line); !word.empty(); word = next_word(&line)) {
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos) return false;
    const Entry* entry = std::find_if(std::begin(keys), std::end(keys),
                                      [&](const Entry& one) { return one.key == word.substr(0, equals); });
    if (entry == std::end(keys) || !parse_positive(word.substr(equals + 1), entry->value(model))) return false;
  }
  return true;
}

std::string number(double value, int digits = 6) {
  char text[32];
  const auto [end, status] = std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits);
  return {text, status == std::errc() ? end : text};
}

template <typename Model, size_t kCount, typename Entry>
std::string figures(const Entry (&keys)[kCount], Model model) {
  std::string text;
  for (const Entry& entry : keys)
    text.append(" ").append(entry.key).append("=").append(number(*entry.value(&model), 5));
  return text;
}

bool kind_named(std::string_view name, CollectiveKind* kind) {
  for (int i = 0; i < kCollectiveKinds; ++i) {
    if (collective_name(static_cast<CollectiveKind>(i)) != name) continue;
    *kind = static_cast<CollectiveKind>(i);
    return true;
  }
  return false;
}

}  // namespace

bool CollectiveTable::parse(std::string_view text, std::string* error) {
  CollectiveTable parsed;
  const auto fabric_named = [&](std::string_view name) -> CollectiveFabric* {
    for (CollectiveFabric& fabric : parsed.fabrics_)
      if (fabric.cluster.name == name) return &fabric;
    return nullptr;
  };
  bool version_seen = false;
  for (int line_number = 1; !text.empty(); ++line_number) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    line = line.substr(0, line.find('#'));
    const auto fail = [&](std::string_view what) {
      *error = "line " + std::to_string(line_number) + ": expected " + std::string(what);
      return false;
    };
    const std::string_view record = next_word(&line);
    if (record.empty()) continue;
    if (!version_seen) {
      if (record != "collectives" || next_word(&line) != "1")
        return fail("`collectives 1`, the format that this Maya reads");
      version_seen = true;
    } else if (record == "fabric") {
      std::string keys;
      for (std::string_view word = next_word(&line); !word.empty(); word = next_word(&line))
        keys.append(word).append("\n");
      CollectiveFabric fabric;
      if (!parse_cluster(keys, &fabric.cluster, error)) return fail("keys of a cluster file: " + *error);
      if (fabric_named(fabric.cluster.name) != nullptr) return fail("another name: this fabric was there before");
      parsed.fabrics_.push_back(std::move(fabric));
    } else if (record == "link") {
      CollectiveFabric* fabric = fabric_named(next_word(&line));
      if (fabric == nullptr || !parse_figures(kLinkKeys, line, &fabric->link))
        return fail("`link FABRIC figure=value ...`");
    } else if (record == "network") {
      const auto* name = std::find(std::begin(kNetworkNames), std::end(kNetworkNames), next_word(&line));
      if (name == std::end(kNetworkNames) ||
          !parse_figures(kNetworkKeys, line, &parsed.networks_[name - kNetworkNames]))
        return fail("`network KIND figure=value ...`");
    } else if (record == "curve") {
      CollectiveFabric* fabric = fabric_named(next_word(&line));
      CollectiveCurve curve;
      bool good = fabric != nullptr && kind_named(next_word(&line), &curve.kind) &&
                  parse_number(next_word(&line), &curve.ranks) && parse_number(next_word(&line), &curve.nodes) &&
                  curve.ranks >= 2 && curve.nodes >= 1 && curve.nodes <= curve.ranks &&
                  (curve.nodes > 1) == (fabric->cluster.network != Network::kNone);
      for (std::string_view word = next_word(&line); good && !word.empty(); word = next_word(&line)) {
        const size_t colon = word.find(':');
        CollectiveCurve::Knot knot;
        good = colon != std::string_view::npos && parse_positive(word.substr(0, colon), &knot.bytes) &&
               parse_positive(word.substr(colon + 1), &knot.ns) &&
               (curve.knots.empty() || curve.knots.back().bytes < knot.bytes);
        curve.knots.push_back(knot);
      }
      if (!good || curve.knots.empty())
        return fail("`curve FABRIC KIND RANKS NODES bytes:nanoseconds ...`, bytes growing");
      fabric->curves.push_back(std::move(curve));
    } else if (record == "interval") {
      const auto* name = std::find(std::begin(kDistanceNames), std::end(kDistanceNames), next_word(&line));
      double low = 0, high = 0;
      if (name == std::end(kDistanceNames) || !parse_positive(next_word(&line), &low) ||
          !parse_positive(next_word(&line), &high) || low > 1 || high < 1)
        return fail("`interval CLASS LOW HIGH` with LOW <= 1 <= HIGH");
      parsed.set_interval(static_cast<CollectiveDistance>(name - kDistanceNames), low, high);
    } else if (record == "parameter") {
      const std::string_view name = next_word(&line);
      double value = 0, deviation = 0;
      if (name.empty() || !parse_number(next_word(&line), &value) || !parse_number(next_word(&line), &deviation) ||
          !std::isfinite(value) || !std::isfinite(deviation))
        return fail("`parameter NAME VALUE ERROR`");
      parsed.set_parameter(name, value, deviation);
    } else {
      return fail("fabric, link, network, curve, interval or parameter");
    }
  }
  if (!version_seen) {
    *error = "empty; expected `collectives 1`";
    return false;
  }
  parsed.finish();
  *this = std::move(parsed);
  return true;
}

std::string CollectiveTable::text() const {
  std::string text = "collectives 1\n";
  for (const CollectiveFabric& fabric : fabrics_) {
    const Cluster& c = fabric.cluster;
    text += "\nfabric name=" + c.name + " product_name=" + c.product_name;
    if (!c.device.empty()) text += " device=" + c.device;
    text += " gpus_per_node=" + std::to_string(c.gpus_per_node) + " pcie_bandwidth=" + number(c.pcie_bandwidth);
    if (c.nvlink_generation > 0)
      text += " nvlink_generation=" + std::to_string(c.nvlink_generation) +
              " nvlink_bandwidth=" + number(c.nvlink_bandwidth) + " nvlink_switch=" + (c.nvlink_switch ? "1" : "0") +
              " nvlink_switch_reduce=" + (c.nvlink_switch_reduce ? "1" : "0");
    if (c.network != Network::kNone)
      text += " network=" + std::string(network_name(c.network)) + " nics_per_node=" + std::to_string(c.nics_per_node) +
              " nic_bandwidth=" + number(c.nic_bandwidth) + " network_latency_ns=" + number(c.network_latency_ns) +
              " network_reduce=" + (c.network_reduce ? "1" : "0");
    text += "\n";
    if (c.network == Network::kNone) text += "link " + c.name + figures(kLinkKeys, fabric.link) + "\n";
    for (const CollectiveCurve& curve : fabric.curves) {
      text += "curve " + c.name + " " + std::string(collective_name(curve.kind)) + " " + std::to_string(curve.ranks) +
              " " + std::to_string(curve.nodes);
      for (const CollectiveCurve::Knot& knot : curve.knots)
        text.append(" ").append(number(knot.bytes, 12)).append(":").append(number(knot.ns, 6));
      text += "\n";
    }
  }
  text += "\n";
  for (size_t i = 1; i < std::size(kNetworkNames); ++i)
    text.append("network ").append(kNetworkNames[i]).append(figures(kNetworkKeys, networks_[i])).append("\n");
  for (int i = 0; i < kCollectiveDistances; ++i)
    text.append("interval ").append(kDistanceNames[i]) +=
        " " + number(intervals_[i].low, 4) + " " + number(intervals_[i].high, 4) + "\n";
  for (const CollectiveParameter& parameter : parameters_)
    text += "parameter " + parameter.name + " " + number(parameter.value) + " " + number(parameter.error, 3) + "\n";
  return text;
}

}  // namespace maya
