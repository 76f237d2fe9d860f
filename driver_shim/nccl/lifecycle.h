// Handles, and communicators coming to life.
#pragma once

#include "driver_shim/nccl/communicator.h"
#include "driver_shim/nccl/group.h"

namespace maya::nccl {

// A new handle in the table of live ones.
ncclComm_t make_handle(std::shared_ptr<Communicator> communicator);
// Ends a handle; its communicator's calls are dropped and its memory released.
void retire(ncclComm_t comm);

// The current device of the calling thread.
ncclResult_t current_device(int* device, const char* api);

// Begins a communicator whose identity, rank, ranks, device, parent and configuration are set. *out becomes its handle
// at once and null again when it fails.
ncclResult_t begin(const char* api, std::shared_ptr<Communicator> communicator, ncclComm_t* out);
// The same as a part of another beginning.
std::unique_ptr<Beginning> make_joining(const char* api, std::shared_ptr<Communicator> communicator, ncclComm_t* out);

// Starts what a communicator needs after all ranks met (or where nobody has to be met).
void become_ready(Communicator& communicator);

}  // namespace maya::nccl
