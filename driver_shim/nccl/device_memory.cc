#include "driver_shim/nccl/device_memory.h"

namespace maya::nccl {

int nodes_of(const Communicator& c, const CollectiveCall& call) {
  if (!is_point_to_point(call.kind)) return c.nodes;
  const int per_node = gpus_per_node();
  if (per_node <= 0 || c.world_ranks.empty()) return 0;
  const int32_t own = c.world_ranks[static_cast<size_t>(c.rank)], peer = c.world_ranks[static_cast<size_t>(call.root)];
  return own < 0 || peer < 0 ? 0 : own / per_node == peer / per_node ? 1 : 2;
}

ncclResult_t charge_communicator(Communicator&, const char*) { return ncclSuccess; }
ncclResult_t charge_for(Communicator&, const CollectiveCall&) { return ncclSuccess; }
void release_communicator(Communicator&) {}

}  // namespace maya::nccl
