// Time of collectives and point-to-point transfers by structure: which algorithm and protocol, how many steps, how many
// bytes over which link. Pure functions; no allocation.
//
// NCCL runs a collective with the algorithm and protocol that it expects to end first; so does plan_collective(). The
// algorithms are those of NCCL's documentation and of "Demystifying NCCL" (Hu et al., 2025): ring (all kinds), double
// binary tree between nodes with chains inside (all-reduce), NVLS (the NVLink switch adds and multicasts; all-reduce),
// and pairwise sends (all-to-all, gather, scatter, send). Protocols: LL sends 8 bytes of which 4 are data; LL128 sends
// 128 of which 120 are data; Simple sends data only and synchronises by fences, which costs the most for a step.
//
// A candidate's time: floor + steps x cost of a step + bytes over the slowest link of its path / bandwidth. Bytes are
// nccl-tests' bus factors (its PERFORMANCE document). Shares of the links' bandwidths, the floor and the steps' costs
// are fitted to measurements (collective_table.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "predictor/core/cluster.h"
#include "predictor/core/estimate.h"

namespace maya {

enum class CollectiveAlgorithm : uint8_t { kCopy = 0, kRing = 1, kTree = 2, kNvls = 3, kPairwise = 4 };
std::string_view algorithm_name(CollectiveAlgorithm algorithm);  // "ring"
enum class CollectiveProtocol : uint8_t { kLl = 0, kLl128 = 1, kSimple = 2 };
inline constexpr int kCollectiveProtocols = 3;
std::string_view protocol_name(CollectiveProtocol protocol);  // "LL128"
inline constexpr int kCollectiveKinds = 10;
std::string_view collective_name(CollectiveKind kind);  // "all_reduce", as nccl-tests calls it

// A collective as the model sees it.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  double bytes = 0;  // as nccl-tests counts: the larger of the two buffers of a rank
  uint32_t ranks = 1;
  uint32_t nodes = 1;  // at most ranks
};
// From the keys of an operation: kBytes is count x element size of the NCCL call, so of one rank's share for
// all-gather, gather (what a rank sends), reduce-scatter, scatter (what a rank receives) and all-to-all (what goes to
// each peer). kNodes 0 is one node; send and receive always have two ranks; a kind of a newer Maya reads as all-reduce.
CollectiveCall collective_call(const OperationRecord& operation);

// Fitted figures of the links inside a node.
struct LinkModel {
  double floor_ns = 5000;  // of a collective that moves nothing
  double step_ns[kCollectiveProtocols] = {700, 1000, 2500};
  double wire_share = 0.95;   // of the link's bandwidth, for bytes that cross it
  double local_share = 2.5;   // of the link's bandwidth, for bytes that a GPU handles (copies and adds)
  double switch_share = 0.7;  // of the link's bandwidth, when the switch reduces
  double pair_share = 0.8;    // of the link's bandwidth, for pairwise sends
  double ramp_bytes = 1e6;    // transfers of this size run at half of their share
};

// Fitted figures of a network.
struct NetworkModel {
  double floor_ns = 8000;    // added once
  double step_share = 1;     // cost of a step over the network, as a share of the cluster's network_latency_ns
  double wire_share = 0.9;   // of the adapters' bandwidth
  double pair_share = 0.75;  // of the adapters' bandwidth, for pairwise sends
  double ramp_bytes = 8e6;   // transfers of this size, for a GPU, run at half of their share
};

// How a collective runs.
struct CollectivePlan {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kCopy;
  CollectiveProtocol protocol = CollectiveProtocol::kSimple;
  Fabric fabric = Fabric::kNone;  // of the slowest link
  double ns = 0;
  double wire_bytes = 0;      // of one GPU over that link, one direction
  double link_bandwidth = 0;  // of one GPU over that link: bytes/s without any loss
  double bound_ns = 0;        // no algorithm on these links is faster
};

// A communicator of one rank moves nothing: an empty plan. A cluster without a network counts as one node.
CollectivePlan plan_collective(const Cluster& cluster, const LinkModel& link, const NetworkModel& network,
                               const CollectiveCall& call);

}  // namespace maya
