#include "predictor/core/cluster.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <variant>

#include "predictor/core/embedded_clusters.h"

namespace maya {
namespace {

using Member = std::variant<std::string Cluster::*, uint32_t Cluster::*, double Cluster::*, bool Cluster::*>;

struct KeyEntry {
  std::string_view key;
  Member member;
  bool required;
  double least, most;  // of numbers: outside, no such hardware exists, or the unit is another one
  std::string_view unit;
};

using C = Cluster;
constexpr double kLeastBandwidth = 1e8, kMostBandwidth = 1e13;
const KeyEntry kKeys[] = {
    {"name", &C::name, true, 0, 0, ""},
    {"product_name", &C::product_name, true, 0, 0, ""},
    {"device", &C::device, false, 0, 0, ""},
    {"nodes", &C::nodes, false, 0, 1 << 20, "nodes"},
    {"gpus_per_node", &C::gpus_per_node, true, 1, 1024, "GPUs"},
    {"nvlink_generation", &C::nvlink_generation, false, 0, 16, "a generation, 0 for none"},
    {"nvlink_bandwidth", &C::nvlink_bandwidth, false, kLeastBandwidth, kMostBandwidth, "bytes/s in one direction"},
    {"nvlink_switch", &C::nvlink_switch, false, 0, 1, "0 or 1"},
    {"nvlink_switch_reduce", &C::nvlink_switch_reduce, false, 0, 1, "0 or 1"},
    {"pcie_bandwidth", &C::pcie_bandwidth, true, kLeastBandwidth, kMostBandwidth, "bytes/s in one direction"},
    {"nics_per_node", &C::nics_per_node, false, 0, 1024, "adapters"},
    {"nic_bandwidth", &C::nic_bandwidth, false, kLeastBandwidth, kMostBandwidth, "bytes/s in one direction"},
    {"network_latency_ns", &C::network_latency_ns, false, 100, 1e9, "nanoseconds"},
    {"rails", &C::rails, false, 0, 1024, "leaf switches of a node"},
    {"oversubscription", &C::oversubscription, false, 1, 1000, "downlink over uplink bandwidth"},
    {"network_reduce", &C::network_reduce, false, 0, 1, "0 or 1"},
};

constexpr Network kNetworks[] = {Network::kNone, Network::kInfiniband, Network::kRoce,
                                 Network::kEfa,  Network::kTcpx,       Network::kEthernet};
constexpr int kMostParents = 4;

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\v\f";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

const EmbeddedCluster* find_embedded(std::string_view name) {
  for (size_t i = 0; i < kEmbeddedClusterCount; ++i)
    if (kEmbeddedClusters[i].name == name) return &kEmbeddedClusters[i];
  return nullptr;
}

std::string quoted(std::string_view text) { return std::string("`").append(text).append("`"); }

std::string number_text(double value) {
  char text[32];
  const auto [end, status] = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6);
  return {text, status == std::errc() ? end : text};
}

class Parser {
 public:
  Parser(Cluster* cluster, std::string* error) : cluster_(cluster), error_(error) {}

  bool apply(std::string_view text, int depth) {
    std::set<std::string_view> seen;
    for (int number = 1; !text.empty(); ++number) {
      const size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
      line = trim(line.substr(0, line.find('#')));
      if (!line.empty() && !apply_line(line, number, depth, &seen)) return false;
    }
    if (depth == 0 && !seen.contains("name")) return fail(0, "name", "missing; expected `name = word`");
    return true;
  }

