// What users are told about the other ranks: one line on standard error, and a notice in the trace.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "driver_shim/nccl/communicator.h"

namespace maya::nccl {

// One line on standard error and a notice in the trace.
void say(const std::string& text);

// Ranks whose call at this position is another one than `own`: each rank's trace gets it, the first rank to see it
// prints it.
void report_mismatch(const Communicator& communicator, uint64_t position, const Contribution& own,
                     const std::vector<std::pair<int, std::string>>& different);
// A rank that waits for a long time already.
void report_waiting(const Communicator& communicator, uint64_t position, const Contribution& own,
                    const std::vector<int>& missing);
// Bytes that were not waited for any longer, because the missing ranks wait themselves.
void report_given_up(const Communicator& communicator, const Contribution& own, const std::vector<int>& missing);
// A wait for a rank that is gone, and that nobody would end on a device.
void report_lost(const Communicator& communicator, const Contribution& own, const std::vector<int>& missing);
std::string gone_text(const Communicator& communicator, int rank, const Contribution& own);

}  // namespace maya::nccl
