// What a profiler of PyTorch (Kineto, Chrome's trace event format) wrote about one process, as far as a replay and the
// training of tables need it.
//
// Format: "Trace Event Format" (Chrome project); names of categories and arguments as PyTorch's profiler writes them,
// in its present and its older spelling ("kernel" and "Kernel", "gpu_memcpy" and "Memcpy", "cuda_runtime" and
// "Runtime", "cpu_op" and "Operator"). Flow events, Python frames and metadata are passed over.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "predictor/failure.h"

namespace maya::predictor::kineto {

enum class WorkKind : uint8_t { kKernel, kCopy, kFill };

// A kernel, copy or fill on the device. Times are nanoseconds on the profiler's clock.
struct DeviceWork {
  WorkKind kind = WorkKind::kKernel;
  uint32_t name = 0;  // index into KinetoTrace::names; demangled for kernels
  uint32_t device = 0;
  uint32_t stream = 0;  // as the profiler numbers them
  uint64_t correlation = 0;
  uint64_t start_ns = 0;
  uint64_t duration_ns = 0;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t registers = 0;
  uint32_t shared_bytes = 0;  // static and dynamic
  uint64_t bytes = 0;         // of copies and fills
  // Of collectives, where the profiler says it: elements of the input, their type, ranks. 0: not said.
  uint64_t elements = 0;
  uint32_t element_type = 0;  // index into names
  uint32_t ranks = 0;
  uint64_t end_ns() const { return start_ns + duration_ns; }
};

// A call of the CUDA runtime or driver.
struct RuntimeCall {
  uint32_t name = 0;
  uint32_t thread = 0;  // below KinetoTrace::threads
  uint64_t correlation = 0;
  uint64_t start_ns = 0;
  uint64_t duration_ns = 0;
  uint64_t end_ns() const { return start_ns + duration_ns; }
};

// What newer profilers tell about a synchronising call: the streams it is about.
struct Synchronization {
  uint64_t correlation = 0;
  bool has_stream = false;
  uint32_t stream = 0;          // that waits, or is waited for
  uint64_t wait_on_record = 0;  // correlation of the cudaEventRecord call; 0: not said
  uint32_t wait_on_stream = 0;  // where that event was recorded
  bool has_wait_on_stream = false;
};

// An operator of the framework on the host, with the shapes of its arguments.
struct CpuOperator {
  uint32_t name = 0;
  uint32_t thread = 0;
  uint64_t start_ns = 0;
  uint64_t duration_ns = 0;
  std::vector<std::vector<int64_t>> shapes;  // "Input Dims": one an argument, empty for what is no tensor
  std::vector<uint32_t> types;               // "Input type", by argument, index into names
  std::vector<uint32_t> values;              // "Concrete Inputs", by argument, index into names
  uint64_t end_ns() const { return start_ns + duration_ns; }
};

// "ProfilerStep#12"
struct StepMark {
  uint32_t name = 0;
  uint32_t thread = 0;
  uint64_t start_ns = 0;
  uint64_t duration_ns = 0;
};

struct KinetoTrace {
  std::string path;
  std::vector<std::string> names;  // names[0] is empty
  std::vector<DeviceWork> work;    // in the order of the file; likewise below
  std::vector<RuntimeCall> calls;
  std::vector<Synchronization> synchronizations;
  std::vector<CpuOperator> operators;
  std::vector<StepMark> steps;
  uint32_t threads = 0;
  std::string gpu;  // product name of the device that the work ran on; empty when the file does not say it
  int rank = -1;
  int world_size = -1;
  uint64_t left_out = 0;  // events of these kinds that had no usable time or duration
};

// Reads a file, gzip-compressed or not, in one pass: memory is used for what is kept, not for the text. Failures: no
// such file, not whole JSON, no trace events, no work on a device.
Failure read_kineto(const std::string& path, KinetoTrace* trace);

}  // namespace maya::predictor::kineto
