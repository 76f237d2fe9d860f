#include <catch2/catch.hpp>
#include <cmath>

#include "predictor/core/estimator.h"
#include "predictor/core/operation_columns.h"

namespace maya {
namespace {

constexpr int64_t kGib = int64_t{1} << 30;

// `bytes` as nccl-tests prints them.
CollectiveEstimate collective(const char* device, CollectiveKind kind, int64_t bytes, int64_t ranks, int64_t nodes = 1,
                              const char* cluster = nullptr) {
  Estimator estimator(*device::find_builtin_profile(device));
  if (cluster != nullptr) estimator.set_cluster(find_builtin_cluster(cluster));
  return estimator.collective(work_of(collective_record(kind, bytes, ranks, nodes, DataType::kBfloat16)));
}

double all_reduce_ns(const char* device, int64_t bytes, int64_t ranks, int64_t nodes = 1,
                     const char* cluster = nullptr) {
  return collective(device, CollectiveKind::kAllReduce, bytes, ranks, nodes, cluster).estimate.median_ns;
}

// Bus bandwidth of nccl-tests' PERFORMANCE document: 2 (n - 1) / n bytes over time.
double bus_gbps(const char* device, int64_t bytes, int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  return 2 * (n - 1) / n * static_cast<double>(bytes) / all_reduce_ns(device, bytes, ranks);
}

// data/README.md: all-reduce at 0.5 GiB and more.
TEST_CASE("Bus bandwidths of nccl-tests") {
  CHECK(bus_gbps("a100-sxm-80", kGib / 2, 2) == Approx(190).epsilon(0.05));
  CHECK(bus_gbps("a100-sxm-80", kGib / 2, 4) == Approx(215).epsilon(0.05));
  CHECK(bus_gbps("a100-sxm-80", kGib / 2, 8) == Approx(228).epsilon(0.05));
  CHECK(bus_gbps("h100-sxm", kGib / 2, 2) == Approx(315).epsilon(0.05));
  CHECK(bus_gbps("h100-sxm", kGib / 2, 4) == Approx(347).epsilon(0.05));
  CHECK(bus_gbps("h100-sxm", kGib / 2, 8) > 437 * 0.95);
  CHECK(bus_gbps("h100-sxm", 8 * kGib, 8) < 480);  // NVIDIA/dgxc-benchmarking: 8 GiB in 31.3 ms, 480 GB/s
  CHECK(bus_gbps("h200-sxm", kGib / 4, 2) == Approx(315).epsilon(0.05));
  CHECK(bus_gbps("h200-sxm", kGib / 2, 4) == Approx(347).epsilon(0.05));
  CHECK(bus_gbps("h200-sxm", kGib / 2, 8) == Approx(457).epsilon(0.05));
}

// collectives.csv: Nebius, 2 x 8 H100, 8 x 400 Gb/s NDR: 8 GiB in 34,448 us; 128 bytes in 30.4 us.
TEST_CASE("All-reduce over two nodes") {
  CHECK(all_reduce_ns("h100-sxm", 8 * kGib, 16, 2) == Approx(34448e3).epsilon(0.03));
  CHECK(all_reduce_ns("h100-sxm", 128, 16, 2) == Approx(30380).epsilon(0.05));
}

TEST_CASE("Links that carry less take longer: 400 and 3,200 Gb/s, and PCIe") {
  const double wide = all_reduce_ns("a100-sxm-40", kGib, 16, 2, "dgx-a100-40");
  const double narrow = all_reduce_ns("a100-sxm-40", kGib, 16, 2, "p4d");
  // Each of two nodes sends at least its half sum, 1 GiB / 2 twice, over 50 GB/s.
  CHECK(narrow >= static_cast<double>(kGib) / 50e9 * 1e9);
  CHECK(narrow > 2 * wide);
  CHECK(all_reduce_ns("a100-pcie-80", kGib, 4) > 4 * all_reduce_ns("a100-sxm-80", kGib, 4));
  Cluster thin = *find_builtin_cluster("dgx-h100");
  thin.oversubscription = 4;
  Estimator estimator(*device::find_builtin_profile("h100-sxm"));
  const Work work = work_of(collective_record(CollectiveKind::kAllGather, kGib, 64, 8, DataType::kBfloat16));
  const double full = estimator.collective(work).estimate.median_ns;
  estimator.set_cluster(&thin);
  CHECK(estimator.collective(work).estimate.median_ns > 2 * full);
}

TEST_CASE("Never faster than the links, never shorter for more bytes, finite everywhere") {
  for (const device::BuiltinProfile& builtin : device::builtin_profiles()) {
    const device::DeviceProfile& profile = *device::find_builtin_profile(builtin.name);
    const Estimator estimator(profile);
    for (int kind = 0; kind < kCollectiveKinds; ++kind) {
      for (const auto& [ranks, nodes] :
           {std::pair<int, int>{2, 1}, {3, 1}, {8, 1}, {2, 2}, {16, 2}, {64, 64}, {128, 16}, {16384, 2048}}) {
        if (nodes > 1 && estimator.cluster().network == Network::kNone) continue;
        double last = 0;
        for (double bytes = 1; bytes < 2e11; bytes *= 1.37) {
          const CollectiveEstimate found = estimator.collectives().estimate(
              estimator.cluster(),
              {static_cast<CollectiveKind>(kind), bytes, static_cast<uint32_t>(ranks), static_cast<uint32_t>(nodes)});
          const Estimate& estimate = found.estimate;
          INFO(builtin.name << " " << collective_name(static_cast<CollectiveKind>(kind)) << " " << ranks << " on "
                            << nodes << ", " << bytes);
          REQUIRE(std::isfinite(estimate.high_ns));
          REQUIRE(estimate.median_ns >= last * (1 - 1e-12));
          REQUIRE(estimate.median_ns >= found.plan.bound_ns);
          REQUIRE(estimate.low_ns >= found.plan.bound_ns);
          REQUIRE(estimate.low_ns <= estimate.median_ns);
          REQUIRE(estimate.high_ns >= estimate.median_ns);
          REQUIRE(found.link_share >= 0);
          REQUIRE(found.link_share <= 1);
          last = estimate.median_ns;
        }
      }
    }
  }
}

TEST_CASE("More nodes are never faster at large sizes") {
  for (const char* device : {"a100-sxm-80", "h100-sxm", "h200-sxm", "b200-sxm"}) {
    for (CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                                CollectiveKind::kBroadcast, CollectiveKind::kAllToAll}) {
      double last = 0;
      for (int64_t nodes = 1; nodes <= 2048; nodes *= 2) {
        const double ns = collective(device, kind, 4 * kGib, 8 * nodes, nodes).estimate.median_ns;
        INFO(device << " " << collective_name(kind) << " " << nodes);
        CHECK(ns >= 0.97 * last);  // curves of different clusters meet here
        last = std::max(last, ns);
      }
    }
  }
}

TEST_CASE("Large transfers fill their link, small ones hardly use it") {
  CHECK(collective("h100-sxm", CollectiveKind::kAllGather, 4 * kGib, 8).link_share > 0.95);
  CHECK(collective("h100-sxm", CollectiveKind::kAllGather, 4096, 8).link_share < 0.01);
  CHECK(collective("h100-sxm", CollectiveKind::kSend, 4 * kGib, 2, 2).link_share > 0.95);
  CHECK(collective("h100-sxm", CollectiveKind::kSend, 4096, 2, 2).link_share < 0.05);
}

TEST_CASE("Provenance says how near the measurements are") {
  // nccl_intranode.csv has 1 MiB and 2 MiB of 8 H100, nothing between.
  CHECK(collective("h100-sxm", CollectiveKind::kAllReduce, 1 << 20, 8).estimate.provenance == Provenance::kMeasured);
  CHECK(collective("h100-sxm", CollectiveKind::kAllReduce, 1500000, 8).estimate.provenance ==
        Provenance::kInterpolated);
  CHECK(collective("h100-sxm", CollectiveKind::kAllReduce, 1 << 20, 6).estimate.provenance ==
        Provenance::kInterpolated);
  CHECK(collective("h100-sxm", CollectiveKind::kBroadcast, 1 << 20, 8).estimate.provenance ==
        Provenance::kExtrapolated);
  CHECK(collective("h100-sxm", CollectiveKind::kAllReduce, 1 << 20, 4096, 512).estimate.provenance ==
        Provenance::kExtrapolated);
  // Without measurements: structure alone.
  const CollectiveTable none;
  const CollectiveEstimate alone =
      none.estimate(*find_builtin_cluster("dgx-h100"), {CollectiveKind::kAllReduce, 1e9, 8, 1});
  CHECK(alone.estimate.provenance == Provenance::kAnalytic);
  CHECK(alone.estimate.high_ns > 2 * alone.estimate.median_ns);
}

TEST_CASE("Algorithms: NVLS above four ranks and for large sizes, trees for small ones over nodes, rings for gathers") {
  const auto plan = [](CollectiveKind kind, int64_t bytes, int64_t ranks, int64_t nodes = 1) {
    return collective("h100-sxm", kind, bytes, ranks, nodes).plan;
  };
  CHECK(plan(CollectiveKind::kAllReduce, kGib, 8).algorithm == CollectiveAlgorithm::kNvls);
  CHECK(plan(CollectiveKind::kAllReduce, kGib, 4).algorithm == CollectiveAlgorithm::kRing);
  CHECK(plan(CollectiveKind::kAllReduce, 1024, 8).protocol == CollectiveProtocol::kLl);
  CHECK(plan(CollectiveKind::kAllReduce, kGib, 8).protocol == CollectiveProtocol::kSimple);
  CHECK(plan(CollectiveKind::kAllReduce, 1024, 256, 32).algorithm != CollectiveAlgorithm::kRing);
  CHECK(plan(CollectiveKind::kAllGather, kGib, 8).algorithm == CollectiveAlgorithm::kRing);
  CHECK(plan(CollectiveKind::kAllToAll, kGib, 8).algorithm == CollectiveAlgorithm::kPairwise);
  CHECK(plan(CollectiveKind::kAllReduce, kGib, 8).fabric == Fabric::kNvlink);
  CHECK(plan(CollectiveKind::kAllGather, kGib, 64, 8).fabric == Fabric::kNetwork);
  CHECK(plan(CollectiveKind::kSend, kGib, 2, 2).fabric == Fabric::kNetwork);
}

TEST_CASE("Bytes as NCCL counts them") {
  // ncclAllGather's sendcount, ncclReduceScatter's recvcount and ncclAlltoAll's count are of one rank's share.
  OperationRecord gather(Family::kCollective, "");
  gather.set(Key::kCollective, static_cast<int64_t>(CollectiveKind::kAllGather))
      .set(Key::kBytes, 100)
      .set(Key::kRanks, 16);
  CHECK(collective_call(gather).bytes == 1600);
  CHECK(collective_call(gather).nodes == 1);
  OperationRecord send(Family::kPointToPoint, "");
  send.set(Key::kCollective, static_cast<int64_t>(CollectiveKind::kSend))
      .set(Key::kBytes, 100)
      .set(Key::kRanks, 16)
      .set(Key::kNodes, 2);
  CHECK(collective_call(send).bytes == 100);
  CHECK(collective_call(send).ranks == 2);
  CHECK(collective_call(send).nodes == 2);
  // One rank: no link is used.
  OperationRecord alone(Family::kCollective, "");
  alone.set(Key::kBytes, 1 << 20).set(Key::kRanks, 1);
  const Estimator estimator(*device::find_builtin_profile("h100-sxm"));
  CHECK(estimator.collective(work_of(alone)).plan.fabric == Fabric::kNone);
  CHECK(estimator.collective(work_of(alone)).estimate.median_ns < 10000);
}

TEST_CASE("The built-in table reads what it writes, and holds the overlap parameters") {
  const CollectiveTable& table = builtin_collectives();
  REQUIRE(table.fabrics().size() > 10);
  CollectiveTable again;
  std::string error;
  REQUIRE(again.parse(table.text(), &error));
  CHECK(again.text() == table.text());
  CHECK(table.parameter(kComputeSlowdown, 0) >= 1);
  CHECK(table.parameter(kComputeSlowdown, 0) <= 1.4);  // Lee et al., arXiv 2507.03114: 40 % at most
  CHECK(table.parameter(kCommunicationSlowdown, 0) >= 1);
}

TEST_CASE("Damaged tables of collectives are refused") {
  const auto error_of = [](const std::string& text) {
    CollectiveTable table;
    std::string error;
    CHECK_FALSE(table.parse(text, &error));
    CHECK(error.find('\n') == std::string::npos);
    return error;
  };
  const std::string start =
      "collectives 1\nfabric name=f product_name=f gpus_per_node=8 pcie_bandwidth=26e9 nvlink_generation=3 "
      "nvlink_bandwidth=300e9\n";
  CHECK(error_of("") == "empty; expected `collectives 1`");
  CHECK(error_of("collectives 2").starts_with("line 1: expected `collectives 1`"));
  CHECK(error_of("collectives 1\nfabric name=f").starts_with("line 2: expected keys of a cluster file"));
  CHECK(error_of(start + "curve g all_reduce 8 1 1:1").starts_with("line 3: expected `curve "));
  CHECK(error_of(start + "curve f all_reduce 8 1 2:1 1:1").starts_with("line 3: expected `curve "));
  CHECK(error_of(start + "curve f all_reduce 8 1 1:0").starts_with("line 3: expected `curve "));
  CHECK(error_of(start + "curve f all_reduce 8 1").starts_with("line 3: expected `curve "));
  CHECK(error_of(start + "curve f all_reduce 16 2 1:1").starts_with("line 3: expected `curve "));
  CHECK(error_of(start + "link f floor_ns=-1").starts_with("line 3: expected `link "));
  CHECK(error_of(start + "interval measured 1.2 1.3").starts_with("line 3: expected `interval "));
  CHECK(error_of(start + "magic").starts_with("line 3: expected fabric, link"));
}

}  // namespace
}  // namespace maya
