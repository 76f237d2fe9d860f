#include "predictor/core/cluster.h"

#include <catch2/catch.hpp>
#include <set>

namespace maya {
namespace {

std::string error_of(const std::string& text) {
  Cluster cluster;
  std::string error;
  CHECK_FALSE(parse_cluster(text, &cluster, &error));
  CHECK(error.find('\n') == std::string::npos);
  return error;
}

const std::string kWhole =
    "name = mine\nproduct_name = Mine\ngpus_per_node = 4\nnvlink_generation = 3\nnvlink_bandwidth = 300e9\n"
    "pcie_bandwidth = 26e9\nnetwork = roce\nnics_per_node = 2\nnic_bandwidth = 25e9\nnetwork_latency_ns = 4000\n";

TEST_CASE("Every built-in cluster parses, once each, with a device or none") {
  // Counted by hand in predictor/clusters/.
  REQUIRE(builtin_clusters().size() == 21);
  std::set<std::string> names;
  for (const Cluster* cluster : builtin_clusters()) {
    INFO(cluster->name);
    CHECK(names.insert(cluster->name).second);
    CHECK(find_builtin_cluster(cluster->name) == cluster);
    CHECK(cluster->gpus_per_node == 8);
    if (cluster->name != "dgx-1v") CHECK(device::find_builtin_profile(cluster->device) != nullptr);
  }
  CHECK(find_builtin_cluster("dgx") == nullptr);
}

// DGX A100, DGX H100 datasheets; AWS and Azure instance pages: NVLink one way, and Gb/s that leave a node.
TEST_CASE("Figures of known systems") {
  const auto check = [](const char* name, double nvlink_gbps, double node_gbits) {
    INFO(name);
    const Cluster* cluster = find_builtin_cluster(name);
    REQUIRE(cluster != nullptr);
    CHECK(cluster->nvlink_bandwidth == nvlink_gbps * 1e9);
    CHECK(cluster->node_network_bandwidth() * 8 == Approx(node_gbits * 1e9));
  };
  check("dgx-a100", 300, 1600);
  check("dgx-h100", 450, 3200);
  check("hgx-h200", 450, 3200);
  check("p4d", 300, 400);
  check("p5", 450, 3200);
  check("azure-nd-a100-v4", 300, 1600);
  check("azure-nd-h100-v5", 450, 3200);
  check("gcp-a3-mega", 450, 1600);
}

TEST_CASE("Every device has a usual cluster") {
  for (const device::BuiltinProfile& builtin : device::builtin_profiles()) {
    INFO(builtin.name);
    const device::DeviceProfile& profile = *device::find_builtin_profile(builtin.name);
    CHECK(default_cluster_for(profile)->device == builtin.name);
    CHECK(default_cluster_for(profile)->nvlink_bandwidth == profile.nvlink_bandwidth);
  }
  device::DeviceProfile own;
  own.name = "own";
  own.nvlink_bandwidth = 440e9;
  CHECK(default_cluster_for(own)->nvlink_generation == 4);
  own.nvlink_bandwidth = 0;
  CHECK(default_cluster_for(own)->nvlink_generation == 0);
}

TEST_CASE("A cluster of one's own, whole or on top of another") {
  Cluster cluster;
  std::string error;
  REQUIRE(parse_cluster(kWhole, &cluster, &error));
  CHECK(cluster.gpus_per_node == 4);
  CHECK(cluster.network == Network::kRoce);
  CHECK(cluster.node_network_bandwidth() == 50e9);
  REQUIRE(
      parse_cluster("parent = dgx-h100\nname = thin # half of the adapters\nnics_per_node = 4\nrails = 4\n"
                    "oversubscription = 2\n",
                    &cluster, &error));
  CHECK(cluster.name == "thin");
  CHECK(cluster.nvlink_switch_reduce);
  CHECK(cluster.node_network_bandwidth() == 100e9);  // 4 x 50 GB/s, two to one
}

TEST_CASE("Bad cluster files are refused with one clear line") {
  CHECK(error_of("") == "name: missing; expected `name = word`");
  CHECK(error_of("name") == "line 1: name: expected `key = value`");
  CHECK(error_of("name =") == "line 1: name: expected a value after `=`");
  CHECK(error_of("name = a\nname = b") == "line 2: name: given twice; expected once");
  CHECK(error_of("parent = nowhere\nname = a") == "line 1: parent: `nowhere` is not a built-in cluster");
  CHECK(error_of("name = a\nparent = dgx-h100") == "line 2: parent: expected before every other key");
  CHECK(error_of("name = a\nnvlink_bandwith = 1e9")
            .starts_with("line 2: nvlink_bandwith: unknown key; known are parent, "));
  CHECK(error_of("name = a\nproduct_name = A") == "gpus_per_node: missing; expected it in this file or its parent");
  const auto changed = [](const std::string& line) { return error_of("parent = dgx-h100\nname = a\n" + line); };
  CHECK(changed("gpus_per_node = 0") == "line 3: gpus_per_node: `0`: expected a whole number from 1 to 1024 (GPUs)");
  CHECK(changed("gpus_per_node = 2.5").starts_with("line 3: gpus_per_node: `2.5`: expected a whole number"));
  CHECK(changed("gpus_per_node = many").starts_with("line 3: gpus_per_node: `many`: expected a whole number"));
  // 400 and 50 are Gb/s and GB/s, not bytes/s.
  CHECK(changed("nic_bandwidth = 400") ==
        "line 3: nic_bandwidth: `400`: expected a number from 1e+08 to 1e+13 (bytes/s in one direction)");
  CHECK(changed("nic_bandwidth = -50e9").starts_with("line 3: nic_bandwidth: `-50e9`: expected a number"));
  CHECK(changed("nic_bandwidth = inf").starts_with("line 3: nic_bandwidth: `inf`: expected a number"));
  CHECK(changed("nic_bandwidth = 1e99").starts_with("line 3: nic_bandwidth: `1e99`: expected a number"));
  CHECK(changed("oversubscription = 0.5").starts_with("line 3: oversubscription: `0.5`: expected a number from 1"));
  CHECK(changed("network = carrier-pigeon") ==
        "line 3: network: `carrier-pigeon`: expected one of none, infiniband, roce, efa, tcpx, ethernet");
  CHECK(changed("rails = 9") == "rails: expected at most nics_per_node");
  CHECK(changed("nvlink_generation = 0") == "nvlink_bandwidth: expected together with nvlink_generation");
  CHECK(changed("nvlink_switch = 0") == "nvlink_switch_reduce: expected together with nvlink_switch");
  CHECK(changed("nics_per_node = 0\nrails = 0") == "nics_per_node: missing; expected with network");
  CHECK(error_of("parent = pcie-l40s\nname = a\nnodes = 2") == "network: missing; expected with more than one node");
}

TEST_CASE("The list names every cluster with its links") {
  const std::string list = cluster_list();
  for (const Cluster* cluster : builtin_clusters()) CHECK(list.find(cluster->name + " ") != std::string::npos);
  CHECK(list.find("NVIDIA DGX H100: 8 x h100-sxm, NVLink 4 450 GB/s switched, 8 x 400 Gb/s infiniband\n") !=
        std::string::npos);
}

}  // namespace
}  // namespace maya
