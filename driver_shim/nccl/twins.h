// Worlds whose other ranks are absent (MAYA_TWINS=1): every absent rank does what this one does, with the same bytes,
// except where it is a root or a sender: then what it, or a rank in its place, sent when it ran is known
// (kept_sends.h).
#pragma once

#include "driver_shim/nccl/communicator.h"

namespace maya::nccl {

// Gathers get this rank's bytes in every place, reductions its value as often as there are ranks, an all-to-all gets
// what a twin sends: its chunk for this rank. Broadcasts, scatters and receives get what the root or sender sent, where
// that is known. Otherwise a receive gets this rank's last send of the same count and type on the communicator, or
// zeros; a broadcast leaves the bytes of this rank's own buffer; a scatter leaves nothing known. Inside a group where
// this rank is the root of another broadcast of the group (an all-gather of different sizes), a broadcast from an
// absent rank gives the bytes of that one.
void answer_as_twins(Communicator& communicator, const CollectiveCall& call, Contribution own);

// Broadcasts of the group that wait for the one of which this rank is the root; at the end of the group.
void finish_twin_broadcasts(Communicator& communicator);

}  // namespace maya::nccl
