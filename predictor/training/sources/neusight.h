// NeuSight's measurements hold host time; this is how much.
#pragma once

#include <string_view>

namespace maya::training {

// Nanoseconds of host time in every NeuSight latency of `operation` ("add", "linear", ...) on `device` (a profile's
// name): what read_measurements() takes off, and what must be added to an estimate before it is compared with a raw
// latency. 0 for operations that NeuSight does not have.
//
// The latencies are taken between two events around one PyTorch call on an idle stream, so
//   latency = max(plateau, offset + kernel):
// the start event passes at once, the kernel waits for PyTorch's dispatch (the offset), and short kernels are done
// before the host has queued the end event (the plateau). Found on the A100-PCIe-40 by fitting offset + bytes /
// bandwidth to tensors of 50 to 600 MB, less the 2 us that a memory-bound kernel itself starts and ends with: add 15.4,
// mul 15.4, div 15.9, pow 18.2, operations with a number 18.5, relu 18.5, gelu 19.5, tanh 14.7, softmax 21.5 us; the
// A100-PCIe-80 gives the same within 1 us. Plateaus are the median over tensors below 2 MB: add 26.7, mul 26.1,
// gelu 30.5, softmax 33.4, layer norm 46.5 us, on average 13 us above the offset. For layer norm, linear, bmm and conv,
// whose kernels show no clean line, the offset is the plateau less 13 us. A bmm of one wave of 128 x 128 blocks over
// 196 values, which the A100's peak puts at 36 us, then takes 41. The H100's host is quicker: its bmm latencies over
// the batch meet zero work at 21 to 24 us, of which the kernel starts and ends in 5; linear's offset is scaled from the
// A100's.
double neusight_offset_ns(std::string_view device, std::string_view operation);

// Latencies up to this hold no information about the kernel: 15 % above the plateau.
double neusight_least_latency_ns(std::string_view device, std::string_view operation);

}  // namespace maya::training
