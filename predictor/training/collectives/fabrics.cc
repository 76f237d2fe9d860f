#include "predictor/training/collectives/fabrics.h"

#include <algorithm>
#include <iterator>

#include "predictor/training/device_name.h"

namespace maya::training {
namespace {

struct Alias {
  std::string_view gpu, device;
};
constexpr Alias kDevices[] = {
    {"H100 SXM 80GB", "h100-sxm"},
    {"H100 SXM 80GB (DGX)", "h100-sxm"},
    {"H100 80GB", "h100-sxm"},
    {"H100 SXM (per script comment)", "h100-sxm"},
    {"H100 SXM (A3 Mega)", "h100-sxm"},
    {"H100 SXM (A3 High)", "h100-sxm"},
    {"H200 SXM", "h200-sxm"},
    {"H200 SXM (A3 Ultra)", "h200-sxm"},
    {"A100-SXM4-40GB", "a100-sxm-80"},  // the links of both sizes are the same
    {"A100 SXM 80GB", "a100-sxm-80"},
    {"A100 SXM 80GB?", "a100-sxm-80"},
    {"A100 80GB", "a100-sxm-80"},
    {"A100 SXM (vTrain node)", "a100-sxm-80"},
    {"V100 (vTrain node)", "v100-sxm"},
    {"B200 SXM", "b200-sxm"},
    {"L40S (PCIe)", "l40s"},
};

// Networks by the table's words: the cluster that describes them, with what differs.
struct NamedNetwork {
  std::string_view fabric, device, cluster;
  Network network;  // kNone: as the cluster
  uint32_t nics;    // 0: as the cluster
  bool reduces;
};
constexpr NamedNetwork kNetworks[] = {
    {"NVSwitch + HDR IB 8x200G", "a100-sxm-80", "dgx-a100", Network::kNone, 0, false},
    {"NVSwitch + HDR IB, SHARP", "a100-sxm-80", "dgx-a100", Network::kNone, 0, true},
    {"NVSwitch + RoCE 16x100G (OCI)", "a100-sxm-80", "oci-a100", Network::kNone, 0, false},
    {"NVSwitch + NDR IB 8x400G (Nebius)", "h100-sxm", "dgx-h100", Network::kNone, 0, false},
    {"NVSwitch + NDR IB, SHARP", "h100-sxm", "dgx-h100", Network::kNone, 0, true},
    // Kernel times of send and receive: 36 GB/s at 64 MiB, which one 400 Gb/s adapter carries and a slower one cannot.
    {"NVSwitch + inter-node", "h100-sxm", "dgx-h100", Network::kNone, 0, false},
    {"NVSwitch + RoCE 8x400G (OCI)", "h100-sxm", "dgx-h100", Network::kRoce, 0, false},
    {"NVSwitch + RoCE 8x400G", "h200-sxm", "gcp-a3-ultra", Network::kNone, 0, false},
    {"NVSwitch + RoCE 8x400G (CX-7)", "h200-sxm", "gcp-a3-ultra", Network::kNone, 0, false},
    {"NVSwitch + GPUDirect-TCPXO 8x200G", "h100-sxm", "gcp-a3-mega", Network::kNone, 0, false},
    {"NVSwitch + GPUDirect-TCPX 4x200G", "h100-sxm", "gcp-a3-mega", Network::kNone, 4, false},
    {"NVSwitch + EFA v4 8x400G", "b200-sxm", "dgx-b200", Network::kEfa, 0, false},
};

std::string_view device_named(std::string_view gpu) {
  for (const Alias& alias : kDevices)
    if (alias.gpu == gpu) return alias.device;
  return profile_of(gpu);
}

const Cluster* cluster_with(std::string_view device) {
  for (const Cluster* cluster : builtin_clusters())
    if (cluster->device == device) return cluster;
  return nullptr;
}

}  // namespace

Cluster inside_of(const Cluster& cluster) {
  Cluster inside = cluster;
  inside.name = cluster.device + (cluster.nvlink_generation == 0 ? "-pcie"
                                  : cluster.nvlink_switch        ? "-nvswitch"
                                                                 : "-mesh");
  inside.product_name = inside.name;
  inside.nodes = 0;
  inside.network = Network::kNone;
  inside.nics_per_node = inside.rails = 0;
  inside.nic_bandwidth = inside.network_latency_ns = 0;
  inside.network_reduce = false;
  return inside;
}

bool fabric_of(std::string_view gpu, std::string_view fabric, bool several_nodes, Cluster* cluster,
               std::string* reason) {
  const std::string_view device = device_named(gpu);
  if (!several_nodes && fabric == "NVLink pair/PCIe" && (device == "a100-sxm-80" || device == "h100-sxm")) {
    // Pairs of PCIe cards: groups of four meet the PCIe bridges.
    *cluster = inside_of(*find_builtin_cluster(device == "h100-sxm" ? "pcie-h100" : "pcie-a100-80"));
    return true;
  }
  const Cluster* usual = cluster_with(device);
  if (usual == nullptr) {
    *reason = "devices without a cluster description";
    return false;
  }
  if (!several_nodes) {
    if (fabric.starts_with("NVLink pair")) {
      *reason = "systems with pairs of joined devices";
      return false;
    }
    *cluster = inside_of(*usual);
    return true;
  }
  const auto* found = std::find_if(std::begin(kNetworks), std::end(kNetworks), [&](const NamedNetwork& named) {
    return named.fabric == fabric && named.device == device;
  });
  if (found == std::end(kNetworks)) {
    *reason = "networks of unknown speed, forced algorithms and faulty settings";
    return false;
  }
  *cluster = *find_builtin_cluster(found->cluster);
  if (found->network != Network::kNone) cluster->network = found->network;
  if (found->network == Network::kEfa) cluster->network_latency_ns = find_builtin_cluster("p5en")->network_latency_ns;
  if (found->nics != 0) cluster->nics_per_node = cluster->rails = found->nics;
  cluster->network_reduce = found->reduces;
  cluster->device = device;
  cluster->name = std::string(device) + "-" + std::string(network_name(cluster->network)) + "-" +
                  std::to_string(cluster->nics_per_node) + "x" +
                  std::to_string(static_cast<int>(cluster->nic_bandwidth * 8e-9 + 0.5)) +
                  (found->reduces ? "-sharp" : "");
  cluster->product_name = cluster->name;
  return true;
}

}  // namespace maya::training
