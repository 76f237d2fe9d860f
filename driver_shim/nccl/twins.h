// Worlds whose other ranks are absent (MAYA_TWINS=1): every absent rank does what this one does, with the same bytes.
#pragma once

#include "driver_shim/nccl/communicator.h"

namespace maya::nccl {

// Gathers get this rank's bytes in every place, reductions its value as often as there are ranks, an all-to-all gets
// what a twin sends: its chunk for this rank. Sends are kept; a receive gets the last send of the same count and type
// on the communicator, or zeros. A broadcast from an absent rank leaves what a twin would have sent: the bytes of this
// rank's own buffer; inside a group where this rank is the root of another broadcast of the group (an all-gather of
// different sizes), the bytes of that one.
void answer_as_twins(Communicator& communicator, const CollectiveCall& call, Contribution own);

// Broadcasts of the group that wait for the one of which this rank is the root; at the end of the group.
void finish_twin_broadcasts(Communicator& communicator);

}  // namespace maya::nccl
