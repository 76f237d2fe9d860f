// Host time of driver and runtime calls on a machine with a real device, which the emulated call does not take.
//
// Medians over public profiler traces (../shared/data/launch_overhead_from_traces.csv, "host duration of ..."), H100
// where there is one; the runtime's own part is inside. The cost of a kernel launch comes from the device profile
// (launch_host_ns).
#pragma once

#include <cstdint>

namespace maya::predictor::host_costs {

inline constexpr uint64_t kCopy_ns = 7'080;       // cudaMemcpyAsync, H100, 2,572 calls
inline constexpr uint64_t kFill_ns = 3'170;       // cudaMemsetAsync, H100, 2,153 calls
inline constexpr uint64_t kEventRecord_ns = 500;  // cudaEventRecord, H100, 1,008 calls
inline constexpr uint64_t kStreamWait_ns = 770;   // cudaStreamWaitEvent, H100, 1,416 calls
inline constexpr uint64_t kEventQuery_ns = 580;   // cudaEventQuery, H100, 1,092 calls; stream queries alike
inline constexpr uint64_t kGroupedCall_ns =
    1'000;  // NCCL call inside a group, which only notes it: no public figure; as a stream operation
inline constexpr uint64_t kSynchronize_ns =
    3'000;  // cudaStreamSynchronize of an idle stream, A100, least of the traces; the way back after a wait
inline constexpr uint64_t kAllocate_ns =
    450'000;  // cudaMalloc, A100: 37 us (10th percentile) to 5,458 us (median of 24); their geometric mean
inline constexpr uint64_t kFree_ns = 85'000;  // cudaFree, A100: 5 us to 1,451 us; likewise
inline constexpr uint64_t kPoolAllocate_ns =
    1'000;  // cuMemAllocAsync from a pool's free memory: no public figure; as a stream operation

// From the return of a launch call to the start of its kernel on an idle stream, under a profiler: medians of public
// traces are 1.5 and 2.0 us (A100), 2.8 us (H100, launch call start to kernel start less the call's own duration).
inline constexpr uint64_t kStartAfterReturn_ns = 2'000;

// cudaGraphLaunch of a graph that was launched before: NVIDIA's developer blog, "Constant Time Launch for Straight-Line
// CUDA Graphs and Other Performance Enhancements" (CUDA 12.6, Ampere).
inline constexpr uint64_t kGraphLaunch_ns = 2'500;
inline constexpr uint64_t kGraphLaunchPerNode_ns = 1;

// Between the nodes of one CUDA graph on a stream: mean of 3,874 gaps of a public V100 trace (whose kernels launched
// one by one leave 5.1 us).
inline constexpr uint64_t kGraphNodeGap_ns = 1'140;

// Above this size a copy from pageable host memory holds the caller until the data has been staged (CUDA driver API,
// "API synchronization behavior").
inline constexpr uint64_t kStagedAtOnce_bytes = 64 << 10;

}  // namespace maya::predictor::host_costs
