// A cluster: the nodes, links and adapters that collectives run over. Part of the dependency-free core.
// Descriptions are text files in predictor/clusters/, one `key = value  # source` a line, keys as the fields below, as
// device profiles are; a user's own file works the same way. `parent = NAME` as the first key takes everything from a
// built-in cluster, which later lines override. Immutable after parsing, safe to share between threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "virtual_device/profile.h"

namespace maya {

// What connects nodes. Decides which measurements a network's efficiency and latency are learned from.
enum class Network : uint8_t {
  kNone = 0,  // a single node
  kInfiniband = 1,
  kRoce = 2,
  kEfa = 3,   // AWS Elastic Fabric Adapter
  kTcpx = 4,  // Google's GPUDirect-TCPX and TCPXO
  kEthernet = 5,
};
std::string_view network_name(Network network);  // "none", "infiniband", "roce", "efa", "tcpx", "ethernet"

struct Cluster {
  std::string name;          // "dgx-h100"
  std::string product_name;  // "NVIDIA DGX H100"
  std::string device;        // device profile that its nodes hold: "h100-sxm"
  uint32_t nodes = 0;        // how many there are; 0: as many as a world needs
  uint32_t gpus_per_node = 0;

  // Inside a node. Bandwidths are bytes/s, one direction, of one GPU.
  uint32_t nvlink_generation = 0;  // 0: no NVLink, peers are reached over PCIe
  double nvlink_bandwidth = 0;     // sum of the GPU's links; 0 exactly when nvlink_generation is 0
  bool nvlink_switch = false;      // every GPU reaches every other at full bandwidth; otherwise links go to some peers
  bool nvlink_switch_reduce = false;  // the switch adds and multicasts (NVLink SHARP; NVSwitch of Hopper and later)
  double pcie_bandwidth = 0;          // of a GPU's slot

  // Between nodes.
  Network network = Network::kNone;
  uint32_t nics_per_node = 0;     // adapters that carry collectives; 0 exactly when network is none
  double nic_bandwidth = 0;       // bytes/s, one direction, of one adapter
  double network_latency_ns = 0;  // adapter to adapter, one way
  uint32_t rails = 0;             // leaf switches that a node's adapters spread over; 0: as many as adapters
  double oversubscription = 1;    // downlink over uplink bandwidth above the leaf switches; 1: non-blocking
  bool network_reduce = false;    // the network adds (SHARP)

  // Bytes/s, one direction, that a node can send to others when all of its adapters work: before protocol efficiency.
  double node_network_bandwidth() const { return nics_per_node * nic_bandwidth / oversubscription; }
};

// Parses a cluster file. On failure returns false and `error` is one line naming the line number, the key and what was
// expected: unknown key, missing key, number out of range, keys that contradict each other.
bool parse_cluster(std::string_view text, Cluster* cluster, std::string* error);

// The clusters built in, in a fixed order; the objects live for ever.
const std::vector<const Cluster*>& builtin_clusters();
// nullptr when unknown.
const Cluster* find_builtin_cluster(std::string_view name);

// The cluster that a device is usually found in: the first built-in one with that device, otherwise the first with the
// nearest NVLink bandwidth (PCIe when the device has no NVLink). Never nullptr.
const Cluster* default_cluster_for(const device::DeviceProfile& profile);

// One line a cluster: name, product, GPUs a node and their links, adapters. What `--list-clusters` prints.
std::string cluster_list();
// The names, separated by ", ": for error messages.
std::string known_cluster_names();

// Where a collective's bytes travel.
enum class Fabric : uint8_t {
  kNone = 0,     // on one device: a communicator of one rank
  kNvlink = 1,   // inside a node (NVLink, or PCIe where the cluster has none)
  kNetwork = 2,  // between nodes
};

}  // namespace maya
