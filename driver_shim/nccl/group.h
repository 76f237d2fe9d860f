// Communicators that come to life: alone, or several of one group side by side.
#pragma once

#include <memory>

#include "driver_shim/nccl/communicator.h"

namespace maya::nccl {

// One communicator on its way: a rendezvous, or a split that first exchanges colours with the others of the parent.
class Beginning {
 public:
  virtual ~Beginning() = default;
  // ncclInProgress until it has ended; never blocks.
  virtual ncclResult_t progress() = 0;
  // Waits a little for something to change.
  virtual void wait() = 0;
  virtual bool blocking() const = 0;
  virtual const std::shared_ptr<Communicator>& communicator() const = 0;
};

// Runs it to its end, or leaves it to the end of the thread's group. A communicator that is not blocking returns
// ncclInProgress and goes on whenever its state is asked for.
ncclResult_t run(std::unique_ptr<Beginning> beginning);

// A beginning whose communicator is not blocking: ncclCommGetAsyncError carries it on (lifecycle.cc).
void hand_over(std::unique_ptr<Beginning> beginning);
void carry_on(Communicator& communicator);

}  // namespace maya::nccl
