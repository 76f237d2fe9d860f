// NCCL's own device memory, charged to the communication layer; and where a communicator's ranks are.
#pragma once

#include "driver_shim/nccl/communicator.h"

namespace maya::nccl {

// MAYA_GPUS_PER_NODE, else LOCAL_WORLD_SIZE, else -1.
int gpus_per_node();

// Nodes that a call spans, as Key::kNodes means it: 0 or 1 one node or not known; of a point-to-point call 2 when it
// crosses nodes.
int nodes_of(const Communicator& communicator, const CollectiveCall& call);

// Charges what a communicator takes when it is made, and what a call takes that is the first of its kind. Out of memory
// is ncclUnhandledCudaError, as NCCL reports failed allocations.
ncclResult_t charge_communicator(Communicator& communicator, const char* api);
ncclResult_t charge_for(Communicator& communicator, const CollectiveCall& call);
void release_communicator(Communicator& communicator);
// ncclCommSuspend and ncclCommResume: everything that was charged is given back, or charged again.
void suspend_memory(Communicator& communicator);
ncclResult_t resume_memory(Communicator& communicator);

}  // namespace maya::nccl
