// Ranks that are gone, and how long their peers wait for them.
//
// On a device the kernel of a collective runs until all ranks have come or the communicator is aborted; that a rank is
// gone is told to who asks ncclCommGetAsyncError, and a program that wants to go on aborts the communicator (NCCL User
// Guide, "Asynchronous errors and error handling"). So a wait lasts here too where another thread of the program asks,
// as PyTorch's watchdog does. Where nobody could end it, it ends with a line that says so: no wait is for ever.
// All functions: with engine_mutex() held.
#pragma once

#include "driver_shim/nccl/communicator.h"

namespace maya::nccl {

enum class Wait {
  kPoll,         // a query, from whatever thread
  kRead,         // bytes are wanted, but the program did not ask to wait
  kSynchronize,  // the thread is blocked until the work has ended
};

// Looks whether the ranks that calls need still live: if not, the communicator's error is ncclRemoteError from then on.
void check_peers(Communicator& communicator);
// This thread asks for the communicator's error.
void note_asker(Communicator& communicator);
// Whether a call of the communicator, which waits for others, is still to be waited for.
bool keeps_waiting(const Communicator& communicator, Wait wait);
// Ends the communicator's calls, results unknown, and says so.
void give_up_lost(const PendingCall& pending);

}  // namespace maya::nccl