  bool check() {
    for (const KeyEntry& entry : kKeys)
      if (entry.required && !given_.contains(entry.key))
        return fail(0, entry.key, "missing; expected it in this file or its parent");
    const Cluster& cluster = *cluster_;
    if ((cluster.nvlink_generation == 0) != (cluster.nvlink_bandwidth == 0))
      return fail(0, "nvlink_bandwidth", "expected together with nvlink_generation");
    if (cluster.nvlink_generation == 0 && cluster.nvlink_switch)
      return fail(0, "nvlink_switch", "expected together with nvlink_generation");
    if (cluster.nvlink_switch_reduce && !cluster.nvlink_switch)
      return fail(0, "nvlink_switch_reduce", "expected together with nvlink_switch");
    const bool networked = cluster.network != Network::kNone;
    for (const auto& [key, present] : {std::pair<std::string_view, bool>{"nics_per_node", cluster.nics_per_node > 0},
                                       {"nic_bandwidth", cluster.nic_bandwidth > 0},
                                       {"network_latency_ns", cluster.network_latency_ns > 0}})
      if (present != networked)
        return fail(0, key, networked ? "missing; expected with network" : "expected together with network");
    if (!networked && cluster.nodes > 1) return fail(0, "network", "missing; expected with more than one node");
    if (!networked && cluster.network_reduce) return fail(0, "network_reduce", "expected together with network");
    if (cluster.rails > cluster.nics_per_node) return fail(0, "rails", "expected at most nics_per_node");
    return true;
  }

 private:
  bool apply_line(std::string_view line, int number, int depth, std::set<std::string_view>* seen) {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) return fail(number, line, "expected `key = value`");
    const std::string_view key = trim(line.substr(0, equals)), value = trim(line.substr(equals + 1));
    if (key.empty()) return fail(number, line, "expected a key before `=`");
    if (value.empty()) return fail(number, key, "expected a value after `=`");
    if (!seen->insert(key).second) return fail(number, key, "given twice; expected once");
    if (key == "parent") {
      if (seen->size() != 1) return fail(number, key, "expected before every other key");
      if (depth >= kMostParents) return fail(number, key, "too many generations; expected at most 4");
      const EmbeddedCluster* parent = find_embedded(value);
      if (parent == nullptr) return fail(number, key, quoted(value) + " is not a built-in cluster");
      return apply(parent->text, depth + 1);
    }
    if (key == "network") return assign_network(value, number);
    for (const KeyEntry& entry : kKeys)
      if (entry.key == key) return assign(entry, value, number);
    return fail(number, key, "unknown key; known are " + known_keys());
  }

  bool assign_network(std::string_view value, int number) {
    for (Network network : kNetworks) {
      if (network_name(network) != value) continue;
      cluster_->network = network;
      return true;
    }
    std::string known;
    for (Network network : kNetworks) known += (known.empty() ? "" : ", ") + std::string(network_name(network));
    return fail(number, "network", quoted(value) + ": expected one of " + known);
  }

  bool assign(const KeyEntry& entry, std::string_view value, int number) {
    given_.insert(entry.key);
    if (const auto* text = std::get_if<std::string Cluster::*>(&entry.member)) {
      cluster_->*(*text) = value;
      return true;
    }
    double real = 0;
    const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), real);
    const bool whole = !std::holds_alternative<double Cluster::*>(entry.member);
    if (status != std::errc() || end != value.data() + value.size() || !std::isfinite(real) || real < entry.least ||
        real > entry.most || (whole && real != std::floor(real)))
      return fail(number, entry.key,
                  quoted(value) + ": expected " + (whole ? "a whole number" : "a number") + " from " +
                      number_text(entry.least) + " to " + number_text(entry.most) + " (" + std::string(entry.unit) +
                      ")");
    if (const auto* integer = std::get_if<uint32_t Cluster::*>(&entry.member))
      cluster_->*(*integer) = static_cast<uint32_t>(real);
    else if (const auto* flag = std::get_if<bool Cluster::*>(&entry.member))
      cluster_->*(*flag) = real != 0;
    else
      cluster_->*std::get<double Cluster::*>(entry.member) = real;
    return true;
  }

  static std::string known_keys() {
    std::string keys = "parent, network";
    for (const KeyEntry& entry : kKeys) keys += ", " + std::string(entry.key);
    return keys;
  }

  bool fail(int number, std::string_view key, std::string_view what) {
    *error_ = number > 0 ? "line " + std::to_string(number) + ": " : std::string();
    *error_ += std::string(key) + ": " + std::string(what);
    for (char& c : *error_)
      if (static_cast<unsigned char>(c) < ' ') c = '?';
    return false;
  }

  Cluster* cluster_;
  std::string* error_;
  std::set<std::string_view> given_;
};

