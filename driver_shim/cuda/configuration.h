// Configuration from MAYA_* variables (interface.md), read once with secure_getenv at first use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "virtual_device/profile.h"

namespace maya::cuda {

struct Configuration {
  // False: a variable has a value that makes no sense. One line naming it was printed, and cuInit fails with
  // CUDA_ERROR_INVALID_VALUE.
  bool valid = true;
  const device::DeviceProfile* profile = nullptr;  // never null
  std::string profile_text;                        // the text that the profile came from
  int machine_devices = 1;                         // MAYA_DEVICES
  int devices = 1;                                 // of them, those that CUDA_VISIBLE_DEVICES leaves to this process
  std::vector<int> visible;                        // their numbers on the machine, in the process's order
  uint64_t memory_limit_bytes = 0;                 // MAYA_MEMORY; 0: the profile's own; UINT64_MAX: unlimited
  uint64_t host_budget_bytes = 1ull << 30;         // MAYA_HOST_MEMORY
  bool trace = true;                               // MAYA_TRACE
  std::string trace_directory;                     // MAYA_TRACE_DIR
  std::string run_id;                              // MAYA_RUN_ID, set by maya-run
  std::string cluster;                             // MAYA_CLUSTER: name of a cluster or path of its description
  std::string cluster_text;                        // the description, where MAYA_CLUSTER is a path
  int local_rank = -1;                             // LOCAL_RANK
  int gpus_per_node = 0;                           // MAYA_GPUS_PER_NODE, else LOCAL_WORLD_SIZE; 0: not known
  bool twins = false;                              // MAYA_TWINS: the other ranks of the world are absent
  double cpu_scale = 0;                            // MAYA_CPU_SCALE; 0: not given
  uint32_t graph_iterations = 1;                   // MAYA_GRAPH_ITERATIONS: of loops in graphs (graph_conditional.h)
  bool balanced_routing = false;                   // MAYA_INJECT: routing=balanced (launch_effects.h)
  bool passing_checks = false;                     // MAYA_INJECT: checks=pass (launch_effects.h)
  int rank = -1;                                   // RANK
  int world_size = -1;                             // WORLD_SIZE
};

// Never throws away a bad value silently. Thread safe; the object lives for ever.
const Configuration& configuration();
// The number on the machine of the device that this process calls `ordinal`: what its identity follows from.
inline int machine_device(int ordinal) { return configuration().visible[static_cast<size_t>(ordinal)]; }

// One line on standard error, "maya: " before it. Writes nothing else and never fails.
void print_line(std::string_view text) noexcept;

}  // namespace maya::cuda
