#include "driver_shim/cuda/unknown_reads.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>

#include "driver_shim/cuda/configuration.h"
#include "driver_shim/cuda/fork_guard.h"
#include "trace_proto/clock.h"

namespace maya::cuda {
namespace {

std::atomic<uint64_t> reads{0}, last_ns{0};

void report(int status, void*) {
  if (status == 0 || in_forked_child()) return;
  const uint64_t milliseconds = (trace::now_ns() - last_ns.load(std::memory_order_relaxed)) / 1'000'000;
  print_line("the program ended with status " + std::to_string(status) + ", " + std::to_string(milliseconds) +
             " ms after it read a result that no kernel computed (" +
             std::to_string(reads.load(std::memory_order_relaxed)) +
             " in all): such results read as zero, and a check of values may refuse them" +
             (configuration().passing_checks ? "" : "; maya-run --inject checks=pass lets checks by torch.all() pass"));
}

}  // namespace

void note_unknown_read() {
  static std::once_flag once;
  std::call_once(once, [] { on_exit(report, nullptr); });
  // Threads that count at once may lose one: a locked addition costs as much as the rest.
  reads.store(reads.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  last_ns.store(trace::now_ns(), std::memory_order_relaxed);
}

}  // namespace maya::cuda