std::string gigabytes(double bytes_per_s) { return number_text(bytes_per_s / 1e9) + " GB/s"; }

std::string describe(const Cluster& cluster) {
  std::string text = std::to_string(cluster.gpus_per_node) + " x " + (cluster.device.empty() ? "GPU" : cluster.device);
  text += cluster.nvlink_generation > 0
              ? ", NVLink " + std::to_string(cluster.nvlink_generation) + " " + gigabytes(cluster.nvlink_bandwidth) +
                    (cluster.nvlink_switch ? " switched" : " mesh")
              : ", PCIe " + gigabytes(cluster.pcie_bandwidth);
  if (cluster.network == Network::kNone) return text + ", one node";
  text += ", " + std::to_string(cluster.nics_per_node) + " x " + number_text(cluster.nic_bandwidth * 8 / 1e9) +
          " Gb/s " + std::string(network_name(cluster.network));
  if (cluster.nodes > 0) text += ", " + std::to_string(cluster.nodes) + " nodes";
  return text;
}

}  // namespace

std::string_view network_name(Network network) {
  switch (network) {
    case Network::kNone:
      return "none";
    case Network::kInfiniband:
      return "infiniband";
    case Network::kRoce:
      return "roce";
    case Network::kEfa:
      return "efa";
    case Network::kTcpx:
      return "tcpx";
    case Network::kEthernet:
      return "ethernet";
  }
  return "none";
}

bool parse_cluster(std::string_view text, Cluster* cluster, std::string* error) {
  Cluster parsed;
  Parser parser(&parsed, error);
  if (!parser.apply(text, 0) || !parser.check()) return false;
  *cluster = std::move(parsed);
  return true;
}

// Built once; never destroyed, so that calls from static destructors of the traced program stay valid.
const std::vector<const Cluster*>& builtin_clusters() {
  static const auto* clusters = [] {
    auto* result = new std::vector<const Cluster*>;
    for (size_t i = 0; i < kEmbeddedClusterCount; ++i) {
      auto* cluster = new Cluster;
      std::string error;
      if (parse_cluster(kEmbeddedClusters[i].text, cluster, &error))
        result->push_back(cluster);
      else
        delete cluster;
    }
    return result;
  }();
  return *clusters;
}

const Cluster* find_builtin_cluster(std::string_view name) {
  for (const Cluster* cluster : builtin_clusters())
    if (cluster->name == name) return cluster;
  return nullptr;
}

const Cluster* default_cluster_for(const device::DeviceProfile& profile) {
  const Cluster* nearest = nullptr;
  for (const Cluster* cluster : builtin_clusters()) {
    if (cluster->device == profile.name) return cluster;
    const auto distance = [&](const Cluster* one) {
      return std::abs(one->nvlink_bandwidth - profile.nvlink_bandwidth);
    };
    if (nearest == nullptr || distance(cluster) < distance(nearest)) nearest = cluster;
  }
  return nearest;
}

std::string cluster_list() {
  size_t longest = 0;
  for (const Cluster* cluster : builtin_clusters()) longest = std::max(longest, cluster->name.size());
  std::string text;
  for (const Cluster* cluster : builtin_clusters())
    text += cluster->name + std::string(longest + 2 - cluster->name.size(), ' ') + cluster->product_name + ": " +
            describe(*cluster) + "\n";
  return text;
}

std::string known_cluster_names() {
  std::string names;
  for (const Cluster* cluster : builtin_clusters()) names += (names.empty() ? "" : ", ") + cluster->name;
  return names;
}

}  // namespace maya
